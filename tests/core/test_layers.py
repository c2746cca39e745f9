"""What is always true of the layers: for any list and any parameters."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support_strategies import ALWAYS, SHORT_TEXTS, TEXTS, any_lists, chat_lists, faults, turns
from triptych.checks import would_be_refused
from triptych.edits import Edit, EditConflict, apply, apply_in_place, inverse_of
from triptych.entries import Entry, entries_from, messages_of
from triptych.layers import clear, prune, summarize, truncate
from triptych.layers.clear import ClearParameters
from triptych.layers.parameters import ParameterError
from triptych.layers.plan import Plan, make_plan
from triptych.layers.prune import PruneParameters
from triptych.layers.summarize import SummarizeParameters, SummaryPlan
from triptych.layers.truncate import TruncateParameters
from triptych.messages import Message, is_result, is_tool_response
from triptych.tokens import ESTIMATORS, TokenCounter

COUNTER = TokenCounter(ESTIMATORS["meowgent"])


@dataclass(frozen=True)
class Layer:
    """A layer with its parameters chosen; layer 3 has its summary already."""

    name: str
    parameters: object
    plan: Callable[[tuple[Entry, ...], TokenCounter], Plan]


def _summarizing(parameters: SummarizeParameters, text: str) -> Layer:
    def plan(entries: tuple[Entry, ...], counter: TokenCounter) -> Plan:
        planned = summarize.plan(entries, parameters, counter, 1_000_000)
        return planned.with_summary(text) if isinstance(planned, SummaryPlan) else planned

    return Layer("summarize", parameters, plan)


SHARES = st.floats(0, 1)
TRUNCATE = st.builds(
    TruncateParameters, limit=st.integers(0, 200), head_share=SHARES, notice=st.sampled_from(["", "…{omitted}…", "[x]"])
).map(lambda p: Layer("truncate", p, lambda entries, counter: truncate.plan(entries, p, counter)))
CLEAR = st.builds(
    ClearParameters,
    keep=st.integers(-1, 6),
    placeholder=SHORT_TEXTS,
    exclude_tools=st.sampled_from([(), ("grep",), ("查找", "")]),
).map(lambda p: Layer("clear", p, lambda entries, counter: clear.plan(entries, p, counter)))
PRUNE = st.one_of(
    st.builds(PruneParameters, keep_turns=st.integers(0, 4)),
    st.builds(
        PruneParameters,
        keep_turns=st.integers(1, 3),
        max_lines=st.integers(3, 5),
        head_lines=st.integers(0, 2),
        tail_lines=st.integers(0, 1),
        max_characters=st.integers(20, 60),
        head_characters=st.integers(0, 10),
        tail_characters=st.integers(0, 10),
    ),
).map(lambda p: Layer("prune", p, lambda entries, counter: prune.plan(entries, p, counter)))
SUMMARIZE = st.builds(_summarizing, st.builds(SummarizeParameters, keep_turns=st.integers(1, 4)), TEXTS)
SHORTENING = st.one_of(TRUNCATE, CLEAR, PRUNE)
LAYERS = st.one_of(TRUNCATE, CLEAR, PRUNE, SUMMARIZE)
ESTIMATOR = st.sampled_from(sorted(ESTIMATORS)).map(lambda name: TokenCounter(ESTIMATORS[name]))


def exact(messages: list[Message]) -> str:
    return json.dumps(messages, ensure_ascii=False)


def same(left: tuple[Entry, ...], right: tuple[Entry, ...]) -> bool:
    """Whether both hold the very same objects."""
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))


@ALWAYS
@given(any_lists(), LAYERS, ESTIMATOR)
def test_planning_changes_nothing_and_plans_the_same_again(
    messages: list[Message], layer: Layer, counter: TokenCounter
) -> None:
    before = exact(messages)
    entries = entries_from(messages)
    plan = layer.plan(entries, counter)
    assert exact(messages) == before
    again = layer.plan(entries, counter)
    assert (plan.stage, plan.reason, plan.before, plan.after) == (again.stage, again.reason, again.before, again.after)
    assert exact(messages_of(apply(entries, plan.edits))) == exact(messages_of(apply(entries, again.edits)))
    assert exact(messages) == before


@ALWAYS
@given(any_lists(), LAYERS)
def test_a_plan_and_its_inverse_give_back_the_very_same_entries(messages: list[Message], layer: Layer) -> None:
    entries = entries_from(messages)
    plan = layer.plan(entries, COUNTER)
    after = apply(entries, plan.edits)
    assert same(apply(after, inverse_of(plan.edits)), entries)
    assert same(apply(apply(after, inverse_of(plan.edits)), plan.edits), after)


@ALWAYS
@given(any_lists(), LAYERS, ESTIMATOR)
def test_what_the_plan_announces_is_what_is_applied(
    messages: list[Message], layer: Layer, counter: TokenCounter
) -> None:
    entries = entries_from(messages)
    plan = layer.plan(entries, counter)
    assert plan.before == counter.count(entries)
    assert plan.after == counter.count(entries_from(messages_of(apply(entries, plan.edits))))  # weighed anew
    assert plan.stage == layer.name
    announced = {entry.id for edit in plan.edits for entry in edit.inserted}
    after = apply(entries, plan.edits)
    assert announced == {entry.id for entry in after if not any(entry is before for before in entries)}


@ALWAYS
@given(chat_lists(), st.lists(LAYERS, min_size=1, max_size=3))
def test_no_layer_makes_an_orphan_or_unanswers_a_call(messages: list[Message], layers: list[Layer]) -> None:
    entries = entries_from(messages)
    assert faults(messages) == []
    assert not would_be_refused(messages)
    for number, layer in enumerate(layers):
        plan = layer.plan(entries, COUNTER)
        entries = entries_from(messages_of(apply(entries, plan.edits)), first_id=number * 10_000)
        assert faults(messages_of(entries)) == []
        assert not would_be_refused(messages_of(entries))


@ALWAYS
@given(any_lists(), SHORTENING)
def test_truncate_clear_and_prune_change_only_the_content_of_results(messages: list[Message], layer: Layer) -> None:
    entries = entries_from(messages)
    after = apply(entries, layer.plan(entries, COUNTER).edits)
    assert len(after) == len(entries)
    for before, now in zip(entries, after, strict=True):
        if now is before:
            continue
        assert is_result(before.message) or is_tool_response(before.message)
        assert now.id == before.id
        assert now.marks[:-1] == before.marks
        assert now.marks[-1].name in ("truncated", "cleared", "pruned")
        rest = {key: value for key, value in before.message.items() if key != "content"}
        assert exact([{key: value for key, value in now.message.items() if key != "content"}]) == exact([rest])
        if "content" in before.message:
            assert list(now.message) == list(before.message)


@ALWAYS
@given(any_lists(), LAYERS)
def test_what_could_be_saved_before_can_be_saved_after(messages: list[Message], layer: Layer) -> None:
    exact(messages).encode()
    entries = entries_from(messages)
    exact(messages_of(apply(entries, layer.plan(entries, COUNTER).edits))).encode()


@ALWAYS
@given(any_lists(), SHORTENING)
def test_truncate_clear_and_prune_a_second_time_do_nothing(messages: list[Message], layer: Layer) -> None:
    entries = entries_from(messages)
    after = apply(entries, layer.plan(entries, COUNTER).edits)
    assert layer.plan(after, COUNTER).edits == ()


@ALWAYS
@given(any_lists(), SUMMARIZE)
def test_summarizing_keeps_the_first_message_and_a_suffix_untouched(messages: list[Message], layer: Layer) -> None:
    entries = entries_from(messages)
    assert isinstance(layer.parameters, SummarizeParameters)
    keep_turns = layer.parameters.keep_turns
    planned = summarize.plan(entries, layer.parameters, COUNTER, 1_000_000)
    after = apply(entries, layer.plan(entries, COUNTER).edits)
    if same(after, entries):
        return
    assert isinstance(planned, SummaryPlan)
    kept = entries[planned.cut :]
    assert after[0] is entries[0]
    assert same(after[3:], kept)
    assert sum(entry.message.get("role") == "user" for entry in kept) == keep_turns
    assert kept[0].message["role"] == "user"
    assert [entry.message["role"] for entry in after[1:3]] == ["user", "assistant"]


@ALWAYS
@given(chat_lists(), turns(), LAYERS)
def test_a_plan_lands_rightly_when_entries_arrived_meanwhile(
    messages: list[Message], arrived: list[Message], layer: Layer
) -> None:
    entries = entries_from(messages)
    later = entries_from(arrived, first_id=5_000)
    plan = layer.plan(entries, COUNTER)
    after = apply((*entries, *later), plan.edits)
    assert same(after, (*apply(entries, plan.edits), *later))
    assert same(apply(after, inverse_of(plan.edits)), (*entries, *later))


@ALWAYS
@given(chat_lists(), turns(), LAYERS)
def test_a_plan_lands_rightly_when_the_list_grew_at_the_front(
    messages: list[Message], arrived: list[Message], layer: Layer
) -> None:
    system, *rest = entries_from(messages)
    moved = (system, *entries_from(arrived, first_id=5_000), *rest)
    plan = layer.plan((system, *rest), COUNTER)
    touches_the_gap = any(edit.after == system.id for edit in plan.edits)
    if not touches_the_gap:
        expected = apply((system, *rest), plan.edits)
        assert same(apply(moved, plan.edits), (system, *moved[1 : 1 + len(arrived)], *expected[1:]))
    elif plan.edits[0].removed:
        with pytest.raises(EditConflict):
            apply(moved, plan.edits)


@ALWAYS
@given(any_lists(), LAYERS, st.data())
def test_a_plan_for_entries_that_have_changed_is_refused_and_changes_nothing(
    messages: list[Message], layer: Layer, data: st.DataObject
) -> None:
    entries = entries_from(messages)
    plan = layer.plan(entries, COUNTER)
    removed = [entry for edit in plan.edits for entry in edit.removed]
    if not removed:
        return
    changed = data.draw(st.sampled_from(removed))
    position = entries.index(changed)
    twin = Entry(changed.id, changed.message, changed.marks)  # equal in everything but not the one planned against
    for replacement in ((twin,), ()):
        present = [*entries[:position], *replacement, *entries[position + 1 :]]
        before = tuple(present)
        with pytest.raises(EditConflict):
            apply(before, plan.edits)
        with pytest.raises(EditConflict):
            apply_in_place(present, plan.edits)
        assert same(tuple(present), before)


def test_a_place_that_is_gone_is_refused() -> None:
    entries = entries_from([{"role": "user", "content": str(n)} for n in range(4)])
    edit = Edit(3, entries[2].id, (), entries_from([{"role": "user", "content": "new"}], first_id=9))
    with pytest.raises(EditConflict) as refused:
        apply((entries[0], entries[1], entries[3]), [edit])
    assert refused.value.reason.id == "edit.place_gone"


@ALWAYS
@given(st.integers(0, 12), st.data())
def test_any_edits_are_taken_back_exactly_also_side_by_side(size: int, data: st.DataObject) -> None:
    entries = entries_from([{"role": "user", "content": str(n)} for n in range(size)])
    edits: list[Edit] = []
    stop = 0
    for number in range(data.draw(st.integers(0, 6))):
        start = data.draw(st.integers(stop, min(size, stop + 2)))
        stop = data.draw(st.integers(start, min(size, start + 3)))
        replaced = [Entry(entry.id, {"role": "user", "content": "changed"}) for entry in entries[start:stop]]
        added = entries_from([{"role": "user", "content": "new"}] * 2, first_id=1000 + 2 * number)
        inserted = (*replaced[data.draw(st.integers(0, 3)) :], *added[data.draw(st.integers(0, 2)) :])
        edits.append(Edit(start, entries[start - 1].id if start else None, entries[start:stop], inserted))
    changed = apply(entries, edits)
    expected: list[Entry] = []
    done = 0
    for edit in edits:
        expected += [*entries[done : edit.index], *edit.inserted]
        done = edit.index + len(edit.removed)
    expected += entries[done:]
    assert same(changed, tuple(expected))
    assert same(apply(changed, inverse_of(edits)), entries)
    assert same(apply(entries, inverse_of(inverse_of(edits))), changed)
    # Also where the places have moved.
    (first,) = entries_from([{"role": "user", "content": "before"}], first_id=5000)
    moved = [edit for edit in edits if edit.after is not None]
    if len(moved) == len(edits):
        assert same(apply((first, *changed), inverse_of(edits)), (first, *entries))


def test_a_deletion_beside_a_replacement_is_taken_back() -> None:
    entries = entries_from([{"role": "user", "content": str(n)} for n in range(6)])
    replaced = Entry(4, {"role": "user", "content": "changed"})
    edits = [Edit(3, 2, entries[3:4], ()), Edit(4, 3, entries[4:5], (replaced,))]
    changed = apply(entries, edits)
    assert same(changed, (*entries[:3], replaced, entries[5]))
    assert same(apply(changed, inverse_of(edits)), entries)


def test_edits_at_one_place_land_in_their_order() -> None:
    (first,) = entries = entries_from([{"role": "user", "content": "q"}])
    second, third = entries_from([{"role": "user", "content": "r"}] * 2, first_id=1)
    edits = [Edit(1, first.id, (), (second,)), Edit(1, first.id, (), (third,))]
    assert same(apply(entries, edits), (first, second, third))
    replaced = Entry(first.id, {"role": "user", "content": "changed"})
    edits = [Edit(0, None, (), (second,)), Edit(0, None, (first,), (replaced,))]
    assert same(apply(entries, edits), (second, replaced))


# Results a reader would notice


def results(*texts: str, tool: str = "grep") -> list[Message]:
    """A turn for every result, after a system message."""
    messages: list[Message] = [{"role": "system", "content": "s"}]
    for number, text in enumerate(texts):
        call = {"id": f"c{number}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
        messages += [
            {"role": "user", "content": f"q{number}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": text},
            {"role": "assistant", "content": f"a{number}"},
        ]
    return messages


def contents_after(entries: tuple[Entry, ...], plan: Plan) -> list[str]:
    """The results' contents when the plan is applied."""
    return [message["content"] for message in messages_of(apply(entries, plan.edits)) if message["role"] == "tool"]


def test_the_articles_variables_are_shown_as_they_run() -> None:
    entries = entries_from(results("x" * 182))
    cut = truncate.plan(entries, TruncateParameters.lesson(), COUNTER, indices=[3])
    assert dict(cut.reason.variables) == {"len(text)": 182, "limit": 80, "start_count": 40}

    entries = entries_from(results("1", "2", "3"))
    cleared = clear.plan(entries, ClearParameters.lesson(), COUNTER)
    assert dict(cleared.reason.variables) == {"tool_msgs": (3, 7, 11), "old_tool_msgs": (3,)}

    summarized = summarize.plan(entries, SummarizeParameters(keep_turns=2), COUNTER, 99)
    assert dict(summarized.reason.variables) == {"user_idx": (1, 5, 9), "cut": 5}


@given(st.integers(0, 8), st.integers(-2, 12))
def test_the_newest_results_stay_and_all_others_are_cleared(count: int, keep: int) -> None:
    texts = [f"result {n}" for n in range(count)]
    entries = entries_from(results(*texts))
    plan = clear.plan(entries, ClearParameters(keep=keep), COUNTER)
    cleared = count - min(max(keep, 0), count)
    assert contents_after(entries, plan) == [ClearParameters().placeholder] * cleared + texts[cleared:]


def test_excluded_tools_are_neither_cleared_nor_counted() -> None:
    entries = entries_from([*results("1", "2"), *results("keep", tool="todo")[1:], *results("3")[1:]])
    plan = clear.plan(entries, ClearParameters(keep=1, exclude_tools=("todo",)), COUNTER)
    placeholder = ClearParameters().placeholder
    assert contents_after(entries, plan) == [placeholder, placeholder, "keep", "3"]


@given(TEXTS, st.integers(0, 120), SHARES)
def test_a_cut_keeps_exactly_limit_characters_from_both_ends(text: str, limit: int, share: float) -> None:
    parameters = TruncateParameters(limit=limit, head_share=share, notice="|{omitted}|")
    made = truncate.cut(text, parameters)
    if len(text) <= limit:
        assert made is None
        return
    assert made is not None
    assert made.head + made.tail == limit
    assert made.omitted == len(text) - limit
    assert made.text == text[: made.head] + f"|{made.omitted}|" + text[made.head + made.omitted :]


@pytest.mark.parametrize("notice", ["{", "}", "{unknown}", "{0}", "{omitted.__class__}", "{omitted!x}"])
def test_a_notice_with_odd_braces_never_breaks_a_turn(notice: str) -> None:
    made = truncate.cut("x" * 10, TruncateParameters(limit=2, notice=notice))
    assert made is not None
    assert made.text == f"x{notice}x"


def test_prune_says_the_tools_name_in_role_tool_results() -> None:
    entries = entries_from(results("x" * 400, "y", "z", tool="grep"))
    plan = prune.plan(entries, PruneParameters.lesson(), COUNTER)
    pruned = f"{'x' * 50} ... [省略前期工具 grep 的部分輸出] {'x' * 50}"
    assert contents_after(entries, plan) == [pruned, "y", "z"]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: TruncateParameters(limit=-1), "limit"),
        (lambda: TruncateParameters(head_share=1.5), "head_share"),
        (lambda: TruncateParameters(head_share=float("nan")), "head_share"),
        (lambda: SummarizeParameters(keep_turns=0), "keep_turns"),
        (lambda: PruneParameters(keep_turns=-1), "keep_turns"),
        (lambda: PruneParameters(max_lines=3, head_lines=3, tail_lines=2), "max_lines"),
        (lambda: PruneParameters(max_characters=99), "max_characters"),
    ],
)
def test_a_parameter_out_of_range_is_named(make: Callable[[], object], name: str) -> None:
    with pytest.raises(ParameterError) as refused:
        make()
    assert refused.value.reason.values["name"] == name


def test_a_plan_without_edits_leaves_the_counts_alone() -> None:
    entries = entries_from(results("1"))
    plan = make_plan("clear", entries, (), clear.plan(entries, ClearParameters(), COUNTER).reason, COUNTER)
    assert plan.before == plan.after == COUNTER.count(entries)
