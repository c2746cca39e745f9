"""Four themes, ASCII signs and zoom, as they are drawn."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.segment import Segment
from textual.pilot import Pilot

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_terminal import Terminal
from tests.support_workbench import SYSTEM, workbench
from tests.tui.test_themes import contrast
from triptych.settings import THEMES, WITHOUT_COLOUR, Settings
from triptych_tui.app import TriptychApp
from triptych_tui.launch import OpenedSession
from triptych_tui.themes import TOKENS
from triptych_tui.widgets.messages_pane import MessagesPane
from triptych_tui.widgets.prompt import Prompt

COLOURED = [name for name in THEMES if name != WITHOUT_COLOUR]
SIZES = [(80, 24), (120, 40), (200, 50)]
TOUR = (
    ["escape", "2", "end", "up", "enter"],
    ["v"],
    ["3"],
    ["f2"],
    ["escape"],
    ["f4"],
    ["escape"],
    ["slash", "q", "u"],
    ["enter"],
    ["escape", "f", "r"],
    ["escape"],
    ["question_mark"],
    ["escape", "s"],
    ["s", "colon"],
    ["escape", *["u"] * 9],
    ["i", "x", "y"],
)
"""Keys that lead through everything there is to see."""


def segments(app: TriptychApp) -> Iterator[Segment]:
    for strip in app.screen._compositor.render_strips():
        yield from strip


def colours(segment: Segment) -> tuple[str, str]:
    """Ink and ground as `#RRGGBB`, "" where there is none."""
    style = segment.style
    pair = (style.color, style.bgcolor) if style is not None else (None, None)
    ink, ground = ("" if each is None or each.is_default else each.get_truecolor().hex.upper() for each in pair)
    return (ground, ink) if style is not None and style.reverse else (ink, ground)


def with_look(session: OpenedSession, **look: Any) -> OpenedSession:
    return session._replace(settings=Settings(**look))


async def marked(pilot: Pilot[Any], session: OpenedSession) -> None:
    """Apply layer 2, so that there are marks and a saved file."""
    await pilot.press("f3", "enter")
    await until(pilot, lambda: session.on_disk() is not None, "the layer is applied and saved")


@pytest.mark.parametrize("theme", COLOURED)
async def test_all_text_that_is_drawn_can_be_read(tmp_path: Path, theme: str) -> None:
    session = with_look(opened(tmp_path / "s.json", tool_talk(6)), theme=theme)
    app = app_on(session)
    weak: dict[tuple[str, str], str] = {}
    async with app.run_test(size=(120, 40)) as pilot:
        await marked(pilot, session)
        for keys in TOUR:
            await pilot.press(*keys)
            await pilot.pause()
            for segment in segments(app):
                if any(map(str.isalnum, segment.text)) and contrast(*colours(segment)) < 4.5:
                    weak[colours(segment)] = segment.text
    assert weak == {}


async def test_t_changes_every_colour_in_place(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(6))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await marked(pilot, session)
        await pilot.press("t", "escape", "2", "home", "down", "down")
        assert app.workbench.query_one(Prompt).text == "t", "in the prompt it is a letter"
        app.workbench.query_one(Prompt).put("")
        await until(pilot, lambda: "+~" not in screen_text(app), "an empty prompt")
        before = screen_text(app)
        for theme in (*COLOURED[1:], COLOURED[0]):
            while app.theme != theme:
                await pilot.press("t")
            known = {str(value) for name in TOKENS[theme].__slots__ if (value := getattr(TOKENS[theme], name))}
            await until(pilot, lambda known=known: _used(app) <= known, f"only colours of {theme}")  # type: ignore[misc]
            assert screen_text(app) == before, "nothing moves"
            await pilot.press("i", "a")
            await until(pilot, lambda known=known: _used(app) <= known, f"the prompt in {theme}")  # type: ignore[misc]
            await pilot.press("backspace", "escape", "2")
            await until(pilot, lambda: screen_text(app) == before, "all as before")


def _used(app: TriptychApp) -> set[str]:
    return {colour for segment in segments(app) for colour in colours(segment)} - {""}


async def test_a_theme_chosen_over_the_help_page_is_in_force_below_it_too(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2)))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("escape", "question_mark", "t")
        known = {getattr(TOKENS["light"], name) for name in TOKENS["light"].__slots__}
        await until(pilot, lambda: app.screen is not app.workbench and _used(app) <= known, "help in the new theme")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.workbench, "the workbench is back")
        await until(pilot, lambda: _used(app) <= known, "all of it in the new theme")


async def test_without_colour_every_state_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    session = with_look(opened(tmp_path / "s.json", tool_talk(6)), theme=WITHOUT_COLOUR)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await marked(pilot, session)
        await pilot.press("escape", "2", "home", *["down"] * 4)
        await pilot.pause()
        assert _used(app) == set()
        lines = screen_text(app).splitlines()
        heads = next(line for line in lines if "2 Messages" in line)
        assert "━ 2 Messages ━" in heads, "the focus is a heavy rule"
        assert "─ 1 Chat ─" in heads
        strips = app.screen._compositor.render_strips()
        row = next(strip for strip in strips if "∅ CLEARED" in strip.text and "│▌" in strip.text)
        reversed_text = "".join(part.text for part in row if part.style is not None and part.style.reverse)
        assert "CLEARED" in reversed_text, "the selection in the focused pane is reversed"
        assert sum("▌" in strip.text for strip in strips) > 1, "in the other panes it has its edge"
        letters = [part for strip in strips for part in strip if part.text.strip() == "∅ CLEARED"]
        assert all(part.style is not None and part.style.bold for part in letters)


async def test_without_colour_nothing_at_all_has_a_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    session = with_look(opened(tmp_path / "s.json", tool_talk(6)), theme=WITHOUT_COLOUR)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await marked(pilot, session)
        for keys in TOUR:
            await pilot.press(*keys)
            await pilot.pause()
            assert _used(app) == set(), keys


async def test_with_greys_all_text_can_be_read_and_says_what_it_says_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screens: list[list[str]] = []
    for number, environment in enumerate(({"COLORTERM": "truecolor", "TERM": "xterm-256color"}, {"TERM": "linux"})):
        for name in ("NO_COLOR", "COLORTERM", "TERM"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        folder = tmp_path / str(number)
        folder.mkdir()
        app = app_on(with_look(opened(folder / "s.json", tool_talk(6)), theme=WITHOUT_COLOUR))
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("escape", "2", "home", *["down"] * 4)
            await pilot.pause()
            for segment in segments(app) if number == 0 else ():
                if any(map(str.isalnum, segment.text)):
                    assert contrast(*colours(segment)) >= 4.5, segment.text
            greys = _used(app)
            screens.append(screen_text(app).splitlines()[3:30])
        assert bool(greys) == (number == 0), "a terminal without greys is sent none"
        assert all(grey[1:3] == grey[3:5] == grey[5:7] for grey in greys)
    assert screens[0] == screens[1], "no state is told by a grey alone"


def sgr_codes(raw: bytes) -> set[int]:
    """Every number in a `CSI … m`."""
    found = re.findall(rb"\x1b\[([0-9;:]*)m", raw)
    return {int(code) for codes in found for code in re.split(rb"[;:]", codes) if code}


def saved_session(folder: Path) -> Path:
    file = folder / "talk.json"
    system = {"role": "system", "content": "You answer from files."}
    file.write_text(json.dumps([system, *tool_talk(6)], indent=2), "utf-8")
    return file


def test_no_color_sends_no_colour_code(tmp_path: Path) -> None:
    file = saved_session(tmp_path)
    with workbench(tmp_path, file, env={"NO_COLOR": "1", "TRIPTYCH_THEME": "dark"}) as terminal:
        terminal.wait_for("answer 5")
        for keys, seen in (
            ("escape", "━ 1 Chat"),
            ("2", "━ 2 Messages"),
            ("?", "keys in force"),
            ("escape", "━ 2 Messages"),
            (":", "Type what you"),
            ("escape", lambda screen: "Type what you" not in screen),
        ):
            terminal.press(keys)
            terminal.wait_for(seen)
        terminal.press("t")
        terminal.wait_for("NO_COLOR is set")
        terminal.press("f3")
        terminal.wait_for("Prompt cache")
        codes = sgr_codes(terminal.raw)
    assert codes <= {0, 1, 2, 3, 4, 7, 9}
    assert {1, 7} <= codes


def test_a_theme_on_the_command_line_wins_over_no_color(tmp_path: Path) -> None:
    with workbench(tmp_path, saved_session(tmp_path), "--theme", "dark", env={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for("answer 5")
        assert {38, 48} <= sgr_codes(terminal.raw)


def test_the_interface_itself_draws_ascii_only(tmp_path: Path) -> None:
    file = saved_session(tmp_path)

    def foreign(screen: str) -> set[str]:
        """Signs of the interface that are not ASCII: neither the file's nor Chinese, as only the lesson's texts are."""
        return {sign for sign in screen if 0x7F < ord(sign) < 0x3000} - {*file.read_text("utf-8")}

    with workbench(tmp_path, "--ascii", file) as terminal:
        found = foreign(terminal.wait_for("answer 5"))
        terminal.send("Which files are there?\r")
        found |= foreign(
            terminal.wait_for(lambda screen: "Which files" in file.read_text("utf-8") and "F2 L1" in screen)
        )
        for cols, rows in SIZES:
            terminal.resize(rows, cols)
            for seen in _walk(terminal, in_file="= 3 File" if cols >= 100 else '"role"'):
                found |= foreign(seen)
    assert found == set()


def _walk(terminal: Terminal, in_file: str) -> Iterator[str]:
    """Through all there is to see; `in_file` tells the file's pane."""
    for key, seen in (
        ("escape", "i ask"),
        ("2", "~tok  mark"),
        ("3", in_file),
        ("f2", "Why"),
        ("escape", in_file),
        ("f4", "Request"),
        ("escape", in_file),
        ("?", "keys in force"),
        ("escape", in_file),
        (":", "Type what you want"),
        ("escape", lambda screen: "Type what you" not in screen),
        ("z", in_file),
        ("/", "regular expression"),
    ):
        terminal.press(key)
        yield terminal.wait_for(seen)
    terminal.settle()
    yield terminal.screen_text()
    terminal.press("escape")
    yield terminal.wait_for(lambda screen: "regular expression" not in screen)
    terminal.press("z")


@pytest.mark.parametrize(("cols", "rows"), SIZES)
async def test_z_gives_a_pane_the_whole_body_and_takes_it_back(tmp_path: Path, cols: int, rows: int) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(3)))
    async with app.run_test(size=(cols, rows)) as pilot:
        await pilot.press("escape", "2")
        await pilot.pause()
        before = screen_text(app)
        await pilot.press("z")
        body = app.screen.query_one("#body")
        messages = app.screen.query_one(MessagesPane)
        await until(pilot, lambda: messages.size.width >= body.size.width - 2, "the pane is as wide as the body")
        assert messages.size.height == body.size.height - 1
        await pilot.press("3")
        await until(pilot, lambda: not messages.size, "another pane takes its place")
        await pilot.press("2", "z")
        await until(pilot, lambda: screen_text(app) == before, "all is as it was")


async def test_a_layer_by_hand_ends_the_zoom(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(6)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "1", "z", "f3")
        await until(pilot, lambda: "2 Messages" in screen_text(app) and "Prompt cache" in screen_text(app), "both")
        await pilot.press("z")
        await until(pilot, lambda: "2 Messages" not in screen_text(app), "the panel alone")
        await pilot.press("escape")
        await until(pilot, lambda: "1 Chat" in screen_text(app) and "2 Messages" in screen_text(app), "all again")


@pytest.mark.parametrize(("width", "key", "header"), [(110, "1", "1 Chat"), (110, "3", "3 File"), (80, "2", "~tok")])
async def test_a_pane_that_a_panel_covers_is_shown_when_it_is_asked_for(
    tmp_path: Path, width: int, key: str, header: str
) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(6)))
    async with app.run_test(size=(width, 30)) as pilot:
        await pilot.press("f3")
        await until(pilot, lambda: "Prompt cache" in screen_text(app), "the panel")
        before = screen_text(app)
        await pilot.press(key)
        await until(pilot, lambda: "Prompt cache" not in screen_text(app), "the pane alone")
        assert header in screen_text(app)
        assert "next pane" in screen_text(app).splitlines()[-1], "its keys, not those of a field"
        await pilot.press("tab")
        await until(pilot, lambda: screen_text(app) == before, "the panel again, with the focus")
        await pilot.press(key, "escape")
        await until(pilot, lambda: app.screen.focused is not None and app.screen.focused.size.width > 0, "in view")
        assert app.screen.panel_stops() == []


async def test_names_of_layers_at_a_start_stand_apart_in_a_narrow_pane(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", [{"role": "system", "content": SYSTEM}]))
    async with app.run_test(size=(100, 30)):
        assert "L1 truncate L2 clear L3 summarize" in screen_text(app)
