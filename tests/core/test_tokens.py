"""Token sums: exact, cut once, and shown in parts that add up."""

from __future__ import annotations

import gc
import json
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support_strategies import CHARACTERS, any_lists, chat_lists
from triptych.edits import Edit, apply
from triptych.entries import Entry, Repaired, entries_from
from triptych.messages import Message, pictures_in, reasoning_of, role_of, text_of, tool_calls
from triptych.tokens import ESTIMATORS, Count, Measured, MeasuredUsage, TokenCounter, Usage, apportion

MIXED = st.text(st.one_of(CHARACTERS, st.sampled_from("中文字、。「」［］ｆカかな한글“”")), max_size=200)


def articles_estimate(text: str) -> int:
    """The article's formula as it is printed, in floating point."""
    cjk = sum("一" <= char <= "\u9fff" or "\u3000" <= char <= "〿" or "\uff00" <= char <= "\uffef" for char in text)
    return int(cjk * 1.3 + (len(text) - cjk) / 3.5)


def said(message: Message) -> str:
    """Everything of a message that is counted as text."""
    calls = tool_calls(message)
    return text_of(message) + reasoning_of(message) + "".join(call.name + call.arguments for call in calls)


def counter(name: str = "meowgent") -> TokenCounter:
    return TokenCounter(ESTIMATORS[name])


@given(MIXED)
def test_an_estimate_equals_the_articles(text: str) -> None:
    counting = counter()
    assert counting.tokens(counting.estimator.weight(text)) == articles_estimate(text)


@given(st.integers(0, 3_000_000), st.integers(0, 3_000_000))
def test_exact_seventieths_equal_the_articles_floating_point(cjk: int, others: int) -> None:
    assert (cjk * 91 + others * 20) // 70 == int(cjk * 1.3 + others / 3.5)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("中" * 10, 13), ("a" * 7, 2), ("中" * 38 + "a" * 120, 83), ("かな", 0), ("한글“”", 1), ("、。［］", 5)],
)
def test_known_estimates(text: str, tokens: int) -> None:
    assert counter().tokens(counter().estimator.weight(text)) == tokens


@given(any_lists())
def test_the_parts_of_a_list_add_up_to_the_estimate_of_all_its_text(messages: list[Message]) -> None:
    counting = counter()
    entries = entries_from(messages)
    weights = {entry: counting.weight(entry) for entry in entries}
    shares = counting.shares(weights)
    pictures = sum(pictures_in(message) for message in messages)
    total = articles_estimate("".join(said(message) for message in messages)) + 800 * pictures
    assert sum(shares.values()) == total == counting.count(entries).tokens
    by_role: dict[str, int] = {}
    for entry, weight in weights.items():
        by_role[role_of(entry.message)] = by_role.get(role_of(entry.message), 0) + weight
    assert sum(counting.shares(by_role).values()) == total


@given(chat_lists(), st.sampled_from(sorted(ESTIMATORS)))
def test_a_list_in_two_halves_weighs_the_same(messages: list[Message], name: str) -> None:
    counting = counter(name)
    entries = entries_from(messages)
    half = len(entries) // 2
    assert counting.total(entries) == counting.total(entries[:half]) + counting.total(entries[half:])


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 10**9), max_size=12), st.integers(0, 10**9))
def test_apportioned_shares_add_up_and_are_fair(weights: dict[str, int], total: int) -> None:
    shares = apportion(weights, total)
    whole = sum(weights.values())
    assert list(shares) == list(weights)
    assert sum(shares.values()) == (total if whole else 0)
    for key, share in shares.items():
        # Within one of the exact proportion; nothing of nothing.
        assert 0 <= share * whole - weights[key] * total + whole <= 2 * whole
        assert weights[key] or not share


def test_the_largest_remainder_wins_and_the_first_on_ties() -> None:
    assert apportion({"a": 1, "b": 1, "c": 1}, 2) == {"a": 1, "b": 1, "c": 0}
    assert apportion({"a": 10, "b": 19, "c": 71}, 10) == {"a": 1, "b": 2, "c": 7}


def test_a_replaced_entry_is_weighed_anew() -> None:
    counting = counter("chars4")
    before = Entry(0, {"role": "tool", "content": "x" * 400})
    after = Entry(0, {"role": "tool", "content": "x" * 4})
    assert [counting.weight(before), counting.weight(after), counting.weight(before)] == [400, 4, 400]


def test_schemas_are_counted_apart() -> None:
    counting = counter("chars4")
    schemas = [{"type": "function", "function": {"name": "grep", "description": "搜索", "parameters": {}}}]
    assert counting.schemas_weight(()) == 0
    tokens = counting.tokens(counting.schemas_weight(schemas))
    assert tokens == len(json.dumps(schemas, ensure_ascii=False)) // 4
    for weight in range(9):
        assert counting.tokens(weight + counting.schemas_weight(schemas)) == counting.tokens(weight) + tokens


def test_a_measured_count_is_adjusted_in_proportion_and_never_below_zero() -> None:
    measured = MeasuredUsage(prompt_tokens=500, estimate=1000)
    assert measured.at(1000) == Measured(500, "measured")
    assert measured.at(2000) == Measured(1000, "adjusted")
    assert measured.at(0) == Measured(0, "adjusted")
    assert MeasuredUsage(prompt_tokens=500, estimate=0).at(10).tokens == 500
    assert Usage(5).completion_tokens == 0


def test_an_entry_that_nobody_holds_any_more_is_forgotten() -> None:
    counting = counter("chars4")
    previewed = Entry(1, {"role": "tool", "content": "12345678"})
    assert counting.count([previewed]) == Count(1, 2)
    seen = weakref.ref(previewed)
    del previewed
    gc.collect()
    assert seen() is None


def test_a_list_that_is_followed_weighs_what_it_weighs() -> None:
    counter = TokenCounter(ESTIMATORS["meowgent"])
    before = entries_from([{"role": "user", "content": "消息" * number} for number in range(9)])
    new = Entry(99, {"role": "assistant", "content": "something else"})
    edits = (
        Edit(2, 1, before[2:4], (new,)),
        Edit(9, 8, (), (new.replaced({"role": "user", "content": "x"}, Repaired()),)),
    )
    after = apply(before, edits)
    counter.follow(before, edits, after)
    assert counter.total(after) == TokenCounter(ESTIMATORS["meowgent"]).total(after)
    assert counter.total(before) == TokenCounter(ESTIMATORS["meowgent"]).total(before)
