"""What the turn loop asks of a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from triptych.messages import Message
from triptych.reasons import TriptychError


class Request(NamedTuple):
    """One request exactly as it is sent: messages and tool schemas (chat-completions form)."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()


class TextDelta(NamedTuple):
    text: str


class ReasoningDelta(NamedTuple):
    """A piece of what a model thinks before it answers."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call. `id` and `name` come with the first piece, or, from some servers, with every one."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""


class UsageReport(NamedTuple):
    """Tokens as the endpoint counted them."""

    prompt_tokens: int
    completion_tokens: int = 0


FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]


class Finish(NamedTuple):
    reason: FinishReason


Delta = TextDelta | ReasoningDelta | ToolCallDelta | UsageReport | Finish


class ModelError(TriptychError):
    """The endpoint refused, failed or answered nonsense; nothing of the session changed by it.

    may_pass: the same request, sent again, may well succeed.
    """

    def __init__(self, reason_id: str, /, *, may_pass: bool = False, **values: Any) -> None:
        super().__init__(reason_id, **values)
        self.may_pass = may_pass

    @property
    def retry_after(self) -> float | None:
        """Seconds that the endpoint asked to wait, None where it did not say."""
        seconds: float | None = self.reason.values.get("retry_after")
        return seconds


class ChatModel(Protocol):
    """A chat model. `window` is its context window in tokens, None where unknown."""

    @property
    def name(self) -> str: ...
    @property
    def window(self) -> int | None: ...
    @property
    def offline(self) -> bool: ...

    def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Answer piece by piece, a Finish among the pieces. Raises ModelError; closing the iterator stops it."""
        ...
