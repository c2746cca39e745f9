"""Clearing old results of a long list: ours against LangChain's, and against a plain loop over the messages."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tests.benchmarks.layers import SMALL, seconds, talk
from tests.benchmarks.table import Finding, compare
from triptych.entries import entries_from
from triptych.layers import clear
from triptych.messages import Message
from triptych.policy import preset
from triptych.tokens import ESTIMATORS, TokenCounter

RUNS = 3
LANGCHAIN_GOAL, LOOP_GOAL = 0.02, 25


def run() -> list[Finding]:
    """CPU time, of planning alone. The counter knows the entries already, as a session's does."""
    policy = preset("langchain")
    assert policy.clear is not None
    parameters, counter = policy.clear, TokenCounter(ESTIMATORS[policy.estimator])
    messages = talk(SMALL)
    entries = entries_from(messages)
    counter.total(entries)
    ways: list[tuple[str, float, Callable[[], object]]] = [
        ("a plain loop", LOOP_GOAL, lambda: plain_loop(messages, parameters.keep, parameters.placeholder))
    ]
    if (theirs := langchains(messages)) is not None:
        ways.insert(0, ("LangChain's ClearToolUsesEdit", LANGCHAIN_GOAL, theirs))
    findings: list[Finding] = []
    for name, goal, way in ways:
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(RUNS):
            times[0].append(seconds(way))
            times[1].append(seconds(lambda: clear.plan(entries, parameters, counter)))
        findings.append(compare(f"clear, {SMALL:,} against {name}", *times, goal))
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
