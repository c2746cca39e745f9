"""The session: the single source of truth, and the only thing that changes state."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import NamedTuple, Protocol

from triptych.edits import Edit, EditConflict, append_edit, inverse_of
from triptych.entries import Entry, Mark, messages_of
from triptych.events import Event, HeadMoved, Noticed, PolicyChanged, Saved, SaveFailed, StepCommitted, ViewMoved
from triptych.layers.plan import Plan, make_plan
from triptych.messages import Message
from triptych.policy import Policy, as_table
from triptych.reasons import Reason, TriptychError
from triptych.stages import Layer, Stage
from triptych.timeline import Change, Draft, Move, PolicyTaken, Step, Timeline
from triptych.tokens import ESTIMATORS, Measured, MeasuredUsage, TokenCounter, Usage
from triptych.usage import Sent, UsageHistory


class Store(Protocol):
    """Where a session is kept. What cannot be written raises TriptychError.

    `save` blocks until the list after step `head` is safe on disk. `record` keeps a change at once; what it could not
    write it writes the next time. `forget` keeps this list alone, which is saved already. `settle` remembers that what
    another program has put there is the list after step `head`.
    """

    def save(self, entries: tuple[Entry, ...], head: int | None) -> object: ...
    def record(self, change: Change) -> None: ...
    def forget(self, entries: tuple[Entry, ...]) -> None: ...
    def settle(self, head: int | None) -> None: ...


class SessionError(TriptychError):
    """What was asked cannot be done to the list as it is; nothing has changed."""


class SpareSummary(NamedTuple):
    """The summary of a turn that failed and was taken back: it is paid for, so the next try may use it.

    old: the messages it stands for. text: the summary as the model wrote it. flaw: what went wrong meanwhile.
    """

    old: list[Message]
    text: str
    flaw: Reason | None


def utc_now() -> datetime:
    return datetime.now(UTC)


class Session:
    """A timeline with its policy, its measured usage and the store it is kept in (None: in memory only)."""

    def __init__(
        self,
        past: tuple[Entry, ...] | Timeline,
        policy: Policy,
        store: Store | None = None,
        clock: Callable[[], datetime] = utc_now,
        *,
        is_saved: bool = True,
        forgotten: bool = False,
    ) -> None:
        """`past` is the list that the session begins with, or the timeline that it goes on with.

        `is_saved`: the store holds the list at the head already. `forgotten`: it began earlier than can be told.
        """
        self.timeline = past if isinstance(past, Timeline) else Timeline(past)
        self.policy = policy
        self.store = store
        self.forgotten = forgotten
        self.counter = TokenCounter(ESTIMATORS[policy.estimator])
        self.save_problem: Reason | None = None
        self.spare_summary: SpareSummary | None = None
        self._usage: MeasuredUsage | None = None
        self._usage_history = UsageHistory()
        self._clock = clock
        self._listeners: list[Callable[[Event], None]] = []
        self._next_id = max(map(attrgetter("id"), self.timeline.known_entries()), default=-1) + 1
        self._next_action = max((step.action for step in self.timeline.steps()), default=0) + 1
        self._writing = asyncio.Lock()
        self._saved: tuple[Entry, ...] | None = self.entries if is_saved else None
        self._unrecorded: list[Change] = []
        self._untold: PolicyTaken | None = None
        self._is_forgetting = False

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The list at the head: what the next request sends and the next save writes."""
        return self.timeline.entries(self.timeline.head)

    @property
    def viewed(self) -> tuple[Entry, ...]:
        """The list on screen."""
        return self.timeline.entries(self.timeline.view)

    @property
    def is_saved(self) -> bool:
        """Whether the store holds the list at the head."""
        return self._saved is self.entries

    @property
    def saved_entries(self) -> tuple[Entry, ...] | None:
        """The list that the store holds; None where that is not known."""
        return self._saved

    @property
    def unrecorded(self) -> Sequence[Change]:
        """What happened while there was no store."""
        return tuple(self._unrecorded)

    def keep_in(self, store: Store, *, known: int = 0) -> None:
        """Keep the session in a store from now on, which is told what happened without one after `known` changes."""
        changes, self._unrecorded, self.store = self._unrecorded[known:], [], store
        for change in changes:
            self._record(change)

    def take_as_saved(self, entries: tuple[Entry, ...] | None) -> None:
        """The store holds this list, the one at the head, whoever wrote it there; None: it holds none any more."""
        self._saved, self.save_problem = entries, None
        if self.store is not None and entries is not None:
            with suppress(TriptychError):  # it is told with the next change then
                self.store.settle(self.timeline.head)
        self.emit(Saved())

    def subscribe(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Hear of every change, in the order of events; call what is returned to hear no more."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def emit(self, event: Event) -> None:
        for listener in tuple(self._listeners):
            listener(event)

    def new_ids(self, count: int) -> int:
        """Reserve `count` entry ids; the first is returned. An id is never given twice."""
        first = self._next_id
        self._next_id += count
        return first

    def begin_action(self) -> int:
        """A number for what the user is about to do: its steps are undone together."""
        action = self._next_action
        self._next_action += 1
        return action

    def perform(self, plan: Plan, action: int, *, seconds: float = 0.0, usage: Usage | None = None) -> Step:
        """Apply a plan at the head as one step. Raises EditConflict, changing nothing, when it does not fit there."""
        step = Step(
            id=self.timeline.last_id + 1,
            parent=self.timeline.head,
            stage=plan.stage,
            edits=plan.edits,
            reason=plan.reason,
            before=plan.before,
            after=plan.after,
            action=action,
            at=self._clock(),
            seconds=seconds,
            usage=usage,
        )
        before = self.entries
        self.timeline.commit(step)
        self.counter.follow(before, step.edits, self.entries)
        self._record(step)
        self.emit(StepCommitted(step))
        return step

    def append(
        self,
        stage: Stage,
        message: Message,
        reason: Reason,
        action: int,
        *,
        marks: tuple[Mark, ...] = (),
        usage: Usage | None = None,
    ) -> Entry:
        """Append one message at the head as one step."""
        entry = Entry(self.new_ids(1), message, marks)
        plan = make_plan(stage, self.entries, (append_edit(self.entries, entry),), reason, self.counter)
        self.perform(plan, action, usage=usage)
        return entry

    def use_policy(self, policy: Policy) -> None:
        """Do by this policy from the next stage on; the session remembers it.

        With another estimator all is counted anew, and what was measured says nothing any more.
        """
        before, self.policy = self.policy, policy
        if policy.estimator != before.estimator:
            self.counter.count_by(ESTIMATORS[policy.estimator])
            self.forget_usage()
        self._untold = None
        self._record(PolicyTaken(as_table(policy)))
        self.emit(PolicyChanged(policy, before))

    def remember_policy(self) -> None:
        """Have the store told of the policy in force together with the next change: nothing is written for it alone."""
        self._untold = PolicyTaken(as_table(self.policy))

    def switch_layer(self, layer: Layer) -> None:
        """Switch a layer of the policy off or on again."""
        self.use_policy(self.policy.switched(layer))

    def keep_draft(self, text: str) -> None:
        """Keep a piece of an answer under way, so that it is not lost should the program be killed."""
        self._record(Draft(text))

    def undo(self) -> bool:
        """Take back the newest whole action; False when there is none."""
        return self._move(Move("undo"))

    def redo(self) -> bool:
        """Do again the action that was taken back last; False when there is none."""
        return self._move(Move("redo"))

    def switch(self, step_id: int | None) -> bool:
        """Go to a step of any branch, where the next one begins; False when the head is there.

        Raises SessionError, changing nothing, when an API would refuse the list there.
        """
        from triptych.checks import would_be_refused  # not needed for the first picture

        if would_be_refused(messages_of(self.timeline.entries(step_id))):
            raise SessionError("branch.would_be_refused", step=step_id)
        return self._move(Move("switch", step_id))

    def reverted(self, step_id: int) -> Plan:
        """What takes back this one step while all that came after it stays.

        Raises SessionError when later steps have changed or removed what it put in place.
        """
        step, entries = self.timeline.step(step_id), self.entries
        places = {entry: index for index, entry in enumerate(entries)}
        edits: list[Edit] = []
        for edit in inverse_of(step.edits):
            start = places.get(edit.removed[0]) if edit.removed else None
            if start is None or entries[start : start + len(edit.removed)] != edit.removed:
                raise SessionError("revert.built_upon", stage=step.stage)
            edits.append(edit._replace(index=start, after=entries[start - 1].id if start else None))
        reason = Reason("revert.done", {"stage": step.stage})
        return make_plan("revert", entries, tuple(edits), reason, self.counter)

    def take_back(self, action: int) -> None:
        """Take back an action that came to nothing; its steps stay in the tree.

        While its steps are the newest, all is as before it: what redo leads to and the measured usage too. Where other
        steps stand above, each of its steps that still can be is taken back by a step of its own.
        """
        path = self.timeline.path()
        steps = [step for step in path if step.action == action]
        if not steps:
            return
        if steps == path[-len(steps) :]:
            self.timeline.take_back(action)
            self._record(Move("take_back", action))
            self.emit(HeadMoved(self.timeline.head))
            return
        taking_back = self.begin_action()
        for step in reversed(steps):
            inverse, reason = inverse_of(step.edits), Reason("turn.taken_back")
            with suppress(EditConflict):  # others have built upon it: it stays
                self.perform(make_plan(step.stage, self.entries, inverse, reason, self.counter), taking_back)

    async def forget_originals(self) -> None:
        """Keep the list as it is and forget for good how it came about. Raises TriptychError: nothing is forgotten.

        What is done meanwhile comes after it; nothing can be undone meanwhile, as it cannot be afterwards.
        """
        await self.save()
        entries, path = self.entries, self.timeline.path()
        if not self.is_saved:
            raise SessionError("forget.not_saved")
        if self.store is not None:
            self._is_forgetting = True
            try:
                await asyncio.to_thread(self.store.forget, entries)
            finally:
                self._is_forgetting = False
        now = self.timeline.path()
        later = now[len(path) :] if now[: len(path)] == path else []
        self.timeline, self.forgotten = Timeline(entries), True
        self._saved = entries
        policies: list[Change] = [each for each in self._unrecorded if isinstance(each, PolicyTaken)]
        self._unrecorded = policies[-1:]
        for step in later:
            self.timeline.commit(replace(step, parent=self.timeline.head))
            self._record(self.timeline.step(step.id))
        self.emit(HeadMoved(self.timeline.head))

    def seek(self, step_id: int | None) -> None:
        """Show the list as it was after a step; what is sent and saved stays."""
        self.timeline.seek(step_id)
        self.emit(ViewMoved(step_id))

    def _move(self, move: Move) -> bool:
        if self._is_forgetting or not self.timeline.move(move):
            return False
        self._record(move)
        self._usage = None  # measured on a list that is no longer the newest
        self.emit(HeadMoved(self.timeline.head))
        return True

    def record_usage(self, usage: Usage, weight: int) -> None:
        """Remember what a request of the list at the head measured; `weight` is the estimator's for that request."""
        estimate = self.counter.tokens(weight)
        self._usage = MeasuredUsage(usage.prompt_tokens, estimate)
        dropped = self._usage_history.add(self.entries, Sent(estimate, usage.prompt_tokens))
        if dropped is not None:
            self.emit(Noticed(Reason("usage.beginning_dropped", {"read": dropped.read, "expected": dropped.expected})))

    def forget_usage(self) -> None:
        """Another model counts otherwise: what was measured until now says nothing about its requests."""
        self._usage, self._usage_history = None, UsageHistory()

    def size(self, weight: int) -> Measured:
        """The size in tokens of a request of this estimated weight, measured where a measure is known."""
        estimate = self.counter.tokens(weight)
        return Measured(estimate, "estimated") if self._usage is None else self._usage.at(estimate)

    async def save(self) -> None:
        """Write the list at the head, if it is not on disk already. A failure is told as an event, never raised.

        Once begun, a write is finished even when the caller is cancelled.
        """
        if self.store is not None and not self.is_saved:
            await asyncio.shield(asyncio.ensure_future(self._write(self.store)))

    def _record(self, change: Change) -> None:
        """Have the store keep a change before anybody hears of it."""
        if self._untold is not None:
            untold, self._untold = self._untold, None
            self._record(untold)
        if self.store is None:
            if not isinstance(change, Draft):
                self._unrecorded.append(change)
            return
        try:
            self.store.record(change)
        except TriptychError as error:
            self.save_problem = error.reason
            self.emit(SaveFailed(error.reason))

    async def _write(self, store: Store) -> None:
        async with self._writing:
            entries, head = self.entries, self.timeline.head
            try:
                await asyncio.to_thread(store.save, entries, head)
            except TriptychError as error:
                self.save_problem = error.reason
                self.emit(SaveFailed(error.reason))
            else:
                self._saved, self.save_problem = entries, None
                self.emit(Saved())
