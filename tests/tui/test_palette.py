"""The palette: every command by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.command import CommandList, CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from triptych_tui.app import TriptychApp
from triptych_tui.keys_in_force import commands
from triptych_tui.widgets.layer_panel import LayerPanel
from triptych_tui.widgets.messages_pane import MessagesPane
from triptych_tui.widgets.prompt import Prompt


def is_open(app: TriptychApp) -> bool:
    return isinstance(app.screen, CommandPalette) and app.screen.has_class("-ready")


@pytest.mark.parametrize("key", ["ctrl+p", "colon", "fullwidth_colon"])
async def test_it_opens_and_leaves_nothing_behind(tmp_path: Path, key: str) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "2")
        await pilot.pause()
        before = screen_text(app)
        await pilot.press(key)
        await until(pilot, lambda: is_open(app), "the palette")
        await until(pilot, lambda: "L1 truncate" in screen_text(app), "its commands")
        assert "F2 !" in screen_text(app), "their keys"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.workbench, "the workbench")
        assert screen_text(app) == before


async def test_ctrl_p_opens_it_while_typing_and_a_colon_is_typed(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("a", "colon", "ctrl+p")
        await until(pilot, lambda: is_open(app), "the palette")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.workbench, "the workbench")
        assert app.workbench.query_one(Prompt).text == "a:"


def offered(app: TriptychApp) -> list[str]:
    """The words of the commands that the palette lists."""
    options = app.screen.query_one(CommandList).options if is_open(app) else []
    return [str(option.prompt).split("  ")[0] for option in options]


async def choose(pilot: Pilot[int], app: TriptychApp, words: str) -> None:
    """Open the palette, type words and take the first command that is found."""
    await pilot.press("ctrl+p")
    await until(pilot, lambda: len(offered(app)) > 10, "the palette with everything")
    app.screen.query_one(Input).value = words
    await until(pilot, lambda: len(offered(app)) < 10 and words.lower() in offered(app)[0].lower(), "what was sought")
    await pilot.press("enter")


@pytest.mark.parametrize(("cols", "rows"), [(80, 24), (120, 40), (200, 50)])
async def test_a_command_is_found_by_its_words_and_run(tmp_path: Path, cols: int, rows: int) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(6)))
    async with app.run_test(size=(cols, rows)) as pilot:
        await choose(pilot, app, "next theme")
        await until(pilot, lambda: app.theme == "light", "the next theme")
        await choose(pilot, app, "Messages")
        await until(pilot, lambda: app.workbench.query_one(MessagesPane).has_focus, "the messages")
        await choose(pilot, app, "summarize")
        await until(pilot, lambda: bool(app.workbench.query(LayerPanel)), "the panel of layer 3")


async def test_words_that_look_like_markup_are_words(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: len(offered(app)) > 10, "the palette with everything")
        app.screen.query_one(Input).value = "[/][@click=app.quit]x[/]"
        await until(pilot, lambda: offered(app) == ["No such command"], "nothing is found")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.screen is app.workbench, "the workbench")


async def test_it_offers_every_binding_of_screen_and_application(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        found = commands(app.workbench)
        for name in ("undo", "redo", "zoom", "theme", "help", "quit", "pane.file", "layer.clear", "language"):
            assert [each.id for each in found].count(name) == 1, name
        assert all(each.keys and each.does for each in found)
