"""Undo, redo, seeking and branches: every state ever reached is exactly there again."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support_strategies import ALWAYS, TEXTS, chat_lists, junk_lists, turns
from triptych.edits import Edit, EditConflict, append_edit, inverse_of
from triptych.entries import Entry, Repaired, entries_from, messages_of
from triptych.events import Event, HeadMoved, StepCommitted, ViewMoved
from triptych.layers import clear, prune, summarize, truncate
from triptych.layers.clear import ClearParameters
from triptych.layers.plan import Plan, make_plan
from triptych.layers.prune import PruneParameters
from triptych.layers.summarize import SummarizeParameters, SummaryPlan
from triptych.layers.truncate import TruncateParameters
from triptych.messages import Message
from triptych.policy import preset
from triptych.reasons import Reason
from triptych.session import Session
from triptych.timeline import Step

POLICY = preset("lesson")

CHANGES = st.one_of(
    st.tuples(st.just("append"), turns()),
    st.tuples(st.just("truncate"), st.integers(0, 60)),
    st.tuples(st.just("clear"), st.integers(0, 3)),
    st.tuples(st.just("prune"), st.integers(1, 3)),
    st.tuples(st.just("summarize"), st.tuples(st.integers(1, 3), TEXTS)),
)
MOVES = st.one_of(
    st.tuples(st.just("undo"), st.none()),
    st.tuples(st.just("redo"), st.none()),
    st.tuples(st.just("seek"), st.integers(0, 99)),
)
# A user action is one change or, like a turn, several.
ACTIONS = st.one_of(st.tuples(st.just("act"), st.lists(CHANGES, min_size=1, max_size=3)), MOVES)


def exact(entries: Sequence[Entry]) -> str:
    return json.dumps(messages_of(entries), ensure_ascii=False)


def same(left: Sequence[Entry], right: Sequence[Entry]) -> bool:
    """Whether both hold the very same objects."""
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))


def replayed(entries: Sequence[Entry], edits: Sequence[Edit]) -> list[Entry]:
    """What edits do, in the simplest way: each entry that is removed gives way, each insertion follows its place."""
    removed = {id(entry) for edit in edits for entry in edit.removed}
    after: dict[int | None, list[Edit]] = {}
    for edit in edits:
        after.setdefault(edit.after, []).append(edit)
    result = [entry for edit in after.get(None, []) for entry in edit.inserted]
    for entry in entries:
        if id(entry) not in removed:
            result.append(entry)
        for edit in after.get(entry.id, []):
            result += edit.inserted
    return result


class History:
    """A session driven by random actions, and what a plain undo stack and full copies say of it."""

    def __init__(self, messages: list[Message]) -> None:
        self.session = Session(entries_from(messages), POLICY)
        self.states: dict[int | None, tuple[Entry, ...]] = {None: self.session.entries}
        self.undo_stack: list[int | None] = []
        self.redo_stack: list[int | None] = []
        self.view: int | None = None

    @property
    def head(self) -> int | None:
        return self.session.timeline.head

    def run(self, actions: list[tuple[str, Any]]) -> None:
        for name, value in actions:
            getattr(self, name)(value)
            self.check()

    def check(self) -> None:
        timeline = self.session.timeline
        assert same(self.session.entries, self.states[self.head])
        assert timeline.view == self.view
        assert same(self.session.viewed, self.states[self.view])
        assert timeline.can_undo == bool(self.undo_stack)
        assert timeline.can_redo == bool(self.redo_stack)

    def act(self, changes: list[tuple[str, Any]]) -> None:
        action, before = self.session.begin_action(), self.head
        follows = self.view == self.head
        for kind, value in changes:
            plan = self._plan(kind, value)
            if plan.edits:
                step = self.session.perform(plan, action)
                self.states[step.id] = tuple(replayed(self.states[step.parent], step.edits))
        if self.head != before:
            self.undo_stack.append(before)
            self.redo_stack.clear()
            if follows:
                self.view = self.head

    def undo(self, _: None) -> None:
        before = self.head
        moved = self.session.undo()
        assert moved == bool(self.undo_stack)
        if moved:
            self.redo_stack.append(before)
            self.view = self.undo_stack.pop()
            assert self.head == self.view

    def redo(self, _: None) -> None:
        before = self.head
        moved = self.session.redo()
        assert moved == bool(self.redo_stack)
        if moved:
            self.undo_stack.append(before)
            self.view = self.redo_stack.pop()
            assert self.head == self.view

    def seek(self, choice: int) -> None:
        places = list(self.states)
        self.view = places[choice % len(places)]
        self.session.seek(self.view)

    def _plan(self, kind: str, value: Any) -> Plan:
        entries, counter = self.session.entries, self.session.counter
        if kind == "append":
            added = entries_from(value, first_id=self.session.new_ids(len(value)))
            return make_plan("append", entries, (append_edit(entries, *added),), Reason("test"), counter)
        if kind == "truncate":
            return truncate.plan(entries, TruncateParameters(limit=value), counter)
        if kind == "clear":
            return clear.plan(entries, ClearParameters(keep=value), counter)
        if kind == "prune":
            return prune.plan(entries, PruneParameters(keep_turns=value), counter)
        keep_turns, text = value
        parameters = SummarizeParameters(keep_turns=keep_turns)
        planned = summarize.plan(entries, parameters, counter, self.session.new_ids(2))
        return planned.with_summary(text) if isinstance(planned, SummaryPlan) else planned


SESSIONS = st.tuples(st.one_of(chat_lists(max_turns=4), junk_lists()), st.lists(ACTIONS, max_size=14))


@ALWAYS
@given(SESSIONS)
def test_any_walk_through_a_session_finds_every_state_as_it_was(walk: tuple[list[Message], list[Any]]) -> None:
    messages, actions = walk
    before = json.dumps(messages, ensure_ascii=False)
    history = History(messages)
    history.run(actions)
    timeline = history.session.timeline
    for step_id, state in history.states.items():
        assert same(timeline.entries(step_id), state)
        history.session.seek(step_id)
        assert same(history.session.viewed, state)
        assert same(history.session.entries, history.states[history.head])
    assert json.dumps(messages, ensure_ascii=False) == before


@ALWAYS
@given(SESSIONS)
def test_undo_to_the_start_and_redo_to_the_end(walk: tuple[list[Message], list[Any]]) -> None:
    history = History(walk[0])
    history.run(walk[1])
    session = history.session
    while session.redo():
        pass
    passed = [(session.timeline.head, exact(session.entries), session.entries)]
    while session.undo():
        passed.append((session.timeline.head, exact(session.entries), session.entries))
    assert session.timeline.head is None
    assert same(session.entries, history.states[None])
    assert not session.timeline.can_undo
    for head, text, entries in reversed(passed[:-1]):
        assert session.redo()
        assert session.timeline.head == head
        assert exact(session.entries) == text
        assert same(session.entries, entries)
    assert not session.redo()


@ALWAYS
@given(SESSIONS)
def test_counts_and_parents_of_steps_continue_one_another(walk: tuple[list[Message], list[Any]]) -> None:
    history = History(walk[0])
    history.run(walk[1])
    timeline, counter = history.session.timeline, history.session.counter
    parent: int | None = None
    for step in timeline.path():
        assert step.parent == parent
        assert step.before == counter.count(history.states[parent])
        assert step.after == counter.count(history.states[step.id])
        parent = step.id
    assert parent == timeline.head


@ALWAYS
@given(SESSIONS, st.lists(CHANGES, min_size=1, max_size=3))
def test_an_action_taken_back_leaves_all_as_if_it_had_not_been(
    walk: tuple[list[Message], list[Any]], changes: list[tuple[str, Any]]
) -> None:
    history = History(walk[0])
    history.run(walk[1])
    session, timeline = history.session, history.session.timeline
    session.seek(history.head)
    before = (timeline.head, timeline.view, timeline.path(), timeline.ahead(), timeline.can_redo)
    entries, steps = session.entries, timeline.last_id
    history.act(changes)
    new = timeline.last_id - steps
    if new:
        session.take_back(timeline.step(timeline.last_id).action)
    assert (timeline.head, timeline.view, timeline.path(), timeline.ahead(), timeline.can_redo) == before
    assert same(session.entries, entries)
    assert timeline.last_id == steps + new
    for step_id, state in history.states.items():
        assert same(timeline.entries(step_id), state)


# Named walks


def talk(turns_count: int) -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": "s"}]
    for number in range(turns_count):
        messages.append({"role": "user", "content": f"q{number}"})
        messages.append({"role": "assistant", "content": f"a{number}"})
    return messages


def say(session: Session, text: str, action: int | None = None) -> Entry:
    action = session.begin_action() if action is None else action
    return session.append("append", {"role": "user", "content": text}, Reason("test"), action)


def texts(session: Session) -> list[str]:
    return [str(message["content"]) for message in messages_of(session.entries)]


def test_undo_takes_back_whole_actions() -> None:
    session = Session(entries_from(talk(0)), POLICY)
    turn = session.begin_action()
    for text in ("one", "two", "three"):
        say(session, text, turn)
    say(session, "four")
    assert texts(session) == ["s", "one", "two", "three", "four"]
    assert session.undo()
    assert texts(session) == ["s", "one", "two", "three"]
    assert session.undo()
    assert texts(session) == ["s"]
    assert not session.undo()
    assert session.redo()
    assert texts(session) == ["s", "one", "two", "three"]


def test_a_step_under_an_older_one_starts_a_branch_and_drops_nothing() -> None:
    session = Session(entries_from(talk(0)), POLICY)
    say(session, "kept")
    say(session, "first branch")
    first = session.timeline.head
    session.undo()
    say(session, "second branch")
    assert texts(session) == ["s", "kept", "second branch"]
    assert not session.redo()
    session.seek(first)
    assert [message["content"] for message in messages_of(session.viewed)] == ["s", "kept", "first branch"]
    assert texts(session) == ["s", "kept", "second branch"]
    session.undo()
    session.redo()
    assert texts(session) == ["s", "kept", "second branch"]


def test_the_view_stays_where_it_was_put_until_the_head_is_moved() -> None:
    session = Session(entries_from(talk(0)), POLICY)
    say(session, "one")
    session.seek(None)
    say(session, "two")
    assert [message["content"] for message in messages_of(session.viewed)] == ["s"]
    session.undo()
    assert [message["content"] for message in messages_of(session.viewed)] == ["s", "one"]


def test_what_changes_is_told() -> None:
    session = Session(entries_from(talk(0)), POLICY)
    events: list[Event] = []
    stop = session.subscribe(events.append)
    say(session, "one")
    session.undo()
    session.undo()
    session.redo()
    session.redo()
    session.seek(None)
    step = session.timeline.step(1)
    assert events == [StepCommitted(step), HeadMoved(None), HeadMoved(1), ViewMoved(None)]
    stop()
    say(session, "two")
    assert len(events) == 4


def test_entry_ids_are_never_given_twice() -> None:
    session = Session(entries_from(talk(1), first_id=40), POLICY)
    ids = [say(session, "one").id, session.new_ids(3)]
    session.undo()
    ids.append(say(session, "two").id)
    assert ids == [43, 44, 47]


def test_a_refused_plan_changes_nothing() -> None:
    session = Session(entries_from(talk(2)), POLICY)
    say(session, "one")
    say(session, "two")
    session.undo()
    session.seek(None)
    timeline = session.timeline
    stranger = Entry(1, {"role": "user", "content": "q0"}, (Repaired(),))
    edits = (append_edit(session.entries, Entry(98, talk(1)[1])), Edit(1, 0, (stranger,), ()))
    plan = make_plan("repair", session.entries, edits, Reason("test"), session.counter)
    events: list[Event] = []
    session.subscribe(events.append)

    def everything() -> tuple[Any, ...]:
        places = (timeline.head, timeline.view, timeline.last_id, timeline.can_undo, timeline.can_redo)
        return (*places, session.entries, session.viewed, timeline.path())

    before = everything()
    with pytest.raises(EditConflict):
        session.perform(plan, session.begin_action())
    assert everything() == before
    assert events == []
    assert session.redo()
    assert texts(session)[-2:] == ["one", "two"]


def test_reverting_an_earlier_change_keeps_what_came_later() -> None:
    session = Session(entries_from(talk(3)), POLICY)
    planned = summarize.plan(session.entries, SummarizeParameters(keep_turns=1), session.counter, session.new_ids(2))
    assert isinstance(planned, SummaryPlan)
    summarized = session.perform(planned.with_summary("short"), session.begin_action())
    say(session, "later")
    inverse = inverse_of(summarized.edits)
    session.perform(make_plan("summarize", session.entries, inverse, Reason("test"), session.counter), 99)
    assert texts(session) == ["s", "q0", "a0", "q1", "a1", "q2", "a2", "later"]


def test_taking_back_leaves_what_others_did_above() -> None:
    session = Session(entries_from(talk(1)), POLICY)
    say(session, "earlier")
    turn = session.begin_action()
    say(session, "question", turn)
    say(session, "by hand")
    say(session, "more of the question", turn)
    events: list[Event] = []
    session.subscribe(events.append)
    session.take_back(turn)
    assert texts(session) == ["s", "q0", "a0", "earlier", "by hand"]
    assert [type(event) for event in events] == [StepCommitted, StepCommitted]
    assert [step.action == turn for step in session.timeline.path()] == [False, True, False, True, False, False]
    last = session.timeline.path()[-1]
    assert last.reason.id == "turn.taken_back"
    assert last.after == session.counter.count(session.entries)
    assert session.undo()
    assert texts(session) == ["s", "q0", "a0", "earlier", "question", "by hand", "more of the question"]


def test_what_others_have_built_upon_is_not_taken_back() -> None:
    session = Session(entries_from(talk(2)), POLICY)
    turn = session.begin_action()
    say(session, "question", turn)
    say(session, "later")
    planned = summarize.plan(session.entries, SummarizeParameters(keep_turns=1), session.counter, session.new_ids(2))
    assert isinstance(planned, SummaryPlan)
    session.perform(planned.with_summary("short"), session.begin_action())
    before, head = session.entries, session.timeline.head
    session.take_back(turn)
    assert same(session.entries, before)
    assert session.timeline.head == head


def test_an_action_that_is_undone_already_is_not_taken_back_again() -> None:
    session = Session(entries_from(talk(1)), POLICY)
    say(session, "kept")
    turn = session.begin_action()
    say(session, "question", turn)
    session.undo()
    session.take_back(turn)
    session.take_back(session.begin_action())
    assert texts(session) == ["s", "q0", "a0", "kept"]


# A long session


def long_list(count: int) -> list[Message]:
    roles = ("user", "assistant", "tool", "assistant")
    return [{"role": roles[number % 4], "content": f"message {number}"} for number in range(count)]


def change(session: Session, number: int, dice: random.Random) -> Step:
    """A step of a long session: a summary once, else now an append, now a run of replacements."""
    entries = session.entries
    if number == 100:
        first = session.new_ids(2)
        edit = Edit(1, entries[0].id, entries[1:4_000], entries_from(long_list(2), first_id=first))
    elif number % 2:
        start = dice.randrange(len(entries) - 200)
        run = entries[start : start + 100]
        replaced = tuple(entry.replaced({**entry.message, "content": str(number)}, Repaired()) for entry in run)
        edit = Edit(start, entries[start - 1].id if start else None, run, replaced)
    else:
        edit = append_edit(entries, *entries_from(long_list(3), first_id=session.new_ids(3)))
    # The counts of a plan are worked out elsewhere; here they would only cost time.
    count = session.counter.count(())
    return session.perform(Plan("repair", (edit,), Reason("test"), count, count), number)


def test_a_long_session_is_right_at_every_step_and_does_not_keep_a_list_for_each() -> None:
    length = 20_000
    session = Session(entries_from(long_list(length)), POLICY)
    kept: dict[int | None, tuple[Entry, ...]] = {None: session.entries}
    dice = random.Random(7)
    tracemalloc.start()
    for number in range(1, 201):
        step = change(session, number, dice)
        if number in (1, 2, 60, 99, 100, 101, 102, 199, 200):
            kept[step.id] = tuple(replayed(session.timeline.entries(step.parent), step.edits))
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    one_list = 8 * length
    assert grown < (len(kept) + 60) * one_list  # 200 lists would be well over twice that
    places = [*kept, *kept]
    dice.shuffle(places)
    for place in places:
        assert same(session.timeline.entries(place), kept[place])
    for place in places:
        session.seek(place)
        assert same(session.viewed, kept[place])
        assert same(session.entries, kept[200])
    while session.undo():
        pass
    assert same(session.entries, kept[None])
    while session.redo():
        pass
    assert same(session.entries, kept[200])
