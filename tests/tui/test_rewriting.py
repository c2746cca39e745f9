"""Taking back one earlier compaction, and going another way: nothing that was said is lost by it."""

from __future__ import annotations

import json
from pathlib import Path

from textual.pilot import Pilot

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, says
from triptych.entries import messages_of
from triptych.reasons import Reason
from triptych.storage.journal import journal_path
from triptych_tui.launch import OpenedSession


def after_a_summary(tmp_path: Path, *more: str) -> OpenedSession:
    model = ScriptedModel([says("A summary."), says("The answer."), *(says(text) for text in more)])
    return opened(tmp_path / "s.json", tool_talk(3), model)


async def ask(pilot: Pilot[int], session: OpenedSession, text: str, answer: str) -> None:
    await pilot.press("escape", "i", *text, "enter")
    await until(pilot, lambda: session.session.entries[-1].message.get("content") == answer, "the answer")
    await until(pilot, lambda: session.session.is_saved and "Esc cancel" not in screen_text(pilot.app), "the end")


async def test_r_takes_back_the_summary_and_keeps_the_later_answer(tmp_path: Path) -> None:
    session = after_a_summary(tmp_path)
    app = app_on(session)
    async with app.run_test(size=(160, 45)) as pilot:
        await ask(pilot, session, "next", "The answer.")
        await pilot.press("escape", "2", "home", "j", "j", "r")
        await until(pilot, lambda: "L3 summarize taken back" in screen_text(app), "taken back")
        messages = messages_of(session.session.entries)
        assert [each["content"] for each in messages[1:]][::4] == ["question 0", "question 1", "question 2", "next"]
        assert messages[-1]["content"] == "The answer."
        await until(pilot, lambda: session.session.is_saved, "saved")
        assert json.loads((tmp_path / "s.json").read_text("utf-8")) == messages
        await pilot.press("u")
        await until(pilot, lambda: "A summary." in screen_text(app), "undone")
        assert "undone  L3 summarize taken back" in screen_text(app)


async def test_r_says_why_it_cannot(tmp_path: Path) -> None:
    session = after_a_summary(tmp_path)
    app = app_on(session)
    async with app.run_test(size=(160, 45)) as pilot:
        await ask(pilot, session, "next", "The answer.")
        before = session.session.entries
        await pilot.press("escape", "2", "end", "r")
        await pilot.pause()
        assert "No layer made this entry" in screen_text(app)
        await pilot.press("escape", "left_curly_bracket", "left_curly_bracket", "r")
        await pilot.pause()
        assert "Later steps have changed what this one made." in screen_text(app)
        assert session.session.entries is before


async def test_b_goes_another_way_and_both_ways_stay(tmp_path: Path) -> None:
    session = after_a_summary(tmp_path, "Another summary.", "Another answer.")
    app = app_on(session)
    async with app.run_test(size=(160, 45)) as pilot:
        await ask(pilot, session, "next", "The answer.")
        first_way = messages_of(session.session.entries)
        await pilot.press("escape", "b")
        await pilot.pause()
        assert "You are at the newest step" in screen_text(app)
        await pilot.press("f7", "f7", "f7", "f7", "b")
        await until(pilot, lambda: "goes on from here" in screen_text(app), "branched")
        await pilot.press("right_curly_bracket")
        await until(pilot, lambda: "is on the way that was left" in screen_text(app), "it says where the next one is")
        assert len(session.session.entries) == 13
        await ask(pilot, session, "instead", "Another answer.")
        assert messages_of(session.session.entries) != first_way
        await pilot.press("escape", "B")
        await until(pilot, lambda: "(here)" in screen_text(app), "both branches")
        await pilot.press(*"The", "enter")
        await until(pilot, lambda: messages_of(session.session.entries) == first_way, "the first way again")
        await until(pilot, lambda: session.session.is_saved, "saved")
        assert json.loads((tmp_path / "s.json").read_text("utf-8")) == first_way


async def test_no_branch_begins_where_a_call_has_no_result_yet(tmp_path: Path) -> None:
    talk = tool_talk(1)
    session = opened(tmp_path / "s.json", [], ScriptedModel([says("unused")]))
    for message in talk:
        session.session.append("append", message, Reason("turn.received"), session.session.begin_action())
    app = app_on(session)
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.press("escape", "f7", "f7", "b")
        await pilot.pause()
        assert "A call has no result here yet" in screen_text(app)
        assert len(session.session.entries) == 5


async def test_originals_are_forgotten_when_that_is_answered_with_yes(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(3), ScriptedModel([says("A summary."), says("The answer.")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"next", "enter")
        await until(pilot, lambda: "last turn" in screen_text(app) and session.session.is_saved, "the answer")
        await pilot.press("escape", "E")
        assert "This forgets all originals" in screen_text(app)
        await pilot.press("escape", "escape")
        assert session.session.timeline.path(), "Esc forgets nothing"
        await pilot.press("E", "y")
        await until(pilot, lambda: "is forgotten for good" in screen_text(app), "forgotten")
        assert "question 0" not in journal_path(tmp_path / "s.json").read_text("utf-8")
        await pilot.press("escape", "escape", "u")
        await pilot.pause()
        assert "was forgotten as you wished" in screen_text(app)


async def test_the_lessons_view_shows_the_list_alone_and_leads_back(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(3), ScriptedModel([says("A summary."), says("The answer.")]))
    app = app_on(session)
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.press(*"next", "enter")
        await until(pilot, lambda: "last turn" in screen_text(app) and session.session.is_saved, "the answer")
        assert "Σ SUMMARY?" not in screen_text(app)
        await pilot.press("escape", "L")
        await until(pilot, lambda: "This is the list alone" in screen_text(app), "the list alone")
        assert "Σ SUMMARY?" in screen_text(app)
        assert "step 0 / 0" in screen_text(app)
        await until(pilot, lambda: app.focused is not None and app.focused.id == "messages", "letters are keys")
        await pilot.press("L")
        await until(pilot, lambda: "step 4 / 4" in screen_text(app), "all is there again")
        assert "Σ SUMMARY?" not in screen_text(app)
        await pilot.press("L")
        await until(pilot, lambda: "Σ SUMMARY?" in screen_text(app), "and to and fro")
