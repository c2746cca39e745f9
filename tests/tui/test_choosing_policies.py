"""P: the policies that there are; the one that is taken is in force at once, and when the session is opened again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, says
from triptych.entries import Cleared
from triptych.policy import Policy, preset, preset_names
from triptych.policy_files import find, own_folder
from triptych.settings import Settings
from triptych.storage.session_lock import lock_path
from triptych_tui.app import TriptychApp
from triptych_tui.i18n import set_language
from triptych_tui.launch import Launch, OpenedSession, open_session
from triptych_tui.policy_words import what_it_does
from triptych_tui.screens.policy_dialog import PolicyDialog
from triptych_tui.widgets.stage_bar import StageBar


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    yield
    set_language("en")


def reopened(session: OpenedSession) -> OpenedSession:
    assert session.kept is not None
    lock_path(session.kept.path).unlink(missing_ok=True)
    return open_session(Launch(Settings(), session.kept.path), {})


async def open_dialog(pilot: Pilot[Any], app: TriptychApp) -> None:
    app.workbench.set_focus(app.workbench.query_one("#chat"))  # letters are typed in the prompt
    await pilot.press("P")
    await until(pilot, lambda: isinstance(app.screen, PolicyDialog) and app.focused is not None, "the dialog")


async def take(pilot: Pilot[Any], app: TriptychApp, name: str) -> None:
    """Go to a policy in the dialog, and take it."""
    await open_dialog(pilot, app)
    assert isinstance(app.screen, PolicyDialog)
    names = [each.name for each in app.screen._offers]
    await pilot.press("home", *["down"] * names.index(name), "enter")
    await until(pilot, lambda: app.screen is app.workbench, "the workbench")


def own_file(name: str, text: str) -> None:
    own_folder().mkdir(parents=True, exist_ok=True)
    (own_folder() / f"{name}.toml").write_text(text, "utf-8")


async def test_the_dialog_tells_the_policies_and_esc_leaves_all_as_it_was(tmp_path: Path) -> None:
    own_file("mine", (Path(__file__).parents[2] / "assets/triptych_assets/policies/nami.toml").read_text("utf-8"))
    own_file("broken", "[clear]\nkep = 3")
    session = opened(tmp_path / "s.json", tool_talk(2))
    app = app_on(session)
    async with app.run_test(size=(100, 60)) as pilot:
        await open_dialog(pilot, app)
        lines = screen_text(app).splitlines()
        first, second = (
            next(n for n, line in enumerate(lines) if line.strip(" ▌").startswith(f"{name} "))
            for name in ("lesson", "robust")
        )
        assert first < second < next(n for n, line in enumerate(lines) if "meowgent" in line)
        assert "L1 80 · L2 keep 2 · L3 > 3 turns" in lines[first]
        assert "in force" in lines[first]
        assert "L1 4,000 · L2 keep 3 · L3 75 %" in lines[second]
        assert "only where it saves tokens" in lines[second + 1]
        assert "your own" in next(line for line in lines if line.strip().startswith("mine"))
        assert "“clear.kep”" in screen_text(app).replace("\n", " ") or "kep" in screen_text(app)
        await pilot.press("end", "escape")
        await until(pilot, lambda: app.screen is app.workbench, "the workbench")
    assert session.session.policy == preset("lesson")


async def test_a_broken_policy_cannot_be_taken(tmp_path: Path) -> None:
    own_file("aaa", "stages = 3")
    session = opened(tmp_path / "s.json", tool_talk(2))
    app = app_on(session)
    async with app.run_test(size=(100, 60)) as pilot:
        await open_dialog(pilot, app)
        assert isinstance(app.screen, PolicyDialog)
        place = [each.name for each in app.screen._offers].index("aaa")
        await pilot.press("home", *["down"] * place, "enter")
        await pilot.pause()
        assert isinstance(app.screen, PolicyDialog)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_policy_that_is_taken_is_shown_at_once_and_remembered(tmp_path: Path, size: tuple[int, int]) -> None:
    session = opened(tmp_path / "s.json", tool_talk(5, 2000), ScriptedModel([says("Done.")], window=90_000))
    app = app_on(session)
    async with app.run_test(size=size) as pilot:
        await take(pilot, app, "robust")
        await until(pilot, lambda: "robust" in screen_text(app) and "in force" in screen_text(app), "its name")
        assert session.session.policy == preset("robust")
        await pilot.press("i", *"next", "enter")
        await until(pilot, lambda: "Done." in screen_text(app) and session.session.is_saved, "the answer")
        cleared = [entry for entry in session.session.entries if entry.has_mark(Cleared)]
        assert len(cleared) == 2
        assert str(cleared[0].message["content"]).startswith("[Old result of read_file cleared: 2000")
    assert reopened(session).session.policy == preset("robust")


async def test_the_stages_are_those_of_the_policy(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(1)))
    async with app.run_test(size=(120, 40)) as pilot:
        assert "L2 clear" in screen_text(app)
        await take(pilot, app, "meowgent")
        await until(pilot, lambda: "L2 prune" in screen_text(app), "the other layer 2")
        assert "meowgent is in force from the next stage on" in screen_text(app)


async def test_within_a_turn_that_waits_the_stage_that_is_shown_stays(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(3), ScriptedModel([says("Done.")], window=90_000))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "s", "i", *"next", "enter")
        await until(pilot, lambda: app.workbench.is_waiting, "the first stage")
        await pilot.press("f8")
        await until(pilot, lambda: "so clear 1" in screen_text(app), "layer 2 waits")
        await take(pilot, app, "meowgent")
        await until(pilot, lambda: "L2 prune" in screen_text(app), "the stages of the other policy")
        assert app.workbench.query_one(StageBar).moment.present == "clear"
        await pilot.press("f8")
        await until(pilot, lambda: "decide" in screen_text(app) and app.workbench.is_waiting, "the next stage")
        assert any(entry.has_mark(Cleared) for entry in session.session.entries), "as it was shown"
        await pilot.press("escape")
        await until(pilot, lambda: not app.workbench._is_running, "cancelled")


async def test_another_estimator_shows_other_numbers(tmp_path: Path) -> None:
    own_file(
        "mine",
        (Path(__file__).parents[2] / "assets/triptych_assets/policies/nami.toml")
        .read_text("utf-8")
        .replace('"meowgent"', '"chars4"'),
    )
    app = app_on(opened(tmp_path / "s.json", tool_talk(3)))
    async with app.run_test(size=(120, 40)) as pilot:
        before = app.workbench._sheet.total
        await take(pilot, app, "mine")
        await until(pilot, lambda: app.workbench._sheet.total < before, "counted anew")
        total, tools = app.workbench._sheet.total, app.workbench._sheet.schemas_tokens
        await until(pilot, lambda: f"~{total:,}" in screen_text(app) and f" {tools}" in screen_text(app), "shown")


async def test_edited_numbers_become_the_policys_and_are_remembered(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(5, 2000))
    session.session.policy = preset("robust")
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f3", "tab", "end", "backspace", "1", "enter")
        await until(pilot, lambda: "the policy keeps these" in screen_text(app), "the key")
        assert session.session.policy == preset("robust"), "a preview changes nothing"
        await pilot.press("K")
        await until(pilot, lambda: "preset robust, edited" in screen_text(app), "where they come from")
        await pilot.press("escape")
        await until(pilot, lambda: "robust, edited is in force" in screen_text(app), "said")
        await open_dialog(pilot, app)
        assert "L1 4,000 · L2 keep 1 · L3 75 %" in screen_text(app)
        await pilot.press("escape")
        await session.session.save()
    again = reopened(session).session.policy
    assert again.clear is not None
    assert (again.name, again.edited, again.clear.keep) == ("robust", True, 1)
    assert replace(again, edited=False, clear=preset("robust").clear) == preset("robust")


async def test_a_policy_is_saved_as_ones_own(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(5, 2000))
    session.session.policy = preset("robust")
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f3", "tab", "end", "backspace", "1", "enter", "S")
        await until(pilot, lambda: "my-robust" in screen_text(app), "the field")
        await pilot.press(*["backspace"] * 20, *"class", "enter")
        await until(pilot, lambda: "The policy is your own now" in screen_text(app), "said")
        own: Policy = find("class")
        assert session.session.policy == own
        assert own.clear is not None
        assert (own.name, own.edited, own.clear.keep) == ("class", False, 1)
        assert "preset class" in screen_text(app)
        await pilot.press("S", *["backspace"] * 20, *"lesson", "enter")
        await until(pilot, lambda: "has the name of a preset" in screen_text(app), "refused")
        assert not (own_folder() / "lesson.toml").exists()
        app.workbench.set_focus(app.workbench.query_one("#panel"))
        await pilot.press("S", *["backspace"] * 20, *"class", "enter")
        await until(pilot, lambda: "You have a policy" in screen_text(app), "the question")
        await pilot.press("y")
        await until(pilot, lambda: "The policy is your own now" in screen_text(app), "replaced")


async def test_a_hostile_name_from_a_journal_is_shown_harmless(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(5, 2000))
    session.session.policy = replace(preset("robust"), name="a\x1b[2J[@click=app.quit]b[/]", edited=True)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        assert "a␛[2J[@click=app.quit]b[/]" in screen_text(app), "the title"
        await open_dialog(pilot, app)
        assert "a␛[2J" in screen_text(app)
        assert "\x1b" not in screen_text(app)
        await pilot.press("escape", "f3")
        await until(pilot, lambda: "Clear old tool results" in screen_text(app), "the panel")
        await pilot.press("S")
        await until(pilot, lambda: "my-a␛[2J" in screen_text(app), "the field")
        assert "\x1b" not in screen_text(app)


@pytest.mark.parametrize("language", ["zh-Hans", "zh-Hant"])
def test_every_preset_says_in_the_readers_language_what_it_does(language: str) -> None:
    for name in preset_names():
        set_language("en")
        english = what_it_does(preset(name))
        assert english != preset(name).source
        set_language(language)
        assert what_it_does(preset(name)) != english
        assert cell_len(what_it_does(preset(name))) <= 74, "one row at 80 columns"
