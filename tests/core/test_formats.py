"""Reading sessions: what is sound survives; what is broken costs only itself and is told by line and reason."""

from __future__ import annotations

import codecs
import gc
import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support_strategies import chat_lists, junk_lists
from triptych.formats import FormatError, Reading, Unreadable, read
from triptych.formats.source import decode, parse
from triptych.messages import Message

DATA = Path(__file__).parent.parent / "data"
MALFORMED = DATA / "malformed"

SYSTEM: Message = {"role": "system", "content": "s"}
USER: Message = {"role": "user", "content": "u"}
ANSWER: Message = {"role": "assistant", "content": "a"}


def read_text(text: str) -> Reading:
    return read(text.encode())


def faults_of(reading: Reading) -> list[tuple[int, str]]:
    return [(each.line, each.reason) for each in reading.unreadable]


# Formats


def test_a_bare_list_that_starts_with_a_system_message_is_ours() -> None:
    reading = read_text(json.dumps([SYSTEM, USER]))
    assert reading == Reading("lesson", (SYSTEM, USER), (), 0, ours=True)


@pytest.mark.parametrize("first", [USER, {"role": "developer", "content": "d"}])
def test_any_other_bare_list_is_openai_and_not_ours(first: Message) -> None:
    assert read_text(json.dumps([first, SYSTEM])) == Reading("openai", (first, SYSTEM), (), 0, ours=False)


def test_an_object_with_messages_is_openai() -> None:
    reading = read((DATA / "openai_chat" / "handmade_request_body_wrapper.json").read_bytes())
    assert (reading.format, [each["role"] for each in reading.messages]) == ("openai", ["system", "developer", "user"])
    assert not reading.ours


def test_of_several_conversations_the_first_is_read_and_the_others_are_told() -> None:
    reading = read((DATA / "openai_chat" / "handmade_finetune.jsonl").read_bytes())
    assert (reading.format, [each["content"] for each in reading.messages]) == ("openai", ["s", "u", "a"])
    assert reading.messages[2]["weight"] == 0
    assert faults_of(reading) == [(2, "another_conversation")]


def test_lines_may_be_single_messages() -> None:
    reading = read_text("\n".join(map(json.dumps, [SYSTEM, USER, ANSWER])))
    assert reading == Reading("openai", (SYSTEM, USER, ANSWER), (), 0, ours=False)


def test_glued_messages_are_read() -> None:
    assert read_text(json.dumps(USER) + json.dumps(ANSWER)).messages == (USER, ANSWER)


def test_a_bare_list_with_tool_responses_is_the_second_lessons_and_may_be_ours() -> None:
    response = {"role": "user", "content": "<tool_response>\n[工具 grep 執行結果]：\nx\n</tool_response>"}
    assert read_text(json.dumps([SYSTEM, USER, response])).format == "meowgent"
    assert read_text(json.dumps([SYSTEM, USER, response])).ours
    assert not read_text(json.dumps([USER, response])).ours
    mention = {"role": "user", "content": "what is <tool_response>?"}
    assert read_text(json.dumps([SYSTEM, mention])).format == "lesson"


def test_every_variant_of_a_chat_message_survives() -> None:
    data = (DATA / "openai_chat" / "handmade_all_variants.json").read_bytes()
    reading = read(data)
    assert json.dumps(reading.messages) == json.dumps(json.loads(data))
    assert reading.unreadable == ()


LAYOUTS = {
    "compact": lambda messages: json.dumps(messages, ensure_ascii=False),
    "escaped": json.dumps,
    "indented": lambda messages: json.dumps(messages, indent=2, ensure_ascii=False),
    "tabs": lambda messages: json.dumps(messages, indent="\t"),
    "object": lambda messages: json.dumps({"model": "m", "messages": messages, "tools": []}, indent=4),
    "one line": lambda messages: json.dumps({"messages": messages}) + "\n",
    "lines": lambda messages: "".join(json.dumps(message, ensure_ascii=False) + "\n" for message in messages),
    "list that was wrapped by hand": lambda messages: "[" + "\n,".join(map(json.dumps, messages)) + "\n]",
    "object that was wrapped by hand": lambda messages: (
        '{"messages": [\n' + ",\n".join(map(json.dumps, messages)) + "\n]}"
    ),
}
ENCODINGS = {
    "UTF-8": lambda text: text.encode(),
    "UTF-8 with BOM": lambda text: codecs.BOM_UTF8 + text.encode(),
    "UTF-16LE with BOM": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "UTF-16BE with BOM": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
}


SEPARATORS: Message = {"role": "user", "content": "1\u2028 2\x85 3\x0b 4\ufffd 🙂"}


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_and_encoding_is_read(layout: Any, encode: Any) -> None:
    messages = [SYSTEM, SEPARATORS, ANSWER]
    assert read(encode(layout(messages))).messages == tuple(messages)
    assert read(encode(layout([USER]))).messages == (USER,)


@given(st.sampled_from([*LAYOUTS.values()]), st.one_of(chat_lists(max_turns=2), junk_lists()))
def test_values_unknown_keys_and_key_order_survive(layout: Any, messages: list[Message]) -> None:
    assume("Infinity" not in json.dumps(messages))
    sound = [{**message, "role": str(message.get("role"))} for message in messages] + [SEPARATORS]
    reading = read_text(layout(sound))
    assert json.dumps(reading.messages) == json.dumps(sound)
    assert (reading.unreadable, reading.replaced_characters) == ((), 0)


# What is broken

ANSWERS: dict[str, tuple[int, list[tuple[int, str]], int] | tuple[str, dict[str, Any]]] = {
    "all_nul.json": ("format.no_messages", {"line": 1, "why": "nul_bytes"}),
    "bidi_zero_width.json": (1, [], 0),
    "content_null_int_dict_bool.json": (5, [(1, "no_role")] * 3 + [(1, "not_an_object")] * 3, 0),
    "deep_nesting.json": ("format.no_messages", {"line": 1, "why": "too_deep"}),
    "duplicate_keys.json": (1, [(1, "duplicate_key")], 0),
    "empty.json": ("format.empty", {}),
    "empty_list.json": ("format.no_messages", {"line": 1, "why": "not_a_conversation"}),
    "huge_int.json": ("format.no_messages", {"line": 1, "why": "number_too_long"}),
    "invalid_utf8.json": (1, [(1, "invalid_encoding")], 3),
    "latin1.json": (1, [(1, "invalid_encoding")], 1),
    "lone_surrogate_escape.json": (1, [(1, "lone_surrogate")], 1),
    "nan_infinity.json": (1, [(1, "not_a_number")], 0),
    "null.json": ("format.no_messages", {"line": 1, "why": "not_a_conversation"}),
    "session_bom.json": (3, [], 0),
    "session_trailing_nul.json": (3, [(14, "nul_bytes")], 0),
    "session_truncated.json": (2, [(10, "cut_off")], 0),
    "string_top.json": ("format.no_messages", {"line": 1, "why": "not_a_conversation"}),
    "tool_calls_bad_shapes.json": (6, [], 0),
    "two_docs_concatenated.json": (3, [(15, "another_conversation")], 0),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_every_malformed_file_has_an_answer(name: str) -> None:
    data = (MALFORMED / name).read_bytes()
    answer = ANSWERS[name]
    if isinstance(answer[0], str):
        with pytest.raises(FormatError) as refused:
            read(data)
        assert (refused.value.reason.id, dict(refused.value.reason.values)) == answer
    else:
        reading = read(data)
        assert (len(reading.messages), faults_of(reading), reading.replaced_characters) == answer


@pytest.mark.parametrize(
    ("name", "documents", "unreadable"),
    [
        ("jsonl_blank_and_crlf.jsonl", 3, []),
        ("jsonl_bom.jsonl", 3, []),
        ("jsonl_nondict_lines.jsonl", 6, []),
        ("jsonl_truncated_last_line.jsonl", 2, [(3, "cut_off")]),
        ("jsonl_u2028_raw.jsonl", 3, []),
    ],
)
def test_json_lines_are_split_at_newlines_only(name: str, documents: int, unreadable: list[tuple[int, str]]) -> None:
    source = parse(decode((MALFORMED / name).read_bytes()))
    assert len(source.documents) == documents
    assert [(each.line, each.reason) for each in source.unreadable] == unreadable


def test_no_malformed_file_is_without_an_expectation() -> None:
    assert {path.name for path in MALFORMED.iterdir() if path.suffix == ".json"} == set(ANSWERS)


def test_odd_values_survive_and_the_last_of_two_keys_wins() -> None:
    assert read((MALFORMED / "duplicate_keys.json").read_bytes()).messages == ({"role": "assistant", "content": "b"},)
    message = read((MALFORMED / "nan_infinity.json").read_bytes()).messages[0]
    assert math.isnan(message["score"])
    assert message["y"] == -math.inf
    contents = [
        each.get("content") for each in read((MALFORMED / "content_null_int_dict_bool.json").read_bytes()).messages
    ]
    assert contents == [None, 5, {"text": "d"}, True, None]
    assert read((MALFORMED / "latin1.json").read_bytes()).messages[0]["content"] == "caf\ufffd"
    assert (
        read((MALFORMED / "lone_surrogate_escape.json").read_bytes()).messages[0]["content"] == "cut emoji \ufffd end"
    )


def test_a_file_that_was_not_read_without_loss_is_not_ours() -> None:
    for name in ("session_trailing_nul.json", "session_truncated.json", "two_docs_concatenated.json"):
        reading = read((MALFORMED / name).read_bytes())
        assert (reading.format, reading.ours) == ("lesson", False)
    assert read((MALFORMED / "session_bom.json").read_bytes()).ours
    assert not read_text('[{"role": "system", "content": "\\udc00"}]').ours
    assert not read_text('[{"role": "system", "role": "system", "content": "s"}]').ours


BROKEN_ITEMS = {
    "{broken}": "invalid_json",
    "{'role': 'user'}": "invalid_json",
    '{"role": "user" "content": ""}': "invalid_json",
    '"}, {"': "not_an_object",
    "null": "not_an_object",
    "[1, 2]": "not_an_object",
    '{"content": "no role"}': "no_role",
    '{"role": 7}': "no_role",
    "[" * 2000 + "]" * 2000: "too_deep",
    '{"role": "user", "x": ' + "[" * 300 + "]" * 300 + "}": "too_deep",
    '{"role": "user", "x": ' + "9" * 4301 + "}": "number_too_long",
}
BROKEN_QUOTES = {
    '{"role": "us\ner"}': "invalid_json",
    '{"role": "user}': "invalid_json",
    '{"role": "user", "content": "a "quoted word"}': "invalid_json",
    '{"role": "user", "content": [{"type": "text"': "invalid_json",
}


@pytest.mark.parametrize(("broken", "reason"), {**BROKEN_ITEMS, **BROKEN_QUOTES}.items(), ids=itertools.count())
def test_a_broken_item_costs_only_itself(broken: str, reason: str) -> None:
    others = json.dumps(USER), json.dumps(ANSWER)
    in_list = read_text(f"[\n{others[0]},\n{broken},\n{others[1]}\n]")
    assert (in_list.messages, faults_of(in_list)) == ((USER, ANSWER), [(3, reason)])
    in_object = read_text(f'{{\n"messages": [\n{others[0]},\n{broken},\n{others[1]}\n]}}')
    assert (in_object.messages, faults_of(in_object)) == ((USER, ANSWER), [(4, reason)])


@pytest.mark.parametrize(("broken", "reason"), BROKEN_ITEMS.items(), ids=itertools.count())
def test_a_broken_item_costs_only_itself_on_one_line(broken: str, reason: str) -> None:
    reading = read_text(f"[{json.dumps(USER)}, {broken}, {json.dumps(ANSWER)}]")
    assert (reading.messages, faults_of(reading)) == ((USER, ANSWER), [(1, reason)])


@pytest.mark.parametrize(
    "broken", ["{broken", '{"role": "us', "}", "]", "text", '{"role": "user", "x": ' + "9" * 5000 + "}"]
)
def test_a_broken_line_costs_only_itself(broken: str) -> None:
    reading = read_text(f"{json.dumps(USER)}\n{broken}\n{json.dumps(ANSWER)}\n")
    assert reading.messages == (USER, ANSWER)
    assert [each.line for each in reading.unreadable] == [2]


def test_the_lines_of_faults_are_right_far_into_a_file() -> None:
    lines = ["[", *[f"{json.dumps(USER)}," for _ in range(500)], "7,", json.dumps(ANSWER), "]"]
    assert faults_of(read_text("\n".join(lines))) == [(502, "not_an_object")]


def test_a_text_cut_anywhere_keeps_what_came_before_and_tells_the_line() -> None:
    messages = [SYSTEM, USER, {"role": "assistant", "content": 'say "[{}]", \\ or\nnothing'}, USER]
    for text in (json.dumps(messages), json.dumps(messages, indent=2)):
        ends = [
            text.index("}", start) + 1 for start in range(len(text)) if text[start] == "{" and start < len(text) - 40
        ]
        for cut in range(ends[0], len(text) - 1):
            reading = read_text(text[:cut])
            assert list(reading.messages) == messages[: len(reading.messages)]
            assert len(reading.messages) >= 1
            assert "cut_off" in [reason for _, reason in faults_of(reading)]
            assert not reading.ours


def test_nul_bytes_and_marks_between_documents_are_passed_over() -> None:
    data = json.dumps(USER).encode() + b"\n\0\0\0\n" + codecs.BOM_UTF8 + json.dumps(ANSWER).encode()
    reading = read(data)
    assert reading.messages == (USER, ANSWER)
    assert faults_of(reading) == [(2, "nul_bytes")]


def test_undecodable_bytes_are_counted_apart_from_replacement_characters_that_were_there() -> None:
    reading = read('[{"role": "user", "content": "\ufffd'.encode() + b'\xff"}]')
    assert (reading.messages[0]["content"], reading.replaced_characters) == ("\ufffd\ufffd", 1)


def test_lone_surrogates_are_replaced_in_keys_and_nested_values_and_pairs_are_kept() -> None:
    reading = read_text('[{"role": "user", "\\ud800": ["\\udfff", {"a": "\\ud83d\\ude42 \\ud83d"}]}]')
    assert reading.messages == ({"role": "user", "\ufffd": ["\ufffd", {"a": "🙂 \ufffd"}]},)
    assert (reading.replaced_characters, faults_of(reading)) == (3, [(1, "lone_surrogate")])


def test_many_broken_items_are_all_told() -> None:
    items = [repr(USER) if index % 2 else json.dumps(ANSWER) for index in range(4000)]
    reading = read_text("[\n" + ",\n".join(items) + "\n]")
    assert len(reading.messages) == 2000
    assert [each.line for each in reading.unreadable] == list(range(3, 4002, 2))


def test_reading_leaves_the_cycle_collector_as_it_was() -> None:
    read_text(json.dumps([USER]))
    assert gc.isenabled()


@given(
    st.one_of(
        st.binary(max_size=60),
        st.text('[]{}",:\\ \n\0aé1-eE.nulltrefas\ud800', max_size=60).map(
            lambda text: text.encode("utf-8", "surrogatepass")
        ),
    )
)
def test_any_bytes_have_an_answer(data: bytes) -> None:
    try:
        outcome = len(read(data).messages)
    except FormatError as error:
        outcome = error.reason.id
    assert outcome in ("format.empty", "format.no_messages") or outcome > 0


@given(chat_lists(max_turns=2), st.data())
def test_a_damaged_file_gives_messages_that_were_written_or_tells_what_is_wrong(
    messages: list[Message], data: st.DataObject
) -> None:
    layout = data.draw(st.sampled_from([*LAYOUTS.values()]))
    text = layout(messages)
    start = data.draw(st.integers(0, len(text)))
    end = start + data.draw(st.integers(0, 10))
    damaged = text[:start] + data.draw(st.text('[]{}",:\\\n x', max_size=4)) + text[end:]
    try:
        reading = read_text(damaged)
    except FormatError:
        return
    written = [json.dumps(message) for message in messages]
    strange = [message for message in reading.messages if json.dumps(message) not in written]
    # Damage inside a string, or between two messages, may give one other message that is sound.
    assert len(strange) <= 1 or reading.unreadable
    assert len(reading.messages) >= len(messages) - 2 or reading.unreadable


def test_an_unreadable_place_is_a_value() -> None:
    assert read_text("[7,\n" + json.dumps(USER) + "]").unreadable == (Unreadable(1, "not_an_object"),)
