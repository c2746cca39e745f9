"""What known notices in a saved list tell of its past."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from tests.support_session_files import SYSTEM
from tests.support_strategies import junk_lists
from triptych.edits import apply
from triptych.entries import Acknowledgement, Cleared, Entry, Mark, Pruned, Summary, Truncated, messages_of
from triptych.formats.notices import guess_marks
from triptych.layers import clear, truncate
from triptych.layers.clear import ClearParameters
from triptych.layers.prune import PruneParameters, prune
from triptych.layers.truncate import TruncateParameters
from triptych.lesson_api import clean_old_tool_result, cut_tool_result, rebuild
from triptych.messages import Message
from triptych.tokens import ESTIMATORS, TokenCounter

USER: Message = {"role": "user", "content": "u"}
ANSWER: Message = {"role": "assistant", "content": "a"}


def result(content: Any) -> Message:
    return {"role": "tool", "tool_call_id": "c", "content": content}


def marks_of(entries: tuple[Entry, ...]) -> list[tuple[Mark, ...]]:
    return [entry.marks for entry in entries]


def test_what_the_layers_leave_is_known_again() -> None:
    messages = [SYSTEM, USER, ANSWER, result("x" * 30), USER, result(cut_tool_result("y" * 300)), USER]
    clean_old_tool_result(messages, keep=1)
    pruned = result(prune("\n".join("abcdefgh"), "grep", PruneParameters()))
    list_after = [*rebuild([SYSTEM, USER, ANSWER, USER], 1, "they met"), *messages[3:], pruned]
    assert marks_of(guess_marks(list_after)) == [
        (),
        (Summary(guessed=True),),
        (Acknowledgement(guessed=True),),
        (),
        (Cleared(guessed=True),),
        (),
        (Truncated(guessed=True, omitted=220),),
        (),
        (Pruned(guessed=True),),
    ]


def test_a_result_that_was_cut_twice_over_has_both_marks_and_parts_are_read_too() -> None:
    text = "a\n...中间省略12个字...\nb\n... [省略前期工具 list-file 的部分輸出]\nc"
    both = (Truncated(guessed=True, omitted=12), Pruned(guessed=True))
    response = {"role": "user", "content": f"<tool_response>\n[工具 x 執行結果]：\n{text}\n</tool_response>"}
    parts = result([{"type": "text", "text": text}])
    assert marks_of(guess_marks([result(text), response, parts])) == [both, both, both]


@pytest.mark.parametrize(
    "message",
    [
        result("I am Iron Man"),
        result("see [旧工具结果已清理, 如有需要请重新调用工具]"),
        result("...中间省略12个字..."),
        {"role": "user", "content": "[旧工具结果已清理, 如有需要请重新调用工具]"},
        {"role": "user", "content": "a\n...中间省略12个字...\nb"},
        {"role": "user", "content": "说说 [以下是此前对话的摘要]\n"},
        {"role": "assistant", "content": "[以下是此前对话的摘要]\nx"},
        {"role": "assistant", "content": "好的，我已了解之前的进展，继续。"},
    ],
)
def test_what_only_looks_like_a_notice_is_not_marked(message: Message) -> None:
    assert marks_of(guess_marks([SYSTEM, message])) == [(), ()]


@given(junk_lists())
def test_guessing_keeps_every_message_and_numbers_the_entries(messages: list[Message]) -> None:
    entries = guess_marks(messages)
    assert [entry.id for entry in entries] == list(range(len(messages)))
    assert all(entry.message is message for entry, message in zip(entries, messages, strict=True))
    assert all(mark.guessed for entry in entries for mark in entry.marks)


def test_what_the_robust_layers_leave_is_known_again() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "grep", "arguments": "{}"}}
    asking: Message = {"role": "assistant", "content": None, "tool_calls": [call]}
    entries = guess_marks([USER, asking, result("x " * 9000), asking, result("y " * 900), ANSWER])
    counter = TokenCounter(ESTIMATORS["chars4"])
    for plan in (
        truncate.plan(entries, TruncateParameters.robust(), counter, [2]),
        clear.plan(entries, replace(ClearParameters.robust(), keep=0), counter),
    ):
        after = guess_marks(messages_of(apply(entries, plan.edits)))
        for made in (entry for edit in plan.edits for entry in edit.inserted):
            again = next(entry for entry in after if entry.id == made.id)
            assert [type(mark) for mark in again.marks] == [type(mark) for mark in made.marks]
        assert clear.plan(after, replace(ClearParameters.robust(), keep=2), counter).edits == ()


@pytest.mark.parametrize("beginning", ["... [省略前期工具 ", "[Old result of ", "\n...中间省略1", "\n[... 1"])
def test_many_beginnings_of_notices_are_none(beginning: str) -> None:
    assert marks_of(guess_marks([SYSTEM, result(beginning * 50_000)])) == [(), ()]
