"""The policy of a session: taken from the next stage on, and there again when the session is opened again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support_desk import Desk, read, tool_turn
from tests.support_scripted_model import asks_for, says
from tests.support_session_files import SYSTEM
from triptych.entries import Cleared, Truncated
from triptych.events import PolicyChanged
from triptych.layers.parameters import MOST, ParameterError
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummarizeParameters, SummaryPlan
from triptych.policy import Policy, as_table, policy_from_table, preset, preset_names
from triptych.policy_files import as_toml
from triptych.policy_files import read as read_policy
from triptych.reasons import Reason, TriptychError
from triptych.session import Session
from triptych.settings import Settings
from triptych.stages import Stage
from triptych.storage.journal import journal_path
from triptych.storage.kept_session import opened
from triptych.storage.session_lock import lock_path
from triptych.tokens import Usage
from triptych_tui.launch import Launch, OpenedSession, open_session

LESSON, ROBUST = preset("lesson"), preset("robust")


def reopened(path: Path, **settings: Any) -> OpenedSession:
    lock_path(path).unlink(missing_ok=True)
    return open_session(Launch(Settings(**settings), path), {})


async def kept(path: Path, *policies: Policy) -> Session:
    """A session of one turn in which these policies were taken, one after the other."""
    desk = Desk([SYSTEM], LESSON, file=path)
    await desk.ask("one", says("first"))
    for policy in policies:
        desk.session.use_policy(policy)
    return desk.session


@pytest.mark.parametrize("name", preset_names())
def test_a_policy_is_the_same_after_json(name: str) -> None:
    policy = replace(preset(name), edited=True, off=("truncate",))
    assert policy_from_table(json.loads(json.dumps(as_table(policy)))) == policy


def test_a_policy_holds_nothing_that_no_file_and_no_request_could(tmp_path: Path) -> None:
    table = as_table(ROBUST)
    table["clear"]["placeholder"] = "a\ud800b"
    table["clear"]["exclude_tools"] = ["\udfff"]
    clear = policy_from_table(table).clear
    assert clear is not None
    assert (clear.placeholder, clear.exclude_tools) == ("a\ufffdb", ("\ufffd",))
    (tmp_path / "own.toml").write_text(as_toml(policy_from_table(table)), "utf-8")
    assert read_policy(tmp_path / "own.toml").clear == clear


def test_what_a_later_version_has_in_a_policy_is_passed_over() -> None:
    table = as_table(ROBUST)
    table["colour"] = "blue"
    table["clear"]["mercy"] = 3
    assert policy_from_table(table) == ROBUST


@pytest.mark.parametrize(
    "table",
    [
        None,
        [],
        "robust",
        {},
        {"name": 3},
        {"name": "mine"},
        {**as_table(LESSON), "stages": ["receive"]},
        {**as_table(LESSON), "stages": [["receive"]]},
        {**as_table(LESSON), "estimator": "none"},
        {**as_table(LESSON), "trigger": {"window_share": float("nan")}},
        {**as_table(LESSON), "summarize": {"flavour": "robust", "request_tokens": 10**400}},
        {**as_table(LESSON), "max_tool_rounds": True},
    ],
)
def test_a_table_that_is_no_policy_is_refused(table: Any) -> None:
    with pytest.raises(TriptychError):
        policy_from_table(table)


def test_no_number_is_too_large_for_arithmetic() -> None:
    with pytest.raises(ParameterError, match="too_large"):
        SummarizeParameters(request_tokens=MOST + 1)


async def test_the_policy_that_was_taken_last_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    edited = replace(ROBUST, clear=replace(ROBUST.clear, keep=7), edited=True)  # type: ignore[type-var]
    await kept(path, ROBUST, edited)
    again = reopened(path)
    assert again.session.policy == edited
    assert again.notice is None
    assert len(again.session.timeline.path()) == 2, "nothing else is different"


async def test_a_layer_that_was_switched_off_is_off_again(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = await kept(path)
    session.switch_layer("summarize")
    assert reopened(path).session.policy.off == ("summarize",)


async def test_a_policy_that_is_asked_for_comes_before_the_remembered_one(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    await kept(path, ROBUST)
    asked = {"policy": "nami", "sources": {"policy": "--policy"}}
    assert reopened(path, **asked).session.policy == preset("nami")
    assert reopened(path, policy="nami", sources={"policy": "TRIPTYCH_POLICY"}).session.policy == preset("nami")
    assert reopened(path, policy="nami", sources={"policy": "/c/config.toml"}).session.policy == ROBUST
    assert reopened(path).session.policy == ROBUST, "it was not forgotten"
    limited = reopened(path, limit=99).session.policy
    assert limited == ROBUST.with_options(limit=99), "numbers come on top"


async def test_a_policy_that_is_asked_for_is_remembered_once_something_is_done(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    await kept(path, ROBUST)
    asked = {"policy": "nami", "sources": {"policy": "--policy"}}
    written = journal_path(path).read_bytes()
    first = reopened(path, **asked)
    assert first.kept is not None
    first.kept.claim()
    first.session.keep_in(first.kept)
    assert journal_path(path).read_bytes() == written, "looking changes nothing"
    assert first.session.undo()
    first.kept.leave()
    assert reopened(path).session.policy == preset("nami")


@pytest.mark.parametrize("broken", [5, {"name": "robust"}, {**as_table(ROBUST), "clear": {"keep": "all"}}])
async def test_a_policy_that_cannot_be_read_costs_itself_alone(tmp_path: Path, broken: Any) -> None:
    path = tmp_path / "s.json"
    session = await kept(path, ROBUST)
    before = session.entries
    with journal_path(path).open("a") as journal:
        journal.write(json.dumps({"kind": "policy", "policy": broken}) + "\n")
    again = reopened(path, policy="nami")
    assert again.session.policy == preset("nami")
    assert again.notice is not None
    assert again.notice.id == "policy.not_remembered"
    assert [entry.message for entry in again.session.entries] == [entry.message for entry in before]
    assert again.session.undo()


async def test_forgetting_originals_keeps_the_policy(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = await kept(path, LESSON.with_options(keep=9), ROBUST)
    await session.forget_originals()
    session.switch_layer("clear")
    assert journal_path(path).read_text().count('"kind":"policy"') == 2
    assert reopened(path).session.policy == ROBUST.switched("clear")


async def test_a_copy_has_the_policy_and_the_lessons_view_has_not(tmp_path: Path) -> None:
    path, other = tmp_path / "s.json", tmp_path / "copy.json"
    session = await kept(path, ROBUST)
    copy = opened(path).store.copied(other)
    copy.save(session.entries, session.timeline.head)
    copy.leave()
    assert reopened(other).session.policy == ROBUST
    alone = open_session(Launch(Settings(policy="nami"), path, alone=True), {})
    assert alone.session.policy == preset("nami")


async def test_a_policy_taken_before_the_first_question_is_remembered_without_alarm(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    Desk([SYSTEM], LESSON, file=path).session.use_policy(ROBUST)
    again = reopened(path)
    assert (again.session.policy, again.notice) == (ROBUST, None)


async def test_another_estimator_counts_all_anew_and_forgets_what_was_measured() -> None:
    desk = Desk([SYSTEM, *tool_turn(0)], LESSON)
    desk.session.record_usage(Usage(500), 999)
    before = desk.session.counter.count(desk.entries).tokens
    desk.session.use_policy(replace(LESSON, estimator="chars4"))
    counter = desk.session.counter
    assert counter.estimator.name == "chars4"
    assert counter.count(desk.entries).tokens < before
    assert desk.session.size(4).kind == "estimated"
    (told,) = desk.of(PolicyChanged)
    assert (told.before, told.policy.estimator) == (LESSON, "chars4")


async def test_within_a_turn_a_policy_is_in_force_from_the_next_stage_on() -> None:
    """The stage that waits does what was shown; the next ones go by the other policy."""
    desk = Desk([SYSTEM, *(message for n in range(3) for message in tool_turn(n))], LESSON, outputs=["x" * 500] * 2)

    async def gate(stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
        if stage == "clear" and desk.session.policy is LESSON:
            desk.session.use_policy(replace(ROBUST, estimator="chars4"))

    await desk.ask("next", asks_for(read("n1")), says("done", prompt_tokens=70), gate=gate)
    assert any(entry.has_mark(Cleared) for entry in desk.entries), "as it was shown"
    assert not any(entry.has_mark(Truncated) for entry in desk.entries), "robust leaves 500 characters alone"
    assert desk.stages().count("clear") == 2, "robust clears before every request"
    desk.assert_sound()
    counter = desk.session.counter
    tools_and_list = counter.total(desk.entries[:-1]) + counter.schemas_weight(())
    assert desk.session.size(tools_and_list).kind in ("measured", "adjusted")
