"""What a reader of sessions gives, and what a format must offer to be one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

from triptych.formats.source import Source, Unreadable
from triptych.messages import Message
from triptych.reasons import TriptychError


class FormatError(TriptychError):
    """A file holds no messages that any reader knows."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages a format finds in a source, and what it had to leave out."""

    messages: tuple[Message, ...]
    unreadable: tuple[Unreadable, ...] = ()


class Format(Protocol):
    """A program's way of writing sessions; each is a module of this package."""

    @property
    def name(self) -> str: ...
    def recognizes(self, source: Source) -> bool:
        """Whether the source is of this format, by its content."""
        ...

    def read(self, source: Source) -> Conversation:
        """The conversation of a source that was recognized."""
        ...


def is_message(value: Any) -> TypeGuard[Message]:
    """Whether this counts as a message: an object with a string `role`."""
    return isinstance(value, dict) and isinstance(value.get("role"), str)


def keep_messages(items: Sequence[Any], line_of: Callable[[int], int]) -> Conversation:
    """The messages among `items`; the others are left out by line, `line_of(index)`, and reason."""
    messages = tuple(item for item in items if is_message(item))
    if len(messages) == len(items):
        return Conversation(messages)
    unreadable = [
        Unreadable(line_of(index), "no_role" if isinstance(item, dict) else "not_an_object")
        for index, item in enumerate(items)
        if not is_message(item)
    ]
    return Conversation(messages, tuple(unreadable))
