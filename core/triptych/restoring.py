"""What a journal tells, gone through once more: the timeline that its changes made, as far as they fit together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from triptych.edits import EditConflict, apply_in_place
from triptych.entries import Entry
from triptych.timeline import Change, Move, PolicyTaken, Step, Timeline


class Restored(NamedTuple):
    """The timeline that changes led to. changes: those that fit. lost: how many steps do not, or hang on one such."""

    timeline: Timeline
    changes: tuple[Change, ...]
    lost: int


def restored(base: tuple[Entry, ...], changes: Iterable[Change]) -> Restored:
    """The timeline that these changes made of a list, one after the other, as far as they fit together."""
    restoration = _Restoration(base)
    kept = [change for each in changes if (change := restoration.follow(each)) is not None]
    if restoration.is_sound:
        return Restored(restoration.at_head(), tuple(kept), 0)
    kept.append(Move("switch", restoration.newest_kept()))
    return restored(base, kept)._replace(lost=restoration.lost)


class _Restoration:
    """Takes each step on a list of its own. One that does not fit has its place in the tree all the same: moves tell
    where they lead by that."""

    def __init__(self, base: tuple[Entry, ...]) -> None:
        self.is_sound = True
        self._timeline = Timeline(base)
        self._lost_ids: set[int] = set()
        self._twice = 0
        self._entries = list(base)
        self._at: int | None = None

    @property
    def lost(self) -> int:
        return len(self._lost_ids) + self._twice

    def follow(self, change: Change) -> Change | None:
        """Take a change; returns it, or what remains of it where something before it was lost."""
        if isinstance(change, Step):
            return self._take(change)
        if isinstance(change, Move):
            return self._move(change)
        return change if isinstance(change, PolicyTaken) else None

    def at_head(self) -> Timeline:
        """The timeline, with its list at the head."""
        self._go_to(self._timeline.head)
        self._timeline.settle(tuple(self._entries))
        return self._timeline

    def newest_kept(self) -> int | None:
        """The step at the head, or the last one before it that fits."""
        step_id = self._timeline.head
        while step_id is not None and step_id in self._lost_ids:
            step_id = self._timeline.step(step_id).parent
        return step_id

    def _take(self, step: Step) -> Step | None:
        timeline = self._timeline
        is_new = not timeline.knows(step.id)
        if (is_new or step.id in self._lost_ids) and self._fits(step):
            timeline.link(step)
            self._lost_ids.discard(step.id)
            return step
        self.is_sound = False
        if is_new:
            self._lost_ids.add(step.id)
            timeline.link(replace(step, parent=timeline.head))  # a step is always taken at the head
        else:
            self._twice += 1
        return None

    def _fits(self, step: Step) -> bool:
        if step.parent in self._lost_ids or not self._timeline.knows(step.parent):
            return False
        self._go_to(step.parent)
        try:
            apply_in_place(self._entries, step.edits)
        except EditConflict:
            return False
        self._at = step.id
        return True

    def _move(self, move: Move) -> Move | None:
        timeline = self._timeline
        if move.kind == "switch" and not timeline.knows(move.of):
            return None
        timeline.follow(move)
        if self.is_sound:
            return move
        return None if timeline.head in self._lost_ids else Move("switch", timeline.head)

    def _go_to(self, step_id: int | None) -> None:
        self._timeline.walk(self._entries, self._at, step_id)
        self._at = step_id
