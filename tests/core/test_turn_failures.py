"""Turns that fail: what is taken back, what is kept, and what is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support_desk import LESSON, QUIET, SYSTEM, Desk, questions, read, tool_turn
from tests.support_scripted_model import Answer, asks_for, fails, says
from tests.support_session_files import kept_at
from triptych import lesson_api
from triptych.agent import INTERRUPTED_RESULT
from triptych.entries import Entry, Interrupted, messages_of
from triptych.events import SaveFailed, StreamEnded, TextStreamed, TurnEnded
from triptych.layers.summarize import ACKNOWLEDGEMENT, SUMMARY_PREFIX
from triptych.messages import Message
from triptych.models.base import Finish, FinishReason, ModelError, TextDelta
from triptych.policy import Policy, Trigger
from triptych.reasons import Reason, TriptychError
from triptych.stages import Stage
from triptych.timeline import Change


async def test_a_turn_whose_first_request_fails_is_taken_back_whole(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    desk = Desk([*questions(2), *tool_turn(1), *tool_turn(2)], LESSON, store=kept_at(path))
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


async def test_a_failed_turn_is_not_redone_and_leaves_what_could_be() -> None:
    desk = Desk(questions(1), LESSON)
    await desk.ask("undone", says("yes"))
    redone = desk.messages
    desk.session.undo()
    with pytest.raises(ModelError):
        await desk.ask("fails", fails())
    assert desk.messages == questions(1)
    assert desk.session.redo()
    assert desk.messages == redone
    with pytest.raises(ModelError):
        await desk.ask("fails", fails())
    assert not desk.session.redo()


async def test_a_measured_size_outlives_a_failed_turn() -> None:
    desk = Desk([SYSTEM], LESSON)
    await desk.ask("works", says("yes", prompt_tokens=120))
    counter = desk.session.counter
    before = desk.session.size(counter.total(desk.entries))
    assert before.kind == "adjusted"
    with pytest.raises(ModelError):
        await desk.ask("fails", fails())
    assert desk.session.size(counter.total(desk.entries)) == before


@pytest.mark.parametrize("stage", ["clear", "request"])
async def test_a_failed_turn_takes_back_its_own_steps_only(stage: Stage, tmp_path: Path) -> None:
    desk = Desk(questions(1), LESSON, store=kept_at(tmp_path / "session.json"))
    by_hand = {"role": "user", "content": "by hand"}

    async def gate(entered: Stage, *_: object) -> None:
        if entered == stage:
            desk.session.append("append", by_hand, Reason("test"), desk.session.begin_action())

    with pytest.raises(ModelError):
        await desk.ask("fails", fails(), gate=gate)
    assert desk.messages == [*questions(1), by_hand]
    assert lesson_api.load_session(tmp_path / "session.json") == desk.messages


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
    desk = Desk([SYSTEM], LESSON, outputs=["one", "two"], store=kept_at(path))
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
    desk = Desk([SYSTEM], LESSON, outputs=["one", PermissionError("a fault in the tool")], store=kept_at(path))
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


@pytest.mark.parametrize(("finish", "flaw"), [("length", "summary.cut_off"), ("content_filter", "summary.filtered")])
async def test_a_summary_that_was_cut_off_is_taken_as_the_lesson_takes_it_and_says_so(
    finish: FinishReason, flaw: str, tmp_path: Path
) -> None:
    desk = Desk(questions(4), LESSON, store=kept_at(tmp_path / "s.json"))
    await desk.ask("next", says("half a summ", finish=finish), says("done"))
    assert desk.messages[1]["content"] == SUMMARY_PREFIX + "half a summ"
    told = desk.reasons("summarize")[-1]
    assert (told.id, told.values["flaw"]) == ("summarize.done_larger", Reason(flaw))


async def test_a_call_in_place_of_a_summary_keeps_the_messages_and_says_so() -> None:
    desk = Desk(questions(4), LESSON)
    await desk.ask("next", asks_for(read("a")), says("done"))
    assert desk.messages[:-2] == questions(4)
    told = desk.reasons("summarize")[-1]
    assert (told.id, told.values["flaw"]) == ("summarize.blank", Reason("summary.called_tool", {"tool": "read_file"}))


TOO_LONG = fails("model.context_length")
BY_HAND = replace(LESSON, trigger=Trigger())
"""Layer 3 belongs to its turns, and nothing sets it off."""


async def test_a_list_too_long_for_the_model_is_summarized_once_and_asked_again() -> None:
    desk = Desk(questions(4), BY_HAND)
    assert await desk.ask("next", TOO_LONG, says("the summary"), says("done")) == "answered"
    assert desk.messages[1]["content"] == SUMMARY_PREFIX + "the summary"
    assert [message["content"] for message in desk.messages[-2:]] == ["next", "done"]
    stages = desk.stages()
    assert stages[stages.index("request") :] == [
        "request",
        "decide",
        "summarize",
        "summarize",
        "request",
        "answer",
        "save",
    ]
    assert [reason.id for reason in desk.reasons("decide")] == ["decide.by_hand_only", "decide.too_long"]
    assert desk.session.undo()
    assert desk.messages == questions(4)


async def test_a_list_that_is_still_too_long_is_taken_back_and_its_summary_kept_for_later() -> None:
    desk = Desk(questions(4), BY_HAND)
    with pytest.raises(ModelError) as failed:
        await desk.ask("next", TOO_LONG, says("the summary"), TOO_LONG)
    assert failed.value.reason.id == "model.context_length"
    assert desk.messages == questions(4)
    assert await desk.ask("next", TOO_LONG, says("done")) == "answered"
    assert desk.messages[1]["content"] == SUMMARY_PREFIX + "the summary"


@pytest.mark.parametrize(
    ("policy", "turns", "script"),
    [
        (BY_HAND, 2, [TOO_LONG]),  # nothing is old
        (QUIET, 4, [TOO_LONG]),  # no layer 3
        (replace(BY_HAND, off=("summarize",)), 4, [TOO_LONG]),
        (BY_HAND, 4, [TOO_LONG, fails("model.context_length")]),  # the summary's own request is too long
        (BY_HAND, 4, [TOO_LONG, says(" ")]),
        (LESSON, 4, [says("the summary"), TOO_LONG]),  # it has just been summarized
    ],
)
async def test_where_a_summary_does_not_help_the_refusal_stands(
    policy: Policy, turns: int, script: list[Answer]
) -> None:
    desk = Desk(questions(turns), policy)
    with pytest.raises(ModelError) as failed:
        await desk.ask("next", *script)
    assert failed.value.reason.id == "model.context_length"
    assert desk.model.unused == 0
    assert desk.messages == questions(turns)


async def test_a_later_request_that_is_too_long_is_helped_too() -> None:
    desk = Desk(questions(4), BY_HAND, outputs=["short"])
    await desk.ask("next", asks_for(read("a")), TOO_LONG, says("the summary"), says("done"))
    assert desk.messages[1]["content"] == SUMMARY_PREFIX + "the summary"
    assert [message["content"] for message in desk.messages[-2:]] == ["short", "done"]
    desk.assert_sound()


async def test_a_summary_already_paid_for_is_kept_for_the_next_try() -> None:
    desk = Desk(questions(4), LESSON)
    with pytest.raises(ModelError):
        await desk.ask("next", says("the summary"), fails())
    assert desk.messages == questions(4)
    assert await desk.ask("once more", says("done")) == "answered"
    assert [message["content"] for message in desk.messages[-2:]] == ["once more", "done"]
    assert desk.messages[1]["content"] == SUMMARY_PREFIX + "the summary"
    assert desk.messages[2:-2] == [{"role": "assistant", "content": ACKNOWLEDGEMENT}, *questions(4)[5:]]
    assert desk.session.undo()
    assert desk.messages == questions(4)


async def test_a_paid_summary_is_kept_where_results_were_cleared_in_the_failed_turn_too() -> None:
    talk = [SYSTEM, *(message for number in range(4) for message in tool_turn(number))]
    desk = Desk(talk, LESSON)
    for script in ([says("the summary"), fails()], [fails()]):
        with pytest.raises(ModelError):
            await desk.ask("next", *script)
        assert desk.messages == talk
    assert await desk.ask("once more", says("done")) == "answered"
    assert desk.messages[1]["content"] == SUMMARY_PREFIX + "the summary"
    assert [step.stage for step in desk.session.timeline.path()] == ["receive", "clear", "summarize", "answer"]
    assert desk.session.undo()
    assert desk.messages == talk


async def test_a_paid_summary_outlives_a_turn_that_fails_before_it_is_due() -> None:
    desk = Desk(questions(4), LESSON)
    with pytest.raises(ModelError):
        await desk.ask("next", says("the summary"), fails())

    async def broken(stage: Stage, *_: object) -> None:
        if stage == "decide":
            raise ModelError("model.unreachable", model="gate")

    with pytest.raises(ModelError):
        await desk.ask("next", gate=broken)
    await desk.ask("once more", says("done"))
    assert desk.messages[1]["content"] == SUMMARY_PREFIX + "the summary"


async def test_a_paid_summary_is_not_used_for_a_list_that_has_changed() -> None:
    desk = Desk(questions(4), LESSON)
    with pytest.raises(ModelError):
        await desk.ask("next", says("the summary"), fails())
    desk.session.append("append", {"role": "user", "content": "extra"}, Reason("test"), desk.session.begin_action())
    await desk.ask("once more", says("a new summary"), says("done"))
    assert desk.messages[1]["content"] == SUMMARY_PREFIX + "a new summary"


class FullDisk:
    """A store that refuses to write until there is room."""

    def __init__(self) -> None:
        self.full = True
        self.saved: list[list[Message]] = []

    def save(self, entries: tuple[Entry, ...], head: int | None) -> None:
        if self.full:
            raise TriptychError("file.no_space")
        self.saved.append(messages_of(entries))

    def record(self, change: Change) -> None:
        pass

    def forget(self, entries: tuple[Entry, ...]) -> None:
        pass


async def test_a_session_that_cannot_be_saved_goes_on_and_is_saved_later() -> None:
    store = FullDisk()
    desk = Desk([SYSTEM], LESSON, store=store)
    assert await desk.ask("first", says("a")) == "answered"
    assert desk.of(SaveFailed) == [SaveFailed(Reason("file.no_space"))]
    assert desk.session.save_problem == Reason("file.no_space")
    assert not desk.session.is_saved
    store.full = False
    assert await desk.ask("second", says("b")) == "answered"
    assert store.saved == [desk.messages]
    assert desk.session.save_problem is None
    assert desk.session.is_saved
    await desk.session.save()
    assert store.saved == [desk.messages]
