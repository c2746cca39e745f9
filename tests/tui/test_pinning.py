"""p: the exchange of the selected entry is pinned; shown in list and chat, undone, heeded, and there again."""

from __future__ import annotations

from pathlib import Path

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from triptych.policy import preset
from triptych.settings import Settings
from triptych.storage.session_lock import lock_path
from triptych_tui.launch import Launch, OpenedSession, open_session


def pinned(session: OpenedSession) -> list[int]:
    return [index for index, entry in enumerate(session.session.entries) if entry.pinned]


async def test_p_pins_the_exchange_and_u_takes_it_back(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(5, 2000))
    session.session.policy = preset("robust")
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "2", "home", *["down"] * 4, "p")
        await until(pilot, lambda: pinned(session) == [2, 3], "pinned")
        await until(pilot, lambda: screen_text(app).count("◆ PINNED") == 4, "in list and chat")
        assert "entries 2–3 are pinned" in screen_text(app)
        await until(pilot, lambda: session.session.is_saved, "saved")
        await pilot.press("f3")
        await until(pilot, lambda: "1 pinned result stays" in screen_text(app), "the panel")
        assert "5 tool results, keep 3: 1 cleared" in screen_text(app)
        await pilot.press("escape", "u")
        await until(pilot, lambda: pinned(session) == [], "undone")
        await pilot.press("ctrl+r", "p")
        await until(pilot, lambda: "pinned no more" in screen_text(app), "let go")
        await pilot.press("end", "p")
        await until(pilot, lambda: "entry 20 is pinned" in screen_text(app), "one alone")
        await pilot.press("u", "u", "f7", "p")
        await until(pilot, lambda: "You are looking back" in screen_text(app), "why not")
        await pilot.press("escape", "escape")
        await session.session.save()
    disk = session.on_disk()
    assert disk is not None
    lock_path(disk.path).unlink(missing_ok=True)
    assert pinned(open_session(Launch(Settings(), disk.path), {})) == [2, 3]


async def test_a_cleared_result_shows_both_marks_and_no_original_of_a_pin(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f3", "enter", "escape", "2", "home", *["down"] * 4, "p")
        await until(pilot, lambda: "◆∅ CLEARED" in screen_text(app), "both marks")
        assert "this policy's layers know no pins" in screen_text(app)
        await pilot.press("end", "up", "p", "v")
        await until(pilot, lambda: "its own original" in screen_text(app), "no original")


async def test_a_panel_follows_a_pin(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(5, 2000))
    session.session.policy = preset("robust")
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "2", "home", *["down"] * 4, "f3")
        await until(pilot, lambda: "2 cleared" in screen_text(app), "the plan")
        app.workbench.set_focus(app.workbench.query_one("#messages"))
        await pilot.press("p")
        await until(pilot, lambda: "1 cleared" in screen_text(app), "the plan without it")
        app.workbench.set_focus(app.workbench.query_one("#panel"))
        await pilot.press("enter")
        await until(pilot, lambda: session.session.is_saved, "applied")
    assert session.session.entries[3].message["content"] == "0" * 2000
    assert session.session.entries[7].message["content"] != "1" * 2000
