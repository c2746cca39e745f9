"""Layer 3, robust: what is always true of it, for any list, any pins and any parameters."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.test_layers import ESTIMATOR, exact, same
from tests.core.test_robust_layers import entry_lists
from tests.support_strategies import ALWAYS, TEXTS, chat_lists, faults, turns
from triptych.checks import problems, would_be_refused
from triptych.edits import apply, inverse_of
from triptych.entries import Entry, entries_from, messages_of
from triptych.layers import summarize
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummarizeParameters, SummaryPlan
from triptych.messages import Message, is_tool_response, leading_system_count, pair_calls, text_of
from triptych.tokens import ESTIMATORS, TokenCounter

COUNTER = TokenCounter(ESTIMATORS["chars4"])
PARAMETERS = st.builds(
    SummarizeParameters,
    keep_turns=st.integers(0, 4),
    kept_tokens=st.sampled_from([0, 10, 50, 200, 32_000]),
    kept_least=st.sampled_from([0, 0, 30]),
    kept_most=st.sampled_from([None, None, 100]),
    keep_messages=st.none() | st.integers(1, 9),
    count_results=st.booleans(),
    keep_part=st.none() | st.none() | st.floats(0, 1),
    keep_first=st.sampled_from([0, 0, 1, 2, 5]),
    keep_question_tokens=st.sampled_from([None, None, 0, 10, 50]),
    summary_last=st.sampled_from([False, False, False, True]),
    acknowledgement=st.sampled_from(["", "ok"]),
    prefix=st.sampled_from(["", "[so far]\n"]),
    prompt=st.sampled_from(["", "Summarize."]),
    request_tokens=st.sampled_from([None, None, 1, 300]),
    clip_characters=st.sampled_from([1, 20, 2000]),
    minimum_progress=st.sampled_from([0.0, 0.1, 0.9]),
    flavour=st.just("robust"),
)
SUMMARIES = st.one_of(st.just("s"), st.just("summary so far"), TEXTS)


def planned(entries: tuple[Entry, ...], parameters: SummarizeParameters, counter: TokenCounter) -> SummaryPlan | Plan:
    return summarize.plan(entries, parameters, counter, 1_000_000)


def done(entries: tuple[Entry, ...], parameters: SummarizeParameters, counter: TokenCounter, text: str) -> Plan:
    first = planned(entries, parameters, counter)
    return first.with_summary(text) if isinstance(first, SummaryPlan) else first


def errors(messages: list[Message]) -> Counter[str]:
    return Counter(problem.kind for problem in problems(messages) if problem.severity == "error")


@ALWAYS
@given(entry_lists(), PARAMETERS, SUMMARIES, ESTIMATOR)
def test_a_plan_saves_tokens_and_is_taken_back_exactly(
    entries: tuple[Entry, ...], parameters: SummarizeParameters, text: str, counter: TokenCounter
) -> None:
    plan = done(entries, parameters, counter, text)
    after = apply(entries, plan.edits)
    assert plan.before == counter.count(entries)
    assert plan.after == TokenCounter(counter.estimator).count(after)
    assert counter.total(after) < counter.total(entries) or same(after, entries)
    assert same(apply(after, inverse_of(plan.edits)), entries)


@ALWAYS
@given(entry_lists(), PARAMETERS, ESTIMATOR)
def test_no_orphan_and_no_unanswered_call_comes_about(
    entries: tuple[Entry, ...], parameters: SummarizeParameters, counter: TokenCounter
) -> None:
    before = messages_of(entries)
    after = messages_of(apply(entries, done(entries, parameters, counter, "s").edits))
    was, now = pair_calls(before), pair_calls(after)
    assert sum(owner is None for owner in now.results.values()) <= sum(owner is None for owner in was.results.values())
    assert len(now.unanswered) <= len(was.unanswered)
    assert errors(after) <= errors(before)


@ALWAYS
@given(chat_lists(), PARAMETERS, SUMMARIES, ESTIMATOR)
def test_a_sound_list_stays_sound(
    messages: list[Message], parameters: SummarizeParameters, text: str, counter: TokenCounter
) -> None:
    entries = entries_from(messages)
    after = messages_of(apply(entries, done(entries, parameters, counter, text).edits))
    exact(after).encode()  # as it could be saved before
    assert faults(after) == []
    assert not would_be_refused(after)


@ALWAYS
@given(entry_lists(), PARAMETERS, ESTIMATOR)
def test_systems_at_the_beginning_pins_and_a_suffix_stay(
    entries: tuple[Entry, ...], parameters: SummarizeParameters, counter: TokenCounter
) -> None:
    first = planned(entries, parameters, counter)
    if not isinstance(first, SummaryPlan):
        return
    after = apply(entries, first.with_summary("s").edits)
    if same(after, entries):
        return
    head, kept = leading_system_count(messages_of(entries)), entries[first.cut :]
    assert same(after[:head], entries[:head])
    assert len(kept) == 0 or not parameters.summary_last
    assert same(after[len(after) - len(kept) :], kept)
    new = [entry for entry in after if entry.id >= 1_000_000]
    assert {entry.id for entry in first.old} == set(new[0].marks[-1].of)  # type: ignore[attr-defined]
    assert new[0].message["role"] == "user"
    place = after.index(new[0])
    assert place <= max(head, parameters.keep_first) or parameters.summary_last
    assert same(after[place : place + len(new)], tuple(new))
    if parameters.summary_last:
        assert same(after[place:], tuple(new))
    stayed = [entry for entry in after if entry.id < 1_000_000]
    order = {id(entry): at for at, entry in enumerate(entries)}
    assert [order[id(entry)] for entry in stayed] == sorted(order[id(entry)] for entry in stayed)
    assert {id(entry) for entry in entries if entry.pinned} <= {id(entry) for entry in stayed}


@ALWAYS
@given(entry_lists(), PARAMETERS, ESTIMATOR)
def test_without_a_new_turn_a_second_summary_is_none(
    entries: tuple[Entry, ...], parameters: SummarizeParameters, counter: TokenCounter
) -> None:
    plan = done(entries, parameters, counter, "s")
    if plan.edits:
        again = summarize.plan(apply(entries, plan.edits), parameters, counter, 2_000_000)
        assert isinstance(again, Plan)
        assert again.edits == ()


@ALWAYS
@given(chat_lists(), turns(), PARAMETERS, ESTIMATOR)
def test_what_arrived_meanwhile_is_kept(
    messages: list[Message], arrived: list[Message], parameters: SummarizeParameters, counter: TokenCounter
) -> None:
    entries, later = entries_from(messages), entries_from(arrived, first_id=5_000)
    plan = done(entries, parameters, counter, "s")
    after = apply((*entries, *later), plan.edits)
    assert same(after, (*apply(entries, plan.edits), *later))


@ALWAYS
@given(entry_lists(), PARAMETERS, ESTIMATOR)
def test_the_newest_question_and_what_is_not_answered_yet_stay(
    entries: tuple[Entry, ...], parameters: SummarizeParameters, counter: TokenCounter
) -> None:
    asked = Entry(900_000, {"role": "user", "content": "What now?"})
    call = {"id": "new", "type": "function", "function": {"name": "grep", "arguments": "{}"}}
    working = [
        Entry(900_001, {"role": "assistant", "content": None, "tool_calls": [call]}),
        Entry(900_002, {"role": "tool", "tool_call_id": "new", "content": "long " * 200}),
    ]
    for arrived in ((asked,), (asked, *working)):
        whole = (*entries, *arrived)
        after = apply(whole, done(whole, parameters, counter, "s").edits)
        if parameters.summary_last:  # of what it stands for, only questions stay, where that is asked for
            assert asked in after or parameters.keep_question_tokens is None
        else:
            assert asked in after
            assert same(after[len(after) - len(arrived[-2:]) :], arrived[-2:])


@ALWAYS
@given(entry_lists(), PARAMETERS, ESTIMATOR)
def test_the_requests_hold_the_old_part_and_nothing_of_an_earlier_summary_twice(
    entries: tuple[Entry, ...], parameters: SummarizeParameters, counter: TokenCounter
) -> None:
    first = planned(entries, parameters, counter)
    if not isinstance(first, SummaryPlan):
        return
    answers: list[str] = []
    while (request := first.next_request(answers)) is not None:
        assert [message["role"] for message in request] == ["system", "user"]
        assert len(answers) == 0 or f"<summary>\nanswer {len(answers)}\n</summary>" in request[1]["content"]
        answers.append(f"answer {len(answers) + 1}")
    assert len(answers) == first.request_count
    assert first.request == first.next_request([])


def test_turns_in_the_text_protocol_are_the_users_alone() -> None:
    response = "<tool_response>\n[工具 grep 執行結果]：\nfound\n</tool_response>"
    messages = [{"role": "user", "content": f"q{n}" * 50} for n in range(3)]
    listed = [
        messages[0],
        {"role": "assistant", "content": "call"},
        {"role": "user", "content": response},
        *messages[1:],
    ]
    entries = entries_from(listed)
    first = summarize.plan(entries, replace(SummarizeParameters.robust(), keep_turns=2), COUNTER, 99)
    assert isinstance(first, SummaryPlan)
    assert first.cut == 3
    assert is_tool_response(first.old[-1].message)
    assert "[tool] <tool_response>" in text_of(first.request[1])


def calling(text: str) -> Message:
    call = {"id": "c", "type": "function", "function": {"name": "grep", "arguments": text}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


BRACKETS = "\n[" * 480
NUMBERS = ",".join("1" * 480)
PASTED = "\ud83d" + "\U0001f600" * 160


@pytest.mark.parametrize(
    "exchange",
    [
        pytest.param([calling("{}"), {"role": "tool", "tool_call_id": "c", "content": BRACKETS}], id="result"),
        pytest.param([calling(BRACKETS), {"role": "tool", "tool_call_id": "c", "content": "ok"}], id="arguments"),
        pytest.param(
            [{"role": "assistant", "content": f'<tool_call>{{"name":"t","arguments":[{NUMBERS}]}}</tool_call>'}],
            id="numbers in the text protocol",
        ),
        pytest.param(
            [{"role": "assistant", "content": f'<tool_call>{{"name":"t","arguments":{{"a":"{PASTED}"}}}}</tool_call>'}],
            id="half an emoji in the text protocol",
        ),
    ],
)
def test_what_gets_longer_in_the_request_still_fits_into_it(exchange: list[Message]) -> None:
    entries = entries_from([{"role": "user", "content": "q"}, *exchange * 30, {"role": "assistant", "content": "a"}])
    first = planned(entries, replace(SummarizeParameters.robust(), keep_turns=0, request_tokens=4000), COUNTER)
    assert isinstance(first, SummaryPlan)
    answers: list[str] = []
    while (request := first.next_request(answers)) is not None:
        assert COUNTER.tokens(sum(map(COUNTER.message_weight, request))) <= 4000
        answers.append("s")
