"""What no path leads to. Real files, links, FIFOs, sockets and devices."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support_workspace import (
    SECRET,
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
from triptych.tools.base import ToolOutput
from triptych.tools.files import ReadFile, file_tools
from triptych.tools.workspace import Refused, Workspace, open_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_workspace(tmp_path)


@pytest.fixture
def outside(root: Path) -> Path:
    return root.parent / "outside"


# Refusals


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside/secret.txt",
        "docs/../../outside/secret.txt",
        "/etc/passwd",
        "/",
        "//etc/passwd",
        "/proc/self/environ",
    ],
)
def test_paths_that_lead_out_are_refused(root: Path, path: str) -> None:
    assert_refused(read(root, path), "outside the workspace")
    for tool, arguments in (("list_files", {}), ("search_files", {"query": "o"})):
        assert_refused(ask(file_tools(Workspace(root)), tool, path=path, **arguments), "outside the workspace")


def test_an_absolute_path_outside_is_refused_whether_it_exists_or_not(root: Path, outside: Path) -> None:
    assert_refused(read(root, str(outside / "secret.txt")), "outside the workspace")
    assert_refused(read(root, str(outside / "nothing.txt")), "outside the workspace")


def test_a_folder_whose_name_begins_like_the_workspace_is_outside(root: Path) -> None:
    twin = root.with_name("workspace-2")
    twin.mkdir()
    (twin / "file").write_text(SECRET)
    assert_refused(read(root, "../workspace-2/file"), "outside the workspace")


@pytest.mark.parametrize(
    "target",
    [
        "../outside/secret.txt",
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/self/root/etc/passwd",
        "/dev/zero",
        "/dev/stdin",
        "..",
    ],
)
def test_links_that_lead_out_are_refused(root: Path, target: str) -> None:
    (root / "link").symlink_to(target)
    (root / "second").symlink_to("link")
    (root / "docs" / "third").symlink_to("../second")
    for path in ("link", "second", "docs/third"):
        assert_refused(read(root, path), "outside the workspace")


def test_a_linked_folder_that_leads_out_is_refused_and_never_listed_or_searched(root: Path, outside: Path) -> None:
    (root / "folder").symlink_to(outside)
    assert_refused(read(root, "folder/secret.txt"), "outside the workspace")
    assert_refused(ask(file_tools(Workspace(root)), "list_files", path="folder"), "outside the workspace")
    assert not any("secret" in line for line in listed(root))
    assert searched(root, SECRET) == ["(no matches)"]


def test_links_inside_are_followed_but_listed_only_where_they_lead(root: Path) -> None:
    (root / "link").symlink_to("docs/deep")
    (root / "link.txt").symlink_to(root / "docs" / "plan.txt")
    (root / "chain").symlink_to("link.txt")
    for path in ("link.txt", "chain", "link/../plan.txt"):
        assert read(root, path) == ToolOutput("Plan\n")
    assert listed(root, "link") == ["docs/deep/中文.txt  (29 bytes)"]
    assert listed(root) == ["readme.md  (16 bytes)", "docs/plan.txt  (5 bytes)", "docs/deep/中文.txt  (29 bytes)"]
    assert searched(root, "plan") == ["docs/plan.txt:1: Plan"]


def test_loops_and_broken_links_are_refused(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "docs" / "up").symlink_to("..")
    (root / "broken").symlink_to("nothing")
    assert_refused(read(root, "a"), "link that cannot be followed")
    assert_refused(ask(file_tools(Workspace(root)), "list_files", path="a"), "link that cannot be followed")
    assert_refused(read(root, "broken"), "no file or folder")
    assert read(root, "docs/up/docs/up/docs/plan.txt") == ToolOutput("Plan\n")
    assert len(listed(root)) == 3


def test_a_very_long_chain_of_links_is_answered(root: Path) -> None:
    (root / "link0").symlink_to("/etc/passwd")
    for number in range(1, 2000):
        (root / f"link{number}").symlink_to(f"link{number - 1}")
    output = read(root, "link1999")
    assert output.failed
    assert output.text.startswith("error: 'link1999' is ")


def test_a_fifo_is_refused_at_once(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert_refused(read(root, "pipe"), "not a regular file")
    assert_refused(ask(file_tools(Workspace(root)), "list_files", path="pipe"), "not a regular file")
    assert not any("pipe" in line for line in listed(root))
    assert searched(root, "nothing") == ["(no matches)"]


def test_a_socket_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)  # a socket's address is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert_refused(read(root, "socket"), "not a regular file")


def test_devices_are_refused() -> None:
    for name in ("zero", "null", "tty"):
        assert_refused(read(Path("/dev"), name), "not a regular file")


@pytest.mark.parametrize("path", ["proc/self/environ", "/proc/self/status", "sys/kernel/x", "/proc"])
def test_the_kernels_files_are_closed_even_where_the_workspace_is_everything(path: str) -> None:
    assert_refused(read(Path("/"), path), "closed to tools")


def test_folders_and_missing_files_say_so(root: Path) -> None:
    for path in ("docs", "", ".", "docs/", str(root)):
        assert_refused(read(root, path), "is a folder; list_files")
    for path in ("nothing", "docs/nothing.txt", "nothing/at/all", "readme.md/inner"):
        assert_refused(read(root, path), "there is no file or folder")
        assert_refused(ask(file_tools(Workspace(root)), "list_files", path=path), "there is no file or folder")


@pytest.mark.parametrize("path", ["a\0b", "\0", "x" * 300, "x/" * 3000, "y" * 1_000_000, "\ud800", "a\nb\0"])
def test_impossible_names_are_refused_briefly(root: Path, path: str) -> None:
    output = read(root, path)
    assert_refused(output, "is not a possible path")
    assert len(output.text) < 300
    output.text.encode()


def test_what_may_not_be_read_is_refused_and_counted() -> None:
    with common_folder() as folder:
        (folder / "closed").mkdir()
        for name in ("closed/inner.txt", "file.txt", "open.txt"):
            (folder / name).write_text("word")
        tools = file_tools(Workspace(folder))
        assert not ask(tools, "read_file", path="file.txt").failed
        with ordinary_user(folder), unreadable(folder / "file.txt"), unreadable(folder / "closed"):
            assert_refused(ask(tools, "read_file", path="file.txt"), "no permission to read 'file.txt'")
            assert_refused(ask(tools, "read_file", path="closed/inner.txt"), "no permission")
            assert_refused(ask(tools, "list_files", path="closed"), "no permission")
            lines = ask(tools, "list_files").text.split("\n")
            assert lines[2:] == ["(folders that could not be read: 1)"]
            lines = ask(tools, "search_files", query="word").text.split("\n")
            assert lines == ["open.txt:1: word", "(files and folders that could not be searched: 2)"]


def test_a_link_swapped_in_for_a_folder_is_not_followed(root: Path, outside: Path) -> None:
    (root / "swapped").symlink_to(outside)
    with pytest.raises(OSError, match="swapped"):
        open_folder(root, ("swapped",))
    (root / "docs" / "deep" / "swapped").symlink_to(outside)
    with pytest.raises(OSError, match="swapped"):
        open_folder(root, ("docs", "deep", "swapped"))


def test_swapping_while_reading_never_shows_what_is_outside(root: Path, outside: Path) -> None:
    (outside / "plan.txt").write_text(SECRET)
    (root / "link").symlink_to(outside)
    (root / "filelink").symlink_to(outside / "plan.txt")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for place, link in (("docs", "link"), ("readme.md", "filelink")):
                (root / place).rename(root / "aside")
                (root / link).rename(root / place)
                (root / place).rename(root / link)
                (root / "aside").rename(root / place)

    box = Workspace(root)
    swapper = threading.Thread(target=swap)
    swapper.start()
    answers = set()
    try:
        for _ in range(1500):
            for path in ("docs/plan.txt", "readme.md"):
                try:
                    answers.add(box.read(path))
                except Refused as refused:
                    answers.add(refused.why)
            answers.update(file.path for file in box.files().files)
    finally:
        stop.set()
        swapper.join()
    assert SECRET not in answers
    assert not any("secret" in answer for answer in answers)


NAMES = ["in", "a.txt", "out", "up", "loop", "abs", "secret.txt", ".git", "pipe", "zero", "workspace", "outside"]
PIECES = ["..", ".", "", "/", "~", "\0", *NAMES, "proc", "self", "root", "etc", "passwd", "environ", "fd", "cwd"]


@given(
    path=st.one_of(
        st.text(max_size=60),
        st.lists(st.sampled_from(PIECES), max_size=12).map("/".join),
    )
)
@example(path="/proc/self/cwd/../../etc/passwd")
@example(path="abs/proc/self/root/etc/passwd")
@example(path="out/../workspace/in/up/../outside/secret.txt")
@example(path="in/in/../secret.txt")
@example(path="a.txt/../../outside/a.txt")
def test_no_path_reads_anything_outside(open_ground: Path, path: str) -> None:
    output = asyncio.run(ReadFile(Workspace(open_ground)).run({"path": path}))
    assert output.failed or output.text in ("inside a", "inside b")
    if output.failed:
        assert output.text.startswith("error: ")
        assert len(output.text.split("\n")) == 1


@pytest.fixture(scope="module")
def open_ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace full of ways out."""
    base = tmp_path_factory.mktemp("ground")
    root, outside = base / "workspace", base / "outside"
    (root / "in").mkdir(parents=True)
    (root / ".git").mkdir()
    outside.mkdir()
    for folder in (outside, root / ".git"):
        (folder / "a.txt").write_text(SECRET)
        (folder / "secret.txt").write_text(SECRET)
    (root / "a.txt").write_text("inside a")
    (root / "in" / "a.txt").write_text("inside b")
    for name, target in {
        "out": outside,
        "up": "..",
        "in/up": "..",
        "in/out": "../../outside",
        "loop": "loop",
        "abs": "/",
        "proc": "/proc",
        "self": "/proc/self",
        "zero": "/dev/zero",
        "in/in": "../in",
        "secret.txt": "../outside/secret.txt",
    }.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe")
    return root
