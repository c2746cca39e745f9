"""The lesson's own loops and the planning of each layer on long lists, against one `json.dumps` of the list, and how
that grows with the list. A layer's goals are for a list that has grown by a message since it was planned for last; what
a list costs that was never seen stands below."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from dataclasses import replace
from time import process_time

from tests.benchmarks.table import Finding, compare
from triptych import lesson_api
from triptych.edits import append_edit
from triptych.entries import Entry, entries_from, messages_of
from triptych.layers import clear, prune, summarize, truncate
from triptych.layers.clear import ClearParameters
from triptych.layers.exchanges import exchanges_of
from triptych.layers.prune import PruneParameters
from triptych.layers.summarize import SummarizeParameters
from triptych.layers.truncate import TruncateParameters
from triptych.messages import Message
from triptych.tokens import ESTIMATORS, TokenCounter

SMALL, LARGE = 100_000, 1_000_000
RUNS = 3
LOOPS_GOAL, PLAN_GOAL, GROWTH_GOAL = 0.1, 0.25, 15

Planning = Callable[[tuple[Entry, ...], TokenCounter], object]

LAYERS: dict[str, Planning] = {
    "truncate, lesson": lambda entries, counter: truncate.plan(entries, TruncateParameters.lesson(), counter),
    "clear, lesson": lambda entries, counter: clear.plan(entries, ClearParameters.lesson(), counter),
    "truncate, robust": lambda entries, counter: truncate.plan(
        entries, replace(TruncateParameters.robust(), limit=2000), counter
    ),
    "clear, robust": lambda entries, counter: clear.plan(entries, ClearParameters.robust(), counter),
    "prune, robust": lambda entries, counter: prune.plan(entries, PruneParameters.robust(), counter),
    "cut point and request, robust": lambda entries, counter: summarize.plan(
        entries, SummarizeParameters.robust(), counter, 10**9, window=200_000
    ),
}


def run() -> list[Finding]:
    """CPU time. The counter knows the entries already, as a session's does."""
    small, large = (entries_from(talk(count)) for count in (SMALL, LARGE))
    counter = TokenCounter(ESTIMATORS["meowgent"])
    for entries in (small, large):
        counter.total(entries)
    messages = messages_of(large)
    gc.freeze()  # what stays need not be looked through before each measurement
    dumps = [saved(messages) for _ in range(RUNS)]
    copies = [[{**message} for message in messages] for _ in range(RUNS)]
    loops = [seconds(lambda copy=copy: lessons_loops(copy)) for copy in copies]  # type: ignore[misc]
    del copies
    findings = [compare(f"the lesson's loops, {LARGE:,} against json.dumps", dumps, loops, LOOPS_GOAL)]
    for name, plan in LAYERS.items():
        dumps, short, long, first = [], [], [], []
        for _ in range(RUNS):
            dumps.append(saved(messages))
            short.append(planned(plan, small, counter)[1])
            once, again = planned(plan, large, counter)
            first.append(once)
            long.append(again)
        findings.append(compare(f"{name}, {LARGE:,} against json.dumps", dumps, long, PLAN_GOAL))
        findings.append(compare("    for the first time", dumps, first, None))
        findings.append(compare(f"    {LARGE:,} against {SMALL:,}", short, long, GROWTH_GOAL))
    return findings


def saved(messages: list[Message]) -> float:
    """Seconds that it takes to write the list as it is saved."""
    return seconds(lambda: json.dumps(messages, indent=2, ensure_ascii=False))


def planned(plan: Planning, entries: tuple[Entry, ...], counter: TokenCounter) -> tuple[float, float]:
    """Seconds of a plan for a list that was never seen, and of the next when a message has come, as in a session."""
    exchanges_of(())
    first = seconds(lambda: plan(entries, counter))
    added = Entry(len(entries), {"role": "user", "content": "one question more"})
    longer = (*entries, added)
    counter.follow(entries, (append_edit(entries, added),), longer)
    return first, seconds(lambda: plan(longer, counter))


def lessons_loops(messages: list[Message]) -> None:
    """Truncate, clear in place and split, as the lesson has them."""
    for message in messages:
        if message["role"] == "tool":
            lesson_api.cut_tool_result(message["content"], lesson_api.MAX_CHAR_NUMBER)
    lesson_api.clean_old_tool_result(messages)
    lesson_api.classify_old_and_kept_msgs(messages, lesson_api.DEFAULT_KEEP_TURNS)


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()
    started = process_time()
    work()
    ended = process_time()
    gc.enable()
    return ended - started


RESULTS = ((14, 1), (85, 1), (103, 1), (111, 2), (114, 1), (120, 4), (283, 9), (634, 21), (1555, 52), (6000, 150))
ARGUMENTS = (65, 78, 86, 88, 98, 128, 408, 632, 1192, 2000)
ANSWERS = (0, 0, 0, 24, 46, 82, 148, 366, 700, 0)
"""The deciles of a coding session of 900 messages: characters and lines of results, characters of what else is said."""

CALLS_IN_A_TURN = 4


def talk(count: int) -> list[Message]:
    """Turns of ten messages, as in that session: a question, calls with their results, an answer; 4 % is not ASCII."""
    messages: list[Message] = [{"role": "system", "content": "You are helpful."}]
    number = 0
    while len(messages) < count:
        messages.append(
            {"role": "user", "content": f"question {number}, which is about as long as people's questions are"}
        )
        for _ in range(CALLS_IN_A_TURN):
            number += 1
            messages += _exchange(number)
        messages.append(
            {"role": "assistant", "content": f"answer {number}, which is a little longer than the question was"}
        )
    return messages[:count]


def _exchange(number: int) -> list[Message]:
    """A call and its result; ids repeat, as small models have them."""
    place, id = number % 10, f"call_{number % 7}"
    characters, lines = RESULTS[place]
    written = json.dumps({"path": f"src/module_{number}.py", "text": "x" * (ARGUMENTS[place] - 45)})
    call = {"id": id, "type": "function", "function": {"name": "edit_file", "arguments": written}}
    said = f"step {number}: ".ljust(ANSWERS[place], ".") if ANSWERS[place] else None
    line = f"line {number} of a file".ljust(characters // lines, "-")[: characters // lines - 1] + "\n"
    text = line * lines + "字" * (number % 10 == 3)
    return [
        {"role": "assistant", "content": said, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": text},
    ]
