"""Putting answers together from their pieces."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.messages import ToolCall, tool_calls
from triptych.models.assemble import AnswerBuilder
from triptych.models.base import Delta, Finish, TextDelta, ToolCallDelta, UsageReport
from triptych.tokens import Usage


def built(*deltas: Delta) -> AnswerBuilder:
    builder = AnswerBuilder()
    for delta in deltas:
        builder.add(delta)
    return builder


def calls_of(*deltas: Delta) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in tool_calls(built(*deltas).message())]


def test_a_plain_answer_is_role_and_content() -> None:
    message = built(TextDelta("Hel"), TextDelta("lo"), Finish("stop")).message()
    assert json.dumps(message) == '{"role": "assistant", "content": "Hello"}'


def test_calls_without_text_have_content_null_and_the_wire_order_of_keys() -> None:
    message = built(ToolCallDelta(0, "call_a", "read_file", '{"path":'), ToolCallDelta(0, arguments=' "x"}')).message()
    assert json.dumps(message) == (
        '{"role": "assistant", "content": null, "tool_calls": [{"id": "call_a", "type": "function", '
        '"function": {"name": "read_file", "arguments": "{\\"path\\": \\"x\\"}"}}]}'
    )


def test_text_before_calls_is_kept() -> None:
    message = built(TextDelta("Let me look."), ToolCallDelta(0, "a", "list_files", "{}")).message()
    assert message["content"] == "Let me look."
    assert len(message["tool_calls"]) == 1


def test_usage_and_finish_are_the_newest_reported() -> None:
    builder = built(TextDelta("x"))
    assert (builder.usage, builder.finish) == (None, None)
    builder.add(UsageReport(10))
    builder.add(Finish("length"))
    builder.add(UsageReport(10, 7))
    assert (builder.usage, builder.finish) == (Usage(10, 7), "length")


def test_the_answer_can_be_read_while_it_grows() -> None:
    builder = built(TextDelta("one"))
    assert builder.text == "one"
    builder.add(TextDelta(" two"))
    assert (builder.text, builder.message()["content"]) == ("one two", "one two")


@pytest.mark.parametrize("deltas", [[], [TextDelta("")], [TextDelta(" \n")], [Finish("stop"), UsageReport(3)]])
def test_an_answer_without_text_or_calls_is_empty(deltas: list[Delta]) -> None:
    assert built(*deltas).is_empty
    assert "tool_calls" not in built(*deltas).message()


@pytest.mark.parametrize("delta", [TextDelta("a"), ToolCallDelta(0, "a", "list_files", "{}")])
def test_text_or_a_call_makes_an_answer(delta: Delta) -> None:
    assert not built(delta).is_empty


def test_a_new_id_at_the_same_index_is_a_new_call() -> None:
    assert calls_of(
        ToolCallDelta(0, "a", "read_file", "{1"),
        ToolCallDelta(0, arguments="}"),
        ToolCallDelta(0, "b", "read_file", "{2"),
        ToolCallDelta(0, arguments="}"),
    ) == [("a", "read_file", "{1}"), ("b", "read_file", "{2}")]


def test_calls_at_one_index_may_alternate_when_every_piece_has_its_id() -> None:
    assert calls_of(
        ToolCallDelta(0, "a", "x", "1"),
        ToolCallDelta(0, "b", "y", "2"),
        ToolCallDelta(0, "a", "x", "3"),
        ToolCallDelta(0, "b", "y", "4"),
    ) == [("a", "x", "13"), ("b", "y", "24")]


def test_id_and_name_repeated_in_every_piece_say_nothing_new() -> None:
    assert calls_of(ToolCallDelta(0, "a", "x", "1"), ToolCallDelta(0, "a", "x", "2")) == [("a", "x", "12")]


def test_an_id_or_a_name_may_come_late() -> None:
    assert calls_of(ToolCallDelta(0, arguments="{"), ToolCallDelta(0, "a", "x", "}")) == [("a", "x", "{}")]


def test_whole_calls_without_ids_at_one_index_are_told_apart() -> None:
    one, two = ToolCallDelta(0, "", "x", '{"a": {"b": 1}}'), ToolCallDelta(0, None, "x", '{"c": 2}')
    assert calls_of(one, two) == [("call_1", "x", '{"a": {"b": 1}}'), ("call_2", "x", '{"c": 2}')]


def test_a_name_in_every_piece_is_one_call_while_its_arguments_are_not_whole() -> None:
    pieces = ['{"a": {"b": "}', "{", '"}}', ""]
    assert calls_of(*(ToolCallDelta(0, None, "x", piece) for piece in pieces)) == [("call_1", "x", "".join(pieces))]


def test_calls_stand_in_the_order_of_their_index() -> None:
    assert calls_of(ToolCallDelta(1, "b", "y"), ToolCallDelta(0, "a", "x")) == [("a", "x", ""), ("b", "y", "")]


def test_missing_ids_are_made_up_and_differ_from_all_others() -> None:
    deltas = [
        ToolCallDelta(0, None, "x"),
        ToolCallDelta(1, "call_2", "x"),
        ToolCallDelta(2, "", "x"),
        ToolCallDelta(3, None, "x"),
    ]
    assert [call[0] for call in calls_of(*deltas)] == ["call_1", "call_2", "call_3", "call_4"]
    assert calls_of(*deltas) == calls_of(*deltas)


def test_ids_that_repeat_at_other_indices_are_kept() -> None:
    assert calls_of(ToolCallDelta(0, "a", "x"), ToolCallDelta(1, "a", "y")) == [("a", "x", ""), ("a", "y", "")]


def test_arguments_that_are_no_json_stay_as_they_came() -> None:
    assert calls_of(ToolCallDelta(0, "a", "x", '{"path": ')) == [("a", "x", '{"path": ')]


def test_an_answer_can_always_be_saved_and_sent_again() -> None:
    message = built(
        TextDelta("cat \ud83d"), TextDelta("\udc08, half \ud83d!"), ToolCallDelta(0, "\udc08", "\udc08", "\udc08")
    ).message()
    assert message["content"] == "cat \U0001f408, half \ufffd!"
    assert json.loads(json.dumps(message, ensure_ascii=False).encode()) == message


@dataclass(frozen=True)
class Style:
    """How a server streams calls."""

    own_index: bool
    id_in_every_piece: bool


calls = st.lists(
    st.tuples(st.text("abc{}\"'\\ 你", max_size=12), st.sampled_from(["read_file", "list_files"])),
    min_size=1,
    max_size=10,
)
styles = st.builds(Style, st.booleans(), st.booleans())


@given(calls=calls, style=styles, data=st.data())
def test_any_split_into_deltas_gives_the_same_calls(
    calls: list[tuple[str, str]], style: Style, data: st.DataObject
) -> None:
    expected = [ToolCall(f"id_{number}", name, arguments) for number, (arguments, name) in enumerate(calls)]
    streams: list[list[Delta]] = []
    for number, call in enumerate(expected):
        cuts = sorted(data.draw(st.lists(st.integers(0, len(call.arguments)), max_size=4)))
        bounds = [0, *cuts, len(call.arguments)]
        pieces = [call.arguments[start:end] for start, end in pairwise(bounds)]
        index = number if style.own_index else 0
        streams.append([ToolCallDelta(index, call.id, call.name, pieces[0])])
        again = call.id if style.id_in_every_piece else None
        streams[-1] += [ToolCallDelta(index, again, arguments=piece) for piece in pieces[1:]]
    deltas = [delta for stream in streams for delta in stream]
    if style.own_index:  # then calls may come interleaved
        order = data.draw(st.permutations([number for number, stream in enumerate(streams) for _ in stream]))
        deltas = [streams[number].pop(0) for number in order]
    assert list(tool_calls(built(*deltas).message())) == expected
