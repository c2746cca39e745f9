"""The turn as its callers see it: what is asked, what stays in the list, what is told, however it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support_scripted_model import Answer, Checkpoints, ScriptedModel, ScriptedTool, asks_for, fails, says
from tests.support_strategies import faults
from triptych.storage.session_file import SessionFile

from triptych import lesson_api
from triptych.agent import INTERRUPTED_RESULT, open_gate, run_turn
from triptych.checks import would_be_refused
from triptych.entries import Cleared, Entry, Interrupted, Pruned, Summary, Truncated, entries_from, messages_of
from triptych.events import (
    Event,
    Saved,
    StageEntered,
    StepCommitted,
    StreamEnded,
    TextStreamed,
    ToolStarted,
    TurnEnded,
)
from triptych.layers.plan import Plan
from triptych.layers.summarize import SUMMARY_PREFIX, SUMMARY_PROMPT, SummaryPlan
from triptych.messages import Message, tool_calls
from triptych.models.base import Finish, ModelError, Request, TextDelta, ToolCallDelta
from triptych.policy import Policy, Trigger, preset
from triptych.reasons import Reason
from triptych.session import Session
from triptych.stages import Stage
from triptych.tools.base import Toolbox, ToolOutput

SYSTEM: Message = {"role": "system", "content": "你是一个会用工具的助手。"}
LONG = "第一行很长的工具结果。" * 30


def questions(count: int) -> list[Message]:
    """Turns without tools."""
    pairs = [
        [{"role": "user", "content": f"问题{n}"}, {"role": "assistant", "content": f"回答{n}"}] for n in range(count)
    ]
    return [SYSTEM, *(message for pair in pairs for message in pair)]


def tool_turn(number: int, output: str = LONG) -> list[Message]:
    """A turn with one call."""
    call = {"id": f"old_{number}", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    return [
        {"role": "user", "content": f"读文件{number}"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"old_{number}", "content": output},
        {"role": "assistant", "content": f"读了{number}"},
    ]


def read(call_id: str, arguments: str = '{"path": "a.txt"}') -> tuple[str, str, str]:
    return (call_id, "read_file", arguments)


class Desk:
    """A session with a model and tools by script, and everything it tells."""

    def __init__(
        self,
        messages: Sequence[Message],
        policy: Policy,
        *,
        outputs: Iterable[str | ToolOutput | Exception] = (),
        store: Any = None,
        window: int | None = None,
    ) -> None:
        self.base = entries_from(messages)
        self.session = Session(self.base, policy, store)
        self.events: list[Event] = []
        self.session.subscribe(self.events.append)
        self.outputs = list(outputs)
        self.window = window
        self.model = ScriptedModel(())
        self.tool = ScriptedTool("read_file", ())

    async def ask(
        self, text: str, *script: Answer, gate: Any = open_gate, checkpoints: Checkpoints | None = None
    ) -> str:
        self.model = ScriptedModel(script, window=self.window, checkpoints=checkpoints)
        self.tool = ScriptedTool("read_file", self.outputs, checkpoints)
        return await run_turn(self.session, text, model=self.model, tools=Toolbox([self.tool]), gate=gate)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.session.entries

    @property
    def messages(self) -> list[Message]:
        return messages_of(self.session.entries)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def stages(self) -> list[Stage]:
        return [event.stage for event in self.of(StageEntered)]

    def reasons(self, stage: Stage) -> list[Reason]:
        return [event.reason for event in self.of(StageEntered) if event.stage == stage]

    def assert_sound(self) -> None:
        assert faults(self.messages) == []
        assert not would_be_refused(self.messages)


LESSON = preset("lesson")
QUIET = replace(LESSON, truncate=None, clear=None, summarize=None)


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


async def test_calls_with_one_id_are_both_answered() -> None:
    desk = Desk([SYSTEM], QUIET, outputs=["first", "second"])
    script: Answer = [ToolCallDelta(0, "x", "read_file", "{}"), ToolCallDelta(1, "x", "read_file", "{}")]
    await desk.ask("both", script, says("done"))
    assert [message["content"] for message in desk.messages[3:5]] == ["first", "second"]
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
        *["request", "StreamEnded", "+request"],
        *["tool", "ToolStarted", "truncate", "append", "+append", "+truncate"],
        *["request", "TextStreamed", "TextStreamed", "answer", "StreamEnded", "+answer"],
        *["save", "TurnEnded"],
    ]
    actors = {(event.stage, event.actor) for event in desk.of(StageEntered)}
    assert {stage for stage, actor in actors if actor == "model"} == {"request", "answer"}
    assert [event.request for event in desk.of(StageEntered) if event.stage == "request"] == [1, 2]
    assert "".join(event.text for event in desk.of(TextStreamed)) == "done"
    assert [event.call.id for event in desk.of(ToolStarted)] == ["a"]


async def test_steps_of_a_turn_are_one_action_and_continue_one_another() -> None:
    desk = Desk([*questions(3), *tool_turn(1), *tool_turn(2), *tool_turn(3)], LESSON, outputs=[LONG])
    await desk.ask("read", says("the summary"), asks_for(read("a")), says("done"))
    steps = desk.session.timeline.path()
    assert [step.stage for step in steps] == [
        *["receive", "clear", "summarize", "request", "append", "truncate", "answer"]
    ]
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
        [SYSTEM, *tool_turn(1, lines), *questions(1)[1:]], preset("meowgent"), store=SessionFile(path), window=100_000
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


# Failures


async def test_a_turn_whose_first_request_fails_is_taken_back_whole(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    desk = Desk([*questions(2), *tool_turn(1), *tool_turn(2)], LESSON, store=SessionFile(path))
    await desk.ask("works", says("s"), says("yes"))
    before, saved = desk.entries, path.read_bytes()
    desk.events.clear()
    with pytest.raises(ModelError) as failed:
        await desk.ask("fails", says("another summary"), fails("model.unreachable"))
    assert failed.value.reason.id == "model.unreachable"
    assert desk.entries == before
    assert path.read_bytes() == saved
    assert desk.session.is_saved
    assert desk.of(TurnEnded) == [TurnEnded("failed", failed.value.reason)]


async def test_a_first_request_that_breaks_off_leaves_nothing() -> None:
    desk = Desk(questions(2), LESSON)
    with pytest.raises(ModelError):
        await desk.ask("q", fails(after=[TextDelta("I was about to s")]))
    assert desk.entries == desk.base
    kinds = [type(event) for event in desk.events]
    assert kinds.index(TextStreamed) < kinds.index(StreamEnded) < kinds.index(TurnEnded)


@pytest.mark.parametrize("nothing", [[], [Finish("stop")], [TextDelta(" \n"), Finish("stop")]])
async def test_an_empty_answer_is_a_failed_request(nothing: Answer) -> None:
    desk = Desk(questions(1), LESSON)
    with pytest.raises(ModelError) as failed:
        await desk.ask("q", nothing)
    assert failed.value.reason.id == "model.empty"
    assert desk.entries == desk.base


async def test_a_later_request_that_fails_keeps_what_was_done(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    desk = Desk([SYSTEM], LESSON, outputs=["one", "two"], store=SessionFile(path))
    with pytest.raises(ModelError):
        await desk.ask("read", asks_for(read("a"), read("b")), fails(after=[TextDelta("well")]))
    assert [message["role"] for message in desk.messages] == ["system", "user", "assistant", "tool", "tool"]
    assert [message["content"] for message in desk.messages[3:]] == ["one", "two"]
    desk.assert_sound()
    assert lesson_api.load_session(path) == desk.messages
    assert [event.outcome for event in desk.of(TurnEnded)] == ["failed"]
    assert await desk.ask("again", says("now it works")) == "answered"
    desk.assert_sound()


async def test_a_tool_that_breaks_leaves_its_call_and_the_following_closed(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    desk = Desk([SYSTEM], LESSON, outputs=["one", PermissionError("a fault in the tool")], store=SessionFile(path))
    with pytest.raises(PermissionError):
        await desk.ask("read", asks_for(read("a"), read("b"), read("c")))
    assert [message["content"] for message in desk.messages[3:]] == ["one", INTERRUPTED_RESULT, INTERRUPTED_RESULT]
    assert [entry.has_mark(Interrupted) for entry in desk.entries[3:]] == [False, True, True]
    desk.assert_sound()
    assert lesson_api.load_session(path) == desk.messages
    (ended,) = desk.of(TurnEnded)
    assert (ended.outcome, ended.reason) == ("failed", Reason("turn.broken", {"error": "PermissionError"}))


async def test_a_failed_summary_does_not_end_the_turn() -> None:
    desk = Desk(questions(4), LESSON)
    assert await desk.ask("next", fails("model.overloaded", after=[TextDelta("half")]), says("done")) == "answered"
    assert desk.messages == [
        *questions(4),
        {"role": "user", "content": "next"},
        {"role": "assistant", "content": "done"},
    ]
    told = desk.reasons("summarize")[-1]
    assert told.id == "summarize.failed"
    assert told.values["why"].id == "model.overloaded"
    assert [type(event) for event in desk.events].count(StreamEnded) == 2


@pytest.mark.parametrize("blank", [[Finish("stop")], says("  \n")])
async def test_a_blank_summary_keeps_the_messages(blank: Answer) -> None:
    desk = Desk(questions(4), LESSON)
    assert await desk.ask("next", blank, says("done")) == "answered"
    assert desk.messages[:-2] == questions(4)
    assert desk.reasons("summarize")[-1].id == "summarize.blank"


async def test_a_summary_already_paid_for_is_kept_for_the_next_try() -> None:
    desk = Desk(questions(4), LESSON)
    with pytest.raises(ModelError):
        await desk.ask("next", says("the summary"), fails())
    assert desk.messages == questions(4)
    assert await desk.ask("once more", says("done")) == "answered"
    assert [message["content"] for message in desk.messages[-2:]] == ["once more", "done"]
    assert desk.messages[1]["content"] == SUMMARY_PREFIX + "the summary"
    assert desk.messages[2:-2] == [{"role": "assistant", "content": lesson_api_acknowledgement()}, *questions(4)[5:]]
    assert desk.session.undo()
    assert desk.messages == questions(4)


async def test_a_paid_summary_is_not_used_for_a_list_that_has_changed() -> None:
    desk = Desk(questions(4), LESSON)
    with pytest.raises(ModelError):
        await desk.ask("next", says("the summary"), fails())
    desk.session.append("append", {"role": "user", "content": "extra"}, Reason("test"), desk.session.begin_action())
    await desk.ask("once more", says("a new summary"), says("done"))
    assert desk.messages[1]["content"] == SUMMARY_PREFIX + "a new summary"


def lesson_api_acknowledgement() -> str:
    return lesson_api.rebuild(questions(2), 1, "s")[2]["content"]


# Cancelling


def three_calls() -> list[Answer]:
    """A round of three calls and one more, the answer; some text goes before."""
    return [asks_for(read("a"), read("b"), read("c"), text="I look"), asks_for(read("d")), says("all done")]


CANCELLED_TURNS: dict[str, tuple[Policy, list[Answer]]] = {
    "lesson": (LESSON.with_options(keep=1, keep_turns=1), [says("the summary"), *three_calls()]),
    "meowgent": (replace(preset("meowgent"), trigger=Trigger(turns=1)), [says("the summary"), *three_calls()]),
    "plain": (QUIET, three_calls()),
}


async def _cancelled_turn(name: str, path: Path, cancel_at: int | None) -> tuple[Desk, Checkpoints]:
    """A session with a saved turn behind it, and a turn cancelled at its n-th await (None: not at all)."""
    policy, script = CANCELLED_TURNS[name]
    desk = Desk([SYSTEM, *tool_turn(1), *tool_turn(2)], policy, outputs=[LONG] * 4, store=SessionFile(path))
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
            if entry.has_mark(Interrupted) and entry.message["role"] == "tool":
                assert entry.message["content"] == INTERRUPTED_RESULT
                closed += 1
            elif entry.has_mark(Interrupted):
                assert entry is desk.entries[-1]
                assert entry.message["content"] in ("I look", "all done", "all ")
                partial += 1
            else:
                assert entry.message.get("content") != INTERRUPTED_RESULT
        results = [message for message in desk.messages if message["role"] == "tool"]
        assert len(results) == sum(len(tool_calls(message)) for message in desk.messages)
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

    def save(self, entries: tuple[Entry, ...]) -> None:
        self._loop.call_soon_threadsafe(self._begun)
        assert self.let_go.wait(timeout=30)
        self.saved.append(messages_of(entries))


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
