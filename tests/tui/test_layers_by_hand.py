"""F2, F3, F4 on a session: shown first, applied by one key, left by another, taken back exactly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from textual.widgets import TextArea

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, fails, says
from tests.support_workbench import SYSTEM
from triptych.entries import entries_from, messages_of
from triptych.lesson_api import clean_old_tool_result, cut_tool_result
from triptych.models.base import Delta, Finish, Request, TextDelta
from triptych.policy import preset
from triptych.session import Session
from triptych.tokens import Usage
from triptych_tui.app import TriptychApp
from triptych_tui.launch import OpenedSession
from triptych_tui.untrusted import clean

SIZES = [(80, 24), (120, 40), (200, 50)]


def saved(session: OpenedSession) -> list[dict[str, object]]:
    disk = session.on_disk()
    assert disk is not None
    return list(json.loads(disk.path.read_bytes()))


def list_of(session: OpenedSession) -> str:
    return json.dumps(messages_of(session.session.entries))


@pytest.mark.parametrize("size", SIZES)
async def test_f3_shows_targets_and_gain_and_enter_applies_what_was_shown(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4))
    before = messages_of(session.session.entries)
    app = app_on(session)
    async with app.run_test(size=size) as pilot:
        await pilot.press("f3")
        await until(pilot, lambda: "Clear old tool results" in screen_text(app), "the panel")
        shown = screen_text(app)
        assert "4 tool results > keep 2, so clear 2" in shown
        assert "tool_msgs=[3, 7, 11, 15] old_tool_msgs=[3, 7]" in shown
        assert messages_of(session.session.entries) == before, "a preview changes nothing"
        await pilot.press("enter")
        await until(pilot, lambda: session.session.is_saved and session.on_disk() is not None, "saved")
    expected = json.loads(json.dumps(before))
    clean_old_tool_result(expected, 2)
    assert messages_of(session.session.entries) == expected
    assert saved(session) == expected


async def test_targets_are_called_by_their_own_calls_where_ids_begin_again_in_each_answer(tmp_path: Path) -> None:
    messages = tool_talk(4)
    for number, at in enumerate(range(1, len(messages), 4)):
        function = {"name": "read_file", "arguments": f'{{"path": "file-{number}"}}'}
        messages[at]["tool_calls"] = [{"id": "call_0", "type": "function", "function": function}]
        messages[at + 1]["tool_call_id"] = "call_0"
    app = app_on(opened(tmp_path / "s.json", messages))
    async with app.run_test(size=(200, 50)) as pilot:
        await pilot.press("f3")
        await until(pilot, lambda: "Targets" in screen_text(app), "the panel")
        panel = [line for line in screen_text(app).splitlines() if "T read_file" in line]
        assert [f"file-{number}" in line for number, line in enumerate(panel)] == [True] * 4


@pytest.mark.parametrize("key", ["f2", "f3", "f4"])
async def test_esc_leaves_everything_as_it_was(tmp_path: Path, key: str) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4))
    before = session.session.entries
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        await until(pilot, lambda: "leave everything as it was" in screen_text(app), "the panel")
        await pilot.press("escape")
        await until(pilot, lambda: "leave everything as it was" not in screen_text(app), "the panel is gone")
        assert session.session.entries is before
        assert session.on_disk() is None, "nothing was written"


async def test_f4_plans_nothing_where_nothing_is_old(tmp_path: Path) -> None:
    entries = entries_from([{"role": "user", "content": f"q{number}"} for number in range(4)])
    session = opened(tmp_path / "s.json", [])._replace(session=Session(entries, preset("lesson")))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f4")
        await until(pilot, lambda: "4 user turns, keep 3: nothing old to summarize" in screen_text(app), "the panel")
        await pilot.press("enter", "escape")
        await until(pilot, lambda: "nothing old to summarize" not in screen_text(app), "the panel is gone")
    assert session.session.timeline.last_id == 0


async def test_f2_on_a_selected_result_cuts_that_one_alone(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(3))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "2", "home", "down", "down", "down", "down", "f2")  # the tools row is the first
        await until(pilot, lambda: "Truncate tool results" in screen_text(app), "the panel")
        assert "len(text)=200 limit=80 start_count=40" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: session.session.is_saved, "saved")
    contents = [entry.message["content"] for entry in session.session.entries if entry.message["role"] == "tool"]
    assert contents == [cut_tool_result("0" * 200, 80), "1" * 200, "2" * 200]


async def test_the_line_of_keys_goes_with_the_field_that_has_the_focus(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(4), ScriptedModel([says("They talked about 4417.")])))
    async with app.run_test(size=(120, 60)) as pilot:
        await pilot.press("f4")
        await until(pilot, lambda: "Enter ask for the summary   Esc leave   tab next field" in screen_text(app), "keys")
        await pilot.press("tab")
        await until(pilot, lambda: "Enter back   ctrl+j ask for the summary" in screen_text(app), "a parameter")
        await pilot.press("ctrl+j")
        await until(pilot, lambda: "They talked about 4417." in screen_text(app), "the summary")
        app.workbench.set_focus(app.workbench.query_one("#summary-text"))
        await until(pilot, lambda: "Enter new line   ctrl+j apply" in screen_text(app), "the summary's keys")


async def test_f2_says_when_a_result_gets_longer(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(1, characters=85))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f2")
        await until(pilot, lambda: "95 with the notice, longer" in screen_text(app), "the warning")


async def test_f4_shows_the_request_then_the_summary_and_applies_that_text(tmp_path: Path) -> None:
    model = ScriptedModel([says("They talked about 4417.")])
    session = opened(tmp_path / "s.json", tool_talk(4), model)
    before = list_of(session)
    app = app_on(session)
    async with app.run_test(size=(120, 60)) as pilot:
        await pilot.press("f4")
        await until(pilot, lambda: "exactly as sent" in screen_text(app), "the request")
        assert "[user] question 0" in screen_text(app)
        assert not model.requests, "nothing is sent before Enter"
        await pilot.press("enter")
        await until(pilot, lambda: "They talked about 4417." in screen_text(app), "the summary")
        assert list_of(session) == before, "shown, not applied"
        await pilot.press("enter")
        await until(pilot, lambda: session.session.is_saved, "saved")
    assert len(model.requests) == 1
    assert session.session.entries[1].message["content"] == "[以下是此前对话的摘要]\nThey talked about 4417."
    assert saved(session) == messages_of(session.session.entries)


class Pausing(ScriptedModel):
    """Stops in the midst of its answer until it is told to go on."""

    def __init__(self, text: str) -> None:
        super().__init__([[TextDelta(text), Finish("stop")]])
        self.go_on = asyncio.Event()

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        async for delta in super().stream(request):
            yield delta
            await self.go_on.wait()


@pytest.mark.parametrize("size", SIZES)
async def test_a_summary_is_read_while_it_is_written_however_long_the_request(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    model = Pausing("They talked about 4417.")
    app = app_on(opened(tmp_path / "s.json", tool_talk(9), model))
    async with app.run_test(size=size) as pilot:
        await pilot.press("f4", "enter")
        await until(pilot, lambda: "They talked about 4417." in screen_text(app), "what has come so far")
        model.go_on.set()
        await until(pilot, lambda: "Enter apply" in screen_text(app), "something to apply")


async def test_a_workbench_can_end_while_a_summary_is_written(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4), Pausing("They talked"))
    before = session.session.entries
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f4", "enter")
        await until(pilot, lambda: "They talked" in screen_text(app), "the beginning of the summary")
    assert session.session.entries is before


async def test_f4_with_a_failing_model_says_so_and_keeps_everything(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4), ScriptedModel([fails("model.empty")]))
    before = session.session.entries
    app = app_on(session)
    async with app.run_test(size=(120, 60)) as pilot:
        await pilot.press("f4", "enter")
        await until(pilot, lambda: "Esc dismiss" in screen_text(app), "the sentence")
        assert "ask the model for the summary" in screen_text(app), "it can be asked for again"
        assert session.session.entries is before


async def test_undo_and_redo_give_back_the_same_messages_and_save_them(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4), ScriptedModel([says("A summary.")]))
    app = app_on(session)
    states = [list_of(session)]
    async with app.run_test(size=(120, 40)) as pilot:
        for keys in (["f2"], ["f3"], ["f4", "enter"]):
            await pilot.press(*keys)
            await until(pilot, lambda: "Enter apply" in screen_text(app), "something to apply")
            await pilot.press("enter")
            await until(pilot, lambda: list_of(session) != states[-1], "applied")
            states.append(list_of(session))
        await pilot.press("escape")
        for state in states[-2::-1]:
            await press_and_wait(app, session, "u", state, pilot)
        await pilot.press("u")
        await until(pilot, lambda: "nothing to" in screen_text(app), "the start is said")
        for state in states[1:]:
            await press_and_wait(app, session, "ctrl+r", state, pilot)
    assert json.dumps(saved(session)) == states[-1]


def key_line(app: TriptychApp) -> str:
    return screen_text(app).rstrip().rpartition("\n")[2]


async def test_the_bottom_line_offers_redo_and_undo_where_there_is_something_to_do(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4))
    app = app_on(session)
    async with app.run_test(size=(200, 40)) as pilot:
        assert "redo" not in key_line(app)
        await pilot.press("escape")
        await until(pilot, lambda: "copy" in key_line(app), "the keys of the pane")
        assert "undo" not in key_line(app)
        assert "redo" not in key_line(app)
        await pilot.press("f3", "enter")
        await until(pilot, lambda: "u undo" in key_line(app), "a step that can be taken back")
        assert "redo" not in key_line(app)
        await pilot.press("u")
        await until(pilot, lambda: "ctrl+r redo" in key_line(app), "a step that can be done again")
        assert "undo" not in key_line(app)
        await pilot.press("i")
        await until(pilot, lambda: "ctrl+r redo" in key_line(app) and "new line" in key_line(app), "at the prompt too")


async def press_and_wait(app: TriptychApp, session: OpenedSession, key: str, state: str, pilot: object) -> None:
    from textual.pilot import Pilot

    assert isinstance(pilot, Pilot)
    await pilot.press(key)
    await until(pilot, lambda: list_of(session) == state and session.session.is_saved, f"{key} to that state")


async def test_parameters_are_edited_with_live_preview_and_bad_values_are_said(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f3")
        await until(pilot, lambda: "so clear 2" in screen_text(app), "the plan in force")
        assert "preset lesson" in screen_text(app)
        await pilot.press("tab", "end", "backspace", "1")
        await until(pilot, lambda: "4 tool results > keep 1, so clear 3" in screen_text(app), "the new plan")
        assert "edited" in screen_text(app)
        await pilot.press("backspace", "x")
        await until(
            pilot, lambda: "“keep (results)” is “x”, but must be a whole number" in screen_text(app), "what is wrong"
        )
        assert "apply as one step" not in screen_text(app)
        await pilot.press("backspace", "1", "ctrl+j")
        await until(pilot, lambda: session.session.is_saved and session.on_disk() is not None, "applied from the field")
    expected = [{"role": "system", "content": SYSTEM}, *tool_talk(4)]
    clean_old_tool_result(expected, 1)
    assert messages_of(session.session.entries) == expected


async def test_f2_tries_a_text_of_ones_own(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(1))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f2", "tab", "end", "backspace", "backspace", "4", "tab", "tab", *"0123456789")
        await until(pilot, lambda: "longer, and cut again  10 → 19 → 20" in screen_text(app), "that it gets longer")
        assert "01⏎...中间省略6个字...⏎89" in screen_text(app)


async def test_a_summary_can_be_edited_asked_for_again_and_taken_as_received(tmp_path: Path) -> None:
    model = ScriptedModel([says("First."), says("Second.", prompt_tokens=60)])
    session = opened(tmp_path / "s.json", tool_talk(4), model)
    app = app_on(session)
    async with app.run_test(size=(120, 70)) as pilot:
        await pilot.press("f4", "enter")
        await until(pilot, lambda: "First." in screen_text(app), "the summary")
        await pilot.press("r")
        await until(pilot, lambda: "Second." in screen_text(app), "the second try")
        await pilot.press("tab", *"My ")  # the text comes before the many fields
        await until(pilot, lambda: "edited by you" in screen_text(app), "edited")
        app.screen.query_one("#panel").focus()
        await pilot.press("v")
        await until(pilot, lambda: "edited by you" not in screen_text(app), "as received")
        app.screen.query_one("#summary-text").focus()
        await pilot.press(*"Our ", "ctrl+j")
        await until(pilot, lambda: session.session.is_saved and session.on_disk() is not None, "accepted")
    assert session.session.entries[1].message["content"] == "[以下是此前对话的摘要]\nOur Second."
    assert [step.usage for step in session.session.timeline.path()] == [Usage(60, 1)]


async def test_a_summary_with_control_characters_is_shown_harmless_and_accepted_as_it_was_received(
    tmp_path: Path,
) -> None:
    received = "one \x1b[2J two\u202e\tthree"
    session = opened(tmp_path / "s.json", tool_talk(4), ScriptedModel([says(received)]))
    app = app_on(session)
    async with app.run_test(size=(120, 60)) as pilot:
        await pilot.press("f4", "enter")
        await until(pilot, lambda: "Enter apply" in screen_text(app), "something to apply")
        assert app.screen.query_one("#summary-text", TextArea).text == clean(received)
        assert "edited by you" not in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: session.session.is_saved and session.on_disk() is not None, "applied")
    assert session.session.entries[1].message["content"] == "[以下是此前对话的摘要]\n" + received
