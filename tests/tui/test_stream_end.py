"""What happens in the chat when an answer has been said: it stays where it is read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from triptych.models.base import Delta, Finish, Request, TextDelta
from triptych_tui.app import TriptychApp
from triptych_tui.widgets.chat_pane import ChatPane


class HeldModel:
    """Says `text` at once, then `rest`, and ends, each when it is let go."""

    name = "held"
    offline = True
    window = None

    def __init__(self, text: str, rest: str = "") -> None:
        self._text, self._rest = text, rest
        self.go_on = asyncio.Event()
        self.let_go = asyncio.Event()

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        yield TextDelta(self._text)
        if self._rest:
            await self.go_on.wait()
            yield TextDelta(self._rest)
        await self.let_go.wait()
        yield Finish("stop")


def rows_on_screen(chat: ChatPane) -> list[str]:
    return [chat.render_line(y).text[8:].rstrip() for y in range(chat.size.height)]


async def scrolled_up(pilot: Pilot[Any], app: TriptychApp, rows: int, line: str) -> list[str]:
    """Read so many rows further up in the chat, where there is this line; what stands there."""
    chat = app.screen.query_one(ChatPane)
    chat.scroll_to(y=chat.scroll_offset.y - rows)
    await until(pilot, lambda: line in screen_text(app) and not chat.following, "scrolled up")
    return rows_on_screen(chat)


async def test_the_chat_stays_where_it_is_read_when_the_stream_ends(tmp_path: Path) -> None:
    model = HeldModel("\n".join(f"line {number}" for number in range(200)))
    session = opened(tmp_path / "s.json", tool_talk(1), model)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        chat = app.screen.query_one(ChatPane)
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "line 199" in screen_text(app), "the whole answer")
        before = await scrolled_up(pilot, app, 60, "line 120")
        places: list[float] = []
        app.screen.watch(chat, "scroll_y", lambda y: places.append(y), init=False)
        model.let_go.set()
        await until(pilot, lambda: "last turn" in screen_text(app) and session.session.is_saved, "the answer is kept")
        assert len(session.session.entries) == 7
        assert rows_on_screen(chat) == before
        assert places == [], "nothing jumps, not even for a moment"


async def test_a_long_answer_that_streams_stays_where_it_is_read(tmp_path: Path) -> None:
    texts = ["\n".join(f"line {number}" for number in part) for part in (range(450), range(450, 3000))]
    model = HeldModel(texts[0], "\n" + texts[1])
    app = app_on(opened(tmp_path / "s.json", tool_talk(1), model))
    async with app.run_test(size=(120, 40)) as pilot:
        chat = app.screen.query_one(ChatPane)
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "line 449" in screen_text(app), "the first part")
        before = await scrolled_up(pilot, app, 200, "line 240")
        model.go_on.set()
        await until(pilot, lambda: chat.block_count > 0 and chat.max_scroll_y > 2900, "more was said")
        assert rows_on_screen(chat) == before
        chat.follow_end()
        await until(pilot, lambda: "line 2999" in screen_text(app), "the end")
        model.let_go.set()
        await until(pilot, lambda: "last turn" in screen_text(app), "the answer is kept")
        assert "line 2999" in screen_text(app)


async def test_of_a_very_long_answer_its_newest_lines_are_read_while_it_streams_and_when_it_has_ended(
    tmp_path: Path,
) -> None:
    model = HeldModel("\n".join(f"line {number}" for number in range(9000)))
    session = opened(tmp_path / "s.json", tool_talk(1), model)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "line 8999" in screen_text(app), "the newest lines")
        model.let_go.set()
        await until(pilot, lambda: "last turn" in screen_text(app) and session.session.is_saved, "the answer is kept")
        assert "line 8999" in screen_text(app)
        chat = app.screen.query_one(ChatPane)
        chat.scroll_to(y=chat.scroll_offset.y - 90)
        await until(pilot, lambda: "characters   Enter" in screen_text(app), "what is not shown is said")


async def test_a_long_answer_stays_where_it_is_read_when_it_ends_and_can_be_folded(tmp_path: Path) -> None:
    texts = ["\n".join(f"line {number}" for number in part) for part in (range(900), range(900, 2000))]
    model = HeldModel(texts[0], "\n" + texts[1])
    session = opened(tmp_path / "s.json", tool_talk(1), model)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        chat = app.screen.query_one(ChatPane)
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "line 899" in screen_text(app), "the first part")
        model.go_on.set()
        await until(pilot, lambda: "line 1999" in screen_text(app), "all of it, without its first lines")
        before = await scrolled_up(pilot, app, 200, "line 1790")
        model.let_go.set()
        await until(pilot, lambda: "last turn" in screen_text(app) and session.session.is_saved, "the answer is kept")
        assert rows_on_screen(chat) == before
        chat.scroll_to(y=chat.scroll_offset.y - 900)
        await until(pilot, lambda: "line 890" in screen_text(app), "what was left out while it streamed")


async def test_the_middle_of_a_long_text_is_a_key_away(tmp_path: Path) -> None:
    said = "\n".join(f"line {number}" for number in range(2000))
    session = opened(tmp_path / "s.json", [{"role": "user", "content": "hi"}, {"role": "assistant", "content": said}])
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        chat = app.screen.query_one(ChatPane)
        await until(pilot, lambda: "line 1999" in screen_text(app), "the end")
        chat.scroll_to(y=chat.scroll_offset.y - 90)
        await until(pilot, lambda: "characters   Enter here: all" in screen_text(app), "the key")
        await pilot.press("escape", "1")
        await until(pilot, lambda: "characters   Enter unfold" in screen_text(app), "the key in the chat itself")
        before = rows_on_screen(chat)
        cut = next(row for row, text in enumerate(before) if "characters   Enter" in text)
        await pilot.press("enter")
        await until(pilot, lambda: "line 300" in screen_text(app), "the middle")
        assert rows_on_screen(chat)[: cut + 1] == [*before[:cut], "line 300"], "what stands before it stays"
        chat.scroll_to(y=1000)
        await until(pilot, lambda: "line 1010" in screen_text(app), "any line")
        await pilot.press("enter")
        await until(pilot, lambda: "characters   Enter unfold" in screen_text(app), "folded")
        await pilot.press("end")
        await until(pilot, lambda: "line 1999" in screen_text(app) and chat.following, "the end")
        await pilot.press("enter")
        await until(pilot, lambda: "line 300" in screen_text(app) and "line 299" in screen_text(app), "in view at once")
