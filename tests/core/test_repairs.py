"""Lists that an API would refuse, and what becomes of them before a request."""

from __future__ import annotations

from hypothesis import given

from tests.core.test_layers import exact, same
from tests.core.test_robust_layers import entry_lists
from tests.support_desk import LESSON, QUIET, SYSTEM, Desk, read, tool_turn
from tests.support_scripted_model import asks_for, says
from tests.support_strategies import ALWAYS
from triptych.checks import would_be_refused
from triptych.edits import apply, inverse_of
from triptych.entries import Entry, Repaired, entries_from, messages_of
from triptych.messages import Message
from triptych.repairs import NO_ANSWER, NO_RESULT, repaired
from triptych.tokens import ESTIMATORS, TokenCounter

COUNTER = TokenCounter(ESTIMATORS["chars4"])


def ids(count: int) -> int:
    return 1_000_000


def after(messages: list[Message]) -> list[Message]:
    entries = entries_from(messages)
    return messages_of(apply(entries, repaired(entries, COUNTER, ids).edits))


def asking(*names: str) -> Message:
    calls = [{"id": name, "type": "function", "function": {"name": "grep", "arguments": "{}"}} for name in names]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str, content: str = "r") -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


@ALWAYS
@given(entry_lists())
def test_any_list_is_accepted_afterwards_and_can_be_had_back(entries: tuple[Entry, ...]) -> None:
    plan = repaired(entries, COUNTER, ids)
    now = apply(entries, plan.edits)
    assert not would_be_refused(messages_of(now))
    assert same(apply(now, inverse_of(plan.edits)), entries)
    assert plan.after == TokenCounter(COUNTER.estimator).count(now)
    before = {id(entry) for entry in entries}
    assert all(id(entry) in before or entry.has_mark(Repaired) for entry in now)
    assert would_be_refused(messages_of(entries)) == bool(plan.edits)


def test_a_result_without_a_call_goes_and_an_open_call_is_closed_behind_the_others() -> None:
    question: Message = {"role": "user", "content": "q"}
    closed = result("b", NO_RESULT)
    assert after([question, result("x"), asking("a", "b"), result("zzz"), result("a"), question]) == [
        *[question, asking("a", "b"), result("a"), closed, question]
    ]
    assert after([question, asking("b")]) == [question, asking("b"), closed]
    older: Message = {"role": "assistant", "content": "", "function_call": {"name": "grep", "arguments": "{}"}}
    assert after([older])[1] == {"role": "function", "name": "grep", "content": NO_RESULT}


def test_an_empty_answer_gets_words_and_keeps_its_other_keys() -> None:
    empty: Message = {"x": 1, "content": None, "role": "assistant"}
    assert exact(after([empty])) == exact([{"x": 1, "content": NO_ANSWER, "role": "assistant"}])


async def test_before_a_request_it_is_a_step_that_undo_takes_back() -> None:
    listed = [SYSTEM, *tool_turn(1)[:2], {"role": "user", "content": "and?"}, {"role": "assistant", "content": ""}]
    desk = Desk(listed, LESSON)
    assert await desk.ask("go on", says("done")) == "answered"
    desk.assert_sound()
    (reason,) = desk.reasons("repair")
    assert dict(reason.values) == {"orphans": None, "calls": 1, "empty": 1}
    assert [step.stage for step in desk.session.timeline.path()] == ["receive", "repair", "answer"]
    assert list(desk.model.requests[0].messages) == desk.messages[:-1]
    desk.session.undo()
    assert desk.messages == listed


async def test_a_sound_list_is_left_alone() -> None:
    desk = Desk([SYSTEM], QUIET, outputs=["r"])
    await desk.ask("q", asks_for(read("a")), says("done"))
    assert desk.reasons("repair") == []
