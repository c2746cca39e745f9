"""One layer on a saved list: the list is read, the outcome told, and written where that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triptych.edits import Edit
from triptych.edits import apply as applied_to
from triptych.entries import Entry, messages_of
from triptych.formats import Reading
from triptych.layers.parameters import Flavour
from triptych.layers.plan import Plan, kept_prefix
from triptych.policy import preset
from triptych.session import Session
from triptych.stages import Layer
from triptych.storage.session_file import SessionFile, SessionFileError
from triptych.storage.session_lock import SessionLock
from triptych.tokens import Count
from triptych_tui.cli_support import (
    FILE,
    STANDARD_INPUT,
    Fault,
    entries_in,
    naming,
    plain,
    print_json,
    print_lines,
    read_session,
    reason_json,
    shown,
    table,
)
from triptych_tui.i18n import _, ngettext


@dataclass(frozen=True, slots=True)
class Job:
    """What every layer is given: the file, whose rules, and where the outcome goes."""

    file: str
    flavour: Flavour
    output: Path | None
    in_place: bool
    json_wanted: bool

    @property
    def writes_back(self) -> bool:
        """Whether the outcome goes into the file it was made from."""
        if self.in_place or self.output is None or self.file == STANDARD_INPUT:
            return self.in_place
        source = Path(self.file)
        return source.exists() and self.output.exists() and source.samefile(self.output)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a layer did, and how many requests that took."""

    layer: Layer
    plan: Plan
    model_calls: int = 0


def run(job: Job, planned: Callable[[Session], Outcome]) -> None:
    """Plan the layer on the file's list, write what comes of it where that is asked for, and tell."""
    reading, file = read_job(job)
    session = Session(entries_in(job.file, reading), preset(job.flavour))
    before = session.entries
    outcome = planned(session)
    edits = outcome.plan.edits
    after = applied_to(before, edits)
    written = None
    if file is not None and (edits or not job.writes_back):
        with held(file.path):
            file.save(after, overwrite=not job.writes_back)
        written = file.path
    kept = kept_prefix(before, edits, session.counter)
    if job.json_wanted:
        print_json(_as_json(job, outcome, kept, after, written))
    else:
        print_lines(_lines(outcome, kept, written))


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Write while no window has the file open for writing."""
    lock = SessionLock(path)
    try:
        lock.take()
    except SessionFileError:
        sentence = _("{file} is open in a window and was not written; close it there, or use -o with another name")
        raise Fault(FILE, sentence.format(file=shown(path))) from None
    try:
        yield
    finally:
        lock.release()


def read_job(job: Job) -> tuple[Reading, SessionFile | None]:
    """What the file holds, and the file that the outcome is written to, if any."""
    if not job.writes_back:
        return read_session(job.file), SessionFile(job.output) if job.output is not None else None
    file = SessionFile(Path(job.file))
    with naming(job.file):
        loaded = file.load()
    if not loaded.ours:
        sentence = _("{file} is not overwritten: it is damaged, or does not start with a system message; use -o OUT")
        raise Fault(FILE, sentence.format(file=shown(job.file)))
    return loaded.reading, file


def _as_json(job: Job, outcome: Outcome, kept: Count, after: tuple[Entry, ...], written: Path | None) -> dict[str, Any]:
    plan, reason = outcome.plan, reason_json(outcome.plan.reason)
    return {
        "layer": outcome.layer,
        "flavour": job.flavour,
        "applied": bool(plan.edits),
        "reason": reason,
        "before": plain(plan.before),
        "after": plain(plan.after),
        "kept_prefix": plain(kept),
        "edits": [
            {
                "index": edit.index,
                "removed": len(edit.removed),
                "inserted": len(edit.inserted),
                "mark": mark_of(edit),
                "reason": reason,
            }
            for edit in plan.edits
        ],
        "model_calls": outcome.model_calls,
        "written": str(written) if written is not None else None,
        "messages": messages_of(after),
    }


def mark_of(edit: Edit) -> str | None:
    """The JSON name of what was done to the first entry of an edit."""
    mark = edit.inserted[0].newest_mark if edit.inserted else None
    return mark.name if mark is not None else None


def _lines(outcome: Outcome, kept: Count, written: Path | None) -> list[str]:
    from triptych_tui.wording import say, variables_line

    plan = outcome.plan
    sizes = table(
        [
            (_("before"), *size_in_words(plan.before)),
            (_("after"), *size_in_words(plan.after)),
            (_("same beginning"), *size_in_words(kept)),
        ],
        right=(1, 2),
    )
    rows = [(place_in_words(edit), mark_of(edit) or "") for edit in plan.edits]
    ending = _("written to {path}").format(path=shown(written)) if written else _("nothing was written")
    variables = variables_line(plan.reason)
    why = [say(plan.reason), *filter(None, [variables, plan.reason.printed])]
    sections = [why, sizes, table(rows) if rows else [], [ending]]
    return "\n\n".join("\n".join(section) for section in sections if section).split("\n")


def size_in_words(count: Count) -> tuple[str, str]:
    messages = ngettext("{count} message", "{count} messages", count.messages).format(count=f"{count.messages:,}")
    return messages, _("~{tokens} tokens").format(tokens=f"{count.tokens:,}")


def place_in_words(edit: Edit) -> str:
    """Which messages of the list before an edit is about."""
    last = edit.index + len(edit.removed) - 1
    if last <= edit.index:
        return _("message {index}").format(index=edit.index)
    return _("messages {first}–{last}").format(first=edit.index, last=last)
