"""The session file: private, where it was put, and never over what somebody else wrote."""

from __future__ import annotations

import os
import resource
import threading
from pathlib import Path

import pytest

from tests.support_session_files import LIST, SYSTEM, USER, dumped, leftovers, refusal
from triptych.entries import entries_from
from triptych.formats import FormatError
from triptych.storage.atomic import replace_file
from triptych.storage.places import default_session_path, sessions_folder
from triptych.storage.session_file import SessionFile, SessionFileError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.json"


# Private, and where it was put


def test_files_and_new_folders_are_private(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "session.json"
    mask = os.umask(0)
    try:
        SessionFile(path).save(entries_from(LIST))
    finally:
        os.umask(mask)
    modes = [place.stat().st_mode & 0o777 for place in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_a_file_that_others_could_read_becomes_private(path: Path) -> None:
    path.write_bytes(dumped(LIST))
    path.chmod(0o644)
    file = SessionFile(path)
    file.load()
    file.save(entries_from(LIST))
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_symlink_stays_one_and_its_target_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "real" / "session.json"
    SessionFile(target).save(entries_from([SYSTEM]))
    link = tmp_path / "link.json"
    link.symlink_to(target)
    file = SessionFile(link)
    file.load()
    file.save(entries_from(LIST))
    assert link.is_symlink()
    assert target.read_bytes() == dumped(LIST)
    assert leftovers(tmp_path) == leftovers(target.parent) == []


def test_a_symlink_to_nothing_stays_one(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "later" / "session.json")
    SessionFile(link).save(entries_from(LIST))
    assert link.is_symlink()
    assert (tmp_path / "later" / "session.json").read_bytes() == dumped(LIST)


def test_default_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_session_path() == sessions_folder() / "default.json"
    assert tmp_path in sessions_folder().parents


# Changed outside


def test_a_file_changed_by_another_program_is_not_overwritten_unasked(path: Path) -> None:
    file = SessionFile(path)
    file.save(entries_from([SYSTEM]))
    assert not file.changed_outside()
    path.write_bytes(dumped([SYSTEM, USER]))
    assert file.changed_outside()
    with pytest.raises(SessionFileError) as refused:
        file.save(entries_from(LIST))
    assert (refusal(refused), refused.value.reason.values["path"]) == ("file.changed_outside", str(path))
    assert path.read_bytes() == dumped([SYSTEM, USER])
    file.save(entries_from(LIST), overwrite=True)
    assert path.read_bytes() == dumped(LIST)
    assert not file.changed_outside()


def test_a_change_between_loading_and_saving_is_seen(path: Path) -> None:
    path.write_bytes(dumped([SYSTEM]))
    file = SessionFile(path)
    entries = entries_from(file.load().reading.messages)
    replace_file(path, dumped([SYSTEM, USER]))
    with pytest.raises(SessionFileError) as refused:
        file.save(entries)
    assert refusal(refused) == "file.changed_outside"
    file.load()
    file.save(entries)
    assert path.read_bytes() == dumped([SYSTEM])


def test_a_file_that_was_only_touched_or_copied_back_is_not_changed(path: Path) -> None:
    file = SessionFile(path)
    file.save(entries_from(LIST))
    os.utime(path, (1, 1))
    assert not file.changed_outside()
    replace_file(path, path.read_bytes())
    assert not file.changed_outside()
    file.save(entries_from([SYSTEM]))
    assert path.read_bytes() == dumped([SYSTEM])


def test_a_file_that_is_gone_is_written_again(path: Path) -> None:
    file = SessionFile(path)
    file.save(entries_from(LIST))
    path.unlink()
    assert not file.changed_outside()
    file.save(entries_from(LIST))
    assert path.read_bytes() == dumped(LIST)


def test_a_file_that_was_never_read_is_not_overwritten_unasked(path: Path) -> None:
    path.write_text("notes of mine")
    file = SessionFile(path)
    assert file.changed_outside()
    with pytest.raises(FormatError):
        file.load()
    with pytest.raises(SessionFileError) as refused:
        file.save(entries_from(LIST))
    assert refusal(refused) == "file.exists"
    assert path.read_text() == "notes of mine"


@pytest.mark.parametrize(
    "data",
    [dumped([USER]), b'{"messages": [{"role": "system"}]}', dumped(LIST)[:-30]],
    ids=["no system message", "object", "cut off"],
)
def test_a_file_of_another_program_or_read_with_loss_is_not_overwritten_unasked(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    file = SessionFile(path)
    loaded = file.load()
    assert not loaded.ours
    with pytest.raises(SessionFileError) as refused:
        file.save(entries_from(loaded.reading.messages))
    assert refusal(refused) == "file.not_ours"
    assert path.read_bytes() == data
    file.save(entries_from(LIST), overwrite=True)
    file.save(entries_from([SYSTEM]))
    assert path.read_bytes() == dumped([SYSTEM])


# What cannot be read or written


def test_a_missing_file_is_told_by_its_path(path: Path) -> None:
    with pytest.raises(SessionFileError) as refused:
        SessionFile(path).load()
    assert (refusal(refused), dict(refused.value.reason.values)) == ("file.missing", {"path": str(path)})
    assert not path.exists()


def test_a_folder_and_a_pipe_are_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, reason in ((tmp_path, "file.is_folder"), (pipe, "file.not_regular")):
        file = SessionFile(path)
        for act in (file.load, lambda: file.save(()), lambda: file.save((), overwrite=True)):  # noqa: B023
            with pytest.raises(SessionFileError) as refused:
                act()
            assert refusal(refused) == reason
    with pytest.raises(FileExistsError):
        replace_file(pipe, b"[]")
    assert pipe.is_fifo()


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("place", ["file/session.json", "/proc/triptych/session.json", "loop.json", "n" * 300])
def test_a_place_that_cannot_be_written_is_told(place: str, overwrite: bool, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    with pytest.raises(SessionFileError) as refused:
        SessionFile(tmp_path / place).save(entries_from(LIST), overwrite=overwrite)
    assert refusal(refused) == "file.not_writable"
    assert refused.value.reason.values["error"]
    with pytest.raises(SessionFileError) as refused:
        SessionFile(tmp_path / place).load()
    assert refusal(refused) in ("file.missing", "file.unreadable")
    assert (tmp_path / "file").read_text() == "x"
    assert leftovers(tmp_path) == []


def test_a_file_that_cannot_be_opened_is_told(path: Path) -> None:
    path.write_bytes(dumped(LIST))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(SessionFileError) as refused:
            SessionFile(path).load()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert refusal(refused) == "file.unreadable"


def test_saves_from_many_threads_leave_one_whole_file(path: Path) -> None:
    file = SessionFile(path)
    lists = [[SYSTEM, *[USER] * count] for count in range(8)]
    writers = [threading.Thread(target=file.save, args=(entries_from(messages),)) for messages in lists]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert path.read_bytes() in {dumped(messages) for messages in lists}
    assert not file.changed_outside()
