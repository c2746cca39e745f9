"""The keys that go through the history: only the view moves, what is sent and saved stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, says
from triptych.entries import messages_of
from triptych_tui.launch import OpenedSession
from triptych_tui.screens import looking_back
from triptych_tui.widgets.messages_pane import MessagesPane


def class_so_far(tmp_path: Path) -> OpenedSession:
    """Three turns with a result each; the next question is the fourth turn and brings layer 3."""
    return opened(tmp_path / "s.json", tool_talk(3), ScriptedModel([says("A summary."), says("The answer.")]))


async def ask(pilot: Pilot[int], session: OpenedSession) -> None:
    await pilot.press(*"next", "enter")
    await until(pilot, lambda: "last turn" in screen_text(pilot.app), "the end of the turn")
    assert [step.stage for step in session.session.timeline.path()] == ["receive", "clear", "summarize", "answer"]


async def test_back_and_forward_show_each_step_with_its_reason_and_nothing_is_changed(tmp_path: Path) -> None:
    session = class_so_far(tmp_path)
    app = app_on(session)
    async with app.run_test(size=(160, 45)) as pilot:
        await ask(pilot, session)
        newest, sent = screen_text(app), messages_of(session.session.entries)
        await pilot.press("f7", "f7")
        earlier = screen_text(app)
        assert "step 2 / 4" in earlier
        assert "looking back" in earlier
        assert "4 tool results" not in earlier
        assert "3 tool results > keep 2, so clear 1" in earlier, "the reason of the step"
        assert "∅ CLEARED" in earlier
        assert "question 0" in earlier, "what the summary stands for is there still"
        assert "A summary." not in earlier
        await pilot.press("f7")
        assert "∅ CLEARED" not in screen_text(app)
        await pilot.press("f7")
        assert "the list as it was in the beginning" in screen_text(app)
        await pilot.press("f7")
        assert "there is no earlier step" in screen_text(app)
        await pilot.press("f8", "f8", "f8", "f8")
        assert screen_text(app) == newest
        await pilot.press("f8")
        assert "This is the newest step." in screen_text(app)
        assert messages_of(session.session.entries) == sent
        assert json.loads((tmp_path / "s.json").read_text("utf-8")) == sent


async def test_braces_go_from_compaction_to_compaction_and_esc_back_to_the_newest(tmp_path: Path) -> None:
    session = class_so_far(tmp_path)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await ask(pilot, session)
        newest = screen_text(app)
        await pilot.press("escape", "left_curly_bracket")
        assert "step 3 / 4" in screen_text(app)
        assert "Σ SUMMARY" in screen_text(app)
        await pilot.press("left_curly_bracket")
        assert "step 2 / 4" in screen_text(app)
        assert app.screen.query_one(MessagesPane).selected == 3, "the entry that the step cleared"
        await pilot.press("left_curly_bracket")
        assert "No layer changed anything before this." in screen_text(app)
        await pilot.press("fullwidth_right_curly_bracket")
        assert "step 3 / 4" in screen_text(app)
        await pilot.press("right_curly_bracket")
        assert "No layer changed anything after this." in screen_text(app)
        await pilot.press("escape", "escape", "i")
        assert screen_text(app) == newest


async def test_play_shows_step_after_step_from_the_beginning_to_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking_back, "PLAY_SECONDS", 0.02)
    session = class_so_far(tmp_path)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await ask(pilot, session)
        seen: list[int | None] = []
        session.session.subscribe(lambda _event: seen.append(session.session.timeline.view))
        await pilot.press("f5")
        await until(pilot, lambda: seen[-1:] == [4], "the newest step")
        assert seen == [None, 1, 2, 3, 4]
        assert "looking back" not in screen_text(app)
        monkeypatch.setattr(looking_back, "PLAY_SECONDS", 60)
        await pilot.press("escape", "space")
        assert "step 0 / 4" in screen_text(app)
        await pilot.press("space", "right_square_bracket")
        assert "step 1 / 4" in screen_text(app), "stopped, and stepping by hand again"


async def test_a_question_a_layer_and_an_undo_begin_at_the_newest_step(tmp_path: Path) -> None:
    model = ScriptedModel([says("A summary."), says("The answer."), says("Another."), says("The last.")])
    session = opened(tmp_path / "s.json", tool_talk(3), model)
    app = app_on(session)
    async with app.run_test(size=(160, 45)) as pilot:
        await ask(pilot, session)
        await pilot.press("f7", "f7", "f3")
        assert "looking back" not in screen_text(app)
        assert "∅ → ~" not in screen_text(app), "the newest list has two results, and keeps them"
        await pilot.press("f7")
        assert "looking back" not in screen_text(app), "a panel speaks of the newest list"
        await pilot.press("escape", "f7", "f7", "escape", "escape", "u")
        await until(pilot, lambda: not session.session.timeline.path(), "undone")
        await pilot.press("ctrl+r", "f7", "i", *"more", "enter")
        await until(pilot, lambda: "The last." in screen_text(app) or "Another." in screen_text(app), "the answer")
        assert "looking back" not in screen_text(app)


async def test_in_step_mode_one_can_look_back_while_a_stage_waits(tmp_path: Path) -> None:
    session = class_so_far(tmp_path)
    app = app_on(session)
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.press("escape", "s", "i", *"next", "enter")
        for _ in range(2):
            await until(pilot, lambda: "waiting here" in screen_text(app), "a stage waits")
            await pilot.press("f8")
        await until(pilot, lambda: "waiting here" in screen_text(app) and "so summarize" in screen_text(app), "decide")
        waiting = screen_text(app)
        await pilot.press("f7")
        assert "step 1 / 2" in screen_text(app)
        assert "∅ CLEARED" not in screen_text(app)
        await pilot.press("f8")
        assert screen_text(app) == waiting, "back at the head, where the stage still waits"
        await pilot.press("f8")
        await until(pilot, lambda: "1 user" in screen_text(app) or screen_text(app) != waiting, "it goes on")
        await pilot.press("escape")


async def test_the_file_keeps_the_newest_and_its_selection_follows_what_became_of_an_entry(tmp_path: Path) -> None:
    session = class_so_far(tmp_path)
    app = app_on(session)
    async with app.run_test(size=(160, 45)) as pilot:
        await ask(pilot, session)
        file = app.screen.query_one("#file")
        await pilot.press("escape", "2", "f7", "f7", "home", "j", "j")
        assert app.screen.query_one(MessagesPane).selected == 1
        assert file.selected == 1, "question 0 lives on in the summary"
        await pilot.press("end")
        assert file.selected == len(session.session.entries) - 2, "the question, which the answer follows"
