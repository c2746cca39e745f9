"""What is opened, and what happens to files that cannot be."""

from __future__ import annotations

import asyncio
import errno
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support_command_line import MESSAGES, saved
from tests.support_terminal import Terminal
from tests.support_workbench import workbench
from triptych.entries import Summary, messages_of
from triptych.formats import FormatError
from triptych.lesson_api import rebuild
from triptych.messages import ToolCall
from triptych.policy_tables import PolicyError
from triptych.reasons import TriptychError
from triptych.settings import Settings, default_config_path
from triptych.storage.places import default_session_path
from triptych.storage.session_file import SessionFileError
from triptych.storage.session_lock import lock_path
from triptych.tools.workspace import WorkspaceError
from triptych_tui.launch import SYSTEM_MESSAGE, Launch, OpenedSession, open_session
from triptych_tui.wording import say

Open = Callable[..., OpenedSession]


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    return tmp_path


@pytest.fixture
def opened(own_folders: Path) -> Open:
    def start(
        path: Path | None = None, *, is_new: bool = False, data: bytes | None = None, **settings: Any
    ) -> OpenedSession:
        return open_session(Launch(Settings(**settings), path, is_new=is_new, data=data), {})

    return start


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "session.json"
    path.write_text(saved(MESSAGES), "utf-8")
    return path


def own_session(content: bytes) -> Path:
    path = default_session_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def messages(opened: OpenedSession) -> list[dict[str, Any]]:
    return messages_of(opened.session.entries)


class TestNamedFile:
    def test_ours_is_opened_to_be_written(self, opened: Open, file: Path) -> None:
        session = opened(file)
        assert messages(session) == MESSAGES
        assert session.writable
        assert session.notice is None
        assert session.name == "session.json"
        disk = session.on_disk()
        assert disk is not None
        assert disk.size == file.stat().st_size

    async def test_what_is_saved_shows_as_what_is_on_disk(self, opened: Open, file: Path) -> None:
        session = opened(file)
        store = session.kept
        assert store is not None
        await asyncio.to_thread(store.save, session.session.entries[:5], None)
        disk = session.on_disk()
        assert disk is not None
        assert len(disk.chunks) == 5

    def test_marks_are_guessed(self, opened: Open, file: Path) -> None:
        file.write_text(saved(rebuild(MESSAGES, 2, "Two files.")), "utf-8")
        mark = opened(file).session.entries[1].newest_mark
        assert isinstance(mark, Summary)
        assert mark.guessed

    def test_another_programs_is_only_read_and_says_so(self, opened: Open, file: Path) -> None:
        file.write_text(saved(MESSAGES[1:]), "utf-8")
        session = opened(file)
        assert not session.writable
        assert session.notice is not None
        assert session.notice.id == "open.foreign"
        assert session.on_disk() is not None

    def test_a_damaged_one_is_only_read_and_never_touched(self, opened: Open, file: Path) -> None:
        damaged = saved(MESSAGES)[:-30].encode()
        file.write_bytes(damaged)
        session = opened(file)
        assert not session.writable
        assert session.notice is not None
        assert session.notice.id == "open.damaged"
        assert file.read_bytes() == damaged

    def test_read_only(self, opened: Open, file: Path) -> None:
        assert not opened(file, read_only=True).writable

    def test_missing_or_empty(self, opened: Open, tmp_path: Path) -> None:
        with pytest.raises(SessionFileError):
            opened(tmp_path / "none.json")
        (tmp_path / "empty.json").touch()
        with pytest.raises(FormatError):
            opened(tmp_path / "empty.json")

    def test_standard_input(self, opened: Open) -> None:
        session = opened(data=saved(MESSAGES).encode())
        assert messages(session) == MESSAGES
        assert not session.writable
        assert session.on_disk() is None


class TestNew:
    def test_it_is_created_with_the_system_message(self, opened: Open, tmp_path: Path) -> None:
        path = tmp_path / "folder" / "new.json"
        session = opened(path, is_new=True, system="Be kind.")
        assert json.loads(path.read_bytes()) == messages(session) == [{"role": "system", "content": "Be kind."}]
        assert session.writable

    def test_what_is_there_stays(self, opened: Open, file: Path) -> None:
        before = file.read_bytes()
        with pytest.raises(SessionFileError) as caught:
            opened(file, is_new=True)
        assert caught.value.reason.id == "file.exists"
        assert file.read_bytes() == before

    def test_where_it_cannot_be_created_the_window_does_not_open(self, opened: Open, file: Path) -> None:
        with pytest.raises(SessionFileError):
            opened(file / "new.json", is_new=True)


class TestOwnSession:
    def test_it_begins_without_a_file(self, opened: Open) -> None:
        session = opened()
        assert messages(session) == [{"role": "system", "content": SYSTEM_MESSAGE}]
        assert session.on_disk() is None
        assert session.notice is None
        assert not default_session_path().exists()

    async def test_its_file_comes_with_the_first_save(self, opened: Open) -> None:
        session = opened()
        store = session.kept
        assert store is not None
        await asyncio.to_thread(store.save, session.session.entries, None)
        assert json.loads(default_session_path().read_bytes()) == messages(session)

    def test_it_goes_on(self, opened: Open) -> None:
        own_session(saved(MESSAGES).encode())
        assert messages(opened()) == MESSAGES

    def test_an_unreadable_one_is_moved_aside_whole(self, opened: Open) -> None:
        path = own_session(b"\x00broken")
        session = opened()
        aside = path.with_name("default.json.invalid")
        assert aside.read_bytes() == b"\x00broken"
        assert not path.exists()
        assert session.found is not None
        assert session.found.what.values["path"] == str(aside)
        assert messages(session) == [{"role": "system", "content": SYSTEM_MESSAGE}]
        assert session.writable

    def test_an_earlier_one_moved_aside_is_kept_too(self, opened: Open) -> None:
        path = own_session(b"second")
        path.with_name("default.json.invalid").write_bytes(b"first")
        opened()
        assert path.with_name("default.json.invalid").read_bytes() == b"first"
        assert path.with_name("default.json.invalid.1").read_bytes() == b"second"

    def test_what_could_be_read_of_a_damaged_one_goes_on(self, opened: Open) -> None:
        damaged = saved(MESSAGES)[:-30].encode()
        path = own_session(damaged)
        session = opened()
        assert path.with_name("default.json.invalid").read_bytes() == damaged
        assert messages(session) == MESSAGES[:-1]
        assert session.writable

    async def test_what_could_be_read_is_there_again_after_quitting_at_once(self, opened: Open) -> None:
        path = own_session(saved(MESSAGES)[:-30].encode())
        session = opened()
        await session.session.save()
        disk = session.on_disk()
        assert disk is not None
        assert disk.size == path.stat().st_size
        again = opened()
        assert messages(again) == MESSAGES[:-1]
        assert again.notice is None

    def test_where_nothing_could_be_read_nothing_is_written(self, opened: Open) -> None:
        path = own_session(b"broken")
        opened()
        assert not path.exists()

    def test_what_could_be_read_goes_on_unsaved_where_it_cannot_be_written(
        self, opened: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        damaged = saved(MESSAGES)[:-30].encode()
        path = own_session(damaged)

        def full(*_: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("triptych.storage.session_file.replace_file_with", full)
        session = opened()
        assert messages(session) == MESSAGES[:-1]
        assert path.read_bytes() == damaged
        assert {file.name for file in path.parent.iterdir()} == {path.name, lock_path(path).name}
        assert not session.writable
        assert session.notice is not None
        assert session.notice.id == "open.unsaved"
        assert session.notice.values == {"path": str(path), "error": "No space left on device"}

    def test_read_only_moves_nothing(self, opened: Open) -> None:
        path = own_session(b"broken")
        opened(read_only=True)
        assert path.read_bytes() == b"broken"

    def test_where_its_folder_cannot_be_used_it_runs_unsaved(self, opened: Open, own_folders: Path) -> None:
        (own_folders / "xdg_data_home").write_text("a file where a folder should be")
        session = opened()
        assert messages(session) == [{"role": "system", "content": SYSTEM_MESSAGE}]
        assert session.notice is not None
        assert session.notice.id == "open.unsaved"
        assert not session.writable


class TestAround:
    def test_the_sample_workspace_is_there(self, opened: Open) -> None:
        session = opened()
        assert "welcome.txt" in session.files
        assert len(session.files) == 3

    async def test_tools_never_see_sessions_or_settings(self, opened: Open, own_folders: Path) -> None:
        own_session(saved(MESSAGES).encode())
        file = own_folders / "named.json"
        file.write_text(saved(MESSAGES), "utf-8")
        config = own_folders / "xdg_config_home" / "triptych" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('policy = "lesson"')
        (own_folders / "notes.txt").write_text("plain")
        tools = opened(file, workspace=own_folders).tools
        listed = await tools.run(ToolCall("c1", "list_files", "{}"))
        assert listed.text.splitlines() == ["notes.txt  (5 bytes)"]

    def test_sessions_and_settings_cannot_be_the_workspace(self, opened: Open) -> None:
        path = own_session(saved(MESSAGES).encode())
        for folder in (path.parent, default_config_path().parent):
            folder.mkdir(parents=True, exist_ok=True)
            with pytest.raises(WorkspaceError) as caught:
                opened(workspace=folder)
            sentence = say(caught.value.reason)
            assert str(folder) in sentence
            assert "--workspace" in sentence

    def test_numbers_reach_the_policy(self, opened: Open, file: Path) -> None:
        policy = opened(file, limit=5, keep=1, keep_turns=2).session.policy
        assert policy.truncate is not None
        assert policy.clear is not None
        assert policy.summarize is not None
        assert (policy.truncate.limit, policy.clear.keep, policy.summarize.keep_turns) == (5, 1, 2)

    def test_a_policy_of_ones_own_is_found_by_its_name(self, opened: Open, file: Path) -> None:
        mine = default_config_path().parent / "policies" / "mine.toml"
        mine.parent.mkdir(parents=True)
        mine.write_text('stages = ["receive", "request", "tool", "append", "answer", "save"]', "utf-8")
        assert opened(file, policy="mine").session.policy.name == "mine"

    def test_the_endpoint_is_named_without_its_password(self, opened: Open, file: Path) -> None:
        assert opened(file, model="m", base_url="http://me:secret@host:80/v1").host == "host:80"
        assert opened(file, model="m").host == "api.openai.com"
        assert opened(file).host == ""

    @pytest.mark.parametrize(
        ("settings", "error"),
        [({"policy": "none"}, PolicyError), ({"workspace": Path("/none")}, WorkspaceError)],
    )
    def test_nothing_on_disk_is_touched_before_all_is_sound(
        self, settings: dict[str, Any], error: type[TriptychError], opened: Open, tmp_path: Path
    ) -> None:
        path = own_session(b"broken")
        with pytest.raises(error):
            opened(**settings)
        with pytest.raises(error):
            opened(tmp_path / "new.json", is_new=True, **settings)
        assert path.read_bytes() == b"broken"
        assert not (tmp_path / "new.json").exists()


class TestTerminal:
    """The real program in a real terminal."""

    def test_a_piped_session_is_shown_and_keys_are_read_from_the_terminal(self, tmp_path: Path, file: Path) -> None:
        command = f"'{sys.executable}' -m triptych_tui - < '{file}'"
        with Terminal(["sh", "-c", command], env={"HOME": str(tmp_path)}, rows=30, cols=120) as terminal:
            terminal.wait_for("File 4 is long.")
            terminal.wait_for("standard input")
            terminal.send("\x11")
            assert terminal.wait() == 0

    def test_a_damaged_session_of_ones_own_is_told(self, tmp_path: Path) -> None:
        folder = tmp_path / ".local" / "share" / "triptych" / "sessions"
        folder.mkdir(parents=True)
        (folder / "default.json").write_bytes(b"broken")
        with workbench(tmp_path, env={"XDG_DATA_HOME": str(tmp_path / ".local" / "share")}) as terminal:
            terminal.wait_for(
                lambda screen: "default.json.invalid" in "".join(screen.split())
            )  # a long path is wrapped
            terminal.send("\x11")
            assert terminal.wait() == 0
        assert (folder / "default.json.invalid").read_bytes() == b"broken"
