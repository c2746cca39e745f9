"""What is always true of the robust layers that shorten results: for any list, any pins and any parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.core.test_layers import ESTIMATOR, SHARES, Layer, exact, same
from tests.support_strategies import ALWAYS, any_lists, chat_lists, faults
from triptych.checks import problems, would_be_refused
from triptych.edits import apply, inverse_of
from triptych.entries import Entry, entries_from, messages_of
from triptych.layers import clear, prune, truncate
from triptych.layers.clear import ClearParameters
from triptych.layers.plan import Plan
from triptych.layers.prune import PruneParameters
from triptych.layers.truncate import TruncateParameters
from triptych.messages import Message, carries_result, native, pair_calls, text_of
from triptych.tokens import Count, TokenCounter

NOTICES = st.sampled_from(["", "\n[... {omitted} {unit} of {tool} omitted ...]\n", "{omitted}", "{", "[{tool}]" * 9])
PLACEHOLDERS = st.sampled_from(["", "[cleared]", "[{tool}({arguments}) had {characters}]", "{x}{", "long " * 40])
COUNTS = st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2, 5, 20, 200])
"""Mostly 0, or next to nothing would ever be cleared."""


def _layer(name: str, plan: Callable[..., Plan]) -> Callable[[object], Layer]:
    return lambda parameters: Layer(name, parameters, lambda entries, counter: plan(entries, parameters, counter))


TRUNCATE = st.builds(
    TruncateParameters,
    limit=st.sampled_from([0, 1, 2, 3, 4, 7, 20, 50, 90, 200]),
    head_share=st.one_of(SHARES, st.sampled_from([0.0, 0.5, 1.0])),
    notice=NOTICES,
    unit=st.sampled_from(["characters", "lines", "bytes"]),
    max_line=st.sampled_from([None, None, 1, 3, 10, 40]),
    error_limit=st.sampled_from([None, 0, 30, 300]),
    flavour=st.just("robust"),
).map(_layer("truncate", truncate.plan))
CLEAR = st.builds(
    ClearParameters,
    keep=st.integers(-1, 6),
    placeholder=PLACEHOLDERS,
    exclude_tools=st.sampled_from([(), (), ("grep",), ("查找", "")]),
    whole_batches=st.booleans(),
    keep_errors=st.booleans(),
    minimum_gain=COUNTS,
    from_tokens=COUNTS,
    protect_tokens=COUNTS,
    minimum_characters=COUNTS,
    skip_turns=st.sampled_from([0, 0, 1, 2]),
    head_characters=COUNTS,
    tail_characters=COUNTS,
    flavour=st.just("robust"),
).map(_layer("clear", clear.plan))
PRUNE = st.builds(
    PruneParameters,
    keep_turns=st.integers(0, 3),
    max_lines=st.integers(5, 7),
    max_characters=st.sampled_from([100, 130, 300]),
    flavour=st.just("robust"),
).map(_layer("prune", prune.plan))
ROBUST = st.one_of(TRUNCATE, CLEAR, PRUNE)


@st.composite
def entry_lists(draw: st.DrawFn, lists: st.SearchStrategy[list[Message]] | None = None) -> tuple[Entry, ...]:
    """Entries, a few of them pinned."""
    entries = entries_from(draw(any_lists() if lists is None else lists))
    pins = draw(st.sets(st.integers(0, max(len(entries) - 1, 0)), max_size=2))
    return tuple(replace(entry, pinned=True) if entry.id in pins else entry for entry in entries)


def weighed_anew(entries: tuple[Entry, ...], counter: TokenCounter) -> Count:
    """What a list is, whatever weights its entries remember."""
    return counter.count(entries_from(messages_of(entries)))


def seen_by_the_model(messages: list[Message]) -> int:
    """How much of a list the model has answered."""
    return max((at + 1 for at, message in enumerate(messages) if message.get("role") == "assistant"), default=0)


@ALWAYS
@given(entry_lists(), ROBUST, ESTIMATOR)
def test_no_plan_raises_the_tokens_and_what_it_announces_is_what_comes(
    entries: tuple[Entry, ...], layer: Layer, counter: TokenCounter
) -> None:
    plan = layer.plan(entries, counter)
    after = apply(entries, plan.edits)
    assert plan.before == weighed_anew(entries, counter)
    assert plan.after == weighed_anew(after, counter)
    for edit in plan.edits:
        for before, now in zip(edit.removed, edit.inserted, strict=True):
            assert counter.message_weight(now.message) < counter.message_weight(before.message)
    assert same(apply(after, inverse_of(plan.edits)), entries)


@ALWAYS
@given(entry_lists(), ROBUST, ESTIMATOR)
def test_planning_changes_nothing_and_a_second_time_does_nothing(
    entries: tuple[Entry, ...], layer: Layer, counter: TokenCounter
) -> None:
    before = exact(messages_of(entries))
    after = apply(entries, layer.plan(entries, counter).edits)
    assert exact(messages_of(entries)) == before
    again = layer.plan(after, counter)
    assert again.edits == ()
    assert again.before == again.after


@ALWAYS
@given(entry_lists(), ROBUST, ESTIMATOR)
def test_only_the_content_of_results_changes_and_pins_hold(
    entries: tuple[Entry, ...], layer: Layer, counter: TokenCounter
) -> None:
    after = apply(entries, layer.plan(entries, counter).edits)
    assert len(after) == len(entries)
    for before, now in zip(entries, after, strict=True):
        if now is before:
            continue
        assert not before.pinned
        assert carries_result(before.message)
        assert (now.id, now.marks[:-1]) == (before.id, before.marks)
        assert list(now.message) == list(before.message)
        assert exact([{**now.message, "content": 0}]) == exact([{**before.message, "content": 0}])


@ALWAYS
@given(entry_lists(), st.lists(ROBUST, min_size=1, max_size=3), ESTIMATOR)
def test_no_new_fault_comes_about(entries: tuple[Entry, ...], layers: list[Layer], counter: TokenCounter) -> None:
    before = messages_of(entries)
    for layer in layers:
        entries = apply(entries, layer.plan(entries, counter).edits)
    assert pair_calls(messages_of(entries)) == pair_calls(before)
    exact(messages_of(entries)).encode()  # what could be saved before can be saved after
    new, old = (
        Counter(each.kind for each in problems(list_) if each.severity == "error")
        for list_ in (messages_of(entries), before)
    )
    assert new <= old


@ALWAYS
@given(chat_lists(), ROBUST, ESTIMATOR)
def test_a_sound_list_stays_sound(messages: list[Message], layer: Layer, counter: TokenCounter) -> None:
    entries = entries_from(messages)
    after = messages_of(apply(entries, layer.plan(entries, counter).edits))
    assert faults(after) == []
    assert not would_be_refused(after)


@ALWAYS
@given(entry_lists(), st.one_of(CLEAR, PRUNE), ESTIMATOR)
def test_a_result_the_model_has_not_answered_stays(
    entries: tuple[Entry, ...], layer: Layer, counter: TokenCounter
) -> None:
    after = apply(entries, layer.plan(entries, counter).edits)
    end = seen_by_the_model(messages_of(entries))
    assert same(after[end:], entries[end:])


@ALWAYS
@given(entry_lists(), TRUNCATE, ESTIMATOR)
def test_what_was_cut_is_within_its_limit_notice_included(
    entries: tuple[Entry, ...], layer: Layer, counter: TokenCounter
) -> None:
    parameters = layer.parameters
    assert isinstance(parameters, TruncateParameters)
    limits = {parameters.limit, parameters.limit if parameters.error_limit is None else parameters.error_limit}
    for edit in layer.plan(entries, counter).edits:
        for entry in edit.inserted:
            text = text_of(native(entry.message))
            length = {
                "characters": len(text),
                "lines": len(text.split("\n")) if text else 0,
                "bytes": len(text.encode()),
            }[parameters.unit]
            assert length <= max(limits)
            if parameters.max_line is not None:
                assert max(map(len, text.split("\n"))) <= parameters.max_line


@given(ESTIMATOR)
def test_an_empty_part_that_goes_with_what_was_pruned_is_counted(counter: TokenCounter) -> None:
    parts = [{"type": "text", "text": ""}, {"type": "text", "text": "line\n" * 40}]
    answered = [{"role": "tool", "tool_call_id": "c", "content": parts}, {"role": "assistant", "content": "done"}]
    entries = entries_from(answered)
    plan = prune.plan(entries, replace(PruneParameters.robust(), keep_turns=0), counter)
    after = apply(entries, plan.edits)
    assert plan.edits
    assert counter.total(after) == counter.total(entries_from(messages_of(after)))
