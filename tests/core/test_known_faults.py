"""The known faults of the lesson's layers, kept to the letter, each beside what the robust layers do instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.support_desk import LONG, SYSTEM, Desk, long_questions, questions, read, tool_turn
from tests.support_offline_model import reply
from tests.support_scripted_model import asks_for, says
from triptych.edits import apply
from triptych.entries import Cleared, Entry, Summary, entries_from, messages_of
from triptych.layers import clear, prune, summarize, truncate
from triptych.layers.clear import ClearParameters
from triptych.layers.plan import Plan
from triptych.layers.prune import NOTICE, PruneParameters
from triptych.layers.summarize import SummarizeParameters, SummaryPlan
from triptych.layers.truncate import TruncateParameters
from triptych.lesson_api import cut_tool_result
from triptych.messages import Message
from triptych.policy import Trigger, preset
from triptych.reasons import Reason
from triptych.tokens import ESTIMATORS, TokenCounter

COUNTER = TokenCounter(ESTIMATORS["meowgent"])
LESSON, ROBUST = preset("lesson"), preset("robust")


def result_of(text: str, tool: str = "read_file") -> list[Message]:
    """A turn with one result, and another turn after it."""
    call = {"id": "c", "type": "function", "function": {"name": tool, "arguments": '{"path": "a.txt"}'}}
    return [
        {"role": "user", "content": "Read a.txt"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": text},
        {"role": "assistant", "content": "Read."},
    ]


def contents(entries: Sequence[Entry], plan: Plan) -> list[Any]:
    """The results once the plan is applied."""
    return [
        message["content"] for message in messages_of(apply(tuple(entries), plan.edits)) if message["role"] == "tool"
    ]


# Layer 1


def test_a_notice_can_be_longer_than_what_it_replaces() -> None:
    entries = entries_from(result_of("x" * 85))
    lesson = truncate.plan(entries, TruncateParameters.lesson(), COUNTER)
    assert [len(text) for text in contents(entries, lesson)] == [95]
    assert lesson.reason.id == "truncate.cut_one_longer"
    assert lesson.after.tokens > lesson.before.tokens

    robust = truncate.plan(entries, TruncateParameters.robust().with_limit(80), COUNTER)
    assert [len(text) for text in contents(entries, robust)] == [80]
    assert robust.after.tokens < robust.before.tokens


def test_what_was_cut_is_cut_again() -> None:
    once = cut_tool_result("x" * 240)
    assert [len(once), len(cut_tool_result(once))] == [97, 96]

    entries = entries_from(result_of("x" * 240))
    parameters = TruncateParameters.robust().with_limit(80)
    (robust,) = contents(entries, truncate.plan(entries, parameters, COUNTER))
    unmarked = entries_from(result_of(robust))
    assert truncate.plan(unmarked, parameters, COUNTER).edits == ()


# Layer 2


def test_i_am_iron_man_reads_like_a_result() -> None:
    question: Message = {"role": "user", "content": "What does a.txt say?"}
    entries = entries_from(result_of("Old Zhou repaired the lamp. " * 50))
    iron_man = replace(ClearParameters.lesson(), keep=0, placeholder="I am Iron Man")
    lesson = apply(entries, clear.plan(entries, iron_man, COUNTER).edits)
    assert reply([*messages_of(lesson), question]).text == "a.txt has one line: “I am Iron Man”."
    who: Message = {"role": "user", "content": "Who repaired the lamp according to a.txt?"}
    assert "“I am Iron Man”" in reply([*messages_of(lesson), who]).text

    robust = apply(entries, clear.plan(entries, replace(ClearParameters.robust(), keep=0), COUNTER).edits)
    assert robust[2].has_mark(Cleared)
    assert robust[2].message["content"].startswith("[Old result of read_file cleared: 1400 characters.")
    assert [name for name, _ in reply([*messages_of(robust), question]).calls] == ["read_file"], "it reads it again"


def test_a_placeholder_can_be_longer_than_the_result_it_stands_for() -> None:
    entries = entries_from(result_of("ok"))
    lesson = clear.plan(entries, replace(ClearParameters.lesson(), keep=0), COUNTER)
    assert lesson.after.tokens > lesson.before.tokens

    robust = clear.plan(entries, replace(ClearParameters.robust(), keep=0, minimum_gain=0), COUNTER)
    assert robust.edits == ()


# Layer 2, pruning


def block(tool: str, body: str) -> str:
    return f"<tool_response>\n[工具 {tool} 執行結果]：\n{body}\n</tool_response>"


def pruned(content: str, flavour: str) -> str:
    """What becomes of an old result in the text protocol; it is marked where that is anything."""
    told = [
        {"role": "user", "content": "q"},
        {"role": "user", "content": content},
        {"role": "assistant", "content": "a"},
    ]
    entries = entries_from([*told, *questions(2)[1:]])
    parameters = PruneParameters.lesson() if flavour == "lesson" else PruneParameters.robust()
    after = apply(entries, prune.plan(entries, parameters, COUNTER).edits)
    assert bool(after[1].marks) == (after[1].message["content"] != content)
    return str(after[1].message["content"])


def test_lines_win_over_characters() -> None:
    long = block("grep", "\n".join(["y" * 5000] * 8))
    assert len(pruned(long, "lesson")) > 5 * 5000, "five lines stay, however long they are"
    assert len(pruned(long, "robust")) < 250


def test_seven_one_letter_lines_grow() -> None:
    letters = block("grep", "\n".join("abcdefg"))
    assert len(pruned(letters, "lesson")) > len(letters)
    assert pruned(letters, "robust") == letters


def test_a_tool_called_list_file_is_not_matched() -> None:
    long = block("list-file", "y" * 900)
    assert pruned(long, "lesson") == long
    assert NOTICE.format(tool="list-file") in pruned(long, "robust")


def test_what_follows_the_first_block_is_dropped() -> None:
    lines = "\n".join(f"line {number}" * 9 for number in range(20))
    three = f"{block('find', lines)}\nbetween\n{block('grep', 'short')}\n{block('a b', 'x' * 900)} the end"
    lesson = pruned(three, "lesson")
    assert (lesson.count("<tool_response>"), lesson.endswith("</tool_response>")) == (1, True)

    robust = pruned(three, "robust")
    assert robust.count("<tool_response>") == robust.count("</tool_response>") == 3
    assert NOTICE.format(tool="find") in robust
    assert block("grep", "short") in robust
    assert NOTICE.format(tool="a b") in robust
    assert "\nbetween\n" in robust
    assert robust.endswith(" the end")


def test_keep_turns_0_prunes_nothing() -> None:
    entries = entries_from([*result_of("x" * 900), *questions(1)[1:]])
    lesson = prune.plan(entries, PruneParameters(keep_turns=0), COUNTER)
    assert (lesson.edits, lesson.reason.id) == ((), "prune.keep_zero")

    robust = prune.plan(entries, replace(PruneParameters.robust(), keep_turns=0), COUNTER)
    assert [len(text) < 150 for text in contents(entries, robust)] == [True]


# Layer 3


async def test_a_summary_counts_as_a_turn_and_costs_one_more_call_at_every_question() -> None:
    desk = Desk(questions(3), LESSON)
    calls = []
    for number in range(4):
        await desk.ask(f"question {number}", says("They talked."), says("An answer."))
        calls.append(len(desk.model.requests))
    assert calls == [2, 2, 2, 2]
    assert desk.reasons("decide")[-1].id == "decide.turns_over_with_summary"
    assert desk.reasons("summarize")[-2].id == "summarize.with_summary_as_turn"

    desk = Desk(long_questions(3), replace(ROBUST, trigger=Trigger(turns=3)))
    await desk.ask("question 0", says("They talked."), says("An answer."))
    assert desk.entries[1].has_mark(Summary)
    assert desk.reasons("decide")[-1] == Reason("decide.turns_over", {"turns": 4, "limit": 3})
    desk.session.policy = replace(ROBUST, trigger=Trigger(turns=4))
    await desk.ask("question 1", says("An answer."))
    assert len(desk.model.requests) == 1
    assert desk.reasons("decide")[-1] == Reason("decide.turns_within", {"turns": 4, "limit": 4})


def test_a_summary_can_be_larger_than_what_it_replaces() -> None:
    old = [{"role": "user", "content": "我叫小林"}, {"role": "assistant", "content": "你好, 小林"}]
    entries = entries_from([{"role": "system", "content": "s"}, *old, {"role": "user", "content": "我叫什么?"}])
    first = summarize.plan(entries, SummarizeParameters(keep_turns=1), COUNTER, 9)
    assert isinstance(first, SummaryPlan)
    lesson = first.with_summary("用户叫小林")
    assert (lesson.reason.values["old_tokens"], lesson.reason.values["new_tokens"]) == (10, 41)
    assert lesson.reason.id == "summarize.done_larger"

    first = summarize.plan(entries, replace(SummarizeParameters.robust(), keep_turns=1), COUNTER, 9)
    assert isinstance(first, SummaryPlan)
    robust = first.with_summary("用户叫小林")
    assert (robust.edits, robust.reason.id) == ((), "summarize.not_smaller")


def tokens(desk: Desk, messages: Any) -> int:
    counter = desk.session.counter
    return counter.tokens(sum(counter.message_weight(message) for message in messages))


async def test_one_long_tool_loop_can_never_be_cut() -> None:
    rounds = [asks_for(read(f"call_{number}")) for number in range(20)]
    outputs = [f"{number} {LONG}" for number in range(20)]
    lesson = Desk([SYSTEM, *tool_turn(1)], replace(LESSON, truncate=None), outputs=outputs, window=8000)
    await lesson.ask("read them all", *rounds, says("done"))
    sizes = [tokens(lesson, request.messages) for request in lesson.model.requests]
    assert sizes == sorted(sizes)
    assert sizes[-1] > 8000, "nothing is shortened before the next question"
    assert not any(entry.has_mark(Cleared) or entry.has_mark(Summary) for entry in lesson.entries)

    robust = Desk([SYSTEM, *tool_turn(1)], ROBUST, outputs=outputs, window=8000)
    await robust.ask("read them all", *rounds, says("done"), summary=says("They read."))
    assert max(tokens(robust, request.messages) for request in robust.model.requests) < 8000
    assert any(entry.has_mark(Cleared) for entry in robust.entries)
