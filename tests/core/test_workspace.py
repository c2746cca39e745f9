"""Opening a workspace, and what in it is closed to tools."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.support_workspace import (
    ask,
    assert_refused,
    common_folder,
    listed,
    make_workspace,
    ordinary_user,
    read,
    searched,
    unreadable,
)
from triptych.tools import workspace
from triptych.tools.base import ToolOutput
from triptych.tools.files import file_tools
from triptych.tools.workspace import Refused, Workspace, WorkspaceError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_workspace(tmp_path)


# Opening the workspace


def test_a_workspace_must_be_a_folder_that_is_there(root: Path) -> None:
    (root / "loop").symlink_to("loop")
    for path, reason in (
        (root / "nothing", "workspace.missing"),
        (root / "a\0b", "workspace.missing"),
        (root / "readme.md", "workspace.not_a_folder"),
        (root / "readme.md" / "inner", "workspace.not_a_folder"),
        (root / "loop", "workspace.unreadable"),
    ):
        with pytest.raises(WorkspaceError) as caught:
            Workspace(path)
        assert caught.value.reason.id == reason
        assert caught.value.reason.values["path"] == str(path)


def test_a_workspace_that_may_not_be_listed_is_told_so() -> None:
    with (
        common_folder() as folder,
        ordinary_user(folder),
        unreadable(folder),
        pytest.raises(WorkspaceError) as caught,
    ):
        Workspace(folder)
    assert caught.value.reason.id == "workspace.unreadable"
    assert caught.value.reason.values == {"path": str(folder), "error": os.strerror(errno.EACCES)}


def test_a_workspace_may_be_opened_through_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    assert read(tmp_path / "link", "docs/plan.txt") == ToolOutput("Plan\n")
    assert read(tmp_path / "link", str(tmp_path / "link" / "readme.md")).text.startswith("# Read me")


def test_a_workspace_that_vanished_is_an_answer(root: Path) -> None:
    tools = file_tools(Workspace(root))
    root.rename(root.with_name("moved"))
    for tool, arguments in (("read_file", {"path": "readme.md"}), ("list_files", {}), ("search_files", {"query": "x"})):
        assert_refused(ask(tools, tool, **arguments), "there is no file or folder")


def test_without_folder_handles_paths_are_checked_all_the_same(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_handles = listed(root), searched(root, "plan"), read(root, "docs/plan.txt")
    monkeypatch.setattr(workspace, "_BY_HANDLE", False)
    assert (listed(root), searched(root, "plan"), read(root, "docs/plan.txt")) == with_handles
    (root / "link").symlink_to("../outside/secret.txt")
    os.mkfifo(root / "pipe")
    assert_refused(read(root, "link"), "outside the workspace")
    assert_refused(read(root, "pipe"), "not a regular file")
    assert_refused(read(root, "readme.md", (root / "readme.md",)), "closed to tools")


# Our own files


def test_hidden_files_are_never_seen_whatever_leads_to_them(root: Path) -> None:
    session, settings_folder = root / "docs" / "talk", root / "own"
    settings_folder.mkdir()
    for path in (session, settings_folder / "config.toml", settings_folder / "cache"):
        path.write_text("hidden words")
    (root / "link").symlink_to("docs/talk")
    (root / "linked folder").symlink_to("own")
    (root / "hard.txt").hardlink_to(session)
    hidden = (session, settings_folder)
    for path in ("docs/talk", "docs/../docs/./talk", str(session), "link", "hard.txt"):
        assert_refused(read(root, path, hidden), "closed to tools")
    for path in ("own/config.toml", "linked folder/cache", "own"):
        assert_refused(read(root, path, hidden), "closed to tools")
    for tool, arguments in (("list_files", {}), ("search_files", {"query": "hidden"})):
        assert_refused(ask(file_tools(Workspace(root, hidden)), tool, path="own", **arguments), "closed to tools")
        assert_refused(ask(file_tools(Workspace(root, hidden)), tool, path="hard.txt", **arguments), "closed to tools")
    assert len(listed(root, hidden=hidden)) == 3
    assert searched(root, "hidden", hidden=hidden) == ["(no matches)"]


def test_a_hidden_path_that_is_a_link_hides_both_ends(root: Path) -> None:
    (root / "kept").mkdir()
    (root / "kept" / "talk").write_text("hidden words")
    (root / "session").symlink_to("kept/talk")
    box = Workspace(root, [root / "session"])
    (root / "hard").hardlink_to(root / "kept" / "talk")
    for path in ("session", "kept/talk", "hard"):
        with pytest.raises(Refused, match="closed"):
            box.read(path)
    assert searched(root, "hidden", hidden=(root / "session",)) == ["(no matches)"]


def test_a_hidden_file_replaced_later_stays_hidden(root: Path) -> None:
    session = root / "talk"
    box = Workspace(root, [session])
    for number in range(3):
        (root / "fresh").write_text(f"version {number}")
        (root / "fresh").replace(session)
        (root / f"hard{number}").hardlink_to(session)
        for path in ("talk", f"hard{number}"):
            with pytest.raises(Refused, match="closed"):
                box.read(path)
        assert not any(file.path in ("talk", f"hard{number}") for file in box.files().files)
        (root / f"hard{number}").unlink()


def test_a_relative_hidden_path_is_meant_from_the_current_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root / "docs")
    assert_refused(read(root, "docs/plan.txt", (Path("plan.txt"),)), "closed to tools")


def test_a_closed_folder_or_one_in_it_cannot_be_the_workspace(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root / "docs")
    for path, hidden in (
        (root, [root]),
        (root / "docs", [root]),
        (root, [tmp_path / "link" / ".."]),
        (tmp_path / "link", [root / "docs"]),
        (Path("/proc"), []),
        (Path("/proc/self"), []),
    ):
        with pytest.raises(WorkspaceError) as caught:
            Workspace(path, hidden)
        assert caught.value.reason.id == "workspace.closed"
        assert caught.value.reason.values == {"path": str(path)}
    assert listed(root, hidden=(root / "docs",)) == ["readme.md  (16 bytes)"]


def test_journals_and_their_sessions_are_closed_unasked(root: Path) -> None:
    for name in ("talk.json", "talk.journal.jsonl", "Other.Journal.JSONL", "plain.json", "docs/a.b.json"):
        (root / name).write_text("words")
    (root / "docs" / "a.b.journal.jsonl").touch()
    (root / "alias.txt").symlink_to("talk.json")
    for path in ("talk.json", "talk.journal.jsonl", "Other.Journal.JSONL", "docs/a.b.json", "alias.txt"):
        assert_refused(read(root, path), "closed to tools")
    assert searched(root, "words") == ["plain.json:1: words"]
    assert len(listed(root)) == 4


def test_sessions_of_any_ending_and_what_was_moved_aside_or_put_away_are_closed(root: Path) -> None:
    ours = ["talk.txt", "talk.txt.journal.jsonl", "plain", "plain.journal.jsonl", "one.journal.jsonl"]
    ours += ["one.json.invalid", "one.json.invalid.2", "one.journal.jsonl.invalid", "one.journal.jsonl.invalid.1"]
    ours += ["two.removed.json", "two.removed-3.json", "two.removed.txt", "two.removed.journal.jsonl", "own.invalid"]
    others = ["talk.md", "invalid.txt", "data.json.invalid", "removed.json", "one.txt", "one"]
    for name in ours:
        (root / name).write_text("words")
    for name in others[:-1]:
        (root / name).write_text("words")
    (root / "one").mkdir()  # beside a session one.json, whose journal has the name that this one's would have
    (root / "one" / "file").write_text("words")
    hidden = (root / "own",)
    for path in ours:
        assert_refused(read(root, path, hidden), "closed to tools")
    for path in [*others[:-1], "one/file"]:
        assert read(root, path, hidden) == ToolOutput("words")
    found = {line.split(":")[0] for line in searched(root, "words", hidden=hidden)}
    assert found == {*others[:-1], "one/file"}


def test_names_that_begin_with_a_dot_are_closed(root: Path) -> None:
    (root / ".git" / "deep").mkdir(parents=True)
    for path in (".env", ".git/config", ".git/deep/file", "docs/.hidden"):
        (root / path).write_text("key=1")
    (root / "visible").symlink_to(".env")
    for path in (".env", ".git/config", ".git/deep/file", "docs/.hidden", "visible", ".nothing"):
        assert_refused(read(root, path), "closed to tools")
    assert_refused(ask(file_tools(Workspace(root)), "list_files", path=".git"), "closed to tools")
    assert len(listed(root)) == 3
    assert searched(root, "key") == ["(no matches)"]


def test_a_workspace_below_a_dotted_folder_is_open(tmp_path: Path) -> None:
    root = tmp_path / ".local" / "workspace"
    root.mkdir(parents=True)
    (root / "file").write_text("text")
    assert read(root, "file") == ToolOutput("text")
    assert listed(root) == ["file  (4 bytes)"]
