"""Entries: messages with an identity and the marks of what was done to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from triptych.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What was done to an entry. `guessed`: concluded from a known notice in a saved file, not remembered."""

    name: ClassVar[str] = ""
    """The mark's JSON name."""
    guessed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated(Mark):
    """Layer 1 cut this tool result; `omitted` original characters are gone."""

    name: ClassVar[str] = "truncated"
    limit: int | None = None
    omitted: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared(Mark):
    """Layer 2 replaced this tool result by a placeholder; only the newest `keep` results stay."""

    name: ClassVar[str] = "cleared"
    keep: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned(Mark):
    """Layer 2 shortened this tool result to its beginning and end."""

    name: ClassVar[str] = "pruned"
    keep_turns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(Mark):
    """This message summarizes the entries whose ids are `of`."""

    name: ClassVar[str] = "summary"
    of: tuple[int, ...] = ()


class Acknowledgement(Mark):
    """The fixed assistant answer that follows a summary."""

    __slots__ = ()
    name: ClassVar[str] = "acknowledgement"


class Interrupted(Mark):
    """The turn was cancelled here: a partial answer, or a result made up to close an open call."""

    __slots__ = ()
    name: ClassVar[str] = "interrupted"


class Repaired(Mark):
    """This entry was changed or added so that an API accepts the list."""

    __slots__ = ()
    name: ClassVar[str] = "repaired"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True, init=False)
class Entry:
    """A message in a session.

    `id` is stable for the life of the session and follows the order of birth; a replacement keeps the id of what it
    replaces. `marks` are in the order of events, newest last. Entries are compared by identity: undoing gives back
    the very same objects.

    weighed: what a counter worked out of the message, with the estimator that it used; None until then.
    """

    id: int
    message: Message
    marks: tuple[Mark, ...] = ()
    pinned: bool = False
    weighed: tuple[object, int] | None = field(init=False, repr=False)

    def __init__(self, id: int, message: Message, marks: tuple[Mark, ...] = (), pinned: bool = False) -> None:
        # What a frozen dataclass does in twice the time; nothing here is made as often.
        _set_id(self, id)
        _set_message(self, message)
        _set_marks(self, marks)
        _set_pinned(self, pinned)
        _set_weighed(self, None)

    def remember_weight(self, estimator: object, weight: int) -> None:
        """Spare the counter weighing the message again; to everybody else the entry stays the same."""
        _set_weighed(self, (estimator, weight))

    def replaced(self, message: Message, mark: Mark) -> Entry:
        """The same entry with another message, and the mark that says why."""
        return Entry(self.id, message, (*self.marks, mark), self.pinned)

    def has_mark(self, kind: type[Mark]) -> bool:
        return bool(self.marks) and any(isinstance(mark, kind) for mark in self.marks)

    @property
    def newest_mark(self) -> Mark | None:
        return self.marks[-1] if self.marks else None


_set_id, _set_message, _set_marks, _set_pinned, _set_weighed = (
    Entry.__dict__[name].__set__ for name in ("id", "message", "marks", "pinned", "weighed")
)


def entries_from(messages: Iterable[Message], first_id: int = 0) -> tuple[Entry, ...]:
    """Plain entries without marks, with ids counted from `first_id`."""
    return tuple(Entry(first_id + offset, message) for offset, message in enumerate(messages))


def messages_of(entries: Sequence[Entry]) -> list[Message]:
    """The list as the model sees it."""
    return [entry.message for entry in entries]
