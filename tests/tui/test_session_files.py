"""The file under fire: two windows on one session, other programs that write it, folders that cannot be written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support_pilot import app_on, screen_text, until
from tests.support_scripted_model import ScriptedModel, says
from triptych.entries import messages_of
from triptych.messages import Message
from triptych.models.base import Delta, Request
from triptych.settings import Settings
from triptych.storage.kept_session import KeptSession, Theirs
from triptych.storage.kept_session import opened as past_of
from triptych.storage.session_file import SessionFile
from triptych.storage.session_lock import SessionLock
from triptych_tui.app import TriptychApp
from triptych_tui.launch import Launch, OpenedSession, open_session

Pilots = Pilot[Any]
SYSTEM: Message = {"role": "system", "content": "You are a helpful assistant."}
TALK: list[Message] = [
    SYSTEM,
    {"role": "user", "content": "What is a heron?"},
    {"role": "assistant", "content": "A bird."},
]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    return tmp_path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "talk.json"
    write(path, TALK)
    return path


def write(path: Path, messages: list[Message]) -> None:
    path.write_text(json.dumps(messages, indent=2, ensure_ascii=False), "utf-8")


def put(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def bytes_of(path: Path) -> bytes:
    return path.read_bytes()


def drop(path: Path) -> None:
    path.unlink()


def names_in(folder: Path) -> set[str]:
    """Files that a user sees there."""
    return {each.name for each in folder.iterdir() if each.is_file() and not each.name.startswith(".")}


def on_disk(path: Path) -> list[Message]:
    return list(SessionFile(path).load().reading.messages)


def open_at(path: Path | None, **settings: Any) -> OpenedSession:
    return open_session(Launch(Settings(**settings), path), {})


def said(app: TriptychApp) -> str:
    """The screen's text as one line, as it reads."""
    return " ".join(screen_text(app).split())


async def kept(pilot: Pilots, app: TriptychApp) -> None:
    await until(pilot, lambda: app.session.store is not None, "the file is held")


async def ask(pilot: Pilots, app: TriptychApp, question: str = "Which files are there?") -> None:
    count = len(app.session.entries)
    app.workbench.action_prompt()
    await pilot.press(*(("space" if each == " " else each) for each in question.replace("?", "")), "enter")
    await until(pilot, lambda: len(app.session.entries) > count + 1 and not app.workbench.is_occupied, "answered")


async def look(app: TriptychApp) -> None:
    await app.workbench.files.look()


class TestTwoWindows:
    async def test_the_second_only_reads_says_so_and_takes_over_what_the_first_has_left(self, file: Path) -> None:
        first = open_at(file)
        assert first.kept is not None
        first.kept.claim()
        first.session.keep_in(first.kept)
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: "is open in another window" in said(app), "it says so")
            assert "read only" in screen_text(app)
            await pilot.press("escape", "escape", "O")
            await until(pilot, lambda: "is open in another window" in said(app), "still so")
            append(first, "said in the first window")
            await first.session.save()
            await look(app)
            await until(pilot, lambda: "! changed by another program  read only" in screen_text(app), "it is seen")
            first.kept.leave()
            await pilot.press("escape", "escape", "O")
            await until(pilot, lambda: "as the other window left it" in said(app), "taken over")
            await kept(pilot, app)
            assert app.session.entries[-1].message["content"] == "said in the first window"
            assert "read only" not in screen_text(app)
            await ask(pilot, app)
            await until(pilot, lambda: app.session.is_saved, "saved")
        assert len(on_disk(file)) > len(TALK) + 1

    async def test_what_was_said_in_the_second_stays_when_the_first_has_changed_nothing(self, file: Path) -> None:
        first = SessionLock(file)
        first.take()
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: "is open in another window" in said(app), "it says so")
            await ask(pilot, app)
            assert on_disk(file) == TALK
            first.release()
            await pilot.press("escape", "escape", "O")
            await until(pilot, lambda: "kept in its file again" in said(app), "taken over")
            await ask(pilot, app)
            await until(pilot, lambda: app.session.is_saved, "saved")
            messages = messages_of(app.session.entries)
        assert on_disk(file) == messages
        again = open_at(file)
        assert again.notice is None
        assert messages_of(again.session.entries) == messages
        assert len(again.session.timeline.path()) == len(app.session.timeline.path())

    async def test_what_was_said_in_both_is_not_lost(self, file: Path, tmp_path: Path) -> None:
        first = open_at(file)
        assert first.kept is not None
        first.kept.claim()
        first.session.keep_in(first.kept)
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: "is open in another window" in said(app), "it says so")
            await ask(pilot, app)
            append(first, "said in the first window")
            await first.session.save()
            first.kept.leave()
            await pilot.press("escape", "escape", "O")
            await until(pilot, lambda: "save this one elsewhere" in said(app), "it says so")
            mine = messages_of(app.session.entries)
            await save_as(pilot, app, "mine")
            assert on_disk(tmp_path / "mine.json") == mine
        assert on_disk(file)[-1]["content"] == "said in the first window"


def append(opened: OpenedSession, text: str) -> None:
    from triptych.reasons import Reason

    session = opened.session
    session.append("receive", {"role": "user", "content": text}, Reason("turn.received"), session.begin_action())


async def write_path(pilot: Pilots, app: TriptychApp, key: str, path: str) -> None:
    app.workbench.action_pane("messages")
    await pilot.press(key)
    await until(pilot, lambda: app.focused is not None and app.focused.id == "find-text", "a path can be written")
    app.focused.value = path  # type: ignore[union-attr]
    await pilot.press("enter")


async def save_as(pilot: Pilots, app: TriptychApp, path: str) -> None:
    await write_path(pilot, app, "w", path)
    await until(pilot, lambda: "is kept in" in said(app), "saved elsewhere")


class TestOtherPrograms:
    async def test_what_they_write_becomes_a_step(self, file: Path) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            theirs = [SYSTEM, {"role": "user", "content": "Theirs"}, TALK[2]]
            write(file, theirs)
            before = bytes_of(file)
            await look(app)
            assert messages_of(app.session.entries) == theirs
            assert app.session.is_saved
            await until(pilot, lambda: "Another program changed the file" in said(app), "it says so")
            assert bytes_of(file) == before
            await pilot.press("escape", "escape", "u")
            await until(pilot, lambda: on_disk(file) == TALK, "mine is back")
            await pilot.press("ctrl+r")
            await until(pilot, lambda: on_disk(file) == theirs, "theirs is back")
        again = open_at(file)
        assert again.notice is None
        assert messages_of(again.session.entries) == theirs

    async def test_what_they_write_while_a_turn_runs_is_taken_after_it_without_a_word_before(self, file: Path) -> None:
        opened = open_at(file)
        hold = asyncio.Event()

        class Waiting(ScriptedModel):
            async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
                await hold.wait()
                async for delta in super().stream(request):
                    yield delta

        app = app_on(opened.with_model(Waiting([says("A heron.")]), ""))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            files = app.workbench.files
            theirs = [SYSTEM, {"role": "user", "content": "Theirs"}]
            write(file, theirs)
            read = files._read_theirs

            async def while_a_turn_begins(kept: KeptSession) -> Theirs | None:
                files._read_theirs = read  # type: ignore[method-assign]
                found = await read(kept)
                await pilot.press(*"hi", "enter")
                await until(pilot, lambda: app.workbench.is_occupied, "a turn")
                return found

            files._read_theirs = while_a_turn_begins  # type: ignore[method-assign]
            await look(app)
            assert "Something is still running" not in said(app)
            hold.set()
            await until(pilot, lambda: not app.workbench.is_occupied, "its end")
            await until(pilot, lambda: "whichever you take" in said(app), "it is asked")

    async def test_what_only_looks_otherwise_is_no_step(self, file: Path) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            put(file, json.dumps(TALK))
            await look(app)
            assert not app.session.timeline.path()
            assert app.session.is_saved
            assert "changed by another program" not in screen_text(app)

    async def conflict(self, pilot: Pilots, app: TriptychApp, file: Path) -> None:
        """Both have written since the file was read."""
        await kept(pilot, app)
        append(app._opened, "mine")
        write(file, [*TALK, {"role": "user", "content": "theirs"}])
        await app.session.save()
        await until(pilot, lambda: "whichever you take, the other stays a step" in said(app), "it asks")
        assert on_disk(file)[-1]["content"] == "theirs"
        assert "! changed by another program" in screen_text(app)
        await pilot.press("escape")

    async def test_mine_is_kept_when_asked_for(self, file: Path) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await self.conflict(pilot, app, file)
            await pilot.press("k")
            await until(pilot, lambda: "Your session is saved" in said(app), "kept")
            assert on_disk(file)[-1]["content"] == "mine"
            await pilot.press("ctrl+r")
            await until(pilot, lambda: on_disk(file)[-1]["content"] == "theirs", "theirs is a step")

    async def test_theirs_is_taken_when_asked_for(self, file: Path) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await self.conflict(pilot, app, file)
            await pilot.press("t")
            await until(pilot, lambda: app.session.is_saved, "taken")
            assert app.session.entries[-1].message["content"] == "theirs"
            await pilot.press("escape", "escape", "u")
            await until(pilot, lambda: on_disk(file)[-1]["content"] == "mine", "mine is a step")

    async def test_neither_is_lost_when_the_user_leaves_without_an_answer(self, file: Path) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await self.conflict(pilot, app, file)
            await pilot.press("ctrl+q")
        assert on_disk(file)[-1]["content"] == "theirs"
        again = open_at(file)
        assert again.found is not None
        assert again.found.what.id == "open.changed_outside"
        assert again.session.entries[-1].message["content"] == "theirs"
        assert again.session.undo()
        assert again.session.entries[-1].message["content"] == "mine"

    async def test_what_is_no_session_any_more_is_moved_aside_when_asked_for(self, file: Path) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            put(file, "no list at all")
            await look(app)
            await until(pilot, lambda: "is no session any more" in said(app), "it asks")
            assert bytes_of(file).decode() == "no list at all"
            await pilot.press("escape", "k")
            await until(pilot, lambda: "byte for byte" in said(app), "kept")
        assert on_disk(file) == TALK
        assert bytes_of(file.with_name("talk.json.invalid")).decode() == "no list at all"

    async def test_a_file_that_is_gone_is_written_anew(self, file: Path) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            drop(file)
            await look(app)
            assert "! the file is gone" in screen_text(app)
            await ask(pilot, app)
            await until(pilot, lambda: app.session.is_saved, "saved")
            await look(app)
            await pilot.pause()
            assert "the file is gone" not in screen_text(app)
            assert on_disk(file) == messages_of(app.session.entries)


class TestPlaces:
    async def test_save_as_moves_the_session_with_its_whole_past(self, file: Path, tmp_path: Path) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            await ask(pilot, app)
            await until(pilot, lambda: app.session.is_saved, "saved")
            before = bytes_of(file)
            await save_as(pilot, app, str(tmp_path / "other" / "place"))
            await ask(pilot, app, "more")
            await until(pilot, lambda: app.session.is_saved, "saved")
            messages, steps = messages_of(app.session.entries), len(app.session.timeline.path())
            assert "place.json" in screen_text(app)
        assert bytes_of(file) == before
        drop(file)
        past = past_of(tmp_path / "other" / "place.json")
        assert past.remembered
        assert past.is_saved
        assert messages_of(past.timeline.entries(past.timeline.head)) == messages
        assert len(past.timeline.path()) == steps

    async def test_a_path_is_edited_at_its_end_whatever_was_written_there_before(self, file: Path) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            app.workbench.action_pane("messages")
            await pilot.press("slash", "a", "b", "enter", "w")
            await until(pilot, lambda: "save there" in screen_text(app), "a path can be written")
            await pilot.press("x")
            await until(pilot, lambda: f"{file}x" in screen_text(app), "behind what stands there")

    async def test_a_question_that_is_put_away_gives_the_focus_back(self, file: Path) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            app.workbench.action_pane("messages")
            await pilot.press("delete")
            await until(pilot, lambda: app.focused is not None and app.focused.id == "question", "asked")
            await pilot.press("escape")
            assert app.focused is not None
            assert app.focused.id == "messages"

    async def test_save_as_replaces_nothing_unasked(self, file: Path, tmp_path: Path) -> None:
        other = tmp_path / "other.json"
        put(other, "precious")
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            await write_path(pilot, app, "w", "other")
            await until(pilot, lambda: "already; nothing was changed" in said(app), "it asks")
            assert bytes_of(other).decode() == "precious"
            await until(pilot, lambda: app.focused is not None and app.focused.id == "question", "it can be answered")
            await pilot.press("y")
            await until(pilot, lambda: "is kept in" in said(app), "saved")
        assert on_disk(other) == TALK
        assert bytes_of(tmp_path / "other.removed.json").decode() == "precious"

    @pytest.mark.parametrize("key", ["W", "ctrl+n"])
    async def test_a_name_that_is_taken_says_what_to_do(self, file: Path, tmp_path: Path, key: str) -> None:
        put(tmp_path / "other.json", "precious")
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            await write_path(pilot, app, key, "other")
            await until(pilot, lambda: "Choose another name." in said(app), "it is said")
        assert bytes_of(tmp_path / "other.json").decode() == "precious"

    async def test_what_came_from_standard_input_can_be_kept(self, tmp_path: Path) -> None:
        app = app_on(open_session(Launch(Settings(), data=json.dumps(TALK).encode()), {}))
        async with app.run_test(size=(120, 40)) as pilot:
            await ask(pilot, app)
            await save_as(pilot, app, str(tmp_path / "kept.json"))
            messages = messages_of(app.session.entries)
        assert messages_of(open_at(tmp_path / "kept.json").session.entries) == messages

    async def test_a_new_session_begins_and_the_other_stays(self, file: Path, tmp_path: Path) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            await pilot.press("ctrl+n")
            await until(pilot, lambda: app.focused is not None and app.focused.id == "find-text", "a path")
            await pilot.press("enter")
            await until(pilot, lambda: app._opened.name == "session-2.json", "begun")
            await kept(pilot, app)
            await ask(pilot, app)
            await until(pilot, lambda: app.session.is_saved, "saved")
            SessionLock(file).take()
        assert on_disk(file) == TALK
        assert len(on_disk(tmp_path / "session-2.json")) > 2

    @pytest.mark.parametrize("key", ["w", "W", "ctrl+n"])
    async def test_a_path_that_cannot_be_is_said(self, file: Path, key: str) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            await write_path(pilot, app, key, "long" * 100)
            await until(pilot, lambda: "name too long" in said(app).lower(), "it is refused")
            assert app.session.store is not None
        assert names_in(file.parent) == {"talk.json"}

    async def test_the_home_of_nobody_is_a_folder_like_another(self, file: Path) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            await save_as(pilot, app, "~nobody-has-this-name/a")
        assert on_disk(file.parent / "~nobody-has-this-name" / "a.json") == TALK

    async def test_a_session_that_no_other_can_follow_stays_and_is_kept(self, file: Path) -> None:
        workspace = file.parent / "workspace"
        workspace.mkdir()
        app = app_on(open_at(file, workspace=workspace))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            workspace.rmdir()
            app.workbench.action_pane("messages")
            await pilot.press("delete")
            await until(pilot, lambda: app.focused is not None and app.focused.id == "question", "it asks")
            await pilot.press("y")
            await until(pilot, lambda: "workspace" in said(app), "it is said why there is none to go on with")
            await kept(pilot, app)
            await look(app)
            await ask(pilot, app)
            await until(pilot, lambda: app.session.is_saved, "saved")
        assert len(on_disk(file)) > len(TALK)

    async def test_renamed(self, file: Path, tmp_path: Path) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            await ask(pilot, app)
            await until(pilot, lambda: app.session.is_saved, "saved")
            await write_path(pilot, app, "W", "herons")
            await until(pilot, lambda: "is called" in said(app), "renamed")
            await ask(pilot, app, "more")
            await until(pilot, lambda: app.session.is_saved, "saved")
            messages, steps = messages_of(app.session.entries), len(app.session.timeline.path())
        assert names_in(tmp_path) == {"herons.json", "herons.journal.jsonl"}
        past = past_of(tmp_path / "herons.json")
        assert messages_of(past.timeline.entries(past.timeline.head)) == messages
        assert len(past.timeline.path()) == steps

    async def test_removed_and_can_be_had_back(self, file: Path, tmp_path: Path) -> None:
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await kept(pilot, app)
            await ask(pilot, app)
            await until(pilot, lambda: app.session.is_saved, "saved")
            messages = messages_of(app.session.entries)
            app.workbench.action_pane("messages")
            await pilot.press("delete")
            await until(pilot, lambda: app.focused is not None and app.focused.id == "question", "it asks")
            await pilot.press("y")
            await until(pilot, lambda: "is put away as" in said(app), "removed")
            assert app._opened.name == "default.json"
        assert names_in(tmp_path) == {"talk.removed.json", "talk.removed.journal.jsonl"}
        past = past_of(tmp_path / "talk.removed.json")
        assert past.remembered
        assert messages_of(past.timeline.entries(past.timeline.head)) == messages


class TestForgetting:
    async def forget(self, pilot: Pilots, app: TriptychApp, key: str) -> str:
        await kept(pilot, app)
        await ask(pilot, app)
        await until(pilot, lambda: app.session.is_saved, "saved")
        app.workbench.action_pane("messages")
        await pilot.press("E")
        await until(pilot, lambda: app.focused is not None and app.focused.id == "question", "it asks")
        question = said(app)
        await pilot.press(key)
        await until(pilot, lambda: app.session.forgotten, "forgotten")
        return question

    @pytest.mark.parametrize(("key", "deletes"), [("y", True), ("k", False)])
    async def test_what_was_moved_aside_is_named_and_goes_only_when_asked_for(
        self, file: Path, key: str, deletes: bool
    ) -> None:
        aside = ["talk.json.invalid", "talk.journal.jsonl.invalid", "talk.journal.jsonl.invalid.1"]
        for name in [*aside, "other.journal.jsonl.invalid"]:
            put(file.with_name(name), "What is a heron?")
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            question = await self.forget(pilot, app, key)
            assert all(name in question for name in aside)
            assert "other" not in question
            words = "deleted" if deletes else "may still stand in talk.json.invalid"
            await until(pilot, lambda: words in said(app), "it says what became of them")
        left = {name for name in names_in(file.parent) if "invalid" in name}
        assert left == {"other.journal.jsonl.invalid"} | (set() if deletes else set(aside))

    async def test_one_that_cannot_be_deleted_is_said(self, file: Path) -> None:
        folder = file.with_name("talk.journal.jsonl.invalid")
        folder.mkdir()
        app = app_on(open_at(file))
        async with app.run_test(size=(120, 40)) as pilot:
            await self.forget(pilot, app, "y")
            await until(pilot, lambda: "cannot be deleted" in said(app), "it says so")
        assert folder.is_dir()
