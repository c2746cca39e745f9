"""Help lists the keys in force, and keys of one's own are in force everywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from triptych.reasons import TriptychError
from triptych.settings import Settings
from triptych_tui.app import TriptychApp
from triptych_tui.keymap import checked_keymap, known_bindings
from triptych_tui.keys_in_force import commands
from triptych_tui.screens.help import Help
from triptych_tui.widgets.layer_panel import LayerPanel
from triptych_tui.widgets.prompt import Prompt


def lines_with(text: str, screen: str) -> list[str]:
    return [line for line in screen.splitlines() if text in line]


@pytest.mark.parametrize("key", ["f1", "question_mark", "fullwidth_question_mark"])
async def test_help_lists_keys_and_leaves(tmp_path: Path, key: str) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2)))
    async with app.run_test(size=(120, 70)) as pilot:
        await pilot.press("escape", key)
        await until(pilot, lambda: isinstance(app.screen, Help), "help")
        shown = screen_text(app)
        for does, keys in (("L1 truncate", "F2 !"), ("Undo", "u"), ("Help", "F1 ?"), ("All commands", "ctrl+p :")):
            assert any(keys in line for line in lines_with(does, shown)), does
        assert "layer.truncate" in shown
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.workbench, "the workbench")


async def test_f1_works_while_typing_and_keeps_the_text(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("h", "question_mark", "f1")
        await until(pilot, lambda: isinstance(app.screen, Help), "help")
        await pilot.press("f1")
        await until(pilot, lambda: app.screen is app.workbench, "the workbench")
        assert app.workbench.query_one(Prompt).text == "h?"


async def test_what_is_done_in_a_list_stands_under_that_title(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2)))
    async with app.run_test(size=(120, 40)):
        groups = {each.id: each.group for each in commands(app.workbench)}
    assert groups["chat.unfold"] == groups["list.down"] == "In a list"


async def test_help_scrolls_in_a_small_window(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2)))
    async with app.run_test(size=(60, 15)) as pilot:
        await pilot.press("escape", "question_mark")
        await until(pilot, lambda: isinstance(app.screen, Help), "help")
        assert "How to quit" not in screen_text(app)
        await pilot.press("end")
        await until(pilot, lambda: "How to quit" in screen_text(app), "the end of the page")
        assert all(strip.cell_length <= 60 for strip in app.screen._compositor.render_strips())


def test_every_binding_has_an_id_of_its_own_action() -> None:
    actions: dict[str, set[str]] = {}
    for each in known_bindings():
        actions.setdefault(str(each.binding.id), set()).add(each.binding.action)
    assert {name: found for name, found in actions.items() if len(found) > 1} == {}
    nameless = [
        (owner, binding)
        for owner in {each.owner for each in known_bindings()}
        for binding in owner.BINDINGS  # type: ignore[attr-defined]
        if not binding.id
    ]
    assert nameless == []


async def test_remapped_keys_run_show_in_help_and_in_the_key_line(tmp_path: Path) -> None:
    keys = {"layer.truncate": "ctrl+t", "undo": "U,ctrl+z", "prompt.send": "ctrl+s", "pane.chat": "8"}
    keymap = checked_keymap(Settings(keys=keys))
    session = opened(tmp_path / "s.json", tool_talk(6))
    app = TriptychApp(session, keymap)
    async with app.run_test(size=(120, 70)) as pilot:
        await pilot.press("h", "i", "enter")
        await pilot.pause()
        assert app.workbench.query_one(Prompt).text.startswith("hi"), "enter sends no longer"
        assert "ctrl+t L1 truncate" in screen_text(app)
        await pilot.press("f2")
        await pilot.pause()
        assert not app.workbench.query(LayerPanel)
        await pilot.press("escape", "question_mark")
        await until(pilot, lambda: isinstance(app.screen, Help), "help")
        shown = screen_text(app)
        assert any("ctrl+t" in line and "F2" not in line for line in lines_with("L1 truncate", shown))
        assert any("U ctrl+z" in line for line in lines_with("Undo", shown))
        await pilot.press("escape", "ctrl+t")
        await until(pilot, lambda: bool(app.workbench.query(LayerPanel)), "the panel of layer 1")


async def test_a_remapped_send_key_sends(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", [])
    app = TriptychApp(session, checked_keymap(Settings(keys={"prompt.send": "ctrl+s"})))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("h", "i", "ctrl+s")
        await until(pilot, lambda: len(session.session.entries) == 3, "question and answer")


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"nope": "x"}, "settings.unknown_binding"),
        ({"undo": "ctrl+nothing"}, "settings.unknown_named_key"),
        ({"undo": "ctrl+i"}, "settings.unknown_named_key"),
        ({"undo": "j"}, "settings.key_clash"),
        ({"undo": "f2"}, "settings.key_clash"),
        ({"undo": "f7", "prompt": "f7"}, "settings.key_clash"),
        ({"quit": "x"}, "settings.key_is_typed"),
        ({"prompt.send": "x"}, "settings.key_is_typed"),
    ],
)
def test_keys_that_cannot_be_are_refused(keys: dict[str, str], reason: str) -> None:
    with pytest.raises(TriptychError) as caught:
        checked_keymap(Settings(keys=keys))
    assert caught.value.reason.id == reason


def test_keys_may_be_swapped() -> None:
    assert checked_keymap(Settings(keys={"undo": "i", "prompt": "u, +"})) == {"undo": "i", "prompt": "u,plus"}


def test_help_and_palette_are_not_loaded_at_a_start() -> None:
    late = {"triptych_tui.screens.help", "triptych_tui.screens.palette", "triptych_tui.keymap"}
    code = f"import sys, triptych_tui.app; print(sorted({late!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_ctrl_c_says_how_to_quit_and_ctrl_q_quits_from_everywhere(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "ctrl+c")
        await until(pilot, lambda: "ctrl+q leaves" in screen_text(app), "how to quit")
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, Help), "help")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running, "the end")
    assert app.return_value == 0
