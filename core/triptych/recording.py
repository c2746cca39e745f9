"""What was said in a session, whatever its layers have made of it since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from triptych.edits import Edit
from triptych.entries import Acknowledgement, Cleared, Entry, Pruned, Summary, Truncated
from triptych.policy import LAYER_STAGES
from triptych.stages import Stage
from triptych.timeline import Timeline

_BY_LAYERS = (Truncated, Cleared, Pruned, Summary)
_BY_PROGRAM: frozenset[Stage] = LAYER_STAGES | {"repair", "revert"}
"""Stages at which nobody says anything."""


class Recording(NamedTuple):
    """entries: what was said, in order. remembered: a journal told it; without one it is what the saved list holds."""

    entries: tuple[Entry, ...]
    remembered: bool

    @property
    def shortened(self) -> int:
        """How many of the entries are not what was said, since layers had changed them before anything is known."""
        return sum(any(entry.has_mark(kind) for kind in _BY_LAYERS) for entry in self.entries)


def as_said(timeline: Timeline) -> tuple[Entry, ...]:
    """The list at the head as it would be if no layer had changed it and nothing had been repaired."""
    conversation = _Conversation(timeline.base)
    for step in timeline.path():
        for edit in step.edits:
            if step.stage == "pin":
                conversation.pin(edit.inserted)
            elif step.stage in _BY_PROGRAM:
                conversation.pass_over(edit)
            else:
                conversation.follow(edit)
    return tuple(conversation.said.values())


def is_made_up(entry: Entry) -> bool:
    """Whether nobody said this: a summary, or the fixed answer to one."""
    return entry.has_mark(Summary) or entry.has_mark(Acknowledgement)


class _Conversation:
    """What has been said, by id and in order; what layers put in its place stands beside it."""

    def __init__(self, base: Sequence[Entry]) -> None:
        self.said: dict[int, Entry] = {entry.id: entry for entry in base}
        self._stands_for: dict[int, tuple[int, ...]] = {}  # what a layer put in place of others
        self._behind: dict[int, int | None] = {}  # the entry before what the program put there

    def pin(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if entry.id in self.said:
                self.said[entry.id] = replace(self.said[entry.id], pinned=entry.pinned)

    def pass_over(self, edit: Edit) -> None:
        """Remember where things are, for what is said later."""
        inserted = {entry.id for entry in edit.inserted}
        gone = tuple(entry.id for entry in edit.removed if entry.id not in inserted)
        for entry in edit.inserted:
            if entry.id not in self.said:
                self._stands_for[entry.id] = gone
                self._behind[entry.id] = gone[-1] if gone else edit.after

    def follow(self, edit: Edit) -> None:
        """Say what is new, and take out what was taken out, with all that it stood for."""
        inserted = {entry.id for entry in edit.inserted}
        place = self._place(edit.after)
        for entry in edit.removed:
            if entry.id not in inserted:
                self._take_out(entry.id)
        new: dict[int, Entry] = {}
        for entry in edit.inserted:
            if entry.id in self.said:
                self.said[entry.id] = entry
            elif entry.id not in self._stands_for:
                new[entry.id] = entry
        if edit.after is None:
            self.said = new | self.said
        elif place is None or place == next(reversed(self.said), None):
            self.said |= new
        elif new:
            items = list(self.said.items())
            at = next((index + 1 for index, (known, _) in enumerate(items) if known == place), len(items))
            self.said = dict([*items[:at], *new.items(), *items[at:]])

    def _place(self, after: int | None) -> int | None:
        """The entry that was said before a place; None where that is not known, or nothing was."""
        while after is not None and after not in self.said:
            after = self._behind.get(after)
        return after

    def _take_out(self, entry_id: int) -> None:
        waiting = [entry_id]
        while waiting:
            each = waiting.pop()
            self.said.pop(each, None)
            waiting += self._stands_for.pop(each, ())
