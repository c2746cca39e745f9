"""`triptych run`: what a policy does with a saved list at the next question."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import click

from triptych.entries import messages_of
from triptych.models.base import ChatModel
from triptych.policy_files import find
from triptych.replay import next_question
from triptych.settings import chosen_model
from triptych.tally import Replayed, Summarizer
from triptych.tokens import ESTIMATORS, TokenCounter
from triptych_tui.cli_apply import wait_and_tell
from triptych_tui.cli_layer import Job, held, mark_of, place_in_words, read_job, size_in_words
from triptych_tui.cli_replay import (
    UNTOUCHED,
    GivenSummary,
    flavour_of,
    outcome_json,
    window_of,
    wrapped,
    writer_of_summaries,
)
from triptych_tui.cli_support import (
    as_json,
    entries_in,
    option,
    print_json,
    print_lines,
    setting,
    settings_for,
    shown,
    table,
)
from triptych_tui.i18n import N_, _
from triptych_tui.stage_words import layer_in_words


@click.command(
    help=N_(
        "What a policy does at the next question: its stages up to the request, each with its reason. "
        "A user message at the end of the list is that question; else one without words is counted and not kept. "
        "Tool results that no layer has touched are cut first, as layer 1 would have cut them when they came. "
        "Without -o nothing is written."
    )
)
@click.argument("file", metavar="FILE")
@setting("--policy", metavar="P", help=N_("The policy; see `triptych policies list`."))
@option("--summary", metavar="TEXT", help=N_("Take this summary and ask no model."))
@setting("--model", metavar="M", help=N_("The model that writes it; else the offline model."))
@setting("--base-url", metavar="U", help=N_("Its endpoint."))
@setting("--offline", is_flag=True, help=N_("Let the offline model write it."))
@setting("--window", type=int, metavar="N", help=N_("The model's context window in tokens."))
@option("--output", "-o", type=click.Path(path_type=Path), metavar="OUT", help=N_("Write the list to OUT."))
@as_json
def run(file: str, summary: str | None, output: Path | None, json_wanted: bool, **flags: Any) -> None:
    settings = settings_for(**flags)
    policy = find(settings.policy).with_options(
        limit=settings.limit, keep=settings.keep, keep_turns=settings.keep_turns
    )
    model = chosen_model(settings, os.environ)
    window = window_of(settings, model)
    job = Job(file, flavour_of(policy), output, False, json_wanted)
    reading, target = read_job(job)
    entries = entries_in(file, reading)
    counter = TokenCounter(ESTIMATORS[policy.estimator])
    writer: ChatModel = GivenSummary(summary) if summary is not None else writer_of_summaries(model)
    summarizer = Summarizer(writer, window.tokens, counter)
    told = asyncio.run(next_question(entries, policy, summarizer, counter, wait_and_tell))
    if summary is not None:
        told = told._replace(summary_calls=0)
    written = None
    if target is not None and (told.edits or not job.writes_back):
        with held(target.path):
            target.save(told.entries, overwrite=not job.writes_back)
        written = target.path
    if json_wanted:
        place = str(written) if written is not None else None
        facts = {"estimator": policy.estimator, "window": window.tokens, "window_from": window.source, "written": place}
        print_json({**outcome_json(told), **facts, "messages": messages_of(told.entries)})
    else:
        print_lines([window.in_words(), "", *_lines(told, written)])


def _lines(told: Replayed, written: Path | None) -> list[str]:
    from triptych_tui.wording import say

    stages = [(layer_in_words(each.stage), say(each.reason)) for each in told.stages]
    sizes = table(
        [
            (_("before"), *size_in_words(told.before)),
            (_("after"), *size_in_words(told.after)),
            (_("same beginning"), *size_in_words(told.kept)),
        ],
        right=(1, 2),
    )
    rows = [(place_in_words(edit), mark_of(edit) or "") for edit in told.edits]
    ending = _("written to {path}").format(path=shown(written)) if written else _("nothing was written")
    sections = [wrapped(stages or [("", say(UNTOUCHED))]), sizes, table(rows) if rows else [], [ending]]
    return "\n\n".join("\n".join(section) for section in sections if section).split("\n")
