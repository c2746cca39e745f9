"""Which messages belong together: calls with their results, and what the model has not answered yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from triptych.entries import Entry, Summary
from triptych.messages import (
    Message,
    ToolCall,
    answered_id,
    asks,
    ids_and_names,
    is_result,
    native,
    role_of,
    tool_call_at,
)


class Place(NamedTuple):
    """A call: the index of its message, which of its calls it is, and the name of the tool."""

    calling: int
    position: int
    tool: str


class Exchanges:
    """What belongs together in a list of entries.

    messages: those of the entries in their `native` form. results: the indices of tool results. turns: of user messages
    that a user asked, as `real_turn_starts`. owners: the call that each result answers, for results that answer one.
    calls: how many calls a message makes, for those that make any. None of it changes any more once it is there.

    Calls of the message right before a run of results come first, as an API pairs them; what is left is paired by
    occurrence. So ids that repeat, and calls that were never answered, put no later result to the wrong call.
    """

    def __init__(self, entries: Sequence[Entry], begun: Exchanges | None = None) -> None:
        """`begun`: what is known of the list's beginning."""
        self.entries = entries
        self.messages: list[Message] = [*begun.messages] if begun else []
        self.results: list[int] = [*begun.results] if begun else []
        self.turns: list[int] = [*begun.turns] if begun else []
        self.owners: dict[int, Place] = {**begun.owners} if begun else {}
        self.calls: dict[int, int] = {**begun.calls} if begun else {}
        self._pins: list[int] = [*begun._pins] if begun else []
        self._near: dict[str, deque[Place]] = _copied(begun._near) if begun else {}
        self._left: dict[str, deque[Place]] = _copied(begun._left) if begun else {}
        self._go_on()

    def _go_on(self) -> None:
        """Pair what is not known yet."""
        messages, owners, near, left = self.messages, self.owners, self._near, self._left
        for index in range(len(messages), len(self.entries)):
            entry = self.entries[index]
            message = native(entry.message)
            messages.append(message)
            if entry.pinned:
                self._pins.append(index)
            if is_result(message):
                self.results.append(index)
                call_id = answered_id(message)
                if waiting := near.get(call_id) or left.get(call_id):
                    owners[index] = waiting.popleft()
                continue
            if near:
                self._leave()
            if _is_question(entry, message):
                self.turns.append(index)
            if made := ids_and_names(message):
                self.calls[index] = len(made)
                for position, (call_id, tool) in enumerate(made):
                    near.setdefault(call_id, deque()).append(Place(index, position, tool))

    def _leave(self) -> None:
        """What the newest calls left unanswered joins what those before them did."""
        for call_id, places in self._near.items():
            if places:
                self._left.setdefault(call_id, deque()).extend(places)
        self._near.clear()

    def tool_of(self, index: int) -> str:
        """The name of the tool whose result stands at an index, "" where nothing called it."""
        owner = self.owners.get(index)
        return "" if owner is None else owner.tool

    def call_of(self, index: int) -> ToolCall | None:
        """The call that the result at an index answers."""
        owner = self.owners.get(index)
        return None if owner is None else tool_call_at(self.messages[owner.calling], owner.position)

    @cached_property
    def unanswered_start(self) -> int:
        """The index from which on the model has seen nothing yet: what stands behind its last message."""
        for index in range(len(self.messages) - 1, -1, -1):
            if role_of(self.messages[index]) == "assistant":
                return index + 1
        return 0

    @cached_property
    def pinned(self) -> set[int]:
        """The entries that stay by a pin: a pinned call or result holds its whole exchange."""
        return self.belonging(self._pins) if self._pins else set()

    def belonging(self, indices: Iterable[int]) -> set[int]:
        """Entries and what belongs to them: a call's results; a result's call, and its other results."""
        chosen = set(indices)
        calling = chosen | {self.owners[index].calling for index in chosen if index in self.owners}
        return calling | {index for index, owner in self.owners.items() if owner.calling in calling}

    @cached_property
    def is_safe(self) -> Sequence[bool]:
        """For each index, and the end: whether a cut before it parts no result from its call."""
        changes = [0] * (len(self.messages) + 1)
        for index, owner in self.owners.items():
            changes[owner.calling + 1] += 1
            changes[index + 1] -= 1
        return [spanning == 0 for spanning in accumulate(changes)]

    def batches(self, results: Sequence[int]) -> Iterator[list[int]]:
        """Results, in order, that answer calls of one message together; a result without a call is on its own."""
        batch: list[int] = []
        calling_before = None
        for index in results:
            owner = self.owners.get(index)
            calling = None if owner is None else owner.calling
            if batch and (calling is None or calling != calling_before):
                yield batch
                batch = []
            batch.append(index)
            calling_before = calling
        if batch:
            yield batch


def _copied(waiting: dict[str, deque[Place]]) -> dict[str, deque[Place]]:
    return {call_id: places.copy() for call_id, places in waiting.items()}


_asked_last = Exchanges(())
"""All layers of a turn ask for one list, and the next turn for that list with more behind it.

Entries are compared by identity and nothing here changes, so whoever asks, on any thread, is told what the list alone
says. It holds on to one list.
"""


def exchanges_of(entries: tuple[Entry, ...]) -> Exchanges:
    """The exchanges of a list; where it goes on from the list that was asked for last, only what is new is paired."""
    global _asked_last
    begun = _asked_last
    if entries[: len(begun.entries)] != begun.entries:
        begun = Exchanges(entries)
    elif len(entries) > len(begun.entries):
        begun = Exchanges(entries, begun)
    _asked_last = begun
    return begun


def real_turn_starts(entries: Sequence[Entry]) -> list[int]:
    """The indices of user messages that a user asked: no summaries, no results in the text protocol."""
    return [index for index, entry in enumerate(entries) if _is_question(entry, entry.message)]


def _is_question(entry: Entry, message: Message) -> bool:
    return asks(message) and not entry.has_mark(Summary)
