"""Replaying a session under a policy, and how that grows with it: many questions, and one with very many calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.benchmarks.layers import seconds, talk
from tests.benchmarks.table import Finding, compare
from triptych.entries import entries_from
from triptych.messages import Message
from triptych.models.offline import OfflineModel
from triptych.policy import Policy, preset
from triptych.replay import replayed
from triptych.tally import Summarizer
from triptych.tokens import ESTIMATORS, TokenCounter

SMALL, LARGE = 2_000, 20_000
GIANT_SMALL, GIANT_LARGE = 400, 4_000
RUNS = 3
WINDOW, ANY_LENGTH = 200_000, 1_000_000_000
GROWTH_GOAL = 15

REPLAYS: tuple[tuple[str, str, Callable[[int], list[Message]], int, int], ...] = (
    ("robust", "questions", talk, SMALL, LARGE),
    ("robust", "calls of one question", lambda count: one_question(count, answered=True), SMALL, LARGE),
    ("lesson", "unanswered calls", lambda count: one_question(count, answered=False), GIANT_SMALL, GIANT_LARGE),
)
"""A policy, a session of so many messages, small and large."""


def run() -> list[Finding]:
    """CPU time of a replay, summaries of the offline model included."""
    findings: list[Finding] = []
    for name, of, session, small, large in REPLAYS:
        policy, times = preset(name), ([], [])
        for _ in range(RUNS):
            for place, count in enumerate((small, large)):
                messages = session(count)
                times[place].append(seconds(lambda: replay(messages, policy)))  # noqa: B023
        findings.append(compare(f"replay, {name}, {of}, {large:,} against {small:,}", *times, GROWTH_GOAL))
    return findings


def replay(messages: list[Message], policy: Policy) -> None:
    counter = TokenCounter(ESTIMATORS[policy.estimator])
    summarizer = Summarizer(OfflineModel(ANY_LENGTH), WINDOW, counter)
    asyncio.run(replayed(entries_from(messages), policy, summarizer, counter))


def one_question(count: int, *, answered: bool) -> list[Message]:
    """A question and one call after another, with results or, as after a crash, without any."""
    calls = [
        message for message in talk(4 * count) if message.get("tool_calls") or (answered and message["role"] == "tool")
    ]
    return [{"role": "user", "content": "Do all of it."}, *calls][:count]
