"""The panel of a layer run by hand: why, the gain and the keys are in view whatever else it holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, says
from triptych_tui.app import TriptychApp

SIZES = [(80, 24), (100, 30), (120, 40), (160, 45)]
SUMMARY = "\n".join(f"fact {number}: the gateway allows 800 ms" for number in range(30))


def seen(pattern: str, app: TriptychApp) -> bool:
    """Whether the screen, its lines joined, shows this."""
    return re.search(pattern, screen_text(app).replace("\n", " ")) is not None


async def with_summary(pilot: Pilot[Any], app: TriptychApp) -> None:
    await pilot.press("f4", "enter")
    await until(pilot, lambda: "as received" in screen_text(app), "the summary")


@pytest.mark.parametrize("size", SIZES)
async def test_a_long_summary_pushes_neither_the_reason_nor_the_gain_nor_the_keys_out(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(9, characters=2000), ScriptedModel([says(SUMMARY)])))
    async with app.run_test(size=size) as pilot:
        await with_summary(pilot, app)
        for field in ("panel", "summary-text", "parameter-keep_turns"):
            app.workbench.set_focus(app.workbench.query_one(f"#{field}"))
            onward = r" Enter +apply .*Esc" if field == "panel" else r" ctrl\+j +apply .*Esc"
            await until(pilot, lambda onward=onward: seen(onward, app), "what goes on")  # type: ignore[misc]
            shown = screen_text(app)
            assert "Why" in shown
            assert seen(r"[0-9]+ old messages → 1\s+summary", app)
            assert "leave everything as it was" in shown
            assert " tok  -" in shown, "the gain"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("key", ["f2", "f3"])
async def test_the_keys_of_the_other_layers_need_no_scrolling(tmp_path: Path, size: tuple[int, int], key: str) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(30)))
    async with app.run_test(size=size) as pilot:
        await pilot.press(key)
        await until(pilot, lambda: seen(r"Enter +apply .*Esc +leave everything as it was", app), "the keys")
        assert " tok  -" in screen_text(app)


async def test_beside_the_panel_a_message_shows_its_words_and_the_sign_of_its_mark(tmp_path: Path) -> None:
    talk = [*tool_talk(6), {"role": "user", "content": "Which service logged the first timeout of that day?"}]
    app = app_on(opened(tmp_path / "s.json", talk, ScriptedModel([says("They talked.")])))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f3", "enter")
        await until(pilot, lambda: "done by hand" in screen_text(app), "cleared")
        await pilot.press("f4")
        await until(pilot, lambda: "exactly as sent" in screen_text(app), "the panel")
        lines = screen_text(app).splitlines()
    assert "◉ replaced  · stays" in next(line for line in lines if "2 Messages" in line)
    assert any("· Which service logged the" in line for line in lines)
    cleared = [line for line in lines if "← [旧工具结果已清理" in line[:45]]
    assert cleared
    assert all("∅" in line[:45] and "CLEARED" not in line for line in cleared)
    assert any("╌ cut · 9 entries stay as they are ╌" in line for line in lines)


async def test_the_chat_marks_targets_too_and_no_more_when_the_panel_is_left(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(4)))
    async with app.run_test(size=(200, 50)) as pilot:
        await pilot.press("f3")
        await until(pilot, lambda: screen_text(app).count("◉ target") == 2, "two results of four")
        await pilot.press("escape")
        await until(pilot, lambda: "◉ target" not in screen_text(app), "all as it was")


@pytest.mark.parametrize("rows", [14, 17, 18])
async def test_in_few_rows_a_panel_opens_at_its_parameters(rows: int, tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(4)))
    async with app.run_test(size=(80, rows)) as pilot:
        for key in ("f4", "f3", "f2"):
            await pilot.press(key)
            await until(pilot, lambda: re.search(r"Why.*\n(.*\n){1,3}.*Parameters", screen_text(app)), "the heading")
            await pilot.press("escape")
