"""Turns cancelled at any await leave a list that an API accepts, on disk too."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support_desk import LESSON, LONG, QUIET, SYSTEM, Desk, questions, read, tool_turn
from tests.support_scripted_model import Answer, Checkpoints, asks_for, fails, says
from tests.support_session_files import kept_at
from tests.support_strategies import ALWAYS, CALL_IDS, TEXTS, chat_lists, faults
from triptych import lesson_api
from triptych.agent import INTERRUPTED_RESULT
from triptych.entries import Entry, Interrupted, messages_of
from triptych.events import Saved, TurnEnded
from triptych.layers.clear import ClearParameters
from triptych.layers.plan import Plan
from triptych.layers.summarize import SUMMARY_PREFIX, SUMMARY_PROMPT, SummaryPlan
from triptych.messages import Message, carries_result, native, tool_calls
from triptych.models.base import ModelError, TextDelta
from triptych.policy import Policy, Trigger, preset
from triptych.reasons import Reason
from triptych.stages import Stage
from triptych.timeline import Change


def three_calls() -> list[Answer]:
    """A round of three calls and one more, the answer; some text goes before."""
    return [asks_for(read("a"), read("b"), read("c"), text="I look"), asks_for(read("d")), says("all done")]


CANCELLED_TURNS: dict[str, tuple[Policy, list[Answer]]] = {
    "lesson": (LESSON.with_options(keep=1, keep_turns=1), [says("the summary"), *three_calls()]),
    "meowgent": (replace(preset("meowgent"), trigger=Trigger(turns=1)), [says("the summary"), *three_calls()]),
    "robust": (
        replace(
            preset("robust").with_options(keep=1, keep_turns=1),
            clear=replace(ClearParameters.robust(), keep=1, minimum_gain=0),
            trigger=Trigger(turns=1),
        ),
        [says("the summary"), *three_calls()],
    ),
    "plain": (QUIET, three_calls()),
}


async def _cancelled_turn(name: str, path: Path, cancel_at: int | None) -> tuple[Desk, Checkpoints]:
    """A session with a saved turn behind it, and a turn cancelled at its n-th await (None: not at all)."""
    policy, script = CANCELLED_TURNS[name]
    desk = Desk([SYSTEM, *tool_turn(1), *tool_turn(2)], policy, outputs=[LONG] * 4, store=kept_at(path))
    early = [says("an early summary")] if policy.summarize else []
    await desk.ask("before", *early, asks_for(read("x")), says("ready"))
    desk.events.clear()
    checkpoints = Checkpoints(cancel_at)

    async def gate(stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
        await checkpoints.reach(f"gate {stage}")

    turn = asyncio.ensure_future(desk.ask("now", *script, gate=gate, checkpoints=checkpoints))
    await asyncio.wait([turn])
    assert turn.cancelled() == (cancel_at is not None)
    return desk, checkpoints


@pytest.mark.parametrize("name", CANCELLED_TURNS)
async def test_cancelling_at_every_await(name: str, tmp_path: Path) -> None:
    whole, passed = await _cancelled_turn(name, tmp_path / "whole.json", None)
    awaits = passed.passed
    assert {place.split()[0] for place in awaits} == {"gate", "model", "tool"}
    partial = closed = 0
    for cancel_at in range(1, len(awaits) + 1):
        path = tmp_path / f"{cancel_at}.json"
        desk, passed = await _cancelled_turn(name, path, cancel_at)
        assert passed.passed == awaits[:cancel_at]
        desk.assert_sound()
        assert lesson_api.load_session(path) == desk.messages
        assert desk.session.is_saved
        assert desk.of(TurnEnded) == [TurnEnded("cancelled", Reason("turn.cancelled"))]
        for entry in desk.entries:
            if entry.has_mark(Interrupted) and carries_result(entry.message):
                assert native(entry.message)["content"] == INTERRUPTED_RESULT
                closed += 1
            elif entry.has_mark(Interrupted):
                assert entry is desk.entries[-1]
                assert entry.message["content"] in ("I look", "all done", "all ")
                partial += 1
            else:
                assert native(entry.message).get("content") != INTERRUPTED_RESULT
        results = [message for message in desk.messages if carries_result(message)]
        assert len(results) == sum(len(tool_calls(native(message))) for message in desk.messages)
    assert partial
    assert closed
    assert whole.of(TurnEnded) == [TurnEnded("answered")]
    assert not any(entry.has_mark(Interrupted) for entry in whole.entries)


@pytest.mark.parametrize("name", CANCELLED_TURNS)
async def test_after_cancelling_anywhere_undo_and_another_turn_work(name: str, tmp_path: Path) -> None:
    _, passed = await _cancelled_turn(name, tmp_path / "whole.json", None)
    for cancel_at in range(1, len(passed.passed) + 1):
        desk, _ = await _cancelled_turn(name, tmp_path / f"{cancel_at}.json", cancel_at)
        cancelled = desk.entries
        script = [says("a later summary"), says("here")] if desk.session.policy.summarize else [says("here")]
        assert await desk.ask("go on", *script) == "answered"
        assert all(faults(list(request.messages)) == [] for request in desk.model.requests if request.tools)
        desk.assert_sound()
        assert desk.session.undo()
        assert desk.entries == cancelled
        while desk.session.undo():
            desk.assert_sound()
        assert desk.entries == desk.base


class HeldStore:
    """A store whose `save` waits, in its thread, until it is let go; it tells the loop when it has begun."""

    def __init__(self, begun: Callable[[], object]) -> None:
        self.saved: list[list[Message]] = []
        self.let_go = threading.Event()
        self._begun = begun
        self._loop = asyncio.get_running_loop()

    def save(self, entries: tuple[Entry, ...], head: int | None) -> None:
        self._loop.call_soon_threadsafe(self._begun)
        assert self.let_go.wait(timeout=30)
        self.saved.append(messages_of(entries))

    def record(self, change: Change) -> None:
        pass

    def forget(self, entries: tuple[Entry, ...]) -> None:
        pass


async def test_cancelling_while_the_file_is_written_finishes_the_write() -> None:
    desk = Desk([SYSTEM], LESSON)
    turn: asyncio.Future[str] | None = None

    def cancel() -> None:
        assert turn is not None
        turn.cancel()

    store = desk.session.store = HeldStore(cancel)
    desk.session.subscribe(lambda event: store.let_go.set() if isinstance(event, TurnEnded) else None)
    turn = asyncio.ensure_future(desk.ask("q", says("a")))
    await asyncio.wait([turn])
    assert turn.cancelled()
    assert store.saved[-1] == desk.messages
    assert [message["role"] for message in desk.messages] == ["system", "user", "assistant"]
    assert desk.session.is_saved


async def test_cancelling_twice_still_finishes_the_write() -> None:
    desk = Desk([SYSTEM], QUIET, outputs=["never"])
    begun, saved = asyncio.Event(), asyncio.Event()
    store = desk.session.store = HeldStore(begun.set)
    desk.session.subscribe(lambda event: saved.set() if isinstance(event, Saved) else None)
    checkpoints = Checkpoints(cancel_at=4)
    turn = asyncio.ensure_future(desk.ask("q", asks_for(read("a")), checkpoints=checkpoints))
    await begun.wait()
    turn.cancel()
    await asyncio.wait([turn])
    assert turn.cancelled()
    assert store.saved == []
    store.let_go.set()
    await saved.wait()
    assert store.saved == [desk.messages]
    desk.assert_sound()


async def test_a_summary_that_was_applied_stays_when_the_turn_is_cancelled() -> None:
    desk = Desk(questions(4), LESSON)
    checkpoints = Checkpoints()

    async def gate(stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
        if stage == "request":
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await desk.ask("next", says("the summary"), gate=gate, checkpoints=checkpoints)
    assert desk.messages[1]["content"] == SUMMARY_PREFIX + "the summary"
    assert desk.messages[-1] == {"role": "user", "content": "next"}
    assert desk.model.requests[0].messages[0]["content"] == SUMMARY_PROMPT


CALLS = st.lists(
    st.tuples(CALL_IDS, st.sampled_from(["read_file", "no_such_tool"]), st.sampled_from(["{}", "{", '{"path": "a"}'])),
    min_size=1,
    max_size=3,
).map(lambda calls: asks_for(*calls))
ENDS = st.one_of(TEXTS.map(says), st.just(fails()), st.just([TextDelta("half"), *fails()]))
SCRIPTS = st.tuples(st.one_of(TEXTS.map(says), CALLS), st.lists(CALLS, max_size=2), ENDS)
POLICIES = st.sampled_from([policy for policy, _ in CANCELLED_TURNS.values()])


@ALWAYS
@given(chat_lists(), POLICIES, SCRIPTS, st.lists(TEXTS, min_size=12, max_size=12), st.integers(1, 60))
async def test_any_turn_however_it_ends_leaves_a_sound_list(
    messages: list[Message],
    policy: Policy,
    script: tuple[Answer, list[Answer], Answer],
    outputs: list[str],
    cancel_at: int,
) -> None:
    before = json.dumps(messages)
    desk = Desk(messages, policy, outputs=outputs)
    first, rounds, end = script
    checkpoints = Checkpoints(cancel_at)

    async def gate(stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
        await checkpoints.reach(f"gate {stage}")

    answers = [first, *rounds, end, says("one to spare"), says("and another")]
    turn = asyncio.ensure_future(desk.ask("next", *answers, gate=gate, checkpoints=checkpoints))
    await asyncio.wait([turn])
    assert turn.cancelled() or turn.exception() is None or isinstance(turn.exception(), ModelError)
    desk.assert_sound()
    for request in desk.model.requests:
        if request.tools:
            assert faults(list(request.messages)) == []
    while desk.session.undo():
        pass
    assert desk.entries == desk.base
    assert json.dumps(desk.messages) == before
