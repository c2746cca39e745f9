"""A disk that is full at any write, folders that vanish or cannot be written: the old file stays, nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support_desk import LESSON, Desk
from tests.support_scripted_model import says
from tests.support_session_files import SYSTEM, leftovers
from tests.support_small_disk import PAGE, SmallDisk, small_disk
from triptych.entries import messages_of
from triptych.events import Saved, SaveFailed
from triptych.session import Session
from triptych.storage.journal import journal_path
from triptych.storage.kept_session import opened


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def reopened(path: Path) -> Session:
    past = opened(path)
    return Session(past.timeline, LESSON, is_saved=past.is_saved)


async def desk_at(path: Path) -> Desk:
    """A session of one turn that is saved."""
    desk = Desk([SYSTEM], LESSON, file=path)
    await desk.ask("first", says("one " * 500))
    assert desk.session.is_saved
    return desk


@pytest.mark.parametrize("pages", range(6))
async def test_a_disk_that_is_full_costs_nothing_and_all_is_saved_when_there_is_room(
    disk: SmallDisk, pages: int
) -> None:
    path = disk.folder / "s.json"
    desk = await desk_at(path)
    old = path.read_bytes()
    disk.leave(pages * PAGE)
    await desk.ask("second", says("two " * 1500))
    await desk.ask("third", says("three"))
    assert [entry.message["content"] for entry in desk.entries][-1] == "three", "the session goes on"
    now = path.read_bytes()
    in_place = json.loads(now)
    assert now == old or in_place == desk.messages[: len(in_place)], "the whole old list, or a whole new one"
    assert leftovers(disk.folder) == []
    assert opened(path).remembered, "the journal can be read"
    if not desk.session.is_saved:
        assert desk.session.save_problem is not None
        assert desk.of(SaveFailed)
    disk.free()
    await desk.session.save()
    assert desk.session.is_saved
    assert desk.session.save_problem is None
    assert json.loads(path.read_bytes()) == desk.messages
    again = reopened(path)
    assert messages_of(again.entries) == desk.messages
    assert len(again.timeline.path()) == len(desk.session.timeline.path())


async def test_a_full_disk_refuses_and_says_so(disk: SmallDisk) -> None:
    desk = await desk_at(disk.folder / "s.json")
    disk.leave(0)
    await desk.ask("second", says("two " * 1500))
    problem = desk.session.save_problem
    assert problem is not None
    assert problem.id in ("file.not_writable", "journal.not_writable")
    assert problem.values["error"]


async def test_a_folder_that_vanishes_is_made_anew_with_all_that_was_in_it(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "s.json"
    desk = await desk_at(path)
    (tmp_path / "folder").rename(tmp_path / "elsewhere")
    await desk.ask("second", says("two"))
    assert desk.session.is_saved
    again = reopened(path)
    assert messages_of(again.entries) == desk.messages
    assert len(again.timeline.path()) == len(desk.session.timeline.path())
    assert journal_path(tmp_path / "elsewhere" / "s.json").exists()


async def test_where_a_file_stands_in_the_way_of_the_folder_the_session_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "s.json"
    desk = await desk_at(path)
    (tmp_path / "folder").rename(tmp_path / "elsewhere")
    (tmp_path / "folder").write_text("in the way")
    await desk.ask("second", says("two"))
    assert not desk.session.is_saved
    assert desk.messages[-1]["content"] == "two"
    assert (tmp_path / "folder").read_text() == "in the way"
    (tmp_path / "folder").unlink()
    await desk.session.save()
    assert len(desk.of(Saved)) == 2
    assert messages_of(reopened(path).entries) == desk.messages
