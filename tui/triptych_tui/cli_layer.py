"""One layer on a saved list: the list is read, the outcome told, and written where that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from triptych_tui.cli_outcome import edits_json, outcome_lines
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
)
from triptych_tui.i18n import _


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
    reading, target = read_job(job)
    session = Session(entries_in(job.file, reading), preset(job.flavour))
    before = session.entries
    outcome = planned(session)
    edits = outcome.plan.edits
    after = applied_to(before, edits)
    written = write_job(job, target, after, changed=bool(edits))
    kept = kept_prefix(before, edits, session.counter)
    if job.json_wanted:
        print_json(_as_json(job, outcome, kept, after, written))
    else:
        print_lines(_lines(outcome, kept, written))


def write_job(job: Job, target: SessionFile | None, after: tuple[Entry, ...], *, changed: bool) -> Path | None:
    """Write the list where that is asked for; a file that it came from stays where nothing has `changed`.

    Returns where it was written, None where it was not.
    """
    if target is None or (job.writes_back and not changed):
        return None
    with _held(target.path):
        target.save(after, overwrite=not job.writes_back)
    return target.path


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Write while no window has the file open for writing."""
    lock = SessionLock(path)
    try:
        lock.take()
    except SessionFileError as error:
        if error.reason.id != "session.in_use":
            raise
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
    plan = outcome.plan
    return {
        "layer": outcome.layer,
        "flavour": job.flavour,
        "applied": bool(plan.edits),
        "reason": reason_json(plan.reason),
        "before": plain(plan.before),
        "after": plain(plan.after),
        "kept_prefix": plain(kept),
        "edits": edits_json(plan.edits, [plan.reason] * len(plan.edits)),
        "model_calls": outcome.model_calls,
        "written": str(written) if written is not None else None,
        "messages": messages_of(after),
    }


def _lines(outcome: Outcome, kept: Count, written: Path | None) -> list[str]:
    from triptych_tui.wording import say, variables_line

    plan = outcome.plan
    why = [say(plan.reason), *filter(None, [variables_line(plan.reason), plan.reason.printed])]
    return outcome_lines(why, plan.before, plan.after, kept, plan.edits, written)
