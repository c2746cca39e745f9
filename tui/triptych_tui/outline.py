"""What the rows of a list have to know of each other: turns, calls with their results, orphans."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from triptych.entries import Entry, Summary
from triptych.messages import ToolCall, answered_id, asks, carries_result, is_result, native, tool_calls


@dataclass(slots=True)
class CallGroup:
    """An assistant message's calls and the results that answer them, by index in the list."""

    letter: str
    call_index: int
    calls: int
    results: list[int] = field(default_factory=list)

    def label(self) -> str:
        """The short form of all its calls: `a1`, `b1-2`."""
        if self.calls == 1:
            return f"{self.letter}1"
        return f"{self.letter}1-{self.calls}" if self.calls < 10 else f"{self.letter}-{self.calls}"


class Place(NamedTuple):
    """Where a row stands in its group: `call` its short id, `bracket` one of "", "first", "middle", "last"."""

    group: CallGroup
    call: str
    bracket: str


class Outline:
    """The structure of one list, kept up to date as it changes."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self._start_over(entries)

    def extend(self, entries: Sequence[Entry]) -> None:
        """Follow entries that were appended."""
        self._scan(entries)

    def turn_at(self, index: int) -> int | None:
        """The number of the turn that this row starts, from 1."""
        return self._turns.get(index)

    def group_at(self, index: int) -> CallGroup | None:
        return self._groups.get(index)

    def is_orphan(self, index: int) -> bool:
        """Whether this is a result whose call is not in the list."""
        return index in self._orphans

    def place(self, index: int) -> Place | None:
        """The row's place in a call group, None for plain messages."""
        group = self._groups.get(index)
        if group is None:
            return None
        if index == group.call_index:
            return Place(group, group.label(), "first" if group.results else "")
        return Place(group, self._calls[index], "last" if index == group.results[-1] else "middle")

    def _start_over(self, entries: Sequence[Entry]) -> None:
        self._length = 0
        self._turn_count = 0
        self._group_count = 0
        self._turns: dict[int, int] = {}
        self._groups: dict[int, CallGroup] = {}
        self._calls: dict[int, str] = {}
        self._orphans: set[int] = set()
        self._open: defaultdict[str, deque[tuple[CallGroup, str]]] = defaultdict(deque)
        self._scan(entries)

    def _scan(self, entries: Sequence[Entry]) -> None:
        for index in range(self._length, len(entries)):
            entry = entries[index]
            message = entry.message
            if carries_result(message):
                self._add_result(index, answered_id(message), is_refused=is_result(message))
            elif calls := tool_calls(native(message)):
                self._add_calls(index, calls)
            elif asks(message) and not entry.has_mark(Summary):
                self._turn_count += 1
                self._turns[index] = self._turn_count
        self._length = len(entries)

    def _add_calls(self, index: int, calls: Sequence[ToolCall]) -> None:
        group = CallGroup("abcdefghijklmnopqrstuvwxyz"[self._group_count % 26], index, len(calls))
        self._group_count += 1
        self._groups[index] = group
        for number, call in enumerate(calls, 1):
            self._open[call.id].append((group, f"{group.letter}{number}"))

    def _add_result(self, index: int, call_id: str, *, is_refused: bool) -> None:
        """`is_refused`: without its call an API would not have it."""
        waiting = self._open.get(call_id)
        if not waiting:
            if is_refused:
                self._orphans.add(index)
            return
        group, label = waiting.popleft()
        group.results.append(index)
        self._groups[index] = group
        self._calls[index] = label
