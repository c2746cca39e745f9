"""Nothing that was said is lost: whatever is done to a session, and whenever it is killed, it opens as it was left.

A plain tree of full copies plays the session's memory. It hears of every change as the store does, and after every
write it keeps what a crash at that very moment would leave on disk.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support_scripted_model import Answer, Checkpoints, ScriptedModel, ScriptedTool, asks_for, fails, says
from tests.support_strategies import TEXTS, chat_lists, faults, junk_messages
from triptych import streaming
from triptych.agent import INTERRUPTED_RESULT, run_turn
from triptych.checks import would_be_refused
from triptych.entries import Entry, entries_from, messages_of
from triptych.layers import clear, prune, summarize, truncate
from triptych.layers.clear import ClearParameters
from triptych.layers.plan import Plan
from triptych.layers.prune import PruneParameters
from triptych.layers.summarize import SummarizeParameters, SummaryPlan
from triptych.layers.truncate import TruncateParameters
from triptych.lesson_api import load_session
from triptych.messages import Message, tool_calls
from triptych.models.base import ModelError, TextDelta
from triptych.policy import preset
from triptych.recovery import take_up
from triptych.session import Session, SessionError
from triptych.storage.journal import journal_path
from triptych.storage.kept_session import KeptSession, begun, opened
from triptych.timeline import Change, Draft, Move, Step, Timeline
from triptych.tools.base import Toolbox

LESSON = preset("lesson")
SAID = st.one_of(
    st.text("你好，今天讀取abc e\u0301🙂\n", min_size=1, max_size=12), st.sampled_from(["x" * 200, "字" * 90])
)
ROUNDS = st.lists(st.tuples(st.integers(1, 3), st.one_of(st.none(), SAID)), max_size=2)
"""Rounds of tool calls: how many calls, and what is said beside them."""
LAYERS = st.one_of(
    st.tuples(st.just("truncate"), st.integers(0, 60)),
    st.tuples(st.just("clear"), st.integers(0, 3)),
    st.tuples(st.just("prune"), st.integers(1, 3)),
    st.tuples(st.just("summarize"), st.tuples(st.integers(1, 3), TEXTS)),
)

State = tuple[tuple[Any, ...], ...]


def state_of(entries: Sequence[Entry]) -> State:
    return tuple((entry.id, json.dumps(entry.message), entry.marks, entry.pinned) for entry in entries)


def told_of(step: Step) -> tuple[Any, ...]:
    """What a step says of itself."""
    return (step.parent, step.action, step.stage, str(step.reason), step.before, step.after, step.usage, step.at)


class Memory:
    """A tree of full copies. `way`: where one was last, seen from each step; redo leads there."""

    def __init__(self, base: State) -> None:
        self.states: dict[int | None, State] = {None: base}
        self.steps: dict[int, Step] = {}
        self.way: dict[int | None, int] = {}
        self.before_turn: dict[int | None, int] = {}
        self.head: int | None = None
        self.draft = ""

    def copy(self) -> Memory:
        other = Memory(())
        other.states, other.steps, other.way = dict(self.states), dict(self.steps), dict(self.way)
        other.before_turn, other.head, other.draft = dict(self.before_turn), self.head, self.draft
        return other

    def follow(self, change: Change, entries: Sequence[Entry]) -> None:
        """Remember a change; `entries` is the list that it led to."""
        match change:
            case Draft():
                self.draft += change.text
                return
            case Step():
                self.states[change.id], self.steps[change.id] = state_of(entries), change
                self.head = change.id
            case Move("take_back"):
                while self.head is not None and self.steps[self.head].action == change.of:
                    self.head = self.steps[self.head].parent
                turn = {step.id for step in self.steps.values() if step.action == change.of}
                self.way = {node: child for node, child in self.way.items() if node in turn} | self.before_turn
            case Move("undo"):
                self.head = self.undone(self.head)
            case Move("redo"):
                self.head = self.redone(self.head)
            case Move("switch"):
                self.head = change.of
        self.draft = ""
        self._tread()

    def begin_turn(self) -> None:
        self.before_turn = dict(self.way)

    def undone(self, head: int | None) -> int | None:
        """Where undo leads."""
        assert head is not None
        action = self.steps[head].action
        while head is not None and self.steps[head].action == action:
            head = self.steps[head].parent
        return head

    def redone(self, head: int | None) -> int | None:
        """Where redo leads."""
        head = self.way[head]
        action = self.steps[head].action
        while head in self.way and self.steps[self.way[head]].action == action:
            head = self.way[head]
        return head

    def _tread(self) -> None:
        node = self.head
        while node is not None:
            self.way[self.steps[node].parent] = node
            node = self.steps[node].parent


class Moment(NamedTuple):
    """What a crash leaves: this much of the journal and this list; and what had been said by then.

    theirs: what another program had put into the list, while the journal did not know of it.
    """

    journal: int
    file: bytes | None
    memory: Memory
    theirs: list[Message] | None


class Watched:
    """The real store; after every write the moment is noted."""

    def __init__(self, kept: KeptSession, memory: Memory, theirs: list[Message] | None = None) -> None:
        self.kept, self.memory, self.theirs = kept, memory, theirs
        self.session: Session | None = None
        self.moments: list[Moment] = []
        self.note()

    def note(self, journal: int | None = None, file: bytes | None = None) -> None:
        path = self.kept.path
        now = journal_path(path).stat().st_size if journal_path(path).exists() else 0
        file = file or (path.read_bytes() if path.exists() else None)
        self.moments.append(Moment(now if journal is None else journal, file, self.memory.copy(), self.theirs))

    def settle(self, head: int | None) -> None:
        self.kept.settle(head)
        self.note()

    def record(self, change: Change) -> None:
        self.kept.record(change)
        assert self.session is not None
        self.memory.follow(change, self.session.entries)
        self.theirs = None
        self.note()

    def save(self, entries: tuple[Entry, ...], head: int | None) -> None:
        path, before = self.kept.path, self.moments[-1].file
        self.kept.save(entries, head)
        self.memory.draft = ""  # no answer is under way
        announced = journal_path(path).read_bytes().rindex(b"\n", 0, -1) + 1
        self.note(announced, before)
        self.theirs = None
        self.note(announced)
        self.note()

    def forget(self, entries: tuple[Entry, ...]) -> None:
        self.kept.forget(entries)
        self.memory.__init__(state_of(entries))  # type: ignore[misc]
        self.moments.clear()
        self.note()


def repaired(messages: list[Message], draft: str) -> list[Message]:
    """The list that a session is taken up with after a crash."""
    result = list(messages)
    last = next((at for at in reversed(range(len(messages))) if messages[at].get("role") != "tool"), None)
    if last is not None and messages[last]["role"] == "assistant" and "function_call" not in messages[last]:
        answered = Counter(message.get("tool_call_id") for message in messages[last + 1 :])
        calls = []
        for call in tool_calls(messages[last]):
            answered[call.id] -= 1
            calls += [call] if answered[call.id] < 0 else []
        result += [{"role": "tool", "tool_call_id": call.id, "content": INTERRUPTED_RESULT} for call in calls]
    if draft.strip() and (not result or result[-1]["role"] != "assistant"):
        result.append({"role": "assistant", "content": draft})
    return result


class NothingIsLost(RuleBasedStateMachine):
    """One user, one model, other programs, and crashes."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="triptych-test-"))
        self.path = self.folder / "s.json"
        self.loop = asyncio.new_event_loop()
        self.often = patch.object(streaming, "DRAFT_SECONDS", 0.0)  # every piece of an answer is kept at once
        self.often.start()
        self.calls = 0
        self.sound = True

    def teardown(self) -> None:
        self.often.stop()
        if hasattr(self, "store"):
            self.store.kept.leave()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        shutil.rmtree(self.folder)

    # Beginning, and beginning again

    @initialize(messages=chat_lists(max_turns=3), how=st.sampled_from(["new", "ours", "compact"]))
    def begin(self, messages: list[Message], how: str) -> None:
        if how == "new":
            base = entries_from(messages)
            kept = begun(self.path, base).store
            kept.save(base, None)
            self.sit_down(Session(base, LESSON, kept), kept, Memory(state_of(base)))
            return
        indent = 2 if how == "ours" else None
        self.path.write_text(json.dumps(messages, indent=indent, ensure_ascii=False), "utf-8")
        past = opened(self.path)
        self.sit_down(Session(past.timeline, LESSON, past.store), past.store, Memory(state_of(past.timeline.base)))

    def sit_down(
        self, session: Session, kept: KeptSession, memory: Memory, theirs: list[Message] | None = None
    ) -> None:
        self.session, self.store = session, Watched(kept, memory, theirs)
        self.store.session, session.store = session, self.store

    @property
    def memory(self) -> Memory:
        return self.store.memory

    @property
    def messages(self) -> list[Message]:
        return messages_of(self.session.entries)

    def open_again(self, memory: Memory, theirs: list[Message] | None = None) -> None:
        """A new program opens what is on disk; it must be what `memory` has, or what another program put there."""
        self.store.kept.leave()
        past = opened(self.path)
        session = Session(past.timeline, LESSON, past.store, is_saved=past.is_saved, forgotten=past.forgotten)
        if theirs is not None and not past.remembered:  # nothing had been done yet
            memory = Memory(state_of(past.timeline.base))
        self.sit_down(session, past.store, memory, theirs)
        self.check_all(session.timeline)
        draft, left = memory.draft, [json.loads(each[1]) for each in memory.states[memory.head]]
        expected = left if theirs is None else theirs
        if past.remembered:
            take_up(session, past.outside, past.draft)
            expected = repaired(expected, draft)
        assert self.messages == expected
        if theirs is None:
            assert (session.is_saved and past.remembered) <= (json.loads(self.path.read_bytes()) == self.messages)
        else:
            self.sound = self.sound and faults_of(theirs) == []

    def check_all(self, timeline: Timeline) -> None:
        """Every list of every branch, what each step says, and where undo and redo lead."""
        memory = self.memory
        assert set(timeline._steps) == set(memory.steps)
        for step_id, state in memory.states.items():
            assert state_of(timeline.entries(step_id)) == state
        for step_id, step in memory.steps.items():
            assert told_of(timeline.step(step_id)) == told_of(step)
        parents = {step.parent for step in memory.steps.values()}
        assert {step.id for step in timeline.branches()} == set(memory.steps) - parents

    # What a user does

    @rule(
        text=SAID,
        rounds=ROUNDS,
        answer=SAID,
        outputs=st.lists(TEXTS, min_size=6, max_size=6),
        fails_at=st.one_of(st.none(), st.none(), st.integers(0, 3)),
        said_before=st.one_of(st.just(""), SAID),
        cancel_at=st.one_of(st.none(), st.integers(1, 40)),
        waits=st.booleans(),
        leaves=st.booleans(),
    )
    def ask(
        self,
        text: str,
        rounds: list[tuple[int, str | None]],
        answer: str,
        outputs: list[str],
        fails_at: int | None,
        said_before: str,
        cancel_at: int | None,
        waits: bool,
        leaves: bool,
    ) -> None:
        """A turn: it is answered, fails at one of its requests, or is cancelled at any of its awaits."""
        script: list[Answer] = []
        for number, said in rounds:
            names = [f"call_{self.calls + at}" for at in range(number)]
            self.calls += number
            script.append(asks_for(*((name, "read_file", '{"path": "a.txt"}') for name in names), text=said))
        script.append(says(answer))
        if fails_at is not None:
            broken = fails(after=[TextDelta(said_before)] if said_before else ())
            script[fails_at:] = [broken]
        checkpoints = Checkpoints(cancel_at)
        script += [says("A summary, in case one is asked for.")] * 3  # a summary shifts the script, and that is fine

        async def gate(*_: Any) -> None:
            if waits:
                await checkpoints.reach("gate")

        self.memory.begin_turn()
        before, known = self.session.timeline.head, self.session.timeline.last_id
        model = ScriptedModel(script, checkpoints=checkpoints)
        tools = Toolbox([ScriptedTool("read_file", outputs, checkpoints)])
        with suppress(ModelError, asyncio.CancelledError):
            self.loop.run_until_complete(run_turn(self.session, text, model=model, tools=tools, gate=gate))
        assert self.session.timeline.head == before or any(
            entry.message["content"] == text
            for step in self.session.timeline.path()
            if step.id > known
            for edit in step.edits
            for entry in edit.inserted
        )
        if leaves:
            self.leave_and_open()

    @rule(layer=LAYERS)
    def run_layer(self, layer: tuple[str, Any]) -> None:
        plan = self.plan_of(*layer)
        if plan.edits:
            self.session.perform(plan, self.session.begin_action())
            self.save()

    def plan_of(self, kind: str, value: Any) -> Plan:
        entries, counter = self.session.entries, self.session.counter
        if kind == "truncate":
            return truncate.plan(entries, TruncateParameters(limit=value), counter)
        if kind == "clear":
            return clear.plan(entries, ClearParameters(keep=value), counter)
        if kind == "prune":
            return prune.plan(entries, PruneParameters(keep_turns=value), counter)
        keep_turns, text = value
        planned = summarize.plan(entries, SummarizeParameters(keep_turns), counter, self.session.new_ids(2))
        return planned.with_summary(text) if isinstance(planned, SummaryPlan) else planned

    @rule(how=st.sampled_from(["undo", "redo", "switch", "seek"]), choice=st.integers(0, 999))
    def travel(self, how: str, choice: int) -> None:
        places = list(self.memory.states)
        match how:
            case "undo":
                self.undo()
            case "redo":
                self.redo()
            case "switch":
                self.switch(places[choice % len(places)])
            case "seek":
                self.seek(places[choice % len(places)])

    def undo(self) -> None:
        head = self.memory.head
        expected = None if head is None else self.memory.undone(head)
        assert self.session.undo() == (head is not None)
        assert self.session.timeline.head == expected

    def redo(self) -> None:
        head = self.memory.head
        leads = head in self.memory.way
        expected = self.memory.redone(head) if leads else head
        assert self.session.redo() == leads
        assert self.session.timeline.head == expected

    def switch(self, step_id: int | None) -> None:
        refused = would_be_refused([json.loads(each[1]) for each in self.memory.states[step_id]])
        try:
            self.session.switch(step_id)
        except SessionError:
            assert refused
        else:
            assert self.session.timeline.head == step_id

    def seek(self, step_id: int | None) -> None:
        self.session.seek(step_id)
        assert state_of(self.session.viewed) == self.memory.states[step_id]

    @precondition(lambda self: self.memory.steps)
    @rule(choice=st.integers(0, 999))
    def revert(self, choice: int) -> None:
        steps = [step for step in self.session.timeline.path() if step.stage in ("truncate", "clear", "summarize")]
        if not steps:
            return
        step = steps[choice % len(steps)]
        try:
            plan = self.session.reverted(step.id)
        except SessionError:
            return
        kept = [entry for entry in self.session.entries if not any(entry in edit.inserted for edit in step.edits)]
        self.session.perform(plan, self.session.begin_action())
        assert [entry for entry in self.session.entries if entry in kept] == kept
        assert all(entry in self.session.entries for edit in step.edits for entry in edit.removed)
        self.save()

    @rule()
    def save(self) -> None:
        self.loop.run_until_complete(self.session.save())
        assert self.session.is_saved
        saved = json.loads(self.path.read_bytes())
        assert saved == self.messages
        if self.memory.head is not None:
            assert load_session(self.path) == saved

    @precondition(lambda self: len(self.memory.steps) > 9)
    @rule()
    def forget(self) -> None:
        self.loop.run_until_complete(self.session.forget_originals())

    # What befalls it

    @rule()
    def leave_and_open(self) -> None:
        """The program ends in order, unsaved even, and is started again."""
        originals = [self.session.timeline.original(each.id) for each in self.session.entries]
        replaced = [self.session.timeline.replaced(each.id) for each in self.session.entries]
        length = len(originals)
        saved = self.session.is_saved
        self.open_again(self.memory)
        assert saved <= (json.loads(self.path.read_bytes()) == self.messages)
        timeline, entries = self.session.timeline, self.session.entries[:length]
        assert [original and state_of([original]) for original in originals] == [
            original and state_of([original]) for original in (timeline.original(each.id) for each in entries)
        ]
        assert [state_of(each) for each in replaced] == [state_of(timeline.replaced(each.id)) for each in entries]

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """The program is killed at any write since it was opened; of the next one, a part may be on disk."""
        moments = self.store.moments
        at = data.draw(st.integers(0, len(moments) - 1), "moment")
        moment = moments[at]
        part = data.draw(st.floats(0, 1), "part of the next write")
        following = moments[at + 1].journal if at + 1 < len(moments) else 0
        length = moment.journal + int(part * max(0, following - moment.journal - 2))
        journal = journal_path(self.path)
        assert moment.file is not None
        self.path.write_bytes(moment.file)
        if journal.exists():
            journal.write_bytes(journal.read_bytes()[:length])
        if not length:
            journal.unlink(missing_ok=True)
        self.open_again(moment.memory, moment.theirs)

    @rule(data=st.data(), indent=st.sampled_from([2, 2, None]))
    def edit_outside(self, data: st.DataObject, indent: int | None) -> None:
        """Another program changes the file while nobody has it open."""
        self.save()
        messages = json.loads(self.path.read_bytes())
        system, rest = messages[:1], messages[1:]
        kind = data.draw(st.sampled_from(["change", "delete", "append", "reorder", "replace"]), "edit")
        place = data.draw(st.integers(0, max(len(rest) - 1, 0)), "place")
        if kind == "change" and rest:
            rest[place]["content"] = data.draw(TEXTS)
        elif kind == "delete":
            del rest[place : place + data.draw(st.integers(1, 3))]
        elif kind == "append":
            rest += [{"role": "user", "content": data.draw(TEXTS)}]
        elif kind == "reorder":
            rest = data.draw(st.permutations(rest))
        else:
            rest = data.draw(st.lists(junk_messages().filter(is_plain), max_size=6))
        theirs = [*system, *rest]
        written = json.dumps(theirs, indent=indent, ensure_ascii=False)
        self.path.write_text(written, "utf-8")
        self.open_again(self.memory, theirs)
        if theirs != messages and self.session.timeline.head is not None:
            assert self.session.undo()
            assert self.session.redo()

    # What always holds

    @invariant()
    def all_is_as_remembered(self) -> None:
        if not hasattr(self, "store"):
            return
        timeline, memory = self.session.timeline, self.memory
        assert timeline.head == memory.head
        assert state_of(self.session.entries) == memory.states[memory.head]
        assert timeline.can_undo == (memory.head is not None)
        assert timeline.can_redo == (memory.head in memory.way)
        assert self.session.save_problem is None
        if self.sound:
            assert faults(self.messages) == []
        ids = [entry.id for entry in self.session.entries]
        assert len(ids) == len(set(ids))
        assert not [each for each in self.folder.iterdir() if each.name.endswith(".tmp")]


def faults_of(messages: list[Message]) -> Sequence[object]:
    try:
        return faults(messages)
    except (KeyError, TypeError, AttributeError):
        return ["not even messages"]


def is_plain(message: Message) -> bool:
    """Whether reading and writing leaves it as it is."""
    return isinstance(message.get("role"), str) and "Infinity" not in json.dumps(message)


TestNothingIsLost: Callable[..., Any] = NothingIsLost.TestCase
TestNothingIsLost.settings = settings(  # type: ignore[attr-defined]
    # The short run goes the same ways each time; the long one looks for new ones.
    derandomize=os.environ.get("TRIPTYCH_HYPOTHESIS") != "long",
    stateful_step_count=14,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
