"""The panes at every size, and one selection in all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input, TextArea

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, says
from triptych.reasons import Reason
from triptych_tui.app import TriptychApp
from triptych_tui.widgets.chat_pane import ChatPane
from triptych_tui.widgets.messages_pane import MessagesPane
from triptych_tui.widgets.session_pane import SessionPane


@pytest.mark.parametrize(
    ("cols", "rows"), [(20, 6), (40, 12), (80, 24), (99, 30), (100, 30), (159, 45), (160, 45), (200, 50)]
)
async def test_no_row_is_wider_than_the_terminal(tmp_path: Path, cols: int, rows: int) -> None:
    session = opened(tmp_path / "s.json", tool_talk(6))
    await session.session.save()
    app = app_on(session)
    async with app.run_test(size=(cols, rows)) as pilot:
        for keys in (["escape", "1"], ["2"], ["3"], ["f3"], ["escape"], ["f4"], ["escape"]):
            await pilot.press(*keys)
            await pilot.pause()
            assert too_wide(app) == []


def too_wide(app: TriptychApp) -> list[tuple[str, int, str]]:
    """The rows of widgets on screen that do not fit in their places; the screen itself would cut them off unseen."""
    found: list[tuple[str, int, str]] = []
    for widget in app.screen.query("*"):
        is_seen = bool(widget.region.intersection(app.screen.region))
        if widget.is_container or not is_seen or isinstance(widget, Input | TextArea):  # fields scroll sideways
            continue
        rows = [widget.render_line(y) for y in range(widget.content_size.height)]
        found += [
            (str(widget.id or widget), y, row.text)
            for y, row in enumerate(rows)
            if row.cell_length > widget.region.width
        ]
    return found


async def test_resizing_moves_between_tabs_and_columns(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(3))
    app = app_on(session)
    async with app.run_test(size=(80, 24)) as pilot:
        assert "2 Messages" in screen_text(app).splitlines()[1], "a tab"
        assert not app.screen.query_one(MessagesPane).size
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: bool(app.screen.query_one(MessagesPane).size), "messages beside the chat")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: not app.screen.query_one(MessagesPane).size, "tabs again")


async def test_the_selection_is_one_in_all_panes(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(6))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f3", "enter")
        await until(pilot, lambda: session.on_disk() is not None, "a file to look at")
        await pilot.press("escape", "2", "home", *["down"] * 4)
        await until(pilot, lambda: app.screen.query_one(ChatPane).selected == 3, "the chat goes along")
        assert app.screen.query_one(MessagesPane).selected == 3
        assert app.screen.query_one(SessionPane).selected == 3
        await pilot.press("3", "down")
        await until(pilot, lambda: app.screen.query_one(MessagesPane).selected == 4, "messages follow the file")


async def test_the_selection_stays_on_its_message_through_layer_3_and_undo(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(6), ScriptedModel([says("A summary.")]))
    app = app_on(session)
    async with app.run_test(size=(200, 50)) as pilot:
        messages, chat, file = (app.screen.query_one(kind) for kind in (MessagesPane, ChatPane, SessionPane))
        await pilot.press("escape", "2", "end", "up", "up", "up")
        await until(pilot, lambda: chat.selected == messages.selected, "the chat goes along")

        def selected() -> list[str]:
            places = (messages.selected, chat.selected)
            return [str(session.session.entries[place].message["content"]) for place in places if place is not None]

        assert selected() == ["question 5"] * 2
        await pilot.press("f4", "enter")
        await until(pilot, lambda: "Enter apply" in screen_text(app), "something to apply")
        await pilot.press("enter")
        await until(pilot, lambda: session.session.is_saved and messages.block_count < 20, "applied")
        assert selected() == ["question 5"] * 2
        await until(pilot, lambda: file.selected == messages.selected, "the file too")
        await pilot.press("u")
        await until(pilot, lambda: messages.block_count == 26, "taken back")
        assert selected() == ["question 5"] * 2
        await until(pilot, lambda: file.selected == messages.selected, "the file too")


async def test_a_chat_that_was_scrolled_up_stays_there_while_others_follow(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(30), ScriptedModel([says("An answer.")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        chat, messages = app.screen.query_one(ChatPane), app.screen.query_one(MessagesPane)
        step = session.session
        await pilot.press("escape", "2", "end")
        chat.scroll_to(y=10)
        await until(pilot, lambda: not chat.following and messages.following, "scrolled up")
        shown = chat.render_line(0).text
        step.append("receive", {"role": "user", "content": "from elsewhere"}, Reason("turn.received"), 1)
        await until(pilot, lambda: "from elsewhere" in screen_text(app), "the messages follow")
        assert messages.selected == len(step.entries) - 1
        assert chat.render_line(0).text == shown
