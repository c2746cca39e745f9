"""Turns under robust parameters: layers before every request, and no loop of summaries."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support_desk import LONG, SYSTEM, Desk, questions, read, tool_turn
from tests.support_scripted_model import Answer, Checkpoints, asks_for, fails, says
from tests.support_strategies import ALWAYS, CALL_IDS, TEXTS, chat_lists, faults
from triptych.entries import Cleared, Summary
from triptych.events import StageEntered, StreamEnded, SummaryPieceSent, TextStreamed
from triptych.layers.clear import ClearParameters
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummarizeParameters, SummaryPlan
from triptych.layers.truncate import TruncateParameters
from triptych.messages import Message
from triptych.models.base import Finish, ModelError, TextDelta
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


def talk(count: int) -> list[Message]:
    """Turns of some length, without tools."""
    return [SYSTEM, *({**message, "content": message["content"] * 30} for message in questions(count)[1:])]


def tokens(desk: Desk, messages: Any) -> int:
    counter = desk.session.counter
    return counter.tokens(sum(counter.message_weight(message) for message in messages))


async def test_layers_run_before_every_request_of_a_turn() -> None:
    desk = Desk([SYSTEM], ROBUST, outputs=["x" * 2000] * 8, window=100_000)
    rounds = [asks_for(read(f"call_{n}")) for n in range(8)]
    assert await desk.ask("read eight", *rounds, says("done")) == "answered"
    assert [desk.stages().count(stage) for stage in ("clear", "decide", "request")] == [9, 9, 9]
    assert [entry.has_mark(Cleared) for entry in desk.entries[3:18:2]] == [True] * 5 + [False] * 3
    assert "Old result of read_file cleared" in desk.messages[3]["content"]
    desk.assert_sound()


async def test_one_question_with_300_calls_never_outgrows_the_window() -> None:
    window = 8000
    policy = replace(ROBUST, clear=None)
    desk = Desk([SYSTEM, *tool_turn(1)], policy, outputs=[f"{n} {LONG}" for n in range(300)], window=window)
    calls = iter(range(300))
    rounds = [asks_for(*(read(f"call_{next(calls)}") for _ in range(15))) for _ in range(20)]
    script = [*rounds, says("done")]

    async def gate(stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
        if stage == "summarize" and isinstance(plan, SummaryPlan):
            at = len(desk.model.requests)
            desk.model._answers[at:at] = [says(f"summary {at}")] * plan.request_count

    assert await desk.ask("read them all", *script, gate=gate) == "answered"
    answering = [request for request in desk.model.requests if request.tools]
    assert len(answering) == 21
    assert max(tokens(desk, request.messages) for request in answering) < window
    for request in answering:
        assert faults(list(request.messages)) == []
        assert {"role": "user", "content": "read them all"} in request.messages
    assert sum(entry.has_mark(Summary) for entry in desk.entries) == 1
    desk.assert_sound()
    desk.session.undo()
    assert desk.entries == desk.base


async def test_one_result_larger_than_the_window_is_cut_before_it_is_sent() -> None:
    desk = Desk([SYSTEM], ROBUST, outputs=["word " * 100_000], window=8000)
    assert await desk.ask("read", asks_for(read("a")), says("done")) == "answered"
    assert len(desk.messages[3]["content"]) <= 4000


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
    return Desk(talk(count), ROBUST).entries


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


async def test_a_summary_is_no_turn_so_it_brings_no_other() -> None:
    desk = Desk(talk(3), BY_TURNS)
    await desk.ask("fourth", says("the summary"), says("a"))
    assert desk.entries[1].has_mark(Summary)
    assert desk.reasons("decide")[-1].values["turns"] == 4
    desk.events.clear()
    by_hand = replace(BY_TURNS, trigger=Trigger(turns=4))
    desk.session.policy = by_hand
    await desk.ask("fifth", says("b"))
    assert desk.reasons("decide")[-1] == Reason("decide.turns_within", {"turns": 4, "limit": 4})


async def test_stale_usage_brings_no_second_summary() -> None:
    desk = Desk(talk(12), ROBUST, outputs=["r", "r"], window=6000)
    await desk.ask("one", says("a", prompt_tokens=4499))
    script = [says("the summary", prompt_tokens=4400), asks_for(read("a")), asks_for(read("b")), says("done")]
    assert await desk.ask("two", *script) == "answered"
    over, *after = desk.reasons("decide")[1:]
    assert over.id == "decide.share_over"
    assert [reason.id for reason in after] == ["decide.share_within"] * 2
    assert {reason.values["kind"] for reason in after} == {"adjusted"}
    assert after[0].values["tokens"] < 2200


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (says(""), "summarize.blank"),
        (says("half a", finish="length"), "summarize.refused"),
        (asks_for(read("x")), "summarize.blank"),
        (asks_for(read("x"), text="I will read."), "summarize.refused"),
        (says("回答0" * 500), "summarize.not_smaller"),
        (says("429 Too Many Requests"), "summarize.refused"),
        (fails("model.rate_limited"), "summarize.failed"),
        ([TextDelta("half"), *fails("model.unreachable")], "summarize.failed"),
        ([Finish("stop")], "summarize.blank"),
    ],
)
async def test_a_summary_that_is_none_is_told_once_a_turn_and_the_question_is_asked(answer: Answer, told: str) -> None:
    desk = Desk(talk(5), BY_TURNS, outputs=["r", "r"])
    script = [answer, asks_for(read("a")), asks_for(read("b")), says("done")]
    assert await desk.ask("next", *script) == "answered"
    assert desk.messages[: len(talk(5))] == talk(5)
    assert desk.reasons("summarize")[-1].id == told
    assert [reason.id for reason in desk.reasons("decide")[1:]] == ["decide.refused_before"] * 2
    desk.assert_sound()


async def test_a_summarizer_that_echoes_changes_nothing() -> None:
    desk = Desk(talk(5), BY_TURNS)

    async def gate(stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
        if isinstance(plan, SummaryPlan):
            desk.model._answers[0] = says(plan.request[1]["content"])

    assert await desk.ask("next", says("?"), says("done"), gate=gate) == "answered"
    reason = desk.reasons("summarize")[-1]
    assert (reason.id, reason.values["flaw"].id) == ("summarize.refused", "summary.echo")
    assert desk.messages[:-2] == talk(5)


# In pieces


PIECES = replace(BY_TURNS, summarize=replace(SummarizeParameters.robust(), request_tokens=700))


async def test_a_summary_in_pieces_tells_how_far_it_is() -> None:
    desk = Desk(talk(20), PIECES)
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
    desk = Desk(talk(20), PIECES)
    assert await desk.ask("next", says("summary 0"), bad, says("done")) == "answered"
    assert len(desk.model.requests) == 3
    assert desk.messages[:-2] == talk(20)


async def test_a_summary_cancelled_between_two_pieces_changes_nothing() -> None:
    desk = Desk(talk(20), PIECES)
    turn: asyncio.Future[str] = asyncio.ensure_future(desk.ask("next", *[says("summary")] * 9))
    desk.session.subscribe(
        lambda event: turn.cancel() if isinstance(event, SummaryPieceSent) and event.number == 2 else None
    )
    await asyncio.wait([turn])
    assert turn.cancelled()
    assert desk.messages == [*talk(20), {"role": "user", "content": "next"}]
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
