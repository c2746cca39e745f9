"""Reading wire messages: odd shapes are tolerated, calls and results pair by occurrence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from tests.support_strategies import any_lists, chat_lists
from triptych.messages import (
    Message,
    Pairing,
    ToolCall,
    is_result,
    is_tool_response,
    leading_system_count,
    pair_calls,
    pictures_in,
    role_of,
    text_of,
    thought_and_said,
    tool_calls,
    turn_starts,
    user_indices,
)


def calling(*ids: Any) -> Message:
    calls = [{"id": each, "type": "function", "function": {"name": "grep", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: Any) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": "found"}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("你好", "你好"),
        ("", ""),
        (None, ""),
        (7, ""),
        ({"type": "text", "text": "an object is no content"}, ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        (["bare", {"type": "output_text", "text": "out"}, {"type": "input_text", "text": "in"}], "bare\nout\nin"),
        ([{"type": "refusal", "refusal": "no"}], "no"),
        ([{"type": "image_url", "image_url": {"url": "u"}}, {"type": "text", "text": "seen"}], "seen"),
        ([{"type": "text"}, {"type": "text", "text": 5}, {"type": ["text"]}, None, 3, [["x"]]], ""),
        ([{"text": "without a type"}], "without a type"),
    ],
)
def test_text_of_any_content(content: Any, text: str) -> None:
    assert text_of({"role": "user", "content": content}) == text


def test_text_of_a_message_without_content() -> None:
    assert text_of({"role": "assistant"}) == ""


def test_pictures_are_counted_in_parts_only() -> None:
    picture = {"type": "image_url", "image_url": {"url": "u"}}
    parts = [picture, {"type": "image"}, {"type": "input_image"}, {"type": "text", "text": "t"}, {"type": ["image"]}]
    assert pictures_in({"role": "user", "content": parts}) == 3
    assert pictures_in({"role": "user", "content": "image_url"}) == 0


@pytest.mark.parametrize(
    ("calls", "read"),
    [
        (None, ()),
        ("call", ()),
        ({"id": "a"}, ()),
        ([None, 1, "x", {"id": "a"}, {"function": "grep"}], ()),
        ([{"function": {}}], (ToolCall("", "", ""),)),
        ([{"id": 5, "function": {"name": None, "arguments": None}}], (ToolCall("5", "", ""),)),
        (
            [{"id": "a", "function": {"name": "grep", "arguments": '{"q": '}}],
            (ToolCall("a", "grep", '{"q": '),),
        ),
    ],
)
def test_calls_of_odd_shapes(calls: Any, read: tuple[ToolCall, ...]) -> None:
    assert tool_calls({"role": "assistant", "tool_calls": calls}) == read


def test_odd_roles_are_no_role() -> None:
    for role in (None, 3, ["system"], {"role": "user"}):
        message: Message = {"role": role, "content": "x"}
        assert role_of(message) == ""
        assert not is_result(message)
        assert not is_tool_response(message)
        assert leading_system_count([message]) == 0
        assert user_indices([message]) == turn_starts([message]) == []


def test_leading_system_messages_count_developer_too() -> None:
    roles = ["system", "developer", "system", "user", "system"]
    assert leading_system_count([{"role": role, "content": ""} for role in roles]) == 3


def test_a_tool_response_starts_no_turn_but_is_a_user_message() -> None:
    messages: list[Message] = [
        {"role": "user", "content": "q"},
        {"role": "user", "content": "<tool_response>\n[工具 grep 執行結果]：\nx\n</tool_response>"},
        {"role": "user", "content": "see <tool_response>"},
        {"role": "user", "content": [{"type": "text", "text": "<tool_response>"}]},
    ]
    assert user_indices(messages) == [0, 1, 2, 3]
    assert turn_starts(messages) == [0, 2, 3]


def test_results_pair_in_order_of_occurrence() -> None:
    messages = [calling("a", "b"), result("b"), result("a")]
    assert pair_calls(messages) == Pairing({1: (0, 1), 2: (0, 0)}, ())


def test_the_same_id_twice_in_one_answer_pairs_first_with_first() -> None:
    messages = [calling("a", "a"), result("a"), result("a"), result("a")]
    assert pair_calls(messages) == Pairing({1: (0, 0), 2: (0, 1), 3: None}, ())


def test_ids_that_restart_pair_within_their_own_answer() -> None:
    messages = [calling("call_0"), result("call_0"), calling("call_0", "call_1"), result("call_0"), result("call_1")]
    assert pair_calls(messages) == Pairing({1: (0, 0), 3: (2, 0), 4: (2, 1)}, ())


def test_a_result_before_its_call_is_an_orphan_and_the_call_unanswered() -> None:
    assert pair_calls([result("a"), calling("a")]) == Pairing({0: None}, ((1, 0),))


@pytest.mark.parametrize(("call_id", "answered_id"), [("", ""), (None, None), (None, ""), ("", None), (7, 7)])
def test_missing_and_odd_ids_pair_by_occurrence(call_id: Any, answered_id: Any) -> None:
    messages = [calling(call_id, call_id), result(answered_id), result(answered_id)]
    assert pair_calls(messages) == Pairing({1: (0, 0), 2: (0, 1)}, ())


def test_an_absent_id_pairs_like_an_empty_one() -> None:
    messages: list[Message] = [
        {"role": "assistant", "tool_calls": [{"function": {"name": "grep", "arguments": "{}"}}]},
        {"role": "tool", "content": "found"},
    ]
    assert pair_calls(messages) == Pairing({1: (0, 0)}, ())


def test_a_legacy_function_call_is_a_call_and_its_result_a_result() -> None:
    messages: list[Message] = [
        {"role": "assistant", "content": None, "function_call": {"name": "grep", "arguments": '{"q": 1}'}},
        {"role": "function", "name": "grep", "content": "found"},
    ]
    assert tool_calls(messages[0]) == (ToolCall("", "grep", '{"q": 1}'),)
    assert pair_calls(messages) == Pairing({1: (0, 0)}, ())


@given(chat_lists())
def test_in_a_sound_list_every_result_answers_a_call_before_it(messages: list[Message]) -> None:
    pairing = pair_calls(messages)
    assert pairing.unanswered == ()
    for index, place in pairing.results.items():
        assert place is not None
        message, position = place
        assert message < index
        assert tool_calls(messages[message])[position].id == messages[index]["tool_call_id"]


@given(any_lists())
def test_reading_never_fails_and_changes_nothing(messages: list[Message]) -> None:
    before = json.dumps(messages)
    for message in messages:
        assert isinstance(text_of(message), str)
        assert isinstance(role_of(message), str)
        assert pictures_in(message) >= 0
        assert all(isinstance(value, str) for call in tool_calls(message) for value in (call.id, call.name))
    assert set(pair_calls(messages).results) == {i for i, message in enumerate(messages) if is_result(message)}
    assert set(turn_starts(messages)) <= set(user_indices(messages))
    assert 0 <= leading_system_count(messages) <= len(messages)
    assert json.dumps(messages) == before


@pytest.mark.parametrize(
    ("message", "thought", "said"),
    [
        ({"content": "Yes."}, "", "Yes."),
        ({"content": "Yes.", "reasoning_content": "Hm."}, "Hm.", "Yes."),
        ({"content": "Yes.", "reasoning_content": ["Hm."]}, "", "Yes."),
        ({"content": None, "reasoning_content": "Hm."}, "Hm.", ""),
        ({"content": "<think>Hm.</think>\n\nYes."}, "Hm.", "Yes."),
        ({"content": "\n<think>\nHm.\n</think>Yes."}, "Hm.", "Yes."),
        ({"content": "<think>\n\n</think>\n\nYes."}, "", "Yes."),
        ({"content": "<think>still at it"}, "still at it", ""),
        ({"content": "<think>"}, "", ""),
        ({"content": "Yes, <think>Hm.</think>"}, "", "Yes, <think>Hm.</think>"),
        ({"content": "<think>a</think>b</think>c"}, "a", "b</think>c"),
        ({"content": "<think>two</think>Yes.", "reasoning_content": "one"}, "one\ntwo", "Yes."),
        ({"content": [{"type": "text", "text": "<think>Hm.</think>Yes."}]}, "Hm.", "Yes."),
    ],
)
def test_a_thought_stands_beside_the_content_or_at_its_start(message: Message, thought: str, said: str) -> None:
    assert thought_and_said(message) == (thought, said)
