"""Questions in the workbench: streaming, stopping, failing."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, fails, says
from triptych.checks import would_be_refused
from triptych.entries import messages_of
from triptych.models.offline import OfflineModel
from triptych_tui.widgets.prompt import PromptText

SLOWLY = 0.05


async def test_an_answer_is_seen_while_it_streams_and_esc_keeps_what_was_said(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", [], OfflineModel(pace=SLOWLY))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "I am the offline" in screen_text(app), "the beginning of the answer")
        assert len(session.session.entries) == 2, "the answer is no entry yet"
        await pilot.press("escape")
        await until(pilot, lambda: "STOPPED" in screen_text(app), "the mark")
        await until(pilot, lambda: session.session.is_saved, "saved")
    messages = messages_of(session.session.entries)
    assert messages[1] == {"role": "user", "content": "hello"}
    assert messages[2]["content"].startswith("I am the offline")
    assert not would_be_refused(messages)
    assert json.loads((tmp_path / "s.json").read_bytes()) == messages


async def test_a_question_whose_request_fails_returns_to_the_prompt(tmp_path: Path) -> None:
    model = ScriptedModel([fails("model.empty"), says("Now it works.")])
    session = opened(tmp_path / "s.json", tool_talk(2), model)
    before = messages_of(session.session.entries)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"lost", "enter")
        await until(pilot, lambda: "Esc dismiss" in screen_text(app), "the sentence")
        await until(pilot, lambda: app.screen.query_one(PromptText).text == "lost", "the text is back")
        assert messages_of(session.session.entries) == before
        await pilot.press("enter")
        await until(pilot, lambda: "Now it works." in screen_text(app), "the next try")
    assert messages_of(session.session.entries)[-2:] == [
        {"role": "user", "content": "lost"},
        {"role": "assistant", "content": "Now it works."},
    ]


async def test_leaving_while_an_answer_streams_saves_what_was_said(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", [], OfflineModel(pace=SLOWLY))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "I am the" in screen_text(app), "the beginning of the answer")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app.return_code == 0 or not app.is_running, "the end")
    saved = json.loads((tmp_path / "s.json").read_bytes())
    assert saved[1] == {"role": "user", "content": "hello"}
    assert saved[2]["content"].startswith("I am the")


async def test_words_typed_and_sent_in_one_burst_arrive_whole(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", [], ScriptedModel([says("Yes.")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"one", "ctrl+j", *"two", "enter")
        await until(pilot, lambda: "Yes." in screen_text(app), "the answer")
    assert session.session.entries[1].message["content"] == "one\ntwo"
