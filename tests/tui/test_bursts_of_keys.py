"""Keys that come faster than what they begin: nothing is left half done."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, says
from triptych_tui.screens.connect_dialog import ConnectDialog
from triptych_tui.widgets.layer_panel import LayerPanel
from triptych_tui.widgets.prompt import PromptText


async def test_a_question_cancelled_before_it_begins_is_kept_and_others_can_follow(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", [], ScriptedModel([says("Never."), says("Yes.")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        app.workbench._on_sent(PromptText.Sent("early"))
        app.workbench.action_leave()
        await until(pilot, lambda: "Cancelled." in screen_text(app), "the end of the turn")
        await pilot.press(*"next", "enter")
        await until(pilot, lambda: "Yes." in screen_text(app), "the answer")
    assert [entry.message["content"] for entry in session.session.entries[1:]] == ["early", "next", "Yes."]


async def test_a_summary_cancelled_before_it_begins_leaves_its_panel(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(5), ScriptedModel([says("Never."), says("A summary.")])))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f4")
        await until(pilot, lambda: "Summarize old turns" in screen_text(app), "the panel")
        await app.screen.query_one(LayerPanel).action_go_on()
        app.workbench.action_leave()
        await pilot.pause()
        await pilot.press("enter")
        await until(pilot, lambda: "A summary." in screen_text(app), "the summary")


@pytest.mark.parametrize("key", ["slash", "f"])
async def test_escape_right_behind_the_key_that_opens_a_field_leaves_it(tmp_path: Path, key: str) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2), ScriptedModel([])))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "2", key, "escape")
        await app.workbench.run_action("search" if key == "slash" else "filter")
        app.workbench.action_leave()
        await pilot.pause()
        await pilot.press("i", *"seen")
        assert app.workbench.query_one(PromptText).text == "seen"


async def test_escape_right_behind_the_key_that_opens_a_panel_leaves_it(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2), ScriptedModel([])))
    async with app.run_test(size=(120, 40)) as pilot:
        await app.workbench.run_action("layer('clear')")
        app.workbench.action_leave()
        await pilot.pause()
        await pilot.press(*"seen")
        assert app.workbench.query_one(PromptText).text == "seen"


async def test_leaving_while_a_screen_is_put_together_ends_well(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", [], ScriptedModel([])))
    async with app.run_test(size=(120, 40)):
        app.action_palette()
        await app.workbench.end(143)
    assert app.return_value == 143


async def test_many_lines_that_are_taken_back_at_once_leave_a_field_that_works(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", [], ScriptedModel([])))
    async with app.run_test(size=(80, 24)) as pilot:
        prompt = app.workbench.query_one(PromptText)
        prompt.insert("line\n" * 20)
        await until(pilot, lambda: prompt.show_vertical_scrollbar, "a scrollbar")
        await pilot.press("ctrl+z", *"seen")
        assert prompt.text == "seen"


async def test_what_a_server_says_while_its_dialog_is_left_goes_nowhere(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", [], ScriptedModel([])))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "m")
        dialog = app.screen
        assert isinstance(dialog, ConnectDialog)
        await dialog.dismiss(None)
        dialog._show(dialog._health)
        assert app.screen is app.workbench


async def test_two_panels_asked_for_at_once_come_one_after_the_other(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(5), ScriptedModel([])))
    async with app.run_test(size=(120, 40)) as pilot:
        await asyncio.gather(app.workbench.action_layer("clear"), app.workbench.action_layer("truncate"))
        await until(pilot, lambda: "Truncate tool results" in screen_text(app), "the second")
        await pilot.press("escape", *"seen")
        assert app.workbench.query_one(PromptText).text == "seen"


async def test_a_panel_asked_for_right_before_a_question_waits_for_its_answer(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2), ScriptedModel([says("Yes.")])))
    async with app.run_test(size=(120, 40)) as pilot:
        opening = asyncio.create_task(app.workbench.action_layer("clear"))
        await asyncio.sleep(0)
        app.workbench._on_sent(PromptText.Sent("early"))
        await opening
        await until(pilot, lambda: "Clear old tool results" in screen_text(app), "the panel")
        assert app.session.entries[-1].message["content"] == "Yes."


async def test_going_to_another_session_ends_what_began_meanwhile_and_takes_away_what_was_opened(
    tmp_path: Path,
) -> None:
    first = opened(tmp_path / "s.json", tool_talk(2), ScriptedModel([says("Never.")]))
    app = app_on(first)
    async with app.run_test(size=(120, 40)) as pilot:
        app.workbench._on_sent(PromptText.Sent("early"))
        app.action_help()
        left = app.workbench
        await left.show_session(opened(tmp_path / "other.json", tool_talk(1), ScriptedModel([])))
        left._on_sent(PromptText.Sent("late"))
        await until(pilot, lambda: app.screen is app.workbench is not left, "the other session")
        await until(pilot, lambda: "other.json" in screen_text(app), "its first picture")
        await pilot.press("escape", "f1")
        await until(pilot, lambda: "the keys in force" in screen_text(app), "the new workbench's help")
    assert first.session.is_saved
    assert first.session.entries[-1].message["content"] == "early"
