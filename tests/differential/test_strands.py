"""The preset `strands` against Strands Agents itself: where lists are parted, and what stays of a result."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from strands.agent.conversation_manager import SlidingWindowConversationManager, SummarizingConversationManager
from strands.types.exceptions import ContextWindowOverflowException

from tests.support_strategies import ALWAYS, chat_lists
from triptych.edits import apply
from triptych.entries import entries_from
from triptych.layers import clear
from triptych.layers.cut_point import cut_point
from triptych.layers.exchanges import exchanges_of
from triptych.messages import Message, is_result, tool_calls
from triptych.policy import preset
from triptych.tokens import ESTIMATORS, TokenCounter

PRESET = preset("strands")
COUNTER = TokenCounter(ESTIMATORS[PRESET.estimator])


class Writer:
    """A model that writes the summary `S`."""

    async def stream(self, *_messages: Any, **_options: Any) -> AsyncIterator[dict[str, Any]]:
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": "S"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def agent_with(messages: list[Any]) -> Any:
    return SimpleNamespace(messages=messages, model=Writer(), aux_model=Writer())


def theirs(messages: list[Message]) -> list[Any]:
    """The list as Strands holds it, without the system message: the results of a round in one message of the user."""
    held: list[Any] = []
    for message in messages[1:]:
        if is_result(message):
            result = {
                "toolUseId": message["tool_call_id"],
                "status": "success",
                "content": [{"text": str(message["content"])}],
            }
            if "toolResult" not in held[-1]["content"][0]:
                held.append({"role": "user", "content": []})
            held[-1]["content"].append({"toolResult": result})
            continue
        uses = [{"toolUse": {"toolUseId": call.id, "name": call.name, "input": {}}} for call in tool_calls(message)]
        held.append({"role": message["role"], "content": uses or [{"text": str(message["content"])}]})
    return held


def places(messages: list[Message]) -> list[int]:
    """For each message that Strands holds, where ours begins."""
    return [
        index
        for index in range(1, len(messages))
        if not (is_result(messages[index]) and is_result(messages[index - 1]))
    ]


@ALWAYS
@given(chat_lists(), st.integers(1, 20))
def test_the_newest_messages_part_the_list_at_the_same_place(messages: list[Message], keep: int) -> None:
    held, starts = theirs(messages), places(messages)
    assume(0 < len(held) - keep <= int(0.8 * len(held)))
    wanted = starts[len(held) - keep]
    manager = SummarizingConversationManager(summary_ratio=0.8, preserve_recent_messages=keep)
    agent = agent_with(held)
    try:
        manager.reduce_context(agent, ContextWindowOverflowException())
        parted = (*starts, len(messages))[len(starts) - (len(agent.messages) - 1)]
    except ContextWindowOverflowException:
        parted = len(messages)  # no place behind the last results

    assert PRESET.summarize is not None
    parameters = replace(PRESET.summarize, keep_messages=len(messages) - wanted, keep_part=None)
    cut = cut_point(exchanges_of(entries_from(messages)), parameters, None, COUNTER).cut
    if not is_result(messages[wanted]):
        assert cut == parted == wanted
        return
    # As the note says: a cut that would part a call from its results moves forward there, back here.
    assert cut == wanted - 1
    assert all(is_result(message) for message in messages[wanted:parted])


@ALWAYS
@given(st.text(st.characters(max_codepoint=127), min_size=0, max_size=900))
def test_the_same_ends_of_a_result_stay(text: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "grep", "arguments": "{}"}}
    messages: list[Message] = [
        {"role": "system", "content": "s"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": text},
        {"role": "assistant", "content": "seen"},
    ]
    held = theirs(messages)
    assume("... [truncated:" not in text)
    manager = SlidingWindowConversationManager()
    if len(text) > 400:
        manager.reduce_context(agent_with(held), ContextWindowOverflowException())
    cut = held[1]["content"][0]["toolResult"]["content"][0]["text"]

    assert PRESET.clear is not None
    entries = entries_from(messages)
    after = apply(entries, clear.plan(entries, PRESET.clear, COUNTER).edits)[2].message["content"]
    if after == text:  # the notice would be no shorter than what it stands for
        assert cut == text or len(text) <= 400 + len(PRESET.clear.placeholder) + 20
    else:
        assert (after[:200], after[-200:]) == (cut[:200], cut[-200:]) == (text[:200], text[-200:])


def test_the_defaults_are_theirs() -> None:
    manager, layer = SummarizingConversationManager(), PRESET.summarize
    assert layer is not None
    assert (manager.summary_ratio, manager.preserve_recent_messages) == (0.3, layer.keep_messages)
    assert layer.keep_part == 1 - manager.summary_ratio
