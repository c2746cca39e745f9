"""`triptych compare`: one session under several policies."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from triptych.entries import messages_of
from triptych.formats import Reading
from triptych.messages import turn_starts
from triptych.models.base import ChatModel
from triptych.models.keys import OPENAI_URL, host_of
from triptych.models.offline import OfflineModel
from triptych.policy import Policy
from triptych.policy_files import find
from triptych.recording import Recording, as_said
from triptych.replay import most_calls, next_question, replayed
from triptych.settings import Settings, chosen_model
from triptych.tally import Replayed, Summarizer
from triptych.tokens import ESTIMATORS, TokenCounter
from triptych_tui.cli_models import ANY_LENGTH, Window, wait_and_tell, window_of, writer_of_summaries
from triptych_tui.cli_outcome import replayed_json
from triptych_tui.cli_support import (
    STANDARD_INPUT,
    USAGE,
    Fault,
    as_json,
    entries_in,
    option,
    print_json,
    print_lines,
    read_session,
    setting,
    settings_for,
    shown,
)
from triptych_tui.i18n import N_, _, ngettext

MOST_POLICIES = 4


class Comparison(NamedTuple):
    """A session under several policies.

    ahead: only the next question was asked. recording: what was said, or `ahead` the list as it is. `written_by` is
    the host of the model that wrote summaries, "" for the offline model.
    """

    file: str
    ahead: bool
    recording: Recording
    questions: int
    window: Window
    estimator: str
    written_by: str
    outcomes: tuple[Replayed, ...]


@click.command(
    help=N_(
        "How a session would have gone under each of one to four policies, each with its own numbers: what it would "
        "hold, what requests would have cost, what each layer would have done. Answers, calls and results are used as "
        "they were said, whole where the session's journal remembers them. Without a network: summaries are written "
        "by the offline model, unless --summaries model. FILE is not changed."
    ),
    short_help=N_("One session under one to four policies."),
)
@click.argument("file", metavar="FILE")
@option("--policy", "names", multiple=True, metavar="P", help=N_("A policy; to be repeated."))
@option(
    "--from",
    "origin",
    type=click.Choice(("start", "now")),
    default="start",
    metavar="F",
    help=N_("start: question by question from its start; now: what `run` does, the next question alone."),
)
@option(
    "--summaries",
    type=click.Choice(("offline", "model")),
    default="offline",
    metavar="S",
    help=N_("Who writes summaries: offline, or model for the configured one, which may cost money."),
)
@option("--yes", is_flag=True, help=N_("Do not ask before requests are sent."))
@setting("--model", metavar="M", help=N_("The model that writes summaries, where that is wanted."))
@setting("--base-url", metavar="U", help=N_("Its endpoint."))
@setting("--window", type=int, metavar="N", help=N_("The model's context window in tokens."))
@as_json
def compare(
    file: str, names: tuple[str, ...], origin: str, summaries: str, yes: bool, json_wanted: bool, **flags: Any
) -> None:
    if not 1 <= len(names) <= MOST_POLICIES:
        raise Fault(
            USAGE, _("one to {most} policies can be compared; name each with --policy").format(most=MOST_POLICIES)
        )
    policies = [find(name) for name in names]
    settings = settings_for(**flags)
    model = _model(settings, summaries)
    reading = read_session(file)
    ahead = origin == "now"
    recording = Recording(entries_in(file, reading), remembered=False) if ahead else _recording_in(file, reading)
    window, counter = window_of(settings, model), TokenCounter(ESTIMATORS[policies[0].estimator])
    summarizers = [_summarizer(recording, policy, model, window, counter, ahead=ahead) for policy in policies]
    host = "" if model.offline else host_of(settings.base_url or OPENAI_URL)
    if host:
        _announce(summarizers, host, ask=not yes)
    comparison = Comparison(
        file=file,
        ahead=ahead,
        recording=recording,
        questions=len(turn_starts(messages_of(recording.entries))),
        window=window,
        estimator=policies[0].estimator,
        written_by=host,
        outcomes=asyncio.run(_replayed(recording, policies, summarizers, counter, ahead=ahead)),
    )
    if json_wanted:
        print_json(_as_json(comparison))
    else:
        from triptych_tui.compare_table import lines

        print_lines(lines(comparison))


def _recording_in(file: str, reading: Reading) -> Recording:
    """What was said in a session, as its journal remembers it, or else as its list does."""
    from triptych.formats.notices import guess_marks
    from triptych.storage.kept_session import timeline_on_disk

    is_ours = file != STANDARD_INPUT and reading.ours
    timeline = timeline_on_disk(Path(file), reading.messages) if is_ours else None
    if timeline is None:
        return Recording(guess_marks(reading.messages), remembered=False)
    return Recording(as_said(timeline), remembered=True)


def _model(settings: Settings, summaries: str) -> ChatModel:
    """Who writes the summaries."""
    if summaries == "offline":
        return OfflineModel(ANY_LENGTH)
    model = chosen_model(settings, os.environ)
    if model.offline:
        raise Fault(USAGE, _("--summaries model needs a model; name one with --model, or leave --summaries out"))
    return model


def _summarizer(
    recording: Recording, policy: Policy, model: ChatModel, window: Window, counter: TokenCounter, *, ahead: bool
) -> Summarizer:
    """What writes the summaries under one policy; of a model that may cost money no more than can come due."""
    granted = most_calls(recording.entries, policy, counter, window.tokens, ahead=ahead)
    return Summarizer(writer_of_summaries(model), window.tokens, counter, None if model.offline else granted)


def _announce(summarizers: Sequence[Summarizer], host: str, *, ask: bool) -> None:
    """Say what will be sent where, and ask whoever sits there."""
    calls = sum(summarizer.most_calls or 0 for summarizer in summarizers)
    said = ngettext(
        "at most {calls} request for summaries goes to {host}",
        "at most {calls} requests for summaries go to {host}",
        calls,
    )
    click.echo(said.format(calls=f"{calls:,}", host=shown(host)), err=True)
    if ask and calls and sys.stdin is not None and sys.stdin.isatty():
        click.confirm(_("Send them?"), abort=True, err=True)


async def _replayed(
    recording: Recording,
    policies: Sequence[Policy],
    summarizers: Sequence[Summarizer],
    counter: TokenCounter,
    *,
    ahead: bool,
) -> tuple[Replayed, ...]:
    replay = next_question if ahead else replayed
    outcomes = [
        await replay(recording.entries, policy, summarizer, counter, wait_and_tell)
        for policy, summarizer in zip(policies, summarizers, strict=True)
    ]
    return tuple(outcomes)


def _as_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "from": "now" if comparison.ahead else "start",
        "messages": len(comparison.recording.entries),
        "questions": comparison.questions,
        "estimator": comparison.estimator,
        "window": comparison.window.tokens,
        "window_from": comparison.window.source,
        "originals": "journal" if comparison.recording.remembered else "list",
        "shortened_before": comparison.recording.shortened,
        "summaries": "model" if comparison.written_by else "offline",
        "policies": [
            {
                **replayed_json(outcome),
                "requests": outcome.requests,
                "peak_tokens": outcome.peak,
                "over_window": outcome.over_window,
                "rebilled_tokens": outcome.rebilled,
                "summary_tokens": outcome.summary_tokens,
                "failed_summaries": outcome.failed_summaries,
                "truncated": outcome.truncated,
                "cleared": outcome.cleared,
                "pruned": outcome.pruned,
                "summarized": outcome.summarized,
                "removed": outcome.removed,
                "acts": [
                    {
                        "question": act.question,
                        "stage": act.stage,
                        "messages": act.messages,
                        "saved_tokens": act.saved,
                    }
                    for act in outcome.acts
                ],
            }
            for outcome in comparison.outcomes
        ],
    }
