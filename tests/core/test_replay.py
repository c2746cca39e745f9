"""A session replayed under another policy: as the agent would have held it, and with numbers that add up."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support_replay import (
    MASKING,
    NO_LAYERS,
    ORDER,
    SYSTEM,
    UNLIMITED,
    Held,
    asked,
    billed_again,
    call,
    log,
    long_session,
    replay_of,
    tokens_of,
)
from tests.support_scripted_model import ScriptedModel, fails, says
from tests.support_strategies import any_lists, chat_lists, faults
from triptych import replay
from triptych.edits import apply
from triptych.entries import Entry, Repaired, entries_from, messages_of
from triptych.formats.notices import guess_marks
from triptych.lesson_api import clean_old_tool_result, cut_tool_result
from triptych.messages import Message, is_result
from triptych.models.base import ModelError
from triptych.models.offline import OfflineModel
from triptych.policy import Policy, policy_from_toml, preset, preset_names
from triptych.recording import as_said
from triptych.replay import most_calls, next_question, replayed
from triptych.tally import Replayed, Summarizer
from triptych.tokens import ESTIMATORS, TokenCounter

CAREFUL = policy_from_toml(
    f"{ORDER}\nevery_request = true\n"
    "[truncate]\nflavour = 'robust'\nlimit = 300\n"
    "[clear]\nflavour = 'robust'\nkeep = 2\nwhole_batches = true\nminimum_gain = 90\n",
    "careful",
)
EAGER = policy_from_toml(f"{ORDER}\nevery_request = true\n[clear]\nkeep = 0\n", "eager")
PRUNING = policy_from_toml(
    'stages = ["receive", "request", "tool", "append", "answer", "prune", "save"]\n[prune]\nkeep_turns = 2\n', "pruning"
)


async def ahead_of(messages: Sequence[Message] | tuple[Entry, ...], policy: Policy, window: int = 8192) -> Replayed:
    entries = messages if isinstance(messages, tuple) else guess_marks(messages)
    counter = TokenCounter(ESTIMATORS["meowgent"])
    summarizer = Summarizer(OfflineModel(UNLIMITED), window, counter)
    return await next_question(entries, policy, summarizer, counter)


class TestFromTheStart:
    @pytest.mark.parametrize(
        ("policy", "window"),
        [
            (NO_LAYERS, 8192),
            (MASKING, 8192),
            (CAREFUL, 8192),
            (PRUNING, 8192),
            (EAGER, 8192),
            (preset("robust"), 8192),
            *((preset(name), 1300) for name in preset_names()),
        ],
        ids=lambda value: getattr(value, "name", value),
    )
    async def test_it_goes_as_the_agent_would_have_gone(self, policy: Policy, window: int) -> None:
        messages = long_session(26)
        held = Held(messages, policy, window)
        await held.hold()
        # What is text in the session is text in its recording, and stays so.
        said = messages if policy.results_as == "tool" else messages_of(as_said(held.session.timeline))
        told = await replay_of(said, policy, window)
        assert messages_of(told.entries) == held.messages
        assert len({entry.id for entry in told.entries}) == len(told.entries)
        assert told.requests == len(held.requests)
        assert told.peak == max(map(tokens_of, held.requests))
        assert told.over_window == sum(tokens_of(request) > window for request in held.requests)
        assert told.rebilled == billed_again(held.requests)
        assert told.summary_calls == held.summaries
        assert (told.before.messages, told.before.tokens) == (len(said), tokens_of(said))
        assert (told.after.messages, told.after.tokens) == (len(held.messages), tokens_of(held.messages))

    async def test_the_lesson_in_numbers(self) -> None:
        said = [SYSTEM, *asked(1, log(1)), *asked(2, log(2)), *asked(3, log(3)), *asked(4, log(4))]
        told = await replay_of(said, preset("lesson"))
        assert [(act.question, act.stage, act.messages) for act in told.acts] == [
            (1, "truncate", 1),
            (2, "truncate", 1),
            (3, "truncate", 1),
            (4, "clear", 1),
            (4, "summarize", 4),
            (4, "truncate", 1),
        ]
        assert (told.truncated, told.cleared, told.pruned, told.summarized, told.removed) == (4, 1, 0, 4, 0)
        assert (told.requests, told.summary_calls, told.failed_summaries) == (8, 1, 0)
        cut = [{**each, "content": cut_tool_result(each["content"], 80)} if is_result(each) else each for each in said]
        assert messages_of(told.entries)[3:] == cut[5:]
        assert told.kept.messages == 1
        assert told.acts[0].saved == tokens_of([said[3]]) - tokens_of([cut[3]])

    async def test_what_is_cleared_and_billed_again(self) -> None:
        said = [SYSTEM, *(message for number in range(6) for message in asked(number, log(number)))]
        told = await replay_of(said, MASKING)
        expected = [dict(message) for message in said]
        clean_old_tool_result(expected[:-4], 3, placeholder="[omitted]")
        assert messages_of(told.entries) == expected
        assert [act.question for act in told.acts] == [5, 6]
        requests = []
        for end in (at for at, message in enumerate(said) if message["role"] == "assistant"):
            start = max(at for at in range(end) if said[at]["role"] == "user")
            request = [dict(message) for message in said[:end]]
            clean_old_tool_result(request[:start], 3, placeholder="[omitted]")
            requests.append(request)
        assert told.rebilled == billed_again(requests)
        assert told.peak == max(map(tokens_of, requests))

    async def test_layers_that_run_before_every_request_shorten_one_long_question(self) -> None:
        rounds = [
            message
            for number in range(8)
            for message in (
                {"role": "assistant", "content": None, "tool_calls": [call("again")]},
                {"role": "tool", "tool_call_id": "again", "content": log(number, 30)},
            )
        ]
        said = [SYSTEM, {"role": "user", "content": "Read all."}, *rounds, {"role": "assistant", "content": "Done."}]
        once, each = await replay_of(said, MASKING), await replay_of(said, replace(MASKING, every_request=True))
        assert (once.cleared, each.cleared) == (0, 5)
        assert each.peak < once.peak
        assert [(act.question, act.stage, act.messages) for act in each.acts] == [(1, "clear", 5)]

    async def test_calls_that_nobody_answered_are_closed_before_the_next_request_and_orphans_go(self) -> None:
        said: list[Message] = [
            {"role": "user", "content": "Read two."},
            {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]},
            {"role": "tool", "tool_call_id": "b", "content": "second"},
            {"role": "user", "content": "And?"},
            {"role": "tool", "tool_call_id": "none", "content": "orphan"},
            {"role": "assistant", "content": "Nothing."},
            {"role": "assistant", "content": None, "tool_calls": [call("c")]},
        ]
        told = await replay_of(said, NO_LAYERS)
        assert not faults(messages_of(told.entries[:-1]))
        assert [entry.message.get("content") for entry in told.entries if not entry.has_mark(Repaired)] == [
            "Read two.",
            None,
            "second",
            "And?",
            "Nothing.",
            None,
        ]
        assert [(act.question, act.stage) for act in told.acts] == [(2, "repair")]
        assert (told.removed, told.requests) == (1, 3)

    async def test_a_list_that_is_known_by_itself_alone_keeps_what_was_done_to_it(self) -> None:
        policy = preset("lesson")
        before = await replay_of([SYSTEM, *(m for n in range(5) for m in asked(n, log(n)))], policy)
        guessed = guess_marks(messages_of(before.entries))
        told = await replay_of(guessed, NO_LAYERS)
        assert messages_of(told.entries) == messages_of(guessed)
        assert [entry.marks for entry in told.entries] == [entry.marks for entry in guessed]
        assert told.requests == sum(m["role"] == "assistant" for m in messages_of(guessed)) - 1  # the acknowledgement
        robust = await replay_of(guessed, preset("robust"))
        assert messages_of(robust.entries) == messages_of(guessed)

    async def test_without_questions_nothing_happens(self) -> None:
        for messages in ([], [SYSTEM]):
            told = await replay_of(messages, preset("lesson"))
            assert (messages_of(told.entries), told.requests, told.rebilled, told.peak) == (messages, 0, 0, 0)

    async def test_a_summary_that_is_too_long_for_the_model_fails_and_the_rest_goes_on(self) -> None:
        counter = TokenCounter(ESTIMATORS["meowgent"])
        said = entries_from(long_session(8))
        summarizer = Summarizer(OfflineModel(50), 8192, counter)
        told = await replayed(said, preset("lesson"), summarizer, counter)
        assert (told.failed_summaries, told.summarized) == (5, 0)
        assert told.requests == 14

    async def test_a_model_that_cannot_be_had_ends_it(self) -> None:
        counter = TokenCounter(ESTIMATORS["meowgent"])
        said = entries_from(long_session(8))
        model = ScriptedModel([says("fine"), fails("model.unreachable")])
        with pytest.raises(ModelError) as error:
            await replayed(said, preset("lesson"), Summarizer(model, 8192, counter), counter)
        assert error.value.reason.id == "model.unreachable"

    async def test_no_more_calls_than_were_granted(self) -> None:
        counter = TokenCounter(ESTIMATORS["meowgent"])
        said = entries_from(long_session(9))
        assert most_calls(said, preset("lesson"), counter, 8192, ahead=False) == 9
        assert most_calls(said, preset("lesson"), counter, 8192, ahead=True) == 1
        assert most_calls(said, preset("robust"), counter, UNLIMITED, ahead=False) == 15
        assert most_calls(said, MASKING, counter, 8192, ahead=False) == 0
        told = await replayed(
            said, preset("lesson"), Summarizer(OfflineModel(UNLIMITED), 8192, counter, most_calls=2), counter
        )
        assert (told.summary_calls, told.failed_summaries) == (2, 4)


class TestFromNow:
    async def test_the_lesson_at_the_fourth_question(self) -> None:
        messages = [SYSTEM, *asked(1, log(1)), *asked(2, log(2)), *asked(3, log(3))]
        told = await ahead_of(messages, preset("lesson"))
        assert [(stage.stage, stage.reason.id, stage.applied) for stage in told.stages] == [
            ("truncate", "truncate.cut_many", True),
            ("clear", "clear.done", True),
            ("decide", "decide.turns_over", False),
            ("summarize", "summarize.done", True),
        ]
        assert told.stages[2].reason.values["turns"] == 4
        assert [message["role"] for message in messages_of(told.entries)] == [
            "system",
            "user",
            "assistant",
            *["user", "assistant", "tool", "assistant"] * 2,
        ]
        assert (told.requests, told.summary_calls, told.kept.messages) == (1, 1, 1)
        assert told.rebilled == tokens_of(messages_of(told.entries)[1:])

    async def test_a_question_that_waits_is_the_next_one(self) -> None:
        messages = [SYSTEM, *asked(1), *asked(2), *asked(3)]
        waiting: Message = {"role": "user", "content": "And the fourth?"}
        with_it, without = (
            await ahead_of([*messages, waiting], preset("lesson")),
            await ahead_of(messages, preset("lesson")),
        )
        assert messages_of(with_it.entries) == [*messages_of(without.entries), waiting]

    async def test_nothing_to_do_costs_what_is_new(self) -> None:
        messages = [SYSTEM, *asked(1), {"role": "user", "content": "And?"}]
        told = await ahead_of(messages, preset("robust"))
        assert (messages_of(told.entries), told.edits, told.rebilled) == (messages, (), 0)
        assert told.kept == told.before == told.after

    async def test_what_layers_have_touched_is_not_cut_again(self) -> None:
        messages = [SYSTEM, *asked(1, cut_tool_result(log(1), 100)), *asked(2, log(2))]
        told = await ahead_of(messages, preset("lesson"))
        assert [edit.index for edit in told.edits] == [7]

    async def test_calls_without_results_are_closed(self) -> None:
        messages = [SYSTEM, *asked(1), *asked(2, "x")[:2]]
        told = await ahead_of(messages, NO_LAYERS)
        assert [stage.stage for stage in told.stages] == ["repair"]
        assert not faults(messages_of(told.entries))
        assert [(edit.index, len(edit.removed), len(edit.inserted)) for edit in told.edits] == [(5, 0, 1)]


@contextmanager
def settling(least: int) -> Iterator[None]:
    before = replay.LEAST_SETTLED, replay.LEAST_PUT_ASIDE
    replay.LEAST_SETTLED = replay.LEAST_PUT_ASIDE = least
    try:
        yield
    finally:
        replay.LEAST_SETTLED, replay.LEAST_PUT_ASIDE = before


CLEARS = st.builds(
    lambda keep, gain, batches, protect, skip, errors, every: policy_from_toml(
        f"{ORDER}\nevery_request = {every}\n[truncate]\nlimit = 40\n"
        f"[clear]\nflavour = 'robust'\nkeep = {keep}\nminimum_gain = {gain}\nwhole_batches = {batches}\n"
        f"protect_tokens = {protect}\nskip_turns = {skip}\nkeep_errors = {errors}\nplaceholder = '-'\n",
        "generated",
    ),
    st.integers(0, 4),
    st.sampled_from([0, 20]),
    st.sampled_from(["true", "false"]),
    st.sampled_from([0, 30]),
    st.integers(0, 2),
    st.sampled_from(["true", "false"]),
    st.sampled_from(["true", "false"]),
)

SUMMARIZES = st.builds(
    lambda trigger, clear, prune, gain, tokens, originals, every: policy_from_toml(
        'stages = ["receive", "clear", "prune", "decide", "summarize", "request", "tool", "truncate", "append", '
        f'"answer", "save"]\nevery_request = {every}\nestimator = "chars4"\n[truncate]\nlimit = 40\n'
        f"[clear]\nflavour = '{clear}'\nkeep = 1\nminimum_gain = {gain}\nfrom_tokens = {tokens}\nplaceholder = '-'\n"
        f"[prune]\nflavour = '{prune}'\nkeep_turns = 1\nmax_characters = 120\n"
        f"[summarize]\nflavour = 'robust'\nkeep_turns = 1\nfrom_originals = {originals}\n[trigger]\n{trigger}\n",
        "generated",
    ),
    st.sampled_from(
        ["turns = 4", "messages = 14", "tokens = 200", "on_overflow_only = true", "window_share = 0.5", ""]
    ),
    st.sampled_from(["robust", "robust", "lesson"]),
    st.sampled_from(["robust", "robust", "lesson"]),
    st.sampled_from([0, 20]),
    st.sampled_from([0, 100]),
    st.sampled_from(["true", "false"]),
    st.sampled_from(["true", "false"]),
)


class TestAlways:
    @given(chat_lists())
    async def test_without_layers_the_very_same_list_comes_out(self, messages: list[Message]) -> None:
        told = await replay_of(messages, NO_LAYERS)
        assert told.entries == told.said
        assert all(left is said for left, said in zip(messages_of(told.entries), messages, strict=True))
        assert (told.edits, told.acts, told.kept) == ((), (), told.before)

    @given(any_lists(), st.sampled_from([NO_LAYERS, MASKING, CAREFUL, preset("lesson"), preset("robust")]))
    async def test_any_list_can_be_replayed_and_the_edits_lead_to_what_is_left(
        self, messages: list[Message], policy: Policy
    ) -> None:
        said = guess_marks(messages)
        for told in (await replay_of(said, policy, 600), await ahead_of(said, policy, 600)):
            assert messages_of(told.said) == messages
            assert apply(told.said, told.edits) == told.entries
            assert told.entries[: told.kept.messages] == told.said[: told.kept.messages]
            assert told.peak <= told.rebilled or told.requests <= 1  # nothing is read that was never billed

    @given(chat_lists(max_turns=9), st.one_of(CLEARS, st.sampled_from([MASKING, PRUNING])))
    async def test_what_is_settled_stays_as_it_would_anyway(self, messages: list[Message], policy: Policy) -> None:
        said = guess_marks(messages)
        with settling(sys.maxsize):
            whole = await replay_of(said, policy)
        with settling(1):
            told = await replay_of(said, policy)
        assert messages_of(told.entries) == messages_of(whole.entries)
        apart: dict[str, Any] = {"said": (), "entries": (), "edits": (), "reasons": (), "reason": None}
        assert told._replace(**apart) == whole._replace(**apart)

    @given(st.one_of(chat_lists(max_turns=9), any_lists()), SUMMARIZES)
    async def test_what_is_put_aside_for_a_while_is_not_missed(self, messages: list[Message], policy: Policy) -> None:
        said = guess_marks(messages)
        with settling(sys.maxsize):
            whole = await replay_of(said, policy, 400)
        with settling(1):
            told = await replay_of(said, policy, 400)
        assert messages_of(told.entries) == messages_of(whole.entries)
        apart: dict[str, Any] = {"said": (), "entries": (), "edits": ()}
        if policy.trigger.by_hand_only and not (policy.clear and policy.clear.from_tokens):
            apart |= {"reasons": (), "reason": None}  # settled for good
        assert told._replace(**apart) == whole._replace(**apart)


async def test_a_result_that_was_shortened_and_then_taken_out_has_its_reason() -> None:
    orphan = {"role": "tool", "tool_call_id": "call_9", "content": "x" * 2000}
    told = await replay_of([SYSTEM, orphan, *asked(1, log(1))], CAREFUL)

    assert messages_of(apply(told.said, told.edits)) == messages_of(told.entries)
    assert orphan["tool_call_id"] not in [message.get("tool_call_id") for message in messages_of(told.entries)]
    assert len(told.reasons) == len(told.edits)
