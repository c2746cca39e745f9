"""The presets of what other agents do: what is said of them holds, and whatever they do leaves a sound list."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from tests.core.test_layers import same
from tests.core.test_robust_layers import entry_lists
from tests.support_strategies import ALWAYS, any_lists, chat_lists, faults
from triptych.checks import problems
from triptych.edits import apply, inverse_of
from triptych.entries import Entry, entries_from, messages_of
from triptych.layers import clear, summarize, truncate
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummarizeParameters, SummaryPlan
from triptych.messages import Message, carries_result, pair_calls
from triptych.policy import Policy, decide, preset, preset_names
from triptych.tokens import ESTIMATORS, Measured, TokenCounter
from triptych_assets import FOLDER

OURS = ("lesson", "meowgent", "nami", "robust")
OTHERS = tuple(name for name in preset_names() if name not in OURS)
IN_WORDS = {"prompt", "prefix", "acknowledgement", "focus"}
WINDOW = 400

each_preset = pytest.mark.parametrize("name", OTHERS)


def test_what_other_agents_do_is_there() -> None:
    assert set(OTHERS) == {
        "learn-claude-code",
        "claude-api",
        "codex",
        "gemini-cli",
        "opencode",
        "langchain",
        "openhands",
        "kimi-cli",
        "goose",
        "strands",
        "observation-masking",
    }


@each_preset
def test_a_preset_says_where_it_is_from_and_where_it_differs_and_all_its_numbers(name: str) -> None:
    policy = preset(name)
    assert policy.source
    assert policy.date == "2026-11-30"
    assert policy.note.startswith("approximates: ")
    assert "  " not in policy.source + policy.note
    table = tomllib.loads((FOLDER / "policies" / f"{name}.toml").read_text("utf-8"))
    for layer in ("truncate", "clear", "summarize"):
        parameters = getattr(policy, layer)
        assert policy.has(layer) == (parameters is not None)  # type: ignore[arg-type]
        if parameters is not None:
            assert parameters.flavour == "robust"
            assert {field.name for field in fields(parameters)} - set(table[layer]) <= IN_WORDS


def test_only_codex_keeps_no_newest_part() -> None:
    without = {name for name in preset_names() if (layer := preset(name).summarize) and layer.summary_last}
    assert without == {"codex"}


# What is always true


def small(policy: Policy) -> Policy:
    """The policy with its numbers made so small that short lists meet them."""
    layers = {layer: _small(getattr(policy, layer)) for layer in ("truncate", "clear", "summarize")}
    return replace(policy, **layers)


def _small(parameters: Any) -> Any:
    if parameters is None:
        return None
    numbers = {field.name: getattr(parameters, field.name) for field in fields(parameters)}
    changed = {
        key: value // 2000 if value >= 1000 else value // 25 + 1 for key, value in numbers.items() if _large(value)
    }
    return replace(parameters, **changed)


def _large(value: object) -> bool:
    return type(value) is int and value > 4


preset_of, small_of = cache(preset), cache(lambda name: small(preset(name)))


def errors(messages: list[Message]) -> Counter[str]:
    return Counter(problem.kind for problem in problems(messages) if problem.severity == "error")


def shown_as_announced(entries: tuple[Entry, ...], plan: Plan, counter: TokenCounter) -> tuple[Entry, ...]:
    """The list that a plan makes, which is what it says, has no more tokens, and is taken back exactly."""
    after = apply(entries, plan.edits)
    assert (plan.before, plan.after) == (counter.count(entries), counter.count(after))
    assert counter.total(after) < counter.total(entries) or same(after, entries)
    assert same(apply(after, inverse_of(plan.edits)), entries)
    return after


def summarized(entries: tuple[Entry, ...], parameters: SummarizeParameters, counter: TokenCounter, id: int) -> Plan:
    first = summarize.plan(entries, parameters, counter, id, window=WINDOW)
    return first.with_summary("s") if isinstance(first, SummaryPlan) else first


@ALWAYS
@given(entry_lists(st.one_of(chat_lists(), any_lists())))
def test_whatever_a_preset_does_leaves_a_sound_list(entries: tuple[Entry, ...]) -> None:
    for name in OTHERS:
        note(name)
        check(entries, preset_of(name))
        check(entries, small_of(name))


def check(entries: tuple[Entry, ...], policy: Policy) -> None:
    counter = TokenCounter(ESTIMATORS[policy.estimator])
    was_sound = is_sound(entries)
    for layer, plan in (("truncate", truncate.plan), ("clear", clear.plan)):
        if (parameters := getattr(policy, layer)) is None:
            continue
        after = shown_as_announced(entries, plan(entries, parameters, counter), counter)
        assert pair_calls(messages_of(after)) == pair_calls(messages_of(entries))
        for before, now in zip(entries, after, strict=True):
            assert now is before or (carries_result(before.message) and not before.pinned)
        assert plan(after, parameters, counter).edits == ()
        assert errors(messages_of(after)) <= errors(messages_of(entries))
        entries = after
    if policy.summarize is not None:
        entries = checked_summary(entries, policy.summarize, counter)
    assert is_sound(entries) or not was_sound


def is_sound(entries: tuple[Entry, ...]) -> bool:
    """Whether an API accepts the list, by an oracle that is not the program's."""
    try:
        return faults(messages_of(entries)) == []
    except (KeyError, TypeError, AttributeError):
        return False  # junk


def checked_summary(
    entries: tuple[Entry, ...], parameters: SummarizeParameters, counter: TokenCounter
) -> tuple[Entry, ...]:
    first = summarize.plan(entries, parameters, counter, 1_000_000, window=WINDOW)
    plan = summarized(entries, parameters, counter, 1_000_000)
    after = shown_as_announced(entries, plan, counter)
    was, now = pair_calls(messages_of(entries)), pair_calls(messages_of(after))
    assert sum(owner is None for owner in now.results.values()) <= sum(owner is None for owner in was.results.values())
    assert len(now.unanswered) <= len(was.unanswered)
    assert errors(messages_of(after)) <= errors(messages_of(entries))
    if plan.edits:
        assert isinstance(first, SummaryPlan)
        kept = entries[first.cut :]
        assert same(after[len(after) - len(kept) :], kept)
        assert not (kept and parameters.summary_last)
        stayed = [entry for entry in after if entry.id < 1_000_000]
        assert stayed == [entry for entry in entries if entry in stayed]
        assert all(entry in stayed for entry in entries if entry.pinned)
        assert summarized(after, parameters, counter, 2_000_000).edits == ()
    return after


# When, and what stays


def talk(turns: int, calls: int = 1) -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": "s"}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"question {turn} " + "x" * 30})
        for number in range(calls):
            call = {"id": f"c{turn}-{number}", "type": "function", "function": {"name": "grep", "arguments": "{}"}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"c{turn}-{number}", "content": "result " * 90})
        messages.append({"role": "assistant", "content": f"answer {turn}"})
    return messages


def after_summary(name: str, messages: list[Message], window: int | None = None) -> list[str]:
    """What stays of a talk: each message in short, the summary as `S`."""
    policy = preset(name)
    assert policy.summarize is not None
    entries, counter = entries_from(messages), TokenCounter(ESTIMATORS[policy.estimator])
    first = summarize.plan(entries, policy.summarize, counter, 1_000_000, window=window)
    assert isinstance(first, SummaryPlan), first.reason
    after = apply(entries, first.with_summary("S").edits)
    return [_short(entry) for entry in after]


def _short(entry: Entry) -> str:
    if entry.marks:
        return "S" if entry.message["role"] == "user" else "ok"
    content = str(entry.message.get("content") or "call")
    return "result" if entry.message["role"] == "tool" else " ".join(content.split()[:2])


ASKED: Message = {"role": "user", "content": "question now"}


def test_langchain_keeps_20_messages_and_the_call_of_the_first_of_them() -> None:
    kept = after_summary("langchain", talk(9, calls=3))
    assert kept[:4] == ["s", "S", "call", "result"]  # 20 would begin with the result
    assert len(kept) == 2 + 21


def test_openhands_keeps_the_first_two_and_117() -> None:
    kept = after_summary("openhands", [*talk(62), ASKED])
    assert kept[:3] == ["s", "question 0", "S"]
    assert len(kept) - 3 == 117


def test_gemini_keeps_the_newest_30_percent_from_a_question_on() -> None:
    kept = after_summary("gemini-cli", [*talk(10), ASKED])
    assert kept[:4] == ["s", "S", "ok", "question 8"]
    long_last = [*talk(3), ASKED, *talk(1, calls=9)[2:-1]]
    assert after_summary("gemini-cli", long_last)[:4] == ["s", "S", "ok", "question now"]
    assert after_summary("gemini-cli", [*talk(3), *talk(1, calls=9)[1:]]) == ["s", "S", "ok"]


def test_codex_keeps_the_newest_questions_and_its_summary_is_last() -> None:
    long = [{"role": "user", "content": f"long {number} " + "x" * 4 * 9000} for number in range(3)]
    system, *talked = talk(1)
    working = talk(1, calls=2)[2:-1]
    messages = [system, long[0], *talked, long[1], *talked, long[2], *working]
    assert after_summary("codex", messages) == ["s", "question 0", "long 1", "question 0", "long 2", "S"]


def test_goose_and_others_keep_the_question_and_what_the_model_has_not_answered() -> None:
    for name in ("goose", "claude-api", "learn-claude-code"):
        kept = after_summary(name, [*talk(3), ASKED])
        assert [each for each in kept if each != "ok"] == ["s", "S", "question now"]
        kept = after_summary(name, [*talk(3), ASKED, *talk(1, calls=3)[2:-1]], window=100_000)
        assert [each for each in kept if each != "ok"] == ["s", "S", "question now", "call", "result"]


def test_kimi_keeps_two_messages_and_counts_no_results() -> None:
    assert after_summary("kimi-cli", [*talk(3), ASKED]) == ["s", "S", "answer 2", "question now"]


def test_opencode_keeps_a_tail_within_its_bounds() -> None:
    kept = after_summary("opencode", [*talk(30, calls=3), ASKED], window=16_000)
    tokens = sum(len("question 0 ") + 30 + 3 * (6 + 630) + 8 for _ in kept if _.startswith("question")) // 4
    assert 3000 < tokens < 5000


def test_strands_keeps_ten_messages_or_seven_tenths() -> None:
    assert len(after_summary("strands", [*talk(3), ASKED])) == 2 + 10
    entries = len(talk(50))
    assert len(after_summary("strands", [*talk(50), ASKED])) == pytest.approx(entries * 0.7, rel=0.05)


def due(name: str, count: int, tokens: int, window: int | None) -> bool:
    entries = entries_from([{"role": "user", "content": "q"}] * count)
    return decide(preset(name), entries, Measured(tokens, "measured"), window).due


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("openhands", (240, 0, None), (241, 0, None)),
        ("learn-claude-code", (1, 50_000, None), (1, 50_001, None)),
        ("claude-api", (1, 149_999, None), (1, 150_000, None)),
        ("codex", (1, 89_999, 100_000), (1, 90_000, 100_000)),
        ("gemini-cli", (1, 49_999, 100_000), (1, 50_000, 100_000)),
        ("goose", (1, 79_999, 100_000), (1, 80_000, 100_000)),
        ("opencode", (1, 147_999, 200_000), (1, 148_000, 200_000)),
        ("opencode", (1, 3_999, 8_000), (1, 4_000, 8_000)),
        ("kimi-cli", (1, 149_999, 200_000), (1, 150_000, 200_000)),
        ("kimi-cli", (1, 849_999, 1_000_000), (1, 850_000, 1_000_000)),
        ("strands", (1, 100_000, 100_000), (1, 100_001, 100_000)),
    ],
)
def test_when_layer_3_runs(name: str, before: tuple[int, int, int | None], after: tuple[int, int, int | None]) -> None:
    assert not due(name, *before)
    assert due(name, *after)


def test_where_the_window_is_unknown_nothing_is_too_long() -> None:
    assert not due("strands", 1, 10**9, None)
    assert not due("langchain", 1, 10**9, 1000)
    assert not due("observation-masking", 1, 10**9, 1000)
