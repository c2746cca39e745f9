"""Twenty-five questions by who has asked for no policy: what is shortened, what is known to the end, what is seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support_pilot import app_on, screen_text, until
from triptych.agent import run_turn
from triptych.checks import would_be_refused
from triptych.entries import Summary, entries_from, messages_of
from triptych.events import StageEntered
from triptych.layers.clear import ClearParameters
from triptych.layers.prune import PruneParameters
from triptych.layers.summarize import ROBUST_ACKNOWLEDGEMENT, ROBUST_PREFIX
from triptych.layers.truncate import TruncateParameters
from triptych.messages import text_of
from triptych.models.offline import OfflineModel
from triptych.policy import Policy, preset
from triptych.session import Session
from triptych.settings import Settings
from triptych.stages import Layer
from triptych_tui.hand_run import parameters_in_force
from triptych_tui.launch import Launch, OpenedSession, open_session

ENGLISH = (
    "My name is Lin and I am allergic to peanuts.",
    "Read welcome.txt",
    "How many people live in the town of Heron Bay?",
    "Read lighthouse/keepers_log.txt",
    "Read lighthouse/repair_invoice.txt and town/heron_nest_count.txt",
    "We decided to meet at 14:30 at the harbour office.",
    "Read harbour/tide_table.csv",
    "Read lighthouse/lamp_settings.toml",
    "What is my name?",
    "Read lighthouse/handbook.md",
    "Read harbour/radio.log",
    "Which files are there?",
    "search for lamp",
    "When do we meet?",
    "Remember: order 7731 must not be charged twice",
    "Read welcome.txt again",
    "Read lighthouse/handbook.md",
    "Read lighthouse/keepers_log.txt",
    "Am I allergic to anything?",
    "Read town/heron_nest_count.txt",
    "Read harbour/radio.log",
    "Read harbour/tide_table.csv",
    "Which order must not be charged twice?",
    "What is my name?",
    "When do we meet?",
)
CHINESE = (
    "我叫小林，对花生过敏",
    "读 welcome.txt",
    "读 town/学校参观须知.txt",
    "读 lighthouse/灯塔日志四月.txt",
    "灯塔日志里写了什么？",
    "我们决定下午两点半在港口办公室见面",
    "读 town/学校参观须知.txt",
    "读 harbour/渡輪時刻表.txt",
    "读 town/魚湯食譜.txt",
    "我叫什么名字？",
    "读 lighthouse/灯塔日志四月.txt 和 town/学校参观须知.txt",
    "有哪些文件？",
    "搜索 灯塔",
    "记住：订单 7731 不能重复扣款",
    "读 harbour/tide_table.csv",
    "读 lighthouse/灯塔日志四月.txt",
    "我们什么时候见面？",
    "读 town/魚湯食譜.txt",
    "读 harbour/渡輪時刻表.txt",
    "我对什么过敏？",
    "读 lighthouse/灯塔日志四月.txt",
    "读 town/学校参观须知.txt",
    "哪个订单不能重复扣款？",
    "我叫什么名字？",
    "我们什么时候见面？",
)
FACTS = {
    ENGLISH: ["order 7731 must not be charged twice", "My name is Lin", "at 14:30"],
    CHINESE: ["订单 7731 不能重复扣款", "我叫小林", "下午两点半"],
}
"""What the answers to the last three questions quote."""


async def asked(file: Path, questions: tuple[str, ...]) -> tuple[OpenedSession, list[str], list[StageEntered]]:
    """A session in which all that was asked, what was answered, and the stages that were passed."""
    opened = open_session(Launch(Settings(window=3000), file, is_new=True), {}).with_model(OfflineModel(3000), "")
    session, answers = opened.session, list[str]()
    stages: list[StageEntered] = []
    session.subscribe(lambda event: stages.append(event) if isinstance(event, StageEntered) else None)
    for question in questions:
        assert await run_turn(session, question, model=opened.model, tools=opened.tools) == "answered"
        assert not would_be_refused(messages_of(session.entries))
        answers.append(text_of(session.entries[-1].message))
    return opened, answers, stages


@pytest.mark.parametrize("questions", [ENGLISH, CHINESE], ids=["English", "Chinese"])
async def test_nothing_fails_both_layers_run_and_what_was_told_is_known_to_the_end(
    tmp_path: Path, questions: tuple[str, ...]
) -> None:
    opened, answers, stages = await asked(tmp_path / "s.json", questions)
    facts, entries, steps = FACTS[questions], opened.session.entries, opened.session.timeline.path()
    assert [fact for fact, answer in zip(facts, answers[-3:], strict=True) if fact not in answer] == []
    assert any(step.stage == "clear" for step in steps)
    summaries = [step for step in steps if step.stage == "summarize"]
    assert len(summaries) > 2
    assert all(step.after.tokens < step.before.tokens for step in summaries)
    assert [index for index, entry in enumerate(entries) if entry.has_mark(Summary)] == [1]
    assert text_of(entries[1].message).startswith(ROBUST_PREFIX)
    assert text_of(entries[2].message) == ROBUST_ACKNOWLEDGEMENT
    asked_for = [event for event in stages if event.stage == "summarize" and event.actor == "model"]
    assert len(asked_for) <= len(summaries) + 1, "at most one was asked for in vain: it would have saved too little"
    assert len(asked_for) < len(questions) / 2, "and not one at every question"


@pytest.mark.parametrize(
    ("policy", "layer", "parameters", "preset_shown"),
    [
        (preset("robust"), "prune", PruneParameters.robust(), "robust"),
        (replace(preset("robust"), clear=None, off=("summarize",)), "clear", ClearParameters.robust(), "robust"),
        (preset("meowgent"), "truncate", TruncateParameters.lesson(), "lesson"),
        (replace(preset("robust"), summarize=preset("nami").summarize), "prune", PruneParameters.lesson(), "lesson"),
        (Policy("bare", preset("robust").stages), "clear", ClearParameters.lesson(), "lesson"),
    ],
    ids=["robust", "robust without clear", "lesson", "mixed", "bare"],
)
def test_a_layer_that_the_policy_lacks_goes_by_the_flavour_of_the_others(
    policy: Policy, layer: Layer, parameters: object, preset_shown: str
) -> None:
    session = Session(entries_from([{"role": "system", "content": "s"}]), policy)
    assert parameters_in_force(session, layer) == (parameters, preset_shown)


async def test_the_screen_says_which_policy_it_is_and_none_of_the_lessons_warnings(tmp_path: Path) -> None:
    opened, _answers, _stages = await asked(tmp_path / "s.json", ENGLISH)
    app = app_on(opened)
    async with app.run_test(size=(160, 45)) as pilot:
        assert "s.json  robust" in screen_text(app)
        await pilot.press("escape", "2", "home", "down", "down", "v")
        await until(pilot, lambda: "the model does not see them" in screen_text(app), "what the summary stands for")
        assert all(mark in screen_text(app) for mark in ("Σ SUMMARY", "✓ ACK"))
        assert "counts as a user turn" not in screen_text(app)
        await pilot.press("escape", "f3")
        await until(pilot, lambda: "1 tool result, keep 3" in screen_text(app), "layer 2's panel")
        assert "preset robust" in screen_text(app)
        await pilot.press("f4")
        await until(pilot, lambda: "Summarize old turns" in screen_text(app), "layer 3's panel")
        assert "preset robust" in screen_text(app)
        assert "counts as a user turn" not in screen_text(app)
