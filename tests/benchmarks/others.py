"""Clearing old results of a long list: ours against LangChain's, and against a plain loop over the messages."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tests.benchmarks.layers import SMALL, seconds, talk
from tests.benchmarks.table import Finding, compare
from triptych.entries import entries_from
from triptych.layers import clear
from triptych.lesson_api import clean_old_tool_result
from triptych.messages import Message
from triptych.policy import preset
from triptych.tokens import ESTIMATORS, TokenCounter

RUNS = 3
LOOP_GOAL, PLAN_GOAL, PLAN_TO_LOOP_GOAL = 0.02, 0.067, 25
"""Clearing takes at most a fiftieth of LangChain's time; with marks, reasons and what takes it back a fifteenth, which
is what a quarter of one `json.dumps` comes to."""


def run() -> list[Finding]:
    """CPU time, of clearing as the lesson does, in place, and of planning it. The counter knows the entries already, as
    a session's does."""
    policy = preset("langchain")
    assert policy.clear is not None
    parameters, counter = policy.clear, TokenCounter(ESTIMATORS[policy.estimator])
    messages = talk(SMALL)
    entries = entries_from(messages)
    counter.total(entries)

    def planned() -> object:
        return clear.plan(entries, parameters, counter)

    def cleared() -> object:
        return clean_old_tool_result(copies.pop(), parameters.keep, parameters.placeholder)

    def loop() -> object:
        return plain_loop(messages, parameters.keep, parameters.placeholder)

    pairs = [("planning to clear, against a plain loop", loop, planned, PLAN_TO_LOOP_GOAL)]
    if (theirs := langchains(messages)) is not None:
        pairs.append(("clear, against LangChain's ClearToolUsesEdit", theirs, cleared, LOOP_GOAL))
        pairs.append(("planning to clear, against the same", theirs, planned, PLAN_GOAL))
    findings: list[Finding] = []
    for name, baseline, subject, goal in pairs:
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(RUNS):
            copies = [[{**message} for message in messages]]
            times[0].append(seconds(baseline))
            times[1].append(seconds(subject))
        findings.append(compare(f"{name}, {SMALL:,}", *times, goal))
    return findings


def plain_loop(messages: list[Message], keep: int, placeholder: str) -> list[Message]:
    """The least that clearing takes: no pairs, no tokens, no marks, nothing to undo."""
    old = [index for index, message in enumerate(messages) if message["role"] == "tool"][:-keep]
    cleared = list(messages)
    for index in old:
        cleared[index] = {**messages[index], "content": placeholder}
    return cleared


def langchains(messages: list[Message]) -> Callable[[], object] | None:
    """LangChain's edit on the same list; None where it is not installed."""
    try:
        from langchain.agents.middleware import ClearToolUsesEdit
        from langchain_core.messages import convert_to_messages
    except ImportError:
        print("LangChain is not installed (pip install -e '.[differential]'), so it is left out", file=sys.stderr)
        return None
    converted = convert_to_messages(messages)
    edit = ClearToolUsesEdit(trigger=1)
    return lambda: edit.apply(list(converted), count_tokens=len)
