"""The tree of steps, and two places in it: the head, which is sent and saved, and the view, which is shown."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from triptych.edits import Edit, apply, apply_in_place, inverse_of
from triptych.entries import Entry, Summary
from triptych.reasons import Reason
from triptych.stages import Stage
from triptych.tokens import Count, Usage


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One stage's outcome.

    `parent` is the step before it, None for the first. Steps of one user action share `action`: the unit of undo.
    `at` is UTC; `seconds` how long the stage took.
    """

    id: int
    parent: int | None
    stage: Stage
    edits: tuple[Edit, ...]
    reason: Reason
    before: Count
    after: Count
    action: int
    at: datetime
    seconds: float = 0.0
    usage: Usage | None = None


MoveKind = Literal["undo", "redo", "take_back", "switch"]


class Move(NamedTuple):
    """The head went to another step. `of`: the action that was taken back, or the step that was switched to."""

    kind: MoveKind
    of: int | None = None


class Draft(NamedTuple):
    """A piece of an answer that is not whole yet. It changes nothing; should the program be killed, it is not lost."""

    text: str


class PolicyTaken(NamedTuple):
    """A policy is in force from here on, told in plain values as `policy.as_table` gives them. No list changes."""

    table: Any


Change = Step | Move | Draft | PolicyTaken


class Timeline:
    """Every step that ever was. Nothing is dropped: a step under an older one starts a branch."""

    def __init__(self, base: tuple[Entry, ...] = ()) -> None:
        self._steps: dict[int, Step] = {}
        self._depths: dict[int | None, int] = {None: 0}
        self._redo_child: dict[int | None, int] = {}
        self._displaced: dict[int, int] = {}  # by step: what redo led to before it was committed
        self._originals: dict[int, Entry] = {}
        self._replaced: dict[int, tuple[Entry, ...]] = {}  # by the id of a summary
        self._last_id = 0
        self._head: int | None = None
        self._view: int | None = None
        # The states worth keeping: where edits are applied next, and what is on screen. All others are walked to.
        self._states: dict[int | None, tuple[Entry, ...]] = {None: base}

    @property
    def head(self) -> int | None:
        """The id of the step whose outcome is sent and saved; None before the first."""
        return self._head

    @property
    def view(self) -> int | None:
        """The id of the step whose outcome is shown."""
        return self._view

    @property
    def last_id(self) -> int:
        return self._last_id

    @property
    def base(self) -> tuple[Entry, ...]:
        """The list before the first step."""
        return self._states[None]

    def steps(self) -> Collection[Step]:
        """Every step of every branch, in the order in which they were taken."""
        return self._steps.values()

    @property
    def can_undo(self) -> bool:
        return self._head is not None

    @property
    def can_redo(self) -> bool:
        return self._head in self._redo_child

    def known_entries(self) -> Iterator[Entry]:
        """Every entry that ever was, some of them several times."""
        yield from self.base
        for step in self._steps.values():
            for edit in step.edits:
                yield from edit.inserted

    def knows(self, step_id: int | None) -> bool:
        """Whether there is such a step; None, which is before the first, always is."""
        return step_id in self._depths

    def step(self, step_id: int) -> Step:
        return self._steps[step_id]

    def original(self, entry_id: int) -> Entry | None:
        """The entry as it was before any step replaced or removed it; None when none ever did."""
        return self._originals.get(entry_id)

    def replaced(self, summary_id: int) -> tuple[Entry, ...]:
        """What a summary was put in place of, as layers before it had left it; empty where that is not known."""
        return self._replaced.get(summary_id, ())

    def path(self) -> list[Step]:
        """The steps from the first to the head."""
        steps: list[Step] = []
        step_id = self._head
        while step_id is not None:
            steps.append(self._steps[step_id])
            step_id = steps[-1].parent
        return steps[::-1]

    def maker_of(self, entry: Entry) -> Step | None:
        """The step on the way to the head that put this entry in place; None where it was there at the start.

        One that pins an entry did not make it.
        """
        for step in reversed(self.path()):
            for edit in step.edits:
                if entry in edit.inserted and step.stage != "pin":
                    return step
                if entry in edit.inserted:
                    entry = edit.removed[edit.inserted.index(entry)]
        return None

    def ahead(self) -> list[Step]:
        """The steps that redoing to the end would bring back, from the one after the head."""
        steps: list[Step] = []
        step_id = self._redo_child.get(self._head)
        while step_id is not None:
            steps.append(self._steps[step_id])
            step_id = self._redo_child.get(step_id)
        return steps

    def commit(self, step: Step) -> None:
        """Add a step under the head and move the head to it; a view that was at the head goes along.

        Raises EditConflict, changing nothing, when the step's edits do not fit there.
        """
        state = apply(self.entries(self._head), step.edits)
        viewing_head = self._view == self._head
        self.link(step)
        if viewing_head:
            self._view = step.id
        self._keep(step.id, state)

    def link(self, step: Step) -> None:
        """Hang a step under its parent, and move the head to it; whether its edits fit there is not looked at."""
        self._steps[step.id] = step
        self._last_id = max(self._last_id, step.id)
        self._depths[step.id] = self._depths[step.parent] + 1
        if step.parent in self._redo_child:
            self._displaced[step.id] = self._redo_child[step.parent]
        self._redo_child[step.parent] = step.id
        self._head = step.id
        if step.stage == "pin":  # it replaces no message, so what stood there before is no original
            return
        for edit in step.edits:
            for entry in edit.removed:
                self._originals.setdefault(entry.id, entry)
            for entry in edit.inserted:
                if any(isinstance(mark, Summary) and mark.of for mark in entry.marks):
                    self._replaced.setdefault(entry.id, edit.removed)

    def undo(self) -> bool:
        """Move head and view to before the head's whole action; whether there was one."""
        return self.move(Move("undo"))

    def redo(self) -> bool:
        """Move head and view over the whole action that was left last; whether there was one."""
        return self.move(Move("redo"))

    def take_back(self, action: int) -> bool:
        """Move head and view to before the newest steps, this action's; redo leads where it led before them."""
        return self.move(Move("take_back", action))

    def switch(self, step_id: int | None) -> bool:
        """Move head and view to a step of any branch; redo leads along the way that undo goes back from there."""
        return self.move(Move("switch", step_id))

    def move(self, move: Move) -> bool:
        """Move head and view; whether that led anywhere. Raises KeyError for a step that is not there."""
        target = self._destination(move)
        if target == self._head:
            return False
        state = self.entries(target)
        self._head = target
        self.settle(state)
        return True

    def follow(self, move: Move) -> None:
        """Move the head alone: which list stands there is not worked out. Raises KeyError as `move` does."""
        self._head = self._destination(move)

    def settle(self, state: tuple[Entry, ...]) -> None:
        """The list at the head is `state`, and is viewed."""
        self._view = self._head
        self._keep(self._head, state)

    def branches(self) -> list[Step]:
        """The last step of every branch, oldest first."""
        parents = {step.parent for step in self._steps.values()}
        return [step for step in self._steps.values() if step.id not in parents]

    def seek(self, step_id: int | None) -> None:
        """Move only the view."""
        state = self.entries(step_id)
        self._view = step_id
        self._keep(step_id, state)

    def entries(self, step_id: int | None) -> tuple[Entry, ...]:
        """The list after a step, None being the start. Costs one copy of a list and the edits walked over."""
        if step_id in self._states:
            return self._states[step_id]
        origin = min(self._states, key=lambda known: self._distance(known, step_id))
        entries = list(self._states[origin])
        self.walk(entries, origin, step_id)
        return tuple(entries)

    def _destination(self, move: Move) -> int | None:
        """Where a move leads, with what redo leads to from there."""
        match move.kind:
            case "undo":
                return self._before_action(self._head)
            case "redo":
                return self._after_action(self._head)
            case "take_back":
                return self._before_steps_of(move.of)
            case "switch":
                return self._on_the_way_to(move.of)

    def _before_action(self, head: int | None) -> int | None:
        action = None if head is None else self._steps[head].action
        target = head
        while target is not None and self._steps[target].action == action:
            parent = self._steps[target].parent
            self._redo_child[parent] = target
            target = parent
        return target

    def _after_action(self, head: int | None) -> int | None:
        target = self._redo_child.get(head)
        if target is None:
            return head
        action = self._steps[target].action
        while (following := self._redo_child.get(target)) is not None and self._steps[following].action == action:
            target = following
        return target

    def _before_steps_of(self, action: int | None) -> int | None:
        first, target = None, self._head
        while target is not None and self._steps[target].action == action:
            first, target = target, self._steps[target].parent
        if first is not None:
            self._redo_child.pop(target, None)
            if first in self._displaced:
                self._redo_child[target] = self._displaced[first]
        return target

    def _on_the_way_to(self, step_id: int | None) -> int | None:
        node = step_id
        while node is not None:
            parent = self._steps[node].parent
            self._redo_child[parent] = node
            node = parent
        return step_id

    def _keep(self, step_id: int | None, state: tuple[Entry, ...]) -> None:
        self._states[step_id] = state
        for known in [known for known in self._states if known not in (None, self._head, self._view)]:
            del self._states[known]

    def walk(self, entries: list[Entry], origin: int | None, target: int | None) -> None:
        """Turn the list after one step into the list after another."""
        backwards, forwards = self._way(origin, target)
        for step in backwards:
            apply_in_place(entries, inverse_of(step.edits))
        for step in forwards:
            apply_in_place(entries, step.edits)

    def _distance(self, origin: int | None, target: int | None) -> int:
        return sum(map(len, self._way(origin, target)))

    def _way(self, origin: int | None, target: int | None) -> tuple[list[Step], list[Step]]:
        """The steps to take back, in order, then the steps to do, in order."""
        backwards: list[Step] = []
        forwards: list[Step] = []
        while origin != target:
            if self._depths[origin] >= self._depths[target]:
                assert origin is not None
                backwards.append(self._steps[origin])
                origin = backwards[-1].parent
            else:
                assert target is not None
                forwards.append(self._steps[target])
                target = forwards[-1].parent
        return backwards, forwards[::-1]
