"""A session that was not closed in order says what was found; whatever is answered, nothing that is there is lost."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot

from tests.core.test_damaged_journal import ask, damaged, is_kept, list_on_disk, question, talk
from tests.support_pilot import app_on, screen_text, until
from tests.support_session_files import SYSTEM
from triptych.entries import messages_of
from triptych.settings import Settings
from triptych.storage.journal import journal_path
from triptych.storage.places import default_session_path
from triptych.storage.session_lock import SessionLock
from triptych_tui.app import TriptychApp
from triptych_tui.launch import Launch, OpenedSession, open_session
from triptych_tui.screens.found_dialog import FoundDialog
from triptych_tui.widgets.prompt import PromptText

Pilots = Pilot[Any]
SAVED = [SYSTEM, question("one"), question("two"), question("another way")]
THEIRS = [SYSTEM, question("theirs")]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "s.json"


def open_at(path: Path | None, **settings: Any) -> OpenedSession:
    return open_session(Launch(Settings(**settings), path), {})


async def crash(path: Path) -> None:
    """The program is killed in the midst of an answer."""
    session = await talk(path)
    ask(session, "and then?")
    session.keep_draft("The keeper lit the lamp")
    leave(session.store)


def leave(store: Any) -> None:
    store.leave()


async def change_outside(path: Path) -> None:
    leave((await talk(path)).store)
    write(path)


def write(path: Path) -> None:
    path.write_text(json.dumps(THEIRS), "utf-8")


def said(app: TriptychApp) -> str:
    return " ".join(screen_text(app).replace("│", " ").split())


async def shown(pilot: Pilots, app: TriptychApp) -> str:
    await until(pilot, lambda: isinstance(app.screen, FoundDialog) and "was found" in said(app), "the dialog")
    return said(app)


async def gone_on(pilot: Pilots, app: TriptychApp) -> None:
    await until(pilot, lambda: app.screen is app.workbench, "the workbench")


def messages(app: TriptychApp) -> list[dict[str, Any]]:
    return messages_of(app.session.entries)


async def test_what_was_closed_in_order_opens_without_a_word(file: Path) -> None:
    leave((await talk(file)).store)
    opened = open_at(file)
    assert (opened.found, opened.notice) == (None, None)
    app = app_on(opened)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.session.store is not None, "kept")
        assert app.screen is app.workbench


async def test_nothing_of_it_is_loaded_where_there_is_nothing_to_say(file: Path) -> None:
    leave((await talk(file)).store)
    code = f"""
import sys
from pathlib import Path
from triptych.settings import Settings
from triptych_tui.launch import Launch, open_session
import triptych_tui.app
open_session(Launch(Settings(), Path({str(file)!r})), {{}})
print(sorted({{"triptych_tui.found", "triptych_tui.screens.found_dialog"}} & set(sys.modules)))
"""
    done = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    told, _errors = await done.communicate()
    assert told.decode().strip() == "[]"


async def test_an_answer_under_way_is_told_with_both_lists_and_enter_goes_on(file: Path) -> None:
    await crash(file)
    app = app_on(open_at(file))
    async with app.run_test(size=(80, 24)) as pilot:
        words = await shown(pilot, app)
        assert "ended before all was saved" in words
        assert "here 6 messages" in words
        assert "in the file 4 messages" in words
        assert "in the midst of this answer" in words
        await pilot.press("enter")
        await gone_on(pilot, app)
        assert messages(app)[-2:] == [
            question("and then?"),
            {"role": "assistant", "content": "The keeper lit the lamp"},
        ]
        await pilot.press(*"yes")
        assert app.screen.query_one(PromptText).text == "yes", "the prompt has the focus"


async def test_the_list_in_the_file_can_go_on_and_the_other_stays_a_branch(file: Path) -> None:
    await crash(file)
    app = app_on(open_at(file))
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, app)
        await pilot.press("o")
        await until(pilot, lambda: messages(app) == SAVED and app.session.is_saved, "the list in the file")
        assert list_on_disk(file) == SAVED
        lists = [messages_of(app.session.timeline.entries(step.id)) for step in app.session.timeline.branches()]
        assert any(each[-1]["content"] == "The keeper lit the lamp" for each in lists)


async def test_what_another_program_made_of_it_is_told_and_the_list_as_it_was_left_can_go_on(file: Path) -> None:
    await change_outside(file)
    app = app_on(open_at(file))
    async with app.run_test(size=(80, 24)) as pilot:
        words = await shown(pilot, app)
        assert "Another program changed this file" in words
        assert "here 2 messages" in words
        assert "as it was left 4 messages" in words
        assert messages(app) == THEIRS
        await pilot.press("o")
        await until(pilot, lambda: messages(app) == SAVED and app.session.is_saved, "as it was left")
        app.workbench.action_pane("messages")
        await pilot.press("B")
        await until(pilot, lambda: "theirs" in screen_text(app), "a branch")


async def test_the_list_alone_and_back(file: Path) -> None:
    await change_outside(file)
    app = app_on(open_at(file))
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, app)
        await pilot.press("L")
        await until(pilot, lambda: app._opened.alone and app.screen is app.workbench, "the list alone")
        assert messages(app) == THEIRS
        await pilot.press("L")
        await until(pilot, lambda: not app._opened.alone and app.screen is app.workbench, "and back")
        assert app.session.undo()
        assert messages(app) == SAVED


async def test_a_step_that_cannot_be_read_costs_the_list_in_the_file_nothing(file: Path) -> None:
    data = await damaged(file, b'"step","id":5', b"garbled\n")
    app = app_on(open_at(file))
    async with app.run_test(size=(80, 24)) as pilot:
        words = await shown(pilot, app)
        assert "journal is damaged: 1 step" in words
        assert "here 4 messages" in words
        assert "in the journal 3 messages" in words
        assert "another program" not in words
        await pilot.press("enter")
        await gone_on(pilot, app)
        assert messages(app) == SAVED
    assert is_kept(file, data)


async def test_a_step_in_the_midst_that_fits_nowhere(file: Path) -> None:
    data = await damaged(file, b'"step","id":2', b"garbled\n")
    app = app_on(open_at(file))
    async with app.run_test(size=(80, 24)) as pilot:
        words = await shown(pilot, app)
        assert "journal is damaged: 3 steps" in words
        assert "s.journal.jsonl.invalid" in words
        assert messages(app) == SAVED
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.workbench and app.session.store is not None, "kept")
    assert file.with_name("s.journal.jsonl.invalid").read_bytes() == data
    assert open_at(file).found is None, "told once"


async def test_a_journal_that_cannot_be_read_is_told_and_as_it_was_until_something_is_written(file: Path) -> None:
    leave((await talk(file)).store)
    journal_path(file).write_bytes(b"not a journal\n")
    app = app_on(open_at(file))
    async with app.run_test(size=(80, 24)) as pilot:
        words = await shown(pilot, app)
        assert "cannot be read" in words
        assert "s.journal.jsonl.invalid" in words
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app._exit, "left")
    assert journal_path(file).read_bytes() == b"not a journal\n"


async def test_ones_own_session_that_was_damaged_says_where_it_is_kept(tmp_path: Path) -> None:
    path = default_session_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(b"broken")
    app = app_on(open_at(None))
    async with app.run_test(size=(80, 24)) as pilot:
        words = await shown(pilot, app)
        assert "default.json.invalid" in words.replace(" ", "")
        await pilot.press("escape")
        await gone_on(pilot, app)
    assert path.with_name("default.json.invalid").read_bytes() == b"broken"


async def test_what_is_typed_or_pasted_before_it_was_read_is_not_lost(file: Path) -> None:
    await crash(file)
    app = app_on(open_at(file))
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, app)
        await pilot.press(*"what")
        await until(pilot, lambda: app.workbench.query_one(PromptText).text == "what", "typed")
        assert app.screen is app.workbench
    app = app_on(open_at(file))
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, app)
        app.screen.post_message(Paste("pasted"))
        await until(pilot, lambda: app.workbench.query_one(PromptText).text == "pasted", "pasted")


async def test_what_another_window_is_at_is_no_finding(file: Path) -> None:
    await crash(file)
    lock = SessionLock(file)
    lock.take()
    app = app_on(open_at(file))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "is open in another window" in said(app), "it says so")
        assert app.screen is app.workbench
    lock.release()
