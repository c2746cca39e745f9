"""`triptych apply`: the layers as commands, with their parameters in either flavour."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from triptych.events import Event, StreamEnded, SummaryPieceSent
from triptych.layers import clear, prune, summarize, truncate
from triptych.layers.clear import ClearParameters
from triptych.layers.parameters import UNITS, Flavour
from triptych.layers.prune import PruneParameters
from triptych.layers.summarize import SummarizeParameters, SummaryPlan
from triptych.layers.truncate import TruncateParameters
from triptych.models.base import ChatModel
from triptych.session import Session
from triptych_tui.cli_layer import Job, Outcome, run
from triptych_tui.cli_models import wait_and_tell
from triptych_tui.cli_support import (
    STANDARD_INPUT,
    USAGE,
    Command,
    Fault,
    as_json,
    option,
    setting,
    settings_for,
)
from triptych_tui.i18n import N_, _

FOCUS = "\n另外, 请特别留意: "
"""Leads what `--focus` adds to the lesson's instructions for a summary, in their language."""

Parameters = TypeVar("Parameters", TruncateParameters, ClearParameters, PruneParameters, SummarizeParameters)


def on_a_file(command: Command) -> Command:
    """The argument and options that all layers share, gathered in a `Job`."""

    @click.argument("file", metavar="FILE")
    @option(
        "--flavour",
        type=click.Choice(get_args(Flavour)),
        default="robust",
        metavar="F",
        help=N_("Whose rules: robust, or lesson for those of the published lesson, faults included."),
    )
    @option("--output", "-o", type=click.Path(path_type=Path), metavar="OUT", help=N_("Write the list to OUT."))
    @option("--in-place", is_flag=True, help=N_("Write the list back to FILE."))
    @as_json
    @wraps(command)
    def with_job(
        file: str, flavour: Flavour, output: Path | None, in_place: bool, json_wanted: bool, **parameters: Any
    ) -> None:
        if output is not None and in_place:
            raise Fault(USAGE, _("-o and --in-place exclude each other; give one of them"))
        if in_place and file == STANDARD_INPUT:
            raise Fault(USAGE, _("standard input cannot be written back; use -o OUT"))
        command(Job(file, flavour, output, in_place, json_wanted), **parameters)

    return with_job  # type: ignore[return-value]


@click.group(
    help=N_("Run one layer on a saved list. Without -o or --in-place nothing is written."), no_args_is_help=False
)
def apply() -> None:
    pass


@apply.command("truncate", help=N_("Layer 1: cut the middle out of tool results."))
@setting("--limit", type=int, metavar="N", help=N_("How much of a result stays."))
@option("--head-share", type=float, metavar="X", help=N_("The part of it from the beginning, 0 to 1."))
@option("--unit", type=click.Choice(UNITS), metavar="U", help=N_("What is counted: characters, lines or bytes."))
@on_a_file
def apply_truncate(job: Job, limit: int | None, head_share: float | None, unit: str | None) -> None:
    if unit is not None and job.flavour == "lesson":
        raise Fault(USAGE, _("the lesson flavour counts characters and has no --unit; leave out one of the two"))
    limit = settings_for(limit=limit).limit
    parameters = _of(job, TruncateParameters, head_share=head_share, unit=unit)
    if limit is not None:
        parameters = parameters.with_limit(limit)
    run(job, lambda session: Outcome("truncate", truncate.plan(session.entries, parameters, session.counter)))


@apply.command("clear", help=N_("Layer 2: replace old tool results by a placeholder."))
@setting("--keep", type=int, metavar="N", help=N_("The newest results that stay."))
@option("--placeholder", metavar="T", help=N_("What stands for a cleared result."))
@option("--exclude-tool", multiple=True, metavar="NAME", help=N_("Leave this tool's results alone; may be repeated."))
@on_a_file
def apply_clear(job: Job, keep: int | None, placeholder: str | None, exclude_tool: tuple[str, ...]) -> None:
    keep = settings_for(keep=keep).keep
    parameters = _of(job, ClearParameters, keep=keep, placeholder=placeholder, exclude_tools=exclude_tool)
    run(job, lambda session: Outcome("clear", clear.plan(session.entries, parameters, session.counter)))


@apply.command("prune", help=N_("Layer 2, the other way: keep beginning and end of old tool results."))
@setting("--keep-turns", type=int, metavar="N", help=N_("The newest turns whose results stay whole."))
@option("--max-lines", type=int, metavar="N", help=N_("Prune results of more lines than this."))
@option("--max-characters", type=int, metavar="N", help=N_("Prune results of more characters than this."))
@on_a_file
def apply_prune(job: Job, keep_turns: int | None, max_lines: int | None, max_characters: int | None) -> None:
    from triptych.settings import turns_to_keep

    keep_turns = turns_to_keep(settings_for(keep_turns=keep_turns), job.flavour)
    parameters = _of(job, PruneParameters, keep_turns=keep_turns, max_lines=max_lines, max_characters=max_characters)
    run(job, lambda session: Outcome("prune", prune.plan(session.entries, parameters, session.counter)))


@apply.command("summarize", help=N_("Layer 3: replace old turns by a summary."))
@setting("--keep-turns", type=int, metavar="N", help=N_("The newest user turns that stay."))
@option("--focus", metavar="T", help=N_("What the summary should heed."))
@option("--summary", metavar="TEXT", help=N_("Take this summary and ask no model."))
@setting("--model", metavar="M", help=N_("The model that writes it; else the offline model."))
@setting("--base-url", metavar="U", help=N_("Its endpoint."))
@setting("--offline", is_flag=True, help=N_("Let the offline model write it."))
@setting("--window", type=int, metavar="N", help=N_("The model's context window in tokens."))
@on_a_file
def apply_summarize(job: Job, focus: str | None, summary: str | None, **flags: Any) -> None:
    from triptych.settings import chosen_model, turns_to_keep

    settings = settings_for(**flags)
    keep_turns = turns_to_keep(settings, job.flavour)
    parameters, model = _summarizing(job, keep_turns, focus), chosen_model(settings, os.environ)

    def planned(session: Session) -> Outcome:
        ids = session.new_ids(2)
        first = summarize.plan(session.entries, parameters, session.counter, ids, window=model.window)
        if not isinstance(first, SummaryPlan):
            return Outcome("summarize", first)
        return (
            Outcome("summarize", first.with_summary(summary))
            if summary is not None
            else _written(session, first, model)
        )

    run(job, planned)


def _summarizing(job: Job, keep_turns: int | None, focus: str | None) -> SummarizeParameters:
    parameters = _of(job, SummarizeParameters, keep_turns=keep_turns)
    if not focus:
        return parameters
    if job.flavour == "robust":
        return replace(parameters, focus=focus)
    return replace(parameters, prompt=parameters.prompt + FOCUS + focus)


def _written(session: Session, first: SummaryPlan, model: ChatModel) -> Outcome:
    """Let the model write the summary; how far it is, where it takes several requests, is said on standard error."""
    from triptych.summary_writing import write_summary

    requests = 0

    def tell(event: Event) -> None:
        nonlocal requests
        requests += isinstance(event, StreamEnded)
        if isinstance(event, SummaryPieceSent):
            click.echo(_("summary, piece {number} of {of}").format(number=event.number, of=event.of), err=True)

    session.subscribe(tell)
    written = asyncio.run(write_summary(session, first, model, wait_and_tell))
    return Outcome("summarize", written.plan, model_calls=requests)


def _of(job: Job, kind: type[Parameters], **given: Any) -> Parameters:
    """The parameters of the flavour, with those changed that were given."""
    parameters: Parameters = kind.robust() if job.flavour == "robust" else kind.lesson()
    return replace(parameters, **{name: value for name, value in given.items() if value is not None})
