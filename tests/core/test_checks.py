"""What an API would refuse in a list, and what is only said to the reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support_strategies import any_lists, chat_lists, faults
from triptych import formats
from triptych.checks import Problem, problems, would_be_refused
from triptych.messages import Message

DATA = Path(__file__).parent.parent / "data"

SYSTEM: Message = {"role": "system", "content": "s"}
USER: Message = {"role": "user", "content": "u"}
ANSWER: Message = {"role": "assistant", "content": "a"}


def calling(*ids: Any, arguments: Any = "{}") -> Message:
    calls = [{"id": each, "type": "function", "function": {"name": "grep", "arguments": arguments}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: Any) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": "found"}


def found(*messages: Message) -> list[tuple[str, int | None, str]]:
    return [(each.kind, each.message, each.detail) for each in problems(messages)]


def test_a_sound_list_has_no_problems() -> None:
    messages = [SYSTEM, USER, calling("a", "b"), result("b"), result("a"), calling("c"), result("c"), ANSWER]
    assert problems(messages) == []
    assert not would_be_refused(messages)


def test_an_empty_list_has_no_problems() -> None:
    assert problems([]) == []
    assert not would_be_refused([])


def test_a_result_without_a_call_is_an_orphan() -> None:
    messages = [SYSTEM, USER, result("lost"), ANSWER]
    assert problems(messages) == [Problem("orphan_result", "error", 2, "lost")]
    assert would_be_refused(messages)


def test_a_call_without_a_result_is_unanswered() -> None:
    messages = [SYSTEM, USER, calling("a", "b"), result("a"), ANSWER]
    assert problems(messages) == [Problem("unanswered_call", "error", 2, "b")]
    assert would_be_refused(messages)


def test_a_call_at_the_end_is_unanswered() -> None:
    assert found(SYSTEM, USER, calling("a")) == [("unanswered_call", 2, "a")]


def test_a_result_before_its_call_is_an_orphan_and_the_call_unanswered() -> None:
    assert found(SYSTEM, USER, result("a"), calling("a")) == [
        ("orphan_result", 2, "a"),
        ("unanswered_call", 3, "a"),
    ]


def test_a_result_that_does_not_follow_its_call_directly_is_an_orphan_and_the_call_unanswered() -> None:
    assert found(SYSTEM, USER, calling("a"), USER, result("a"), ANSWER) == [
        ("unanswered_call", 2, "a"),
        ("orphan_result", 4, "a"),
    ]


def test_a_second_result_for_one_call_is_an_orphan() -> None:
    assert found(SYSTEM, USER, calling("a"), result("a"), result("a"), ANSWER) == [("orphan_result", 4, "a")]


def test_an_older_open_call_does_not_take_the_result_of_a_newer_one_of_the_same_id() -> None:
    messages = [SYSTEM, USER, calling("call_0"), USER, calling("call_0"), result("call_0"), ANSWER]
    assert found(*messages) == [("unanswered_call", 2, "call_0"), ("duplicate_call_id", 4, "call_0")]


def test_ids_that_repeat_in_one_batch_pair_by_occurrence() -> None:
    assert found(SYSTEM, USER, calling("a", "a"), result("a"), result("a"), ANSWER) == [("duplicate_call_id", 2, "a")]
    assert ("unanswered_call", 2, "a") in found(SYSTEM, USER, calling("a", "a"), result("a"), ANSWER)


def test_calls_and_results_without_ids_pair_by_occurrence() -> None:
    assert found(SYSTEM, USER, calling("", None), {"role": "tool", "content": "x"}, result(""), ANSWER) == []


def test_a_legacy_function_call_is_answered_by_a_function_message() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}}
    assert found(SYSTEM, USER, call, {"role": "function", "name": "old", "content": "x"}, ANSWER) == []
    assert found(SYSTEM, USER, call, ANSWER) == [("unanswered_call", 2, "")]


@pytest.mark.parametrize("content", [None, "", [], 5, True, {"text": "d"}])
def test_an_assistant_message_without_anything_is_empty(content: Any) -> None:
    messages = [SYSTEM, USER, {"role": "assistant", "content": content}]
    assert problems(messages) == [Problem("empty_assistant", "error", 2)]
    assert would_be_refused(messages)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": " "},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "content": None, "refusal": "no"},
        {"role": "assistant", "content": None, "audio": {"id": "audio_1"}},
    ],
)
def test_an_assistant_message_that_says_something_is_not_empty(message: Message) -> None:
    assert found(SYSTEM, USER, message) == []


def test_a_list_without_a_system_message_is_noted_once_for_the_whole_list() -> None:
    assert problems([USER, ANSWER]) == [Problem("no_system", "note", None)]
    assert not would_be_refused([USER, ANSWER])
    assert found({"role": "developer", "content": "d"}, USER) == []


def test_system_messages_after_others_are_noted() -> None:
    late = {"role": "developer", "content": "d"}
    assert found(SYSTEM, late, USER, SYSTEM, late) == [
        ("system_not_first", 3, "system"),
        ("system_not_first", 4, "developer"),
    ]


@pytest.mark.parametrize("arguments", ["{bad", "[]", "5", '"text"', "null", {"already": "an object"}, 5])
def test_arguments_that_are_not_the_text_of_an_object_are_noted(arguments: Any) -> None:
    messages = [SYSTEM, USER, calling("a", arguments=arguments), result("a")]
    assert problems(messages) == [Problem("invalid_arguments", "note", 2, "a")]
    assert not would_be_refused(messages)


@pytest.mark.parametrize("arguments", ['{"q": 1}', "{}", "", None])
def test_an_object_or_nothing_is_valid_as_arguments(arguments: Any) -> None:
    assert found(SYSTEM, USER, calling("a", arguments=arguments), result("a")) == []


def test_arguments_nested_too_deeply_are_noted() -> None:
    deep = '{"a":' * 100_000 + "1" + "}" * 100_000
    assert found(SYSTEM, USER, calling("a", arguments=deep), result("a")) == [("invalid_arguments", 2, "a")]


def test_a_call_without_an_id_is_named_by_its_tool_and_a_shape_that_is_no_call_by_its_place() -> None:
    calls = [None, {"function": {"name": "grep", "arguments": "{"}}]
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    assert found(SYSTEM, USER, message, {"role": "tool", "content": "x"}) == [
        ("invalid_arguments", 2, "tool_calls[0]"),
        ("invalid_arguments", 2, "grep"),
    ]


def test_replaced_characters_are_noted_with_their_number() -> None:
    assert problems([SYSTEM, USER], replaced_characters=3) == [Problem("replaced_characters", "note", None, "3")]


def test_every_variant_of_a_chat_message_is_accepted() -> None:
    """Custom tools, refusals, audio and legacy calls are no faults; the file holds one call with half its arguments."""
    reading = formats.read((DATA / "openai_chat" / "handmade_all_variants.json").read_bytes())
    assert problems(reading.messages) == [Problem("invalid_arguments", "note", 3, "call_b")]


def test_bad_shapes_of_calls_are_all_told() -> None:
    reading = formats.read((DATA / "malformed" / "tool_calls_bad_shapes.json").read_bytes())
    assert found(*reading.messages) == [
        ("empty_assistant", 0, ""),
        ("empty_assistant", 1, ""),
        ("unanswered_call", 2, "c1"),
        ("unanswered_call", 2, "c1"),
        ("duplicate_call_id", 2, "c1"),
        ("invalid_arguments", 2, "tool_calls[0]"),
        ("invalid_arguments", 2, "tool_calls[1]"),
        ("invalid_arguments", 2, "tool_calls[2]"),
        ("invalid_arguments", 2, "c1"),
        ("invalid_arguments", 2, "c1"),
        ("orphan_result", 3, ""),
        ("orphan_result", 4, "nope"),
        ("system_not_first", 5, "system"),
    ]


@given(chat_lists(), st.data())
def test_a_list_that_lost_messages_is_refused_exactly_where_pairs_were_broken(
    messages: list[Message], data: st.DataObject
) -> None:
    kept = [message for message in messages if data.draw(st.integers(0, 5))]
    broken = [each for each in problems(kept) if each.kind in ("orphan_result", "unanswered_call")]
    assert bool(broken) == bool(faults(kept))


@given(any_lists())
def test_any_list_has_an_answer(messages: list[Message]) -> None:
    before = json.dumps(messages)
    all_found = problems(messages)
    assert would_be_refused(messages) == any(each.severity == "error" for each in all_found)
    assert all(each.message is None or 0 <= each.message < len(messages) for each in all_found)
    assert json.dumps(messages) == before
