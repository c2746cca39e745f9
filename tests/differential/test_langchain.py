"""The preset `langchain` against LangChain itself: the same results are cleared, the same messages kept.

Where the two differ, they differ as the preset's note says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from langchain.agents.middleware import ClearToolUsesEdit, SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import BaseMessage, ToolMessage, convert_to_messages, trim_messages

from tests.support_strategies import ALWAYS, chat_lists
from triptych.edits import apply
from triptych.entries import Cleared, entries_from
from triptych.layers import clear
from triptych.layers.cut_point import CutPoint, cut_point
from triptych.layers.exchanges import exchanges_of, real_turn_starts
from triptych.messages import Message, is_result, is_tool_response, role_of, tool_calls
from triptych.policy import preset
from triptych.tokens import ESTIMATORS, TokenCounter

PRESET = preset("langchain")
COUNTER = TokenCounter(ESTIMATORS[PRESET.estimator])
KEYS = ("role", "content", "tool_calls", "tool_call_id")


def plain(message: Message) -> Message:
    """The message with what LangChain reads alone: its ids are never empty, and arguments are JSON."""
    read = {key: message[key] for key in KEYS if key in message}
    if calls := message.get("tool_calls"):
        function = {"name": "grep", "arguments": "{}"}
        read["tool_calls"] = [{**call, "id": call["id"] or "call_9", "function": function} for call in calls]
    if "tool_call_id" in message:
        read["tool_call_id"] = message["tool_call_id"] or "call_9"
    read["content"] = str(message["content"] or "")
    return read


def speaks_in_fields(messages: list[Message]) -> bool:
    """Whether no result is said as text, which LangChain would not know for one, as the note says."""
    return not any(map(is_tool_response, messages))


TALKS = chat_lists().map(lambda messages: [plain(message) for message in messages]).filter(speaks_in_fields)


def theirs(messages: list[Message]) -> list[Any]:
    return list(convert_to_messages(messages))


def unanswered_from(messages: list[Message]) -> int:
    return max((index + 1 for index, each in enumerate(messages) if role_of(each) == "assistant"), default=0)


# Clearing


@ALWAYS
@given(TALKS, st.integers(0, 5), st.integers(-1, 1))
def test_the_same_results_are_cleared(messages: list[Message], keep: int, beyond: int) -> None:
    assert PRESET.clear is not None
    entries = entries_from(messages)
    tokens = COUNTER.count(entries).tokens
    assume(tokens + beyond > 0 and beyond != 0)
    edited = theirs(messages)
    edit = ClearToolUsesEdit(trigger=tokens + beyond, keep=keep, placeholder=PRESET.clear.placeholder)
    edit.apply(edited, count_tokens=lambda _: tokens)
    cleared = {index for index, message in enumerate(edited) if _is_cleared(message)}

    parameters = replace(PRESET.clear, keep=keep, from_tokens=tokens + beyond)
    after = apply(entries, clear.plan(entries, parameters, COUNTER).edits)
    ours = {index for index, entry in enumerate(after) if entry.has_mark(Cleared)}

    noted = {
        index
        for index in cleared
        if index >= unanswered_from(messages) or len(messages[index]["content"]) <= len(edit.placeholder)
    }
    assert ours == cleared - noted
    assert [after[index].message["content"] for index in sorted(ours)] == [
        edited[index].content for index in sorted(ours)
    ]


def _is_cleared(message: BaseMessage) -> bool:
    return isinstance(message, ToolMessage) and bool(message.response_metadata.get("context_editing"))


def test_the_defaults_are_theirs() -> None:
    edit, layer = ClearToolUsesEdit(), PRESET.clear
    assert layer is not None
    assert (edit.trigger, edit.keep, edit.placeholder, tuple(edit.exclude_tools), edit.clear_at_least) == (
        layer.from_tokens,
        layer.keep,
        layer.placeholder,
        layer.exclude_tools,
        layer.minimum_gain,
    )
    middleware = SummarizationMiddleware(FakeListChatModel(responses=["S"]))
    assert PRESET.summarize is not None
    assert middleware.keep == ("messages", PRESET.summarize.keep_messages)
    assert middleware.trigger is None


# The newest messages


def our_cut(messages: list[Message], keep: int) -> CutPoint:
    """Where we part the list."""
    assert PRESET.summarize is not None
    return cut_point(exchanges_of(entries_from(messages)), replace(PRESET.summarize, keep_messages=keep), None, COUNTER)


@ALWAYS
@given(TALKS, st.integers(1, 12))
def test_the_same_newest_messages_are_kept(messages: list[Message], keep: int) -> None:
    without_system = messages[1:]  # theirs is no message of the list
    assume(without_system)
    middleware = SummarizationMiddleware(
        FakeListChatModel(responses=["S"]), trigger=("messages", 1), keep=("messages", keep)
    )
    update = middleware.before_model({"messages": theirs(without_system)}, None)  # type: ignore[arg-type, typeddict-item]
    kept = len(update["messages"]) - 2 if update else len(without_system)
    point = our_cut(without_system, keep)
    assert len(without_system) - point.cut == kept
    # The question of a newest turn that is parted stays besides, as the note says.
    newest = real_turn_starts(entries_from(without_system))[-1:]
    assert point.stays == {index for index in newest if index < point.cut}


@ALWAYS
@given(TALKS, st.integers(1, 12))
def test_trim_messages_agrees_but_for_the_calls_that_we_go_back_to(messages: list[Message], keep: int) -> None:
    talk = messages[1:]
    trimmed = trim_messages(
        theirs(talk), max_tokens=keep, token_counter=len, strategy="last", start_on=("human", "ai"), allow_partial=False
    )
    cut, start = our_cut(talk, keep).cut, len(talk) - len(trimmed)
    wanted = max(len(talk) - keep, 0)
    if wanted == 0 or not is_result(talk[wanted]):
        assert cut == start == wanted
        return
    # The newest messages begin with a result: theirs leaves out all of its round, ours brings its call along.
    assert cut < wanted < start or not trimmed
    assert tool_calls(talk[cut])
    assert all(is_result(message) for message in talk[cut + 1 : start])
