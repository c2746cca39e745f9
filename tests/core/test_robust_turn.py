"""Turns under robust parameters: layers before every request, and no loop of summaries."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support_desk import SYSTEM, Desk, long_questions, read, tool_turn
from tests.support_scripted_model import Answer, Checkpoints, asks_for, fails, says
from tests.support_strategies import ALWAYS, CALL_IDS, TEXTS, chat_lists, faults
from triptych.entries import Cleared
from triptych.events import StageEntered, StreamEnded, SummaryPieceSent, TextStreamed
from triptych.layers.clear import ClearParameters
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummarizeParameters, SummaryPlan
from triptych.layers.truncate import TruncateParameters
from triptych.messages import Message
from triptych.models.base import ModelError, TextDelta
from triptych.policy import Policy, Trigger, decide, policy_from_toml, preset
from triptych.reasons import Reason
from triptych.stages import Stage
from triptych.tokens import Measured
from triptych.tools.base import ToolOutput

ROBUST: Policy = replace(
    preset("lesson"),
    name="mine",
    truncate=TruncateParameters.robust(),
    clear=ClearParameters.robust(),
    summarize=SummarizeParameters.robust(),
    trigger=Trigger.robust(),
    every_request=True,
)
BY_TURNS = replace(ROBUST, trigger=Trigger(turns=3))


async def test_layers_run_before_every_request_of_a_turn() -> None:
    desk = Desk([SYSTEM], ROBUST, outputs=["x" * 2000] * 8, window=100_000)
    rounds = [asks_for(read(f"call_{n}")) for n in range(8)]
    assert await desk.ask("read eight", *rounds, says("done")) == "answered"
    assert [desk.stages().count(stage) for stage in ("clear", "decide", "request")] == [9, 9, 9]
    assert [entry.has_mark(Cleared) for entry in desk.entries[3:18:2]] == [True] * 5 + [False] * 3
    assert "Old result of read_file cleared" in desk.messages[3]["content"]
    desk.assert_sound()


async def test_what_is_cleared_on_overflow_only_stays_while_the_window_is_large_or_unknown() -> None:
    policy = replace(ROBUST, clear=replace(ClearParameters.robust(), keep=0, on_overflow_only=True), summarize=None)
    for window, cleared in ((None, False), (100_000, False), (100, True)):
        desk = Desk([SYSTEM, *tool_turn(1)], policy, window=window)
        await desk.ask("next", says("done"))
        assert desk.entries[3].has_mark(Cleared) == cleared
        assert (desk.reasons("clear")[0].id == "clear.no_overflow") != cleared


async def test_an_error_message_has_its_own_limit() -> None:
    desk = Desk([SYSTEM], ROBUST, outputs=[ToolOutput("y" * 6000, failed=True)], window=100_000)
    await desk.ask("read", asks_for(read("a")), says("done"))
    assert desk.messages[3]["content"] == "y" * 6000
    assert desk.reasons("truncate")[0].id == "truncate.within_limit"


# When layer 3 is due


def entries(count: int) -> Any:
    return Desk(long_questions(count), ROBUST).entries


def test_due_at_three_quarters_of_the_window_or_after_20_turns() -> None:
    for size, window, count, id_ in (
        (749, 1000, 50, "decide.share_within"),
        (750, 1000, 1, "decide.share_over"),
        (9**9, None, 20, "decide.turns_within"),
        (0, None, 21, "decide.turns_over"),
    ):
        decision = decide(ROBUST, entries(count), Measured(size, "measured"), window)
        assert decision.reason.id == id_
        assert decision.due == id_.endswith("over")


def test_due_at_a_number_of_tokens_and_by_hand_only() -> None:
    policy = replace(ROBUST, trigger=Trigger(tokens=500))
    for size, due in ((499, False), (500, True)):
        decision = decide(policy, entries(1), Measured(size, "adjusted"), None)
        assert decision.due == due
        assert decision.reason.values == {"tokens": size, "threshold": 500, "kind": "adjusted"}
    assert not decide(replace(ROBUST, trigger=Trigger()), entries(50), Measured(9**9, "measured"), 10).due


# In pieces


PIECES = replace(BY_TURNS, summarize=replace(SummarizeParameters.robust(), request_tokens=700))


async def test_a_summary_in_pieces_tells_how_far_it_is() -> None:
    desk = Desk(long_questions(20), PIECES)
    answers = [says(f"summary {n}", prompt_tokens=10) for n in range(30)]
    events: list[Any] = []

    async def gate(stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
        if isinstance(plan, SummaryPlan):
            del desk.model._answers[plan.request_count : 30]
            events.append(plan.request_count)

    assert await desk.ask("next", *answers, says("done"), gate=gate) == "answered"
    (count,) = events
    assert count > 2
    assert desk.of(SummaryPieceSent) == [SummaryPieceSent(n + 1, count) for n in range(count)]
    assert desk.messages[1]["content"].endswith(f"summary {count - 1}")
    (step,) = [step for step in desk.session.timeline.path() if step.stage == "summarize"]
    assert step.usage is not None
    assert step.usage.prompt_tokens == 10 * count


@pytest.mark.parametrize("bad", [says(""), says("cut", finish="length"), fails("model.unreachable")])
async def test_a_piece_that_fails_ends_the_summary_and_changes_nothing(bad: Answer) -> None:
    desk = Desk(long_questions(20), PIECES)
    assert await desk.ask("next", says("summary 0"), bad, says("done")) == "answered"
    assert len(desk.model.requests) == 3
    assert desk.messages[:-2] == long_questions(20)


async def test_a_summary_cancelled_between_two_pieces_changes_nothing() -> None:
    desk = Desk(long_questions(20), PIECES)
    turn: asyncio.Future[str] = asyncio.ensure_future(desk.ask("next", *[says("summary")] * 9))
    desk.session.subscribe(
        lambda event: turn.cancel() if isinstance(event, SummaryPieceSent) and event.number == 2 else None
    )
    await asyncio.wait([turn])
    assert turn.cancelled()
    assert desk.messages == [*long_questions(20), {"role": "user", "content": "next"}]
    assert [type(event) for event in desk.events].count(StreamEnded) == 2
    assert desk.of(TextStreamed)


# Policies as files


def test_a_policy_file_says_all_of_it() -> None:
    stages = '["receive", "clear", "decide", "summarize", "request", "tool", "truncate", "append", "answer", "save"]'
    policy = policy_from_toml(
        f"""
        stages = {stages}
        every_request = true
        [truncate]
        flavour = "robust"
        limit = 10_000
        unit = "bytes"
        max_line = 2000
        [clear]
        flavour = "robust"
        protect_tokens = 50_000
        [summarize]
        flavour = "robust"
        keep_turns = 0
        request_tokens = 20_000
        [trigger]
        tokens = 150_000
        """,
        "mine",
    )
    assert policy.truncate == replace(TruncateParameters.robust(), limit=10_000, unit="bytes", max_line=2000)
    assert policy.clear == replace(ClearParameters.robust(), protect_tokens=50_000)
    assert policy.summarize == replace(SummarizeParameters.robust(), keep_turns=0, request_tokens=20_000)
    assert (policy.trigger, policy.every_request) == (Trigger(tokens=150_000), True)


def test_the_preset_holds_what_the_robust_layers_are_by_themselves() -> None:
    policy = preset("robust")
    assert policy.truncate == TruncateParameters.robust()
    assert policy.clear == ClearParameters.robust()
    assert policy.summarize == SummarizeParameters.robust()
    assert (policy.trigger, policy.every_request) == (Trigger.robust(), True)


# However a turn ends


CALLS = st.lists(st.tuples(CALL_IDS, st.just("read_file"), st.sampled_from(["{}", "{"])), min_size=1, max_size=3).map(
    lambda calls: asks_for(*calls)
)
ANSWERS = st.one_of(TEXTS.map(says), st.just(fails()), st.just([TextDelta("half"), *fails()]), CALLS)


@ALWAYS
@given(
    chat_lists(),
    st.lists(ANSWERS, min_size=1, max_size=5),
    st.lists(TEXTS, min_size=20, max_size=20),
    st.integers(1, 80),
    st.sampled_from([None, 60, 300]),
)
async def test_any_robust_turn_however_it_ends_leaves_a_sound_list(
    messages: list[Message], script: list[Answer], outputs: list[str], cancel_at: int, window: int | None
) -> None:
    before = json.dumps(messages)
    policy = replace(
        BY_TURNS,
        truncate=replace(TruncateParameters.robust(), limit=60),
        clear=replace(ClearParameters.robust(), keep=1, minimum_gain=0),
        trigger=Trigger(tokens=40),
    )
    desk = Desk(messages, policy, outputs=outputs, window=window)
    checkpoints = Checkpoints(cancel_at)

    async def gate(stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
        await checkpoints.reach(f"gate {stage}")

    answers = [*script, *[says("s")] * 40]
    turn = asyncio.ensure_future(desk.ask("next", *answers, gate=gate, checkpoints=checkpoints))
    await asyncio.wait([turn])
    assert turn.cancelled() or turn.exception() is None or isinstance(turn.exception(), ModelError)
    desk.assert_sound()
    for request in desk.model.requests:
        assert faults(list(request.messages)) == []
    assert all(event.stage != "repair" for event in desk.of(StageEntered))
    while desk.session.undo():
        pass
    assert desk.entries == desk.base
    assert json.dumps(desk.messages) == before
