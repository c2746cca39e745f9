"""Failures that users of other agents have reported, each put to the preset `robust` in a whole turn.

Every request is one that an API accepts and holds the question; every change can be taken back. What single layers make
of such lists is in test_robust_clear.py, test_robust_truncate.py and test_robust_compaction.py; what is typed while a
list is summarized stays: tests/tui/test_unlucky_moments.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support_desk import LONG, SYSTEM, Desk, long_questions, read, tool_turn
from tests.support_scripted_model import Answer, asks_for, fails, says
from triptych.checks import problems
from triptych.entries import Acknowledgement, Cleared, Interrupted, Repaired, Summary, Truncated
from triptych.events import TextStreamed
from triptych.layers.plan import Plan
from triptych.layers.rendering import fenced_in
from triptych.layers.summarize import ROBUST_PREFIX, SummaryPlan
from triptych.messages import Message
from triptych.models.base import Finish, Request, TextDelta
from triptych.policy import Policy, Trigger, preset
from triptych.reasons import Reason
from triptych.repairs import NO_RESULT
from triptych.stages import Stage

ROBUST: Policy = preset("robust")
BY_TURNS = replace(ROBUST, trigger=Trigger(turns=3))
EAGER = replace(ROBUST, clear=replace(ROBUST.clear, minimum_gain=0))  # type: ignore[type-var]

SHORT = says("Goal: read the files.")


def errors(messages: Any) -> list[str]:
    return [problem.kind for problem in problems(messages) if problem.severity == "error"]


def answering(desk: Desk) -> list[Request]:
    """The requests that were made for an answer, not for a summary."""
    return [request for request in desk.model.requests if request.tools]


def summarizing(desk: Desk) -> list[Request]:
    return [request for request in desk.model.requests if not request.tools]


def summaries(desk: Desk) -> int:
    """How often the list was summarized."""
    return sum(step.stage == "summarize" for step in desk.session.timeline.path())


async def goes_well(desk: Desk, text: str, *script: Answer, summary: Answer | None = SHORT) -> None:
    """A turn that is answered; every request holds the question, and is one that an API accepts, as the list is."""
    assert await desk.ask(text, *script, summary=summary) == "answered"
    for request in answering(desk):
        assert errors(request.messages) == []
        assert {"role": "user", "content": text} in request.messages
    desk.assert_sound()


def assert_nothing_is_lost(desk: Desk) -> None:
    while desk.session.undo():
        pass
    assert desk.entries == desk.base


def calling(*calls: tuple[str, str], content: str | None = None) -> Message:
    """An assistant message with calls, each `(id, tool)`."""
    made = [{"id": each, "type": "function", "function": {"name": tool, "arguments": "{}"}} for each, tool in calls]
    return {"role": "assistant", "content": content, "tool_calls": made}


def result(call_id: str, text: str = LONG) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def tokens(desk: Desk, messages: Any) -> int:
    counter = desk.session.counter
    return counter.tokens(sum(counter.message_weight(message) for message in messages))


# Lists


@pytest.mark.parametrize("window", range(1500, 5000, 250))
async def test_a_cut_that_lands_on_a_tool_message(window: int) -> None:
    rounds = [asks_for(*(read(f"c{n}{at}") for at in range(3))) for n in range(6)]
    desk = Desk([SYSTEM], replace(ROBUST, clear=None), outputs=[LONG] * 18, window=window)
    await goes_well(desk, "read them", *rounds, says("done"))
    assert any(entry.has_mark(Summary) for entry in desk.entries)
    assert desk.reasons("repair") == [], "no result was parted from its call, so there was nothing to mend"
    assert_nothing_is_lost(desk)


async def test_ten_parallel_calls_while_six_results_are_kept() -> None:
    assert EAGER.clear is not None
    policy = replace(EAGER, clear=replace(EAGER.clear, keep=6))
    outputs = [f"{n} {LONG}" for n in range(10)]
    desk = Desk([SYSTEM, *tool_turn(1)], policy, outputs=outputs, window=100_000)
    await goes_well(desk, "read ten", asks_for(*(read(f"c{n}") for n in range(10))), says("done"))
    seen = [message["content"] for message in answering(desk)[-1].messages if message["role"] == "tool"]
    assert seen[-10:] == outputs
    await goes_well(desk, "and now?", says("a batch stays whole"))
    assert [entry.has_mark(Cleared) for entry in desk.entries if entry.message["role"] == "tool"] == [True] + [
        False
    ] * 10
    assert_nothing_is_lost(desk)


async def test_a_session_that_ends_in_unanswered_calls() -> None:
    cut_short = [{"role": "user", "content": "read two"}, calling(("a", "read_file"), ("b", "read_file")), result("a")]
    desk = Desk([SYSTEM, *cut_short], ROBUST)
    await goes_well(desk, "are you there?", says("yes"))
    assert desk.reasons("repair") == [Reason("repair.done", {"orphans": None, "calls": 1, "empty": None})]
    assert desk.messages[4] == result("b", NO_RESULT)
    assert desk.entries[4].has_mark(Repaired)
    assert_nothing_is_lost(desk)


@pytest.mark.parametrize(
    "begins_with", [[result("gone")], [result("gone"), result("gone too")], [{"role": "assistant", "content": ""}]]
)
async def test_a_list_that_another_program_cut_so_that_an_api_refuses_it(begins_with: list[Message]) -> None:
    desk = Desk([SYSTEM, *begins_with, *tool_turn(1)], ROBUST)
    await goes_well(desk, "go on", says("well"))
    assert [reason.id for reason in desk.reasons("repair")] == ["repair.done"]
    assert_nothing_is_lost(desk)


async def test_two_turns_with_the_same_call_ids() -> None:
    turns = [
        [
            {"role": "user", "content": tool},
            calling(("call_0", tool)),
            result("call_0"),
            {"role": "assistant", "content": "ok"},
        ]
        for tool in ("grep", "read_file", "list_files", "grep", "read_file")
    ]
    desk = Desk([SYSTEM, *(message for each in turns for message in each)], EAGER, window=100_000)
    await goes_well(desk, "go on", says("well"))
    cleared = [entry.message["content"] for entry in desk.entries if entry.has_mark(Cleared)]
    assert [text.split()[3] for text in cleared] == ["grep", "read_file"]
    desk.session.policy = replace(BY_TURNS, clear=None)
    await goes_well(desk, "and on", says("well"))
    assert desk.entries[1].has_mark(Summary)
    assert_nothing_is_lost(desk)


async def test_call_ids_that_restart_with_each_answer() -> None:
    outputs = [f"{n} {LONG}" for n in range(12)]
    desk = Desk([SYSTEM, *tool_turn(0)], EAGER, outputs=outputs, window=2500)
    rounds = [asks_for(read("call_0"), read("call_1")) for _ in range(6)]
    await goes_well(desk, "read twelve", *rounds, says("done"))
    seen = [message["content"] for message in answering(desk)[-1].messages if message["role"] == "tool"]
    assert seen[-2:] == outputs[-2:]
    assert desk.reasons("clear")[3].values["cleared"] == 2, "the calls of one answer are not those of the answer before"
    assert_nothing_is_lost(desk)


@pytest.mark.parametrize("clear", [ROBUST.clear, None])
async def test_one_question_with_300_calls(clear: Any) -> None:
    window = 8000
    outputs = [f"{n} {LONG}" for n in range(300)]
    desk = Desk([SYSTEM, *tool_turn(1)], replace(ROBUST, clear=clear), outputs=outputs, window=window)
    rounds = [asks_for(*(read(f"call_{each}") for each in range(first, first + 15))) for first in range(0, 300, 15)]
    await goes_well(desk, "read them all", *rounds, says("done"))
    assert len(answering(desk)) == 21
    assert max(tokens(desk, request.messages) for request in answering(desk)) < window
    assert sum(entry.has_mark(Summary) for entry in desk.entries) <= 1
    desk.session.undo()
    assert desk.entries == desk.base, "it was one action"


async def test_one_result_larger_than_the_window() -> None:
    output = "word " * 100_000
    desk = Desk([SYSTEM], ROBUST, outputs=[output], window=8000)
    await goes_well(desk, "read", asks_for(read("a")), says("done"))
    assert len(desk.messages[3]["content"]) <= 4000
    assert desk.entries[3].has_mark(Truncated)
    assert output in [entry.message["content"] for entry in desk.session.timeline.known_entries()]
    assert_nothing_is_lost(desk)


async def test_a_question_larger_than_the_window_is_no_reason_for_summaries_without_end() -> None:
    desk = Desk(long_questions(4), ROBUST, outputs=["r"] * 3, window=2000)
    rounds = [asks_for(read(f"c{n}")) for n in range(3)]
    await goes_well(desk, "long " * 4000, *rounds, says("done"))
    assert summaries(desk) == 1
    assert desk.reasons("summarize")[-1].id == "summarize.too_little"
    assert_nothing_is_lost(desk)


async def test_what_stays_is_too_long_at_every_question() -> None:
    desk = Desk([{"role": "system", "content": "rule " * 2000}, *long_questions(6)[1:]], ROBUST, window=2000)
    counts = []
    for number in range(8):
        await goes_well(desk, f"question {number}", says("yes"))
        counts.append(summaries(desk))
    assert counts == [1] * 2 + [2] * 6, "first what was there, then the turns that had been kept"
    assert {reason.id for reason in desk.reasons("decide")} == {"decide.share_over"}


async def test_the_server_finds_the_list_too_long_though_the_estimate_does_not() -> None:
    desk = Desk(long_questions(8), ROBUST, window=1_000_000)
    await goes_well(desk, "next", fails("model.context_length"), says("now it fits"))
    assert [reason.id for reason in desk.reasons("decide")] == ["decide.share_within", "decide.too_long"]
    assert len(summarizing(desk)) == 1
    assert_nothing_is_lost(desk)


async def test_there_is_no_user_message() -> None:
    rounds = [[calling((f"c{n}", "read_file")), result(f"c{n}")] for n in range(9)]
    desk = Desk([SYSTEM, *(message for each in rounds for message in each)], ROBUST, window=2000)
    await goes_well(desk, "what have you read?", says("nine files"))
    assert desk.entries[1].has_mark(Summary)
    assert_nothing_is_lost(desk)


async def test_there_is_no_system_message() -> None:
    desk = Desk(long_questions(5)[1:], BY_TURNS)
    await goes_well(desk, "next", says("done"))
    assert [entry.has_mark(Summary) for entry in desk.entries[:2]] == [True, False]
    assert desk.entries[1].has_mark(Acknowledgement)
    assert_nothing_is_lost(desk)


async def test_there_is_nothing_at_all() -> None:
    desk = Desk([], ROBUST, outputs=["r"], window=100)
    await goes_well(desk, "hello", asks_for(read("a")), says("done"))
    assert_nothing_is_lost(desk)


# Numbers


async def test_nothing_is_kept() -> None:
    assert ROBUST.summarize is not None
    policy = replace(
        EAGER,
        clear=replace(EAGER.clear, keep=0),  # type: ignore[type-var]
        summarize=replace(ROBUST.summarize, keep_turns=0),
        trigger=Trigger(turns=1),
    )
    desk = Desk([SYSTEM, *tool_turn(1), *tool_turn(2)], policy, outputs=[LONG, LONG], window=100_000)
    await goes_well(desk, "read", asks_for(read("a")), asks_for(read("b")), says("done"))
    first, second = (entry for entry in desk.entries if entry.message["role"] == "tool")
    assert first.has_mark(Cleared)
    assert second.message["content"] == LONG, "the model had not answered it yet"
    assert [message["content"] for message in desk.messages[1:4]][2] == "read"
    assert_nothing_is_lost(desk)


async def test_no_result_is_kept() -> None:
    policy = replace(EAGER, clear=replace(EAGER.clear, keep=0))  # type: ignore[type-var]
    desk = Desk([SYSTEM, *tool_turn(1)], policy, outputs=[LONG], window=100_000)
    await goes_well(desk, "read", asks_for(read("a")), says("done"))
    await goes_well(desk, "go on", says("well"))
    assert [entry.has_mark(Cleared) for entry in desk.entries if entry.message["role"] == "tool"] == [True, True]
    assert_nothing_is_lost(desk)


async def test_a_limit_of_0() -> None:
    policy = replace(ROBUST, truncate=replace(ROBUST.truncate, limit=0, error_limit=0))  # type: ignore[type-var]
    desk = Desk([SYSTEM], policy, outputs=[LONG, LONG])
    await goes_well(desk, "read", asks_for(read("a"), read("b")), says("done"))
    assert [entry.message["content"] for entry in desk.entries[3:5]] == ["", ""]
    assert all(entry.has_mark(Truncated) for entry in desk.entries[3:5])
    assert LONG in [entry.message["content"] for entry in desk.session.timeline.known_entries()]
    assert_nothing_is_lost(desk)


async def test_stale_usage() -> None:
    desk = Desk(long_questions(12), ROBUST, outputs=["r", "r"], window=6000)
    await goes_well(desk, "one", says("a", prompt_tokens=4499))
    script = [asks_for(read("a")), asks_for(read("b")), says("done")]
    await goes_well(desk, "two", *script, summary=says("the summary", prompt_tokens=4400))
    over, *after = desk.reasons("decide")[1:]
    assert over.id == "decide.share_over"
    assert [reason.id for reason in after] == ["decide.share_within"] * 2
    assert {reason.values["kind"] for reason in after} == {"adjusted"}
    assert after[0].values["tokens"] < 2200
    assert len(summarizing(desk)) == 1


# Summaries


@pytest.mark.parametrize(
    ("answer", "told", "flaw"),
    [
        pytest.param(says(""), "summarize.blank", None, id="empty"),
        pytest.param([Finish("stop")], "summarize.blank", None, id="nothing"),
        pytest.param(asks_for(read("x")), "summarize.blank", "summary.called_tool", id="a_tool_call"),
        pytest.param(
            asks_for(read("x"), text="I will read."), "summarize.refused", "summary.called_tool", id="text_and_a_call"
        ),
        pytest.param(says("half a", finish="length"), "summarize.refused", "summary.cut_off", id="cut_off"),
        pytest.param(says("half", finish="content_filter"), "summarize.refused", "summary.filtered", id="filtered"),
        pytest.param(says("回答0" * 500), "summarize.not_smaller", None, id="larger"),
        pytest.param(says("429 Too Many Requests"), "summarize.refused", "summary.error_message", id="429_as_text"),
        pytest.param(fails("model.rate_limited"), "summarize.failed", None, id="429"),
        pytest.param([TextDelta("half"), *fails("model.unreachable")], "summarize.failed", None, id="broken_off"),
    ],
)
async def test_a_summary_that_is_none(answer: Answer, told: str, flaw: str | None) -> None:
    desk = Desk(long_questions(5), BY_TURNS, outputs=["r", "r"])
    await goes_well(desk, "next", asks_for(read("a")), asks_for(read("b")), says("done"), summary=answer)
    assert desk.messages[: len(long_questions(5))] == long_questions(5)
    reason = desk.reasons("summarize")[-1]
    assert reason.id == told
    assert getattr(reason.values.get("flaw"), "id", None) == flaw
    assert len(summarizing(desk)) == 1, "it is told once a turn"
    assert [reason.id for reason in desk.reasons("decide")[1:]] == ["decide.refused_before"] * 2


async def test_a_summarizer_that_echoes() -> None:
    desk = Desk(long_questions(5), BY_TURNS)

    async def gate(stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
        if isinstance(plan, SummaryPlan):
            desk.model._answers[0] = says(plan.request[1]["content"])

    assert await desk.ask("next", says("?"), says("done"), gate=gate) == "answered"
    reason = desk.reasons("summarize")[-1]
    assert (reason.id, reason.values["flaw"].id) == ("summarize.refused", "summary.echo")
    assert desk.messages[:-2] == long_questions(5)


@pytest.mark.parametrize(
    "text",
    [
        "429 birds were counted at the harbour.",
        "Error 404 in the web server was mended; the tests are next.",
        "Too many requests were sent by the crawler, so it waits a second now.",
    ],
)
async def test_an_honest_summary_that_begins_like_an_error(text: str) -> None:
    desk = Desk(long_questions(5), BY_TURNS)
    await goes_well(desk, "next", says("done"), summary=says(text))
    assert desk.messages[1]["content"] == ROBUST_PREFIX + text
    assert_nothing_is_lost(desk)


async def test_two_compactions_in_a_row() -> None:
    desk = Desk(long_questions(5), BY_TURNS)
    await goes_well(desk, "one", says("a" * 90), summary=says("The name is Lin."))
    await goes_well(desk, "two", says("b" * 90), summary=says("The name is Lin, and one was asked."))
    (request,) = summarizing(desk)
    asked = request.messages[1]["content"]
    assert fenced_in(asked).so_far == "The name is Lin."
    assert asked.count("The name is Lin.") == 1
    assert "回答3" in asked
    assert "回答2" not in asked, "what is summarized is not summarized again"
    assert [entry.message["content"] for entry in desk.entries if entry.has_mark(Summary)] == [
        ROBUST_PREFIX + "The name is Lin, and one was asked."
    ]
    assert_nothing_is_lost(desk)


async def test_a_question_that_comes_while_a_summary_is_written() -> None:
    desk = Desk(long_questions(5), BY_TURNS)
    said: list[str] = []

    def say(event: object) -> None:
        if isinstance(event, TextStreamed) and event.summary and not said:
            said.append(event.text)
            message = {"role": "user", "content": "and be brief"}
            desk.session.append("receive", message, Reason("turn.received"), desk.session.begin_action())

    desk.session.subscribe(say)
    await goes_well(desk, "next", says("done"))
    assert desk.entries[1].has_mark(Summary)
    assert [message["content"] for message in desk.messages[-3:]] == ["next", "and be brief", "done"]


async def test_a_partial_answer_before_the_next_question() -> None:
    desk = Desk(long_questions(2), ROBUST)
    stopped = {"role": "assistant", "content": "I was about to"}
    desk.session.append("answer", stopped, Reason("turn.cancelled"), 1, marks=(Interrupted(),))
    await goes_well(desk, "go on", says("well"))
    assert stopped in desk.messages
