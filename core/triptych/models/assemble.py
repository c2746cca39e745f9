"""Putting an answer together from its pieces: the assistant message in wire form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from triptych.messages import Message, encodable
from triptych.models.base import Delta, Finish, FinishReason, ReasoningDelta, TextDelta, ToolCallDelta, UsageReport
from triptych.tokens import Usage


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class AnswerBuilder:
    """Collects the deltas of one answer. At any time `message()` is the answer so far.

    `usage` is the newest report, `finish` the newest finish reason, each None until it has come.
    """

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.finish: FinishReason | None = None
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[tuple[int, _Call]] = []
        self._newest: dict[int, _Call] = {}
        self._identified: dict[tuple[int, str], _Call] = {}

    def add(self, delta: Delta) -> None:
        match delta:
            case TextDelta(text):
                self._text.append(text)
            case ReasoningDelta(text):
                self._reasoning.append(text)
            case ToolCallDelta():
                call = self._call_of(delta)
                call.name = call.name or delta.name or ""
                call.arguments.append(delta.arguments)
            case UsageReport(prompt_tokens, completion_tokens):
                self.usage = Usage(prompt_tokens, completion_tokens)
            case Finish(reason):
                self.finish = reason

    def _call_of(self, delta: ToolCallDelta) -> _Call:
        """The call a piece belongs to: by index and id, since some servers send every call at index 0."""
        newest = self._newest.get(delta.index)
        call = self._identified.get((delta.index, delta.id)) if delta.id else newest
        if call is None and newest is not None and not newest.id:
            call = newest
        if call is None or (not delta.id and delta.name and _is_other(call, delta)):
            call = _Call()
            self._calls.append((delta.index, call))
        if delta.id:
            call.id = delta.id
            self._identified[delta.index, delta.id] = call
        self._newest[delta.index] = call
        return call

    @property
    def text(self) -> str:
        """The text so far."""
        return encodable("".join(self._text))

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a call nor any text but white space, whatever was thought."""
        return not self._calls and not self.text.strip()

    def message(self) -> Message:
        """The assistant message: calls in the order of their index, content None where calls came without text."""
        message = self.message_without_calls()
        if self._calls:
            message["content"] = message["content"] or None
            message["tool_calls"] = list(self._wire_calls())
        return message

    def message_without_calls(self) -> Message:
        """What was said, and as `reasoning_content` what was thought: some endpoints want that back between calls."""
        message: Message = {"role": "assistant", "content": self.text}
        if reasoning := encodable("".join(self._reasoning)):
            message["reasoning_content"] = reasoning
        return message

    def _wire_calls(self) -> Iterator[dict[str, Any]]:
        """The calls in wire form; one that came without an id gets one that no other call of this answer has."""
        taken = {call.id for _, call in self._calls}
        made_up = (name for number in range(1, 2 * len(self._calls) + 1) if (name := f"call_{number}") not in taken)
        for _, call in sorted(self._calls, key=lambda indexed: indexed[0]):
            yield {
                "id": encodable(call.id or next(made_up)),
                "type": "function",
                "function": {"name": encodable(call.name), "arguments": encodable("".join(call.arguments))},
            }


def _is_other(call: _Call, piece: ToolCallDelta) -> bool:
    """Whether a piece with a name and no id begins another call: some servers send each whole, all at one index."""
    if not piece.arguments.startswith("{") or not (call.arguments and call.arguments[-1].endswith("}")):
        return False
    try:
        return isinstance(json.loads("".join(call.arguments)), dict)
    except (ValueError, RecursionError):
        return False
