"""The turn as its callers see it: what is asked, what stays in the list, what is told."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support_desk import LESSON, LONG, QUIET, SYSTEM, Desk, questions, read, tool_turn
from tests.support_scripted_model import asks_for, says
from tests.support_session_files import kept_at
from triptych import lesson_api
from triptych.entries import Cleared, Entry, Pruned, Summary, Truncated
from triptych.events import StageEntered, StepCommitted, TextStreamed, TurnEnded
from triptych.layers.plan import Plan
from triptych.layers.summarize import SUMMARY_PREFIX, SummaryPlan
from triptych.messages import tool_calls
from triptych.models.base import Request
from triptych.policy import Trigger, preset
from triptych.reasons import Reason
from triptych.stages import Stage
from triptych.tokens import Usage


async def test_a_plain_question() -> None:
    desk = Desk([SYSTEM], LESSON)
    assert await desk.ask("你好", says("你好, 小林")) == "answered"
    assert desk.messages == [
        SYSTEM,
        {"role": "user", "content": "你好"},
        {"role": "assistant", "content": "你好, 小林"},
    ]
    assert desk.model.requests == [Request((SYSTEM, {"role": "user", "content": "你好"}), desk.model.requests[0].tools)]
    assert desk.of(TurnEnded) == [TurnEnded("answered")]


async def test_several_calls_in_one_answer_run_in_order_and_are_each_cut_on_their_own() -> None:
    desk = Desk([SYSTEM], LESSON, outputs=["short", LONG, "end"])
    calls = [read("a", '{"path": "1"}'), read("b", '{"path": "2"}'), read("c", '{"path": "3"}')]
    assert await desk.ask("read three", asks_for(*calls, text="reading"), says("done")) == "answered"
    assert desk.tool.runs == [{"path": "1"}, {"path": "2"}, {"path": "3"}]
    asking = desk.messages[2]
    assert asking["content"] == "reading"
    assert [(call.id, call.arguments) for call in tool_calls(asking)] == [(id_, raw) for id_, _, raw in calls]
    assert desk.messages[3:6] == [
        {"role": "tool", "tool_call_id": "a", "content": "short"},
        {"role": "tool", "tool_call_id": "b", "content": lesson_api.cut_tool_result(LONG)},
        {"role": "tool", "tool_call_id": "c", "content": "end"},
    ]
    assert [entry.has_mark(Truncated) for entry in desk.entries[3:6]] == [False, True, False]
    assert list(desk.model.requests[1].messages) == desk.messages[:6]
    desk.assert_sound()


async def test_what_was_cut_is_in_the_timeline_and_never_in_a_request() -> None:
    desk = Desk([SYSTEM], LESSON, outputs=[LONG])
    await desk.ask("read", asks_for(read("a")), says("done"))
    assert all(LONG not in str(request.messages) for request in desk.model.requests)
    (cut,) = [step for step in desk.session.timeline.path() if step.stage == "truncate"]
    assert cut.edits[0].removed[0].message["content"] == LONG


async def test_calls_that_cannot_run_are_answered_with_an_error() -> None:
    desk = Desk([SYSTEM], QUIET, outputs=["fine"])
    calls = [("a", "no_such_tool", "{}"), read("b", '{"path": '), read("c", "[1]"), read("d")]
    assert await desk.ask("try", asks_for(*calls), says("sorry")) == "answered"
    results = [message["content"] for message in desk.messages[3:7]]
    assert ["no_such_tool" in results[0], "JSON" in results[1], "JSON object" in results[2]] == [True] * 3
    assert results[3] == "fine"
    assert tool_calls(desk.messages[2])[1].arguments == '{"path": '
    assert len(desk.tool.runs) == 1
    desk.assert_sound()


async def test_25_rounds_of_calls_stop_the_turn() -> None:
    desk = Desk([SYSTEM], LESSON, outputs=["more"] * 25)
    outcome = await desk.ask("go on", *(asks_for(read(f"call_{n}")) for n in range(25)))
    assert outcome == "too_many_rounds"
    assert len(desk.model.requests) == 25
    assert len(desk.messages) == 2 + 2 * 25
    assert desk.of(TurnEnded) == [TurnEnded("too_many_rounds", Reason("turn.too_many_rounds", {"rounds": 25}))]
    desk.assert_sound()
    assert await desk.ask("and now?", says("here")) == "answered"
    desk.assert_sound()


@pytest.mark.parametrize(
    ("finish", "outcome", "reason"),
    [
        ("stop", "answered", None),
        ("length", "cut_off", "turn.cut_off"),
        ("content_filter", "filtered", "turn.filtered"),
    ],
)
async def test_how_the_answer_ended_is_told(finish: Any, outcome: str, reason: str | None) -> None:
    desk = Desk([SYSTEM], LESSON)
    assert await desk.ask("q", says("half an ans", finish=finish)) == outcome
    assert desk.messages[-1] == {"role": "assistant", "content": "half an ans"}
    (ended,) = desk.of(TurnEnded)
    assert (ended.reason.id if ended.reason else None) == reason


# Events and gate


async def test_events_of_a_turn_with_a_call_in_order() -> None:
    desk = Desk([SYSTEM], LESSON, outputs=[LONG])
    await desk.ask("read", asks_for(read("a")), says("done"))
    told = [
        event.stage
        if isinstance(event, StageEntered)
        else f"+{event.step.stage}"
        if isinstance(event, StepCommitted)
        else type(event).__name__
        for event in desk.events
    ]
    assert told == [
        *["receive", "+receive", "clear", "decide"],
        *["request", "+request", "StreamEnded"],
        *["tool", "truncate", "append", "+append", "+truncate"],
        *["request", "TextStreamed", "TextStreamed", "answer", "+answer", "StreamEnded"],
        *["save", "TurnEnded"],
    ]
    actors = {(event.stage, event.actor) for event in desk.of(StageEntered)}
    assert {stage for stage, actor in actors if actor == "model"} == {"request", "answer"}
    assert [event.request for event in desk.of(StageEntered) if event.stage == "request"] == [1, 2]
    assert "".join(event.text for event in desk.of(TextStreamed)) == "done"


async def test_steps_of_a_turn_are_one_action_and_continue_one_another() -> None:
    desk = Desk([*questions(3), *tool_turn(1), *tool_turn(2), *tool_turn(3)], LESSON, outputs=[LONG])
    await desk.ask("read", says("the summary"), asks_for(read("a")), says("done"))
    steps = desk.session.timeline.path()
    stages = [step.stage for step in steps]
    assert stages == ["receive", "clear", "summarize", "request", "append", "truncate", "answer"]
    assert len({step.action for step in steps}) == 1
    assert all(later.before == earlier.after for earlier, later in pairwise(steps))
    assert steps[-1].after == desk.session.counter.count(desk.entries)
    assert desk.session.undo()
    assert desk.entries == desk.base


async def test_the_gate_sees_each_plan_before_it_is_applied_and_the_same_plan_is_applied() -> None:
    desk = Desk([*questions(3), *tool_turn(1), *tool_turn(2), *tool_turn(3)], LESSON, outputs=[LONG])
    shown: list[tuple[Stage, Plan | SummaryPlan | None, tuple[Entry, ...]]] = []

    async def gate(stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
        if isinstance(plan, Plan) and stage != "truncate":  # layer 1 is planned for a list that holds the result
            assert plan.before == desk.session.counter.count(desk.entries)
        if plan is not None:
            assert reason == plan.reason
        shown.append((stage, plan, desk.entries))

    await desk.ask("read", says("the summary"), asks_for(read("a")), says("done"), gate=gate)
    assert [stage for stage, _, _ in shown] == desk.stages()
    applied = {event.step.stage: event.step for event in desk.of(StepCommitted)}
    for stage in ("clear", "append", "truncate", "summarize"):
        plans = [plan for at, plan, _ in shown if at == stage]
        plan = plans[-1]
        assert isinstance(plan, Plan)
        assert plan.edits
        assert applied[stage].edits is plan.edits
        assert applied[stage].reason is plan.reason
    clear_before = next(entries for stage, _, entries in shown if stage == "clear")
    assert not any(entry.has_mark(Cleared) for entry in clear_before)
    assert any(edit.removed[0] in clear_before for edit in applied["clear"].edits)


async def test_the_gate_sees_the_exact_summary_request_before_it_goes_out() -> None:
    desk = Desk(questions(4), LESSON)
    seen: list[tuple[SummaryPlan | Plan | None, int]] = []

    async def gate(stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
        if stage == "summarize":
            seen.append((plan, len(desk.model.requests)))

    await desk.ask("next", says("the summary"), says("done"), gate=gate)
    (planned, before), (written, after) = seen
    assert isinstance(planned, SummaryPlan)
    assert isinstance(written, Plan)
    assert (before, after) == (0, 1)
    assert desk.model.requests[0] == Request(planned.request)
    assert written.edits[0].inserted[0].message["content"] == SUMMARY_PREFIX + "the summary"
    assert desk.of(TextStreamed)[0] == TextStreamed("the s", summary=True)


async def test_what_arrives_while_the_gate_waits_is_kept() -> None:
    desk = Desk([*questions(4), *tool_turn(1), *tool_turn(2), *tool_turn(3)], LESSON)

    async def gate(stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
        if stage in ("clear", "summarize"):
            late = {"role": "user", "content": f"arrived during {stage}"}
            desk.session.append("receive", late, Reason("turn.received"), desk.session.begin_action())

    await desk.ask("question", says("the summary"), says("done"), gate=gate)
    texts = [message["content"] for message in desk.messages]
    assert texts[-5:] == [
        "question",
        "arrived during clear",
        "arrived during summarize",
        "arrived during summarize",
        "done",
    ]
    assert texts[1] == SUMMARY_PREFIX + "the summary"
    desk.assert_sound()


# Layers off and other policies


@pytest.mark.parametrize("layer", ["truncate", "clear", "summarize"])
async def test_a_layer_switched_off_is_not_come_by(layer: str) -> None:
    policy = replace(LESSON, **{layer: None})
    desk = Desk([*questions(3), *tool_turn(1), *tool_turn(2), *tool_turn(3)], policy, outputs=[LONG])
    summary = [] if layer == "summarize" else [says("the summary")]
    await desk.ask("read", *summary, asks_for(read("a")), says("done"))
    assert layer not in desk.stages()
    assert {"truncate", "clear", "summarize"} - set(desk.stages()) == {layer}
    marks = {"truncate": Truncated, "clear": Cleared, "summarize": Summary}
    assert not any(entry.has_mark(marks[layer]) for entry in desk.entries)
    desk.assert_sound()


async def test_meowgent_prunes_after_the_answer_and_before_saving(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    lines = "\n".join(f"line {n}" for n in range(20))
    desk = Desk(
        [SYSTEM, *tool_turn(1, lines), *questions(1)[1:]], preset("meowgent"), store=kept_at(path), window=100_000
    )
    await desk.ask("third", says("done"))
    assert desk.stages()[-4:] == ["request", "answer", "prune", "save"]
    assert desk.model.requests[0].messages[3]["content"] == lines
    assert [entry.has_mark(Pruned) for entry in desk.entries[1:4]] == [False, False, True]
    assert "line 10" not in desk.messages[3]["content"]
    assert lesson_api.load_session(path) == desk.messages


async def test_nami_summarizes_when_the_measured_prompt_fills_three_quarters_of_the_window() -> None:
    desk = Desk(questions(4), preset("nami"), window=1000)
    await desk.ask("first", says("a", prompt_tokens=700))
    assert desk.reasons("decide")[-1].id == "decide.share_within"
    measured = desk.session.size(desk.session.counter.total(desk.entries))
    assert measured.kind == "adjusted"
    await desk.ask("second", says("b", prompt_tokens=749))
    # The next question is longer than what was measured: adjusted to it, the prompt is over 750.
    assert await desk.ask("third " * 20, says("the summary"), says("c")) == "answered"
    reason = desk.reasons("decide")[-1]
    assert reason.id == "decide.share_over"
    assert reason.values["threshold"] == 750
    assert reason.values["tokens"] > 750
    assert reason.values["kind"] == "adjusted"
    assert desk.entries[1].has_mark(Summary)
    desk.assert_sound()


async def test_what_requests_cost_stands_in_their_steps() -> None:
    desk = Desk(questions(4), LESSON)
    await desk.ask("next", says("the summary", prompt_tokens=70), says("done", prompt_tokens=90))
    costs = {step.stage: step.usage for step in desk.session.timeline.path()}
    assert costs == {"receive": None, "summarize": Usage(70, 1), "answer": Usage(90, 1)}
    assert desk.session.size(desk.session.counter.total(desk.entries)).kind == "adjusted"


async def test_nami_goes_by_the_estimate_until_a_prompt_was_measured() -> None:
    desk = Desk(questions(4), preset("nami"), window=10)
    await desk.ask("next", says("the summary"), says("done"))
    assert desk.reasons("decide")[0].values["kind"] == "estimated"
    assert desk.entries[1].has_mark(Summary)


async def test_an_unknown_window_never_triggers_by_share() -> None:
    desk = Desk(questions(4), preset("nami"), window=None)
    await desk.ask("next", says("done", prompt_tokens=10**9))
    assert desk.reasons("decide")[0].id == "decide.window_unknown"


async def test_by_hand_only_never_summarizes_by_itself() -> None:
    desk = Desk(questions(9), replace(LESSON, trigger=Trigger()))
    await desk.ask("next", says("done"))
    assert desk.reasons("decide")[0].id == "decide.by_hand_only"
    assert "summarize" not in desk.stages()


async def test_a_server_that_counts_no_tokens_measured_nothing() -> None:
    desk = Desk(questions(1), QUIET)
    await desk.ask("hello", says("Yes.", prompt_tokens=0))
    assert desk.session.size(desk.session.counter.total(desk.entries)).kind == "estimated"
