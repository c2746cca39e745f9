"""Layer 2, robust: which results go, and which stay though they are old."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from triptych.edits import apply
from triptych.entries import Cleared, Entry, entries_from, messages_of
from triptych.layers import clear, prune
from triptych.layers.clear import ClearParameters
from triptych.layers.parameters import ParameterError
from triptych.layers.prune import PruneParameters
from triptych.messages import Message
from triptych.tokens import ESTIMATORS, TokenCounter

COUNTER = TokenCounter(ESTIMATORS["chars4"])
LONG = "word " * 100  # 125 tokens


def batch(*texts: str, tool: str = "grep", first_id: int = 0) -> list[Message]:
    """One message with a call for every result, their arguments numbered, and the results."""
    calls = [
        {"id": f"c{first_id + at}", "type": "function", "function": {"name": tool, "arguments": f'{{"n": {at}}}'}}
        for at in range(len(texts))
    ]
    results = [{"role": "tool", "tool_call_id": f"c{first_id + at}", "content": text} for at, text in enumerate(texts)]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


def turn(*batches: list[Message], answered: bool = True) -> list[Message]:
    messages = [{"role": "user", "content": "q"}, *(message for each in batches for message in each)]
    return [*messages, {"role": "assistant", "content": "done"}] if answered else messages


def robust(**changes: Any) -> ClearParameters:
    return replace(ClearParameters.robust(), **{"minimum_gain": 0, "placeholder": "[cleared]", **changes})


def left(entries: tuple[Entry, ...], parameters: ClearParameters, **how: bool) -> list[str]:
    """The results afterwards, the long ones as +, cleared ones as -."""
    after = apply(entries, clear.plan(entries, parameters, COUNTER, **how).edits)
    contents = [message["content"] for message in messages_of(after) if message["role"] == "tool"]
    return ["-" if content == "[cleared]" else "+" if content == LONG else content for content in contents]


def test_ten_parallel_calls_that_the_model_has_not_answered_stay_with_keep_6() -> None:
    entries = entries_from(turn(batch(LONG), batch(*[LONG] * 10), answered=False))
    assert left(entries, robust(keep=6, whole_batches=False)) == ["-", *"++++++++++"]


def test_a_batch_is_kept_whole_or_part_by_part() -> None:
    entries = entries_from(turn(batch(LONG), batch(LONG, LONG), batch(LONG)))
    assert left(entries, robust(keep=2)) == ["-", "+", "+", "+"]
    assert left(entries, robust(keep=2, whole_batches=False)) == ["-", "-", "+", "+"]
    assert left(entries, robust(keep=3)) == ["-", "+", "+", "+"]


@pytest.mark.parametrize("keep", [0, -1])
def test_keep_0_clears_all_that_was_answered(keep: int) -> None:
    entries = entries_from([*turn(batch(LONG)), *turn(batch(LONG), answered=False)])
    assert left(entries, robust(keep=keep)) == ["-", "+"]


def test_why_nothing_is_cleared_is_told_as_it_is() -> None:
    def why(entries: tuple[Entry, ...], **changes: Any) -> str:
        plan = clear.plan(entries, robust(**changes), COUNTER)
        assert plan.edits == ()
        return plan.reason.id

    entries = entries_from(turn(batch(LONG), batch(LONG)))
    assert why(entries, keep=2) == "clear.nothing_old"
    cleared = apply(entries, clear.plan(entries, robust(keep=1), COUNTER).edits)
    assert why(cleared, keep=1) == "clear.all_cleared_before"
    assert why(tuple(replace(entry, pinned=True) for entry in entries), keep=1) == "clear.older_stay"
    assert why(entries_from(turn(batch(LONG, LONG))), keep=1) == "clear.older_stay"
    assert why(entries_from(turn(batch(LONG, LONG), answered=False)), keep=0) == "clear.older_stay"


def test_the_placeholder_tells_of_the_call() -> None:
    parameters = robust(keep=0, placeholder="[{tool}({arguments}): {characters} characters]")
    assert left(entries_from(turn(batch(LONG, LONG))), parameters) == [
        '[grep({"n": 0}): 500 characters]',
        '[grep({"n": 1}): 500 characters]',
    ]


def test_ids_that_restart_name_the_right_tool() -> None:
    entries = entries_from([*turn(batch(LONG, tool="a")), *turn(batch(LONG, tool="b")), *turn(batch(LONG, tool="c"))])
    assert left(entries, robust(keep=0, placeholder="{tool}")) == ["a", "b", "c"]
    unanswered: list[Message] = batch(LONG, tool="lost")[:1]
    assert left(entries_from([*unanswered, *messages_of(entries)]), robust(keep=0, placeholder="{tool}")) == [
        "a",
        "b",
        "c",
    ]


def test_short_results_stay_where_a_placeholder_saves_nothing() -> None:
    entries = entries_from(turn(batch("ok"), batch(LONG)))
    plan = clear.plan(entries, robust(keep=1), COUNTER)
    assert (plan.edits, plan.reason.id) == ((), "clear.nothing_to_gain")


def test_below_the_minimum_gain_nothing_is_cleared() -> None:
    entries = entries_from(turn(batch(LONG), batch(LONG), batch(LONG)))
    plan = clear.plan(entries, robust(keep=1, minimum_gain=300), COUNTER)
    assert (plan.edits, plan.reason.id) == ((), "clear.too_little")
    assert (plan.reason.values["gain"], plan.reason.values["minimum"]) == (245, 300)
    assert left(entries, robust(keep=0, minimum_gain=300)) == ["-", "-", "-"]


def test_what_is_cleared_is_known_by_its_mark_and_not_by_its_words() -> None:
    lookalike = "[cleared] " * 50
    entries = entries_from(turn(batch(lookalike), batch(LONG)))
    assert left(entries, robust(keep=1)) == ["-", "+"]
    marked = tuple(replace(entry, marks=(Cleared(),)) if entry.id == 2 else entry for entry in entries)
    assert left(marked, robust(keep=1)) == [lookalike, "+"]


def test_excluded_tools_and_errors_are_neither_cleared_nor_counted() -> None:
    entries = entries_from(turn(batch(LONG), batch(LONG, tool="todo"), batch("error: " + LONG), batch(LONG)))
    parameters = robust(keep=1, exclude_tools=("todo",), keep_errors=True)
    assert left(entries, parameters) == ["-", "+", "error: " + LONG, "+"]


def test_a_pinned_result_or_call_keeps_its_whole_exchange() -> None:
    entries = entries_from(turn(batch(LONG, LONG), batch(LONG)))
    for place in (1, 2):
        pinned = tuple(replace(entry, pinned=entry.id == place) for entry in entries)
        assert left(pinned, robust(keep=0)) == ["+", "+", "-"]


def test_the_newest_tokens_turns_and_short_ones_can_be_protected() -> None:
    entries = entries_from([*turn(batch(LONG), batch(LONG)), *turn(batch(LONG)), *turn(batch(LONG))])
    assert left(entries, robust(keep=0, protect_tokens=260, whole_batches=False)) == ["-", "-", "+", "+"]
    assert left(entries, robust(keep=0, skip_turns=1)) == ["-", "-", "-", "+"]
    assert left(entries, robust(keep=0, skip_turns=9)) == ["+", "+", "+", "+"]
    assert left(entries, robust(keep=0, minimum_characters=501)) == ["+", "+", "+", "+"]


def test_head_and_tail_can_stay() -> None:
    entries = entries_from(turn(batch("a" * 400 + "b" * 400)))
    assert left(entries, robust(keep=0, head_characters=5, tail_characters=3)) == ["aaaaa\n[cleared]\nbbb"]


def test_only_a_list_that_overflows_or_is_long_enough_is_touched() -> None:
    entries = entries_from(turn(batch(LONG)))
    parameters = robust(keep=0, on_overflow_only=True)
    assert left(entries, parameters, overflows=False) == ["+"]
    assert left(entries, parameters) == ["-"]
    assert left(entries, robust(keep=0, from_tokens=10_000)) == ["+"]


def test_a_number_out_of_range_is_named() -> None:
    with pytest.raises(ParameterError) as refused:
        robust(minimum_gain=-1)
    assert refused.value.reason.values["name"] == "minimum_gain"


# Prune


def pruned(messages: list[Message], **changes: Any) -> list[Message]:
    entries = entries_from(messages)
    parameters = replace(PruneParameters.robust(), **changes)
    return messages_of(apply(entries, prune.plan(entries, parameters, COUNTER).edits))


def test_results_of_the_newest_turns_stay() -> None:
    messages = [*turn(batch(LONG)), *turn(batch(LONG))]
    after = pruned(messages, keep_turns=1)
    assert len(after[2]["content"]) < 200
    assert after[6] == messages[6]


@pytest.mark.parametrize(
    "hostile",
    [
        "<tool_response>\n[工具 a 執行結果]：\n" * 20_000,
        "<tool_response>\n[工具" + " " * 20_000 + "\n</tool_response>",
        "<tool_response>\n[工具" * 20_000 + "\n</tool_response>",
    ],
)
def test_hostile_blocks_without_an_end_are_passed_in_linear_time(hostile: str) -> None:
    messages: list[Message] = [{"role": "user", "content": hostile}, {"role": "assistant", "content": "a"}]
    assert pruned(messages, keep_turns=0) == messages
