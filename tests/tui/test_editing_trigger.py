"""When layer 3 runs by itself: fields of its panel, which the policy keeps as it keeps the numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, says
from triptych.entries import Summary, messages_of
from triptych.policy import Policy, Trigger, preset
from triptych.policy_files import find
from triptych.settings import Settings
from triptych.storage.session_lock import lock_path
from triptych_tui.app import TriptychApp
from triptych_tui.i18n import set_language
from triptych_tui.launch import Launch, OpenedSession, open_session
from triptych_tui.parameter_fields import words_of
from triptych_tui.widgets.choice_field import ChoiceField


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    yield
    set_language("en")


def session_of(file: Path, policy: Policy, model: ScriptedModel | None = None) -> OpenedSession:
    session = opened(file, tool_talk(6), model)
    session.session.policy = policy
    return session


def field(app: TriptychApp, name: str) -> Input:
    return app.screen.query_one(f"#parameter-{name}", Input)


def says_in_one_line(app: TriptychApp, words: str) -> bool:
    return words.replace(" ", "") in "".join(screen_text(app).split())


def reopened(session: OpenedSession) -> OpenedSession:
    assert session.kept is not None
    lock_path(session.kept.path).unlink(missing_ok=True)
    return open_session(Launch(Settings(), session.kept.path), {})


async def test_another_trigger_is_kept_and_the_next_question_goes_by_it(tmp_path: Path) -> None:
    model = ScriptedModel([says("Done.")], window=90_000)
    session = session_of(tmp_path / "s.json", preset("lesson"), model)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f4")
        await until(pilot, lambda: "Runs by itself" in screen_text(app) and "> 3 turns" in screen_text(app), "the form")
        (cut,) = re.findall(r"cut=\d+", screen_text(app))
        field(app, "messages").value = "500"
        await until(
            pilot,
            lambda: says_in_one_line(app, "“above (turns)”, “above (messages)” exclude each other"),
            "two at once",
        )
        await pilot.press("K")
        assert session.session.policy == preset("lesson"), "nothing is kept of two at once"
        field(app, "turns").value = ""
        await until(pilot, lambda: "> 500 messages" in screen_text(app), "the other trigger")
        assert cut in screen_text(app), "the preview is what it was"
        await pilot.press("K")
        await until(pilot, lambda: "preset lesson, edited" in screen_text(app), "kept")
        await pilot.press("escape", "i", *"next", "enter")
        await until(pilot, lambda: "Done." in screen_text(app) and session.session.is_saved, "the answer")
        assert not any(entry.has_mark(Summary) for entry in session.session.entries), "7 turns and no summary"
    again = reopened(session).session.policy
    assert again == replace(preset("lesson"), trigger=Trigger(messages=500), edited=True)


async def test_the_lessons_turns_follow_what_is_kept_until_they_are_changed_themselves(tmp_path: Path) -> None:
    session = session_of(tmp_path / "s.json", preset("lesson"))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f4")
        field(app, "keep_turns").value = "4"
        await until(pilot, lambda: field(app, "turns").value == "4" and "> 4 turns" in screen_text(app), "moved along")
        field(app, "turns").value = "9"
        await until(pilot, lambda: "> 9 turns" in screen_text(app), "changed")
        field(app, "keep_turns").value = "2"
        await until(pilot, lambda: "cut=17" in screen_text(app), "another cut")
        assert field(app, "turns").value == "9"
        await pilot.press("K")
        await until(pilot, lambda: "preset lesson, edited" in screen_text(app), "kept")
    kept = session.session.policy
    assert kept.summarize is not None
    assert (kept.summarize.keep_turns, kept.trigger) == (2, Trigger(turns=9))


async def test_the_trigger_goes_into_a_file_of_ones_own(tmp_path: Path) -> None:
    session = session_of(tmp_path / "s.json", preset("robust"))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f4")
        field(app, "turns_without_window").value = ""
        field(app, "reserve_tokens").value = "5000"
        field(app, "window_share").value = "1.5"
        await until(pilot, lambda: says_in_one_line(app, "“from (of the window)” is 1.5, but must be"), "no part")
        field(app, "window_share").value = "0.6"
        app.screen.query_one("#parameter-count_results", ChoiceField).action_cycle(1)
        field(app, "prefix").value = r"[Before]\n"
        await until(pilot, lambda: "must be" not in screen_text(app) and "edited" in screen_text(app), "all taken")
        await pilot.press("S", *["backspace"] * 20, *"mine", "enter")
        await until(pilot, lambda: "The policy is your own now" in screen_text(app), "said")
    own = find("mine")
    assert own.trigger == Trigger(window_share=0.6, reserve_tokens=5000)
    assert own.summarize is not None
    assert (own.summarize.prefix, own.summarize.count_results) == ("[Before]\n", False)


async def test_a_summary_that_is_there_survives_another_trigger_and_has_the_prefix_typed_before(tmp_path: Path) -> None:
    session = session_of(tmp_path / "s.json", preset("lesson"), ScriptedModel([says("They talked.")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f4")
        field(app, "prefix").value = "So far: "
        field(app, "acknowledgement").value = "Go on."
        await pilot.pause()
        await pilot.press("enter")
        await until(pilot, lambda: "as received" in screen_text(app), "the summary")
        assert all(words in screen_text(app) for words in ("Parameters", "They talked.", "not empty")), "room for all"
        field(app, "turns").value = "8"
        await until(pilot, lambda: "> 8 turns" in screen_text(app), "another trigger")
        assert "as received" in screen_text(app)
        app.workbench.set_focus(app.workbench.query_one("#panel"))
        await pilot.press("enter")
        await until(pilot, lambda: any(each.has_mark(Summary) for each in session.session.entries), "applied")
    texts = [message["content"] for message in messages_of(session.session.entries)]
    place = texts.index("So far: They talked.")
    assert texts[place + 1] == "Go on."


@pytest.mark.parametrize("language", ["en", "zh_Hans", "zh_Hant"])
async def test_every_field_can_be_reached_and_seen_on_a_small_screen(tmp_path: Path, language: str) -> None:
    app = app_on(session_of(tmp_path / "s.json", preset("robust")))
    async with app.run_test(size=(80, 24)) as pilot:
        set_language(language)
        await pilot.press("f4", "tab")
        for _ in range(60):
            if app.focused is not None and app.focused.id == "parameter-reserve_tokens":
                break
            await pilot.press("down")
        assert app.focused is not None
        assert app.focused.id == "parameter-reserve_tokens"
        label, meaning = words_of(Trigger(), "reserve_tokens")
        await until(pilot, lambda: says_in_one_line(app, label) and says_in_one_line(app, meaning), "in view")
        assert "Esc" in screen_text(app)
