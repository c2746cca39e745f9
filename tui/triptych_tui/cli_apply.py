"""`triptych apply`: one layer on a saved list, told as it went, and written where that is asked for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from triptych.edits import Edit
from triptych.edits import apply as applied_to
from triptych.entries import Entry, messages_of
from triptych.formats import Reading
from triptych.layers import clear, prune, summarize, truncate
from triptych.layers.plan import Plan, kept_prefix
from triptych.layers.summarize import SummaryPlan
from triptych.models.retries import Retry
from triptych.policy import preset
from triptych.session import Session
from triptych.stages import Layer
from triptych.storage.session_file import SessionFile, SessionFileError
from triptych.storage.session_lock import SessionLock
from triptych.tokens import Count
from triptych_tui.cli_support import (
    FILE,
    STANDARD_INPUT,
    USAGE,
    Command,
    Fault,
    as_json,
    entries_in,
    naming,
    option,
    plain,
    print_json,
    print_lines,
    read_session,
    reason_json,
    setting,
    settings_for,
    shown,
    table,
)
from triptych_tui.i18n import N_, _, ngettext

FOCUS = "\n另外, 请特别留意: "
"""Leads what `--focus` adds to the summarizer's instructions, in their language."""

Parameters = TypeVar("Parameters")


@dataclass(frozen=True, slots=True)
class Job:
    """What every layer is given: the file, and where its outcome goes."""

    file: str
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


def on_a_file(command: Command) -> Command:
    """The argument and options that all layers share, gathered in a `Job`."""

    @click.argument("file", metavar="FILE")
    @option(
        "--flavour",
        type=click.Choice(["lesson", "robust"]),
        default="lesson",
        metavar="F",
        help=N_("Whose rules: lesson."),
    )
    @option("--output", "-o", type=click.Path(path_type=Path), metavar="OUT", help=N_("Write the list to OUT."))
    @option("--in-place", is_flag=True, help=N_("Write the list back to FILE."))
    @as_json
    @wraps(command)
    def with_job(
        file: str, flavour: str, output: Path | None, in_place: bool, json_wanted: bool, **parameters: Any
    ) -> None:
        if flavour != "lesson":
            raise Fault(USAGE, _("the robust flavour is not built yet; leave --flavour out, or say --flavour lesson"))
        if output is not None and in_place:
            raise Fault(USAGE, _("-o and --in-place exclude each other; give one of them"))
        if in_place and file == STANDARD_INPUT:
            raise Fault(USAGE, _("standard input cannot be written back; use -o OUT"))
        command(Job(file, output, in_place, json_wanted), **parameters)

    return with_job  # type: ignore[return-value]


@click.group(
    help=N_("Run one layer on a saved list. Without -o or --in-place nothing is written."), no_args_is_help=False
)
def apply() -> None:
    pass


@apply.command("truncate", help=N_("Layer 1: cut the middle out of tool results."))
@setting("--limit", type=int, metavar="N", help=N_("Characters of a result that stay."))
@option("--head-share", type=float, metavar="X", help=N_("The part of them from the beginning, 0 to 1."))
@option("--unit", type=click.Choice(["characters"]), default="characters", help=N_("What is counted."))
@on_a_file
def apply_truncate(job: Job, limit: int | None, head_share: float | None, unit: str) -> None:
    settings = settings_for(limit=limit)
    parameters = _with(truncate.TruncateParameters.lesson(), limit=settings.limit, head_share=head_share)
    _run(job, lambda session: Outcome("truncate", truncate.plan(session.entries, parameters, session.counter)))


@apply.command("clear", help=N_("Layer 2: replace old tool results by a placeholder."))
@setting("--keep", type=int, metavar="N", help=N_("The newest results that stay."))
@option("--placeholder", metavar="T", help=N_("What stands for a cleared result."))
@option("--exclude-tool", multiple=True, metavar="NAME", help=N_("Leave this tool's results alone; may be repeated."))
@on_a_file
def apply_clear(job: Job, keep: int | None, placeholder: str | None, exclude_tool: tuple[str, ...]) -> None:
    settings = settings_for(keep=keep)
    lesson = clear.ClearParameters.lesson()
    parameters = _with(lesson, keep=settings.keep, placeholder=placeholder, exclude_tools=exclude_tool)
    _run(job, lambda session: Outcome("clear", clear.plan(session.entries, parameters, session.counter)))


@apply.command("prune", help=N_("Layer 2, the other way: keep beginning and end of old tool results."))
@setting("--keep-turns", type=int, metavar="N", help=N_("The newest turns whose results stay whole."))
@option("--max-lines", type=int, metavar="N", help=N_("Prune results of more lines than this."))
@option("--max-characters", type=int, metavar="N", help=N_("Prune results of more characters than this."))
@on_a_file
def apply_prune(job: Job, keep_turns: int | None, max_lines: int | None, max_characters: int | None) -> None:
    settings = settings_for(keep_turns=keep_turns)
    parameters = _with(
        prune.PruneParameters.lesson(),
        keep_turns=settings.keep_turns,
        max_lines=max_lines,
        max_characters=max_characters,
    )
    _run(job, lambda session: Outcome("prune", prune.plan(session.entries, parameters, session.counter)))


@apply.command("summarize", help=N_("Layer 3: replace old turns by a summary."))
@setting("--keep-turns", type=int, metavar="N", help=N_("The newest user turns that stay."))
@option("--focus", metavar="T", help=N_("What the summary should heed."))
@option("--summary", metavar="TEXT", help=N_("Take this summary and ask no model."))
@setting("--model", metavar="M", help=N_("The model that writes it; else the offline model."))
@setting("--base-url", metavar="U", help=N_("Its endpoint."))
@setting("--offline", is_flag=True, help=N_("Let the offline model write it."))
@on_a_file
def apply_summarize(job: Job, focus: str | None, summary: str | None, **flags: Any) -> None:
    from triptych.settings import chosen_model

    settings = settings_for(**flags)
    lesson = summarize.SummarizeParameters.lesson()
    prompt = lesson.prompt + FOCUS + focus if focus else None
    parameters = _with(lesson, keep_turns=settings.keep_turns, prompt=prompt)

    def planned(session: Session) -> Outcome:
        from triptych.summary_writing import write_summary

        first = summarize.plan(session.entries, parameters, session.counter, session.new_ids(2))
        if not isinstance(first, SummaryPlan):
            return Outcome("summarize", first)
        if summary is not None:
            return Outcome("summarize", first.with_summary(summary))
        model = chosen_model(settings, os.environ)
        written = asyncio.run(write_summary(session, first, model, _wait_and_tell))
        return Outcome("summarize", written.plan, model_calls=1)

    _run(job, planned)


async def _wait_and_tell(retry: Retry) -> None:
    """Say on standard error what the next try waits for."""
    from triptych_tui.wording import fault_in_short

    told = _("retry {attempt}/{of} in {seconds} s").format(
        attempt=retry.attempt, of=retry.of, seconds=f"{retry.seconds:.0f}"
    )
    click.echo(" · ".join(filter(None, (*fault_in_short(retry.reason), told))), err=True)
    await asyncio.sleep(retry.seconds)


def _with(parameters: Parameters, **changes: Any) -> Parameters:
    """The parameters with those changed that were given."""
    return replace(parameters, **{name: value for name, value in changes.items() if value is not None})  # type: ignore[type-var]


def _run(job: Job, planned: Callable[[Session], Outcome]) -> None:
    """Plan the layer on the file's list, write what comes of it where that is asked for, and tell."""
    reading, file = _read(job)
    session = Session(entries_in(job.file, reading), preset("lesson"))
    before = session.entries
    outcome = planned(session)
    edits = outcome.plan.edits
    after = applied_to(before, edits)
    written = None
    if file is not None and (edits or not job.writes_back):
        with _held(file.path):
            file.save(after, overwrite=not job.writes_back)
        written = file.path
    kept = kept_prefix(before, edits, session.counter)
    if job.json_wanted:
        print_json(_as_json(outcome, kept, after, written))
    else:
        print_lines(_lines(outcome, kept, written))


@contextmanager
def _held(path: Path) -> Iterator[None]:
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


def _read(job: Job) -> tuple[Reading, SessionFile | None]:
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


def _as_json(outcome: Outcome, kept: Count, after: tuple[Entry, ...], written: Path | None) -> dict[str, Any]:
    plan, reason = outcome.plan, reason_json(outcome.plan.reason)
    return {
        "layer": outcome.layer,
        "flavour": "lesson",
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
            (_("before"), *_size(plan.before)),
            (_("after"), *_size(plan.after)),
            (_("same beginning"), *_size(kept)),
        ],
        right=(1, 2),
    )
    rows = [(_place(edit), mark_of(edit) or "") for edit in plan.edits]
    ending = _("written to {path}").format(path=shown(written)) if written else _("nothing was written")
    variables = variables_line(plan.reason)
    why = [say(plan.reason), *filter(None, [variables, plan.reason.printed])]
    sections = [why, sizes, table(rows) if rows else [], [ending]]
    return "\n\n".join("\n".join(section) for section in sections if section).split("\n")


def _size(count: Count) -> tuple[str, str]:
    messages = ngettext("{count} message", "{count} messages", count.messages).format(count=f"{count.messages:,}")
    return messages, _("~{tokens} tokens").format(tokens=f"{count.tokens:,}")


def _place(edit: Edit) -> str:
    """Which messages of the list before an edit is about."""
    last = edit.index + len(edit.removed) - 1
    if last <= edit.index:
        return _("message {index}").format(index=edit.index)
    return _("messages {first}–{last}").format(first=edit.index, last=last)
