"""Step mode: every stage waits, says why and what it will do."""

from __future__ import annotations

from pathlib import Path

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, says
from triptych.checks import would_be_refused
from triptych.entries import messages_of


async def test_every_stage_waits_until_f8_and_the_plan_is_shown_before_it_is_done(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(3), ScriptedModel([says("A summary."), says("The answer.")]))
    app = app_on(session)
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.press("escape", "s", "i", *"next", "enter")
        await until(pilot, lambda: "waiting here" in screen_text(app), "the first stage")
        assert "step mode" in screen_text(app)
        assert len(session.session.entries) == 13, "the question waits as well"
        await pilot.press("f8")
        await until(pilot, lambda: "so clear 1" in screen_text(app), "layer 2 says why")
        assert "∅ → ~" in screen_text(app), "and what it will do"
        assert session.session.entries[3].message["content"] == "0" * 200, "not yet"
        await pilot.press("f8")
        await until(pilot, lambda: session.session.entries[3].message["content"] != "0" * 200, "cleared")
        for _ in range(20):
            if session.session.entries[-1].message.get("content") == "The answer." and session.session.is_saved:
                break
            await until(pilot, lambda: "waiting here" in screen_text(app) or session.session.is_saved, "the next stage")
            await pilot.press("f8")
            await pilot.pause()
        await until(pilot, lambda: "last turn" in screen_text(app), "the end of the turn")
    assert session.session.entries[1].message["content"].endswith("A summary.")


async def test_esc_cancels_the_turn_that_waits_and_leaves_a_sound_list(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(3), ScriptedModel([says("never")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "s", "i", *"next", "enter")
        await until(pilot, lambda: "waiting here" in screen_text(app), "the first stage")
        await pilot.press("f8")
        await until(pilot, lambda: "so clear 1" in screen_text(app), "layer 2")
        await pilot.press("escape")
        await until(pilot, lambda: "waiting here" not in screen_text(app), "cancelled")
    assert session.session.entries[3].message["content"] == "0" * 200
    assert not would_be_refused(messages_of(session.session.entries))


async def test_leaving_step_mode_lets_the_turn_run_on(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(1), ScriptedModel([says("The answer.")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "s", "i", *"next", "enter")
        await until(pilot, lambda: "waiting here" in screen_text(app), "the first stage")
        await pilot.press("tab", "s")
        await until(pilot, lambda: "The answer." in screen_text(app), "the answer")
