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
from triptych.settings import chosen_model, with_numbers
from triptych.tally import Replayed, Summarizer
from triptych.tokens import ESTIMATORS, TokenCounter
from triptych_tui.cli_layer import Job, read_job, write_job
from triptych_tui.cli_models import GivenSummary, wait_and_tell, window_of, writer_of_summaries
from triptych_tui.cli_outcome import UNTOUCHED, flavour_of, outcome_lines, replayed_json, wrapped
from triptych_tui.cli_support import as_json, entries_in, option, print_json, print_lines, setting, settings_for
from triptych_tui.i18n import N_
from triptych_tui.stage_words import layer_in_words


@click.command(
    help=N_(
        "What a policy does at the next question: its stages up to the request, each with its reason. "
        "A user message at the end of the list is that question; else one without words is counted and not kept. "
        "Tool results that no layer has touched are cut first, as layer 1 would have cut them when they came. "
        "Without -o nothing is written."
    ),
    short_help=N_("What a policy does at the next question, stage by stage."),
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
    policy = with_numbers(find(settings.policy), settings)
    model = chosen_model(settings, os.environ)
    window = window_of(settings, model)
    job = Job(file, flavour_of(policy), output, False, json_wanted)
    reading, target = read_job(job)
    entries = entries_in(file, reading)
    counter = TokenCounter(ESTIMATORS[policy.estimator])
    writer: ChatModel = GivenSummary(summary) if summary is not None else writer_of_summaries(model)
    summarizer = Summarizer(writer, window.tokens, counter)
    outcome = asyncio.run(next_question(entries, policy, summarizer, counter, wait_and_tell))
    if summary is not None:
        outcome = outcome._replace(summary_calls=0)
    written = write_job(job, target, outcome.entries, changed=bool(outcome.edits))
    if json_wanted:
        place = str(written) if written is not None else None
        facts = {"estimator": policy.estimator, "window": window.tokens, "window_from": window.source, "written": place}
        print_json({**replayed_json(outcome), **facts, "messages": messages_of(outcome.entries)})
    else:
        print_lines([window.in_words(), "", *_lines(outcome, written)])


def _lines(outcome: Replayed, written: Path | None) -> list[str]:
    from triptych_tui.wording import say

    stages = [(layer_in_words(each.stage), say(each.reason)) for each in outcome.stages]
    why = wrapped(stages or [("", say(UNTOUCHED))])
    return outcome_lines(why, outcome.before, outcome.after, outcome.kept, outcome.edits, written)
