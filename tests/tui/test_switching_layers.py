"""A layer is switched off so that another can be watched alone, and on again."""

from __future__ import annotations

from pathlib import Path

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, says
from triptych.entries import Cleared, Summary


async def test_layer_2_is_watched_alone_while_layer_3_is_off(tmp_path: Path) -> None:
    model = ScriptedModel([says("First."), says("A summary."), says("Second.")])
    session = opened(tmp_path / "s.json", tool_talk(3), model)
    app = app_on(session)
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.press("f4", "o")
        assert "by hand, in turns it is off" in screen_text(app)
        assert "let it run in turns again" in screen_text(app)
        await pilot.press("escape")
        assert "L3 summarize does not run in turns any more" in screen_text(app)
        assert "L3 off" in screen_text(app)
        await pilot.press("i", *"next", "enter")
        await until(pilot, lambda: "First." in screen_text(app) and session.session.is_saved, "the answer")
        assert any(entry.has_mark(Cleared) for entry in session.session.entries)
        assert not any(entry.has_mark(Summary) for entry in session.session.entries)
        assert len(model.requests) == 1, "nobody asked for a summary"
        await pilot.press("f4", "o", "escape")
        assert "L3 summarize runs in turns again" in screen_text(app)
        await pilot.press("i", *"more", "enter")
        await until(pilot, lambda: "Second." in screen_text(app) and session.session.is_saved, "the answer")
        assert session.session.entries[1].has_mark(Summary)


async def test_a_narrow_screen_and_step_mode_show_that_a_layer_is_off(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(3), ScriptedModel([says("The answer.")]))
    app = app_on(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f4", "o", "escape", "escape", "s", "i", *"next", "enter")
        assert "L3 off" in screen_text(app)
        for _ in range(12):
            await until(pilot, lambda: "F8 go on" in screen_text(app) or session.session.is_saved, "the next stage")
            if "layer 3 is switched off, so nothing to summarize" in screen_text(app):
                break
            await pilot.press("f8")
        assert "layer 3 is switched off, so nothing to summarize" in screen_text(app)
        await pilot.press("escape")


async def test_a_layer_that_the_policy_does_not_have_cannot_be_switched(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(3), ScriptedModel([]))
    session.session.policy = type(session.session.policy)(
        "bare", ("receive", "request", "tool", "append", "answer", "save")
    )
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f2")
        assert "in turns" not in screen_text(app)
        await pilot.press("o")
        await pilot.pause()
        assert "This policy has no such layer in its turns" in screen_text(app)
