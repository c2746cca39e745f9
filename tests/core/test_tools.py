"""What a model can, and cannot, get at through the tools. Real files, links, FIFOs, sockets and devices."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import tempfile
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from triptych.messages import ToolCall
from triptych.tools import files, workspace
from triptych.tools.base import Toolbox, ToolOutput
from triptych.tools.files import ReadFile, file_tools
from triptych.tools.workspace import LARGEST_FILE, Refused, Workspace, WorkspaceError, open_folder

SECRET = "what lies outside"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text(SECRET)
    return folder


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "docs" / "deep").mkdir(parents=True)
    (folder / "readme.md").write_text("# Read me\nHello\n")
    (folder / "docs" / "plan.txt").write_text("Plan\n")
    (folder / "docs" / "deep" / "中文.txt").write_text("第一行\n今天天氣很好\n")
    return folder


def ask(tools: Toolbox, name: str, **arguments: Any) -> ToolOutput:
    return asyncio.run(tools.run(ToolCall("call_1", name, json.dumps(arguments))))


def read(root: Path, path: str, hidden: tuple[Path, ...] = ()) -> ToolOutput:
    return ask(file_tools(Workspace(root, hidden)), "read_file", path=path)


def listed(root: Path, path: str | None = None, hidden: tuple[Path, ...] = ()) -> list[str]:
    output = ask(file_tools(Workspace(root, hidden)), "list_files", path=path)
    assert not output.failed, output.text
    return output.text.split("\n")


def searched(root: Path, query: str, path: str | None = None, hidden: tuple[Path, ...] = ()) -> list[str]:
    output = ask(file_tools(Workspace(root, hidden)), "search_files", query=query, path=path)
    assert not output.failed, output.text
    return output.text.split("\n")


def assert_refused(output: ToolOutput, why: str) -> None:
    assert output.failed, output.text
    assert output.text.startswith("error: ")
    assert why in output.text
    assert "\n" not in output.text
    assert SECRET not in output.text


def open_handles() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


@contextmanager
def ordinary_user(folder: Path) -> Iterator[None]:
    """Lose the superuser's right to read everything, if the tests run with it; the folder stays one's own."""
    if os.geteuid() != 0:
        yield
        return
    nobody = 65534
    for path in (folder, *folder.rglob("*")):
        os.chown(path, nobody, nobody, follow_symlinks=False)
    os.seteuid(nobody)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def common_folder() -> Iterator[Path]:
    """A folder that another user can reach too: pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


# Reading


@pytest.mark.parametrize(
    "path", ["docs/plan.txt", "./docs//plan.txt", "docs/deep/../plan.txt", "../workspace/docs/plan.txt"]
)
def test_a_file_is_read_by_any_path_that_means_it(root: Path, path: str) -> None:
    assert read(root, path) == ToolOutput("Plan\n")


def test_an_absolute_path_inside_is_read(root: Path) -> None:
    assert read(root, str(root / "docs" / "plan.txt")) == ToolOutput("Plan\n")


@pytest.mark.parametrize(
    "content", ["", "no newline", "a\r\nb\r\n", "\ufeffmark", "中文 🙂\n", "\x1b[31mred\x07", "a\u2028b"]
)
def test_the_text_comes_back_as_it_is(root: Path, content: str) -> None:
    (root / "file").write_bytes(content.encode())
    assert read(root, "file") == ToolOutput(content)


def test_the_largest_file_is_read_and_one_byte_more_is_not(root: Path) -> None:
    (root / "large").write_bytes(b"x" * LARGEST_FILE)
    (root / "huge").write_bytes(b"x" * (LARGEST_FILE + 1))
    assert len(read(root, "large").text) == LARGEST_FILE
    assert_refused(read(root, "huge"), "larger than 1,048,576 bytes")


def test_a_vast_sparse_file_is_refused(root: Path) -> None:
    with (root / "vast").open("wb") as file:
        file.truncate(1 << 40)
    assert_refused(read(root, "vast"), "too large")


@pytest.mark.parametrize(
    "content", [b"PNG\0\1\2", "caf\xe9".encode("latin-1"), "text".encode("utf-16"), b"\xed\xa0\x80"]
)
def test_what_is_not_utf8_text_is_refused(root: Path, content: bytes) -> None:
    (root / "file").write_bytes(content)
    assert_refused(read(root, "file"), "not UTF-8 text")


@pytest.mark.parametrize("name", ["-rf", "--help", "~", "$HOME", "a b", "a\nb", "\x1b]52;c;x\x07", "*", "%s{0}", "'"])
def test_odd_names_are_names_like_any_other(root: Path, name: str) -> None:
    (root / name).write_text("odd")
    assert read(root, name) == ToolOutput("odd")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_composed_and_decomposed_names_are_reported_as_they_are(root: Path, form: Literal["NFC", "NFD"]) -> None:
    name = unicodedata.normalize(form, "é.txt")
    (root / name).write_text(form)
    assert read(root, name) == ToolOutput(form)
    assert listed(root)[1] == f"{name}  (3 bytes)"


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


def test_what_may_not_be_read_is_refused_and_counted(common_folder: Path) -> None:
    (common_folder / "closed").mkdir()
    (common_folder / "closed" / "inner.txt").write_text("word")
    (common_folder / "file.txt").write_text("word")
    (common_folder / "open.txt").write_text("word")
    tools = file_tools(Workspace(common_folder))
    assert not ask(tools, "read_file", path="file.txt").failed
    (common_folder / "file.txt").chmod(0)
    with ordinary_user(common_folder):
        (common_folder / "closed").chmod(0)
        try:
            assert_refused(ask(tools, "read_file", path="file.txt"), "no permission to read 'file.txt'")
            assert_refused(ask(tools, "read_file", path="closed/inner.txt"), "no permission")
            assert_refused(ask(tools, "list_files", path="closed"), "no permission")
            assert ask(tools, "list_files").text.split("\n")[2:] == ["(folders that could not be read: 1)"]
            assert ask(tools, "search_files", query="word").text.split("\n") == [
                "open.txt:1: word",
                "(files and folders that could not be searched: 2)",
            ]
        finally:
            (common_folder / "closed").chmod(0o700)


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


@settings(max_examples=400, deadline=None)
@given(
    path=st.one_of(
        st.text(max_size=60),
        st.lists(st.sampled_from(PIECES), max_size=12).map("/".join),
    )
)
@example(path="/proc/self/cwd/../../etc/passwd")
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


def test_everything_is_closed_where_the_workspace_lies_in_a_hidden_folder(root: Path) -> None:
    assert_refused(read(root / "docs", "plan.txt", (root,)), "closed to tools")
    assert_refused(ask(file_tools(Workspace(root / "docs", [root])), "list_files"), "closed to tools")


def test_journals_and_their_sessions_are_closed_unasked(root: Path) -> None:
    for name in ("talk.json", "talk.journal.jsonl", "Other.Journal.JSONL", "plain.json", "docs/a.b.json"):
        (root / name).write_text("words")
    (root / "docs" / "a.b.journal.jsonl").touch()
    (root / "alias.txt").symlink_to("talk.json")
    for path in ("talk.json", "talk.journal.jsonl", "Other.Journal.JSONL", "docs/a.b.json", "alias.txt"):
        assert_refused(read(root, path), "closed to tools")
    assert searched(root, "words") == ["plain.json:1: words"]
    assert len(listed(root)) == 4


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


# Listing


def test_a_listing_is_one_path_a_line_in_a_fixed_order(root: Path) -> None:
    assert listed(root) == ["readme.md  (16 bytes)", "docs/plan.txt  (5 bytes)", "docs/deep/中文.txt  (29 bytes)"]
    assert listed(root, "docs/deep") == ["docs/deep/中文.txt  (29 bytes)"]
    assert listed(root, "readme.md") == ["readme.md  (16 bytes)"]
    assert listed(root, "") == listed(root, ".") == listed(root, str(root)) == listed(root)


def test_an_empty_folder_says_so(root: Path) -> None:
    (root / "empty").mkdir()
    assert listed(root, "empty") == ["(no files)"]


def test_names_cannot_break_the_lines_of_a_listing(root: Path) -> None:
    names = [
        "a\nb.txt",
        "c\rd",
        "\x1b[2J",
        "tab\t",
        "rtl\u202etxt",
        "sep\u2028",
        "zero\u200bwidth",
        "tag\U000e0041",
        "nel\x85",
    ]
    for name in names:
        (root / "docs" / "deep" / name).write_text("needle")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.txt")).write_text("needle")
    lines = listed(root)
    assert len(lines) == 3 + len(names) + 1
    assert all(character.isprintable() for line in lines for character in line)
    assert "docs/deep/a\\nb.txt  (6 bytes)" in lines
    assert "\\udcff.txt  (6 bytes)" in lines
    assert all(line.isprintable() and line.endswith(":1: needle") for line in searched(root, "NEEDLE"))


def test_an_escaped_name_can_be_sent_back_as_json(root: Path) -> None:
    names = ["a\nb", "\x1b[2J", "tag\U000e0041", os.fsdecode(b"\xff")]
    for name in names:
        (root / "docs" / "deep" / name).write_text("found")
    tools = file_tools(Workspace(root))
    for line in listed(root, "docs/deep")[: len(names)]:
        if "中文" not in line:
            path = line.removesuffix("  (5 bytes)")
            assert asyncio.run(tools.run(ToolCall("1", "read_file", f'{{"path": "{path}"}}'))) == ToolOutput("found")


def test_a_long_listing_is_cut_and_says_so(root: Path) -> None:
    (root / "many").mkdir()
    for number in range(files.MOST_FILES_LISTED + 5):
        (root / "many" / f"{number:05}").touch()
    lines = listed(root, "many")
    assert lines[-1] == "(more files were left out after the first 1000)"
    assert lines[:2] == ["many/00000  (0 bytes)", "many/00001  (0 bytes)"]
    assert len(lines) == files.MOST_FILES_LISTED + 1
    (root / "many" / "00000").rename(root / "many" / "zzz")
    for number in range(1000, 1005):
        (root / "many" / f"{number:05}").unlink()
    assert len(listed(root, "many")) == 1000, "exactly as many as are shown: nothing was left out"


def test_folders_nested_too_deep_are_counted_not_entered(root: Path) -> None:
    (root / "docs" / "deep").joinpath(*["d"] * (workspace.DEEPEST_FOLDER + 3)).mkdir(parents=True)
    assert listed(root)[3:] == ["(folders that could not be read: 1)"]


# Searching


def test_a_search_shows_path_line_and_text(root: Path) -> None:
    assert searched(root, "hELLO") == ["readme.md:2: Hello"]
    assert searched(root, "天氣") == ["docs/deep/中文.txt:2: 今天天氣很好"]
    assert searched(root, "天氣", "docs/deep/中文.txt") == ["docs/deep/中文.txt:2: 今天天氣很好"]
    assert searched(root, "天氣", "docs") == ["docs/deep/中文.txt:2: 今天天氣很好"]
    assert searched(root, "not to be found") == ["(no matches)"]


def test_a_query_is_plain_text(root: Path) -> None:
    (root / "code").write_text("a.*b\r\naxxb\nSTRASSE straße [\n")
    assert searched(root, ".*") == ["code:1: a.*b"]
    assert searched(root, "[") == ["code:3: STRASSE straße ["]
    assert searched(root, "STRASSE STRASSE") == ["code:3: STRASSE straße ["]


@pytest.mark.parametrize("query", ["", "a\nb"])
def test_a_query_is_one_line(root: Path, query: str) -> None:
    assert_refused(ask(file_tools(Workspace(root)), "search_files", query=query), '"query" must be one line of text')


def test_many_matches_are_cut_and_say_so(root: Path) -> None:
    for name in ("first", "second"):
        (root / name).write_text("word\n" * 150)
    lines = searched(root, "word")
    assert lines[0] == "first:1: word"
    assert lines[199:] == ["second:50: word", "(more matches were left out after the first 200)"]
    (root / "second").write_text("word\n" * 50)
    assert len(searched(root, "word")) == 200, "exactly as many as are shown: nothing was left out"


def test_a_long_line_is_cut_around_its_match(root: Path) -> None:
    (root / "minified").write_text("x" * 500_000 + "needle" + "y" * 500_000)
    (line,) = searched(root, "needle")
    assert "needle" in line
    assert line.startswith("minified:1: …x")
    assert line.endswith("y…")
    assert len(line) < 300


def test_files_that_cannot_be_searched_are_counted(root: Path) -> None:
    (root / "binary").write_bytes(b"\0hello")
    (root / "huge").write_bytes(b"hello" * LARGEST_FILE)
    assert searched(root, "hello") == ["readme.md:2: Hello", "(files and folders that could not be searched: 2)"]


def test_a_search_stops_after_so_many_bytes_and_says_so(root: Path) -> None:
    folder = root / "docs" / "deep" / "large"
    folder.mkdir()
    for number in range(files.MOST_BYTES_SEARCHED // LARGEST_FILE + 1):
        with (folder / f"{number:03}").open("wb") as file:
            file.truncate(LARGEST_FILE)  # sparse, and binary: quick to make and to refuse
    (folder / "zzz").write_text("needle")
    assert searched(root, "needle")[:2] == ["(no matches)", "(not all files were searched: there are too many)"]


# Calls


async def test_many_calls_at_once_answer_each_its_own(root: Path) -> None:
    for number in range(60):
        (root / f"file{number}").write_text(f"content {number}")
    tools = file_tools(Workspace(root))
    calls = [ToolCall(str(number), "read_file", json.dumps({"path": f"file{number}"})) for number in range(60)]
    outputs = await asyncio.gather(*(tools.run(call) for call in calls))
    assert [output.text for output in outputs] == [f"content {number}" for number in range(60)]


async def test_a_cancelled_call_leaves_nothing_open(root: Path) -> None:
    for number in range(300):
        (root / f"file{number}").write_text("text\n" * 1000)
    tools = file_tools(Workspace(root))
    await tools.run(ToolCall("0", "list_files", "{}"))
    before = open_handles()
    tasks = [
        asyncio.create_task(tools.run(ToolCall("1", name, arguments)))
        for name, arguments in (
            ("search_files", '{"query": "text"}'),
            ("read_file", '{"path": "file1"}'),
            ("list_files", "{}"),
        )
    ]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    assert all(isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*tasks, return_exceptions=True))
    await asyncio.get_running_loop().shutdown_default_executor()
    assert open_handles() == before


def test_refusals_leave_nothing_open(root: Path) -> None:
    (root / "link").symlink_to("/etc")
    (root / "binary").write_bytes(b"\0")
    box = Workspace(root)
    before = open_handles()
    for path in ("link", "binary", "docs", "nothing", "docs/nothing/x", "readme.md/x"):
        with pytest.raises(Refused):
            box.read(path)
    assert open_handles() == before


@pytest.mark.parametrize(
    ("tool", "arguments", "needed"),
    [
        ("read_file", {}, '"path" is needed'),
        ("read_file", {"path": None}, '"path" is needed'),
        ("read_file", {"path": ["readme.md"]}, "must be a string"),
        ("read_file", {"file": "readme.md"}, '"path" is needed'),
        ("list_files", {"path": 7}, "must be a string"),
        ("search_files", {}, '"query" is needed'),
        ("search_files", {"query": {"a": 1}}, "must be a string"),
        ("search_files", {"query": "x", "path": False}, "must be a string"),
    ],
)
def test_bad_arguments_are_told_what_is_needed(root: Path, tool: str, arguments: dict[str, Any], needed: str) -> None:
    assert_refused(ask(file_tools(Workspace(root)), tool, **arguments), needed)


@pytest.mark.parametrize("arguments", ['{"path": "readme.md"', "not json", '{"path": ' + "[" * 100_000, "9" * 5000])
async def test_arguments_that_are_no_json_run_nothing(root: Path, arguments: str) -> None:
    output = await file_tools(Workspace(root)).run(ToolCall("1", "read_file", arguments))
    assert_refused(output, "not valid JSON; nothing was run")


@pytest.mark.parametrize("arguments", ['["readme.md"]', '"readme.md"', "null", "1"])
async def test_arguments_that_are_no_object_run_nothing(root: Path, arguments: str) -> None:
    output = await file_tools(Workspace(root)).run(ToolCall("1", "read_file", arguments))
    assert_refused(output, "must be a JSON object; nothing was run")


async def test_an_unknown_tool_is_told_the_known_ones(root: Path) -> None:
    output = await file_tools(Workspace(root)).run(ToolCall("1", "delete\nfile", "{}"))
    assert_refused(output, "no tool named 'delete\\nfile'; tools: read_file, list_files, search_files")
    assert_refused(await Toolbox().run(ToolCall("1", "read_file", "{}")), "tools: none")


async def test_empty_arguments_mean_none(root: Path) -> None:
    assert not (await file_tools(Workspace(root)).run(ToolCall("1", "list_files", ""))).failed


def test_schemas_are_json_and_name_what_is_required(root: Path) -> None:
    schemas = json.loads(json.dumps(file_tools(Workspace(root)).schemas()))
    required = {tool["function"]["name"]: tool["function"]["parameters"]["required"] for tool in schemas}
    assert required == {"read_file": ["path"], "list_files": [], "search_files": ["query"]}
    for tool in schemas:
        assert tool["type"] == "function"
        assert set(required[tool["function"]["name"]]) <= set(tool["function"]["parameters"]["properties"])


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


def test_a_workspace_that_may_not_be_listed_is_told_so(common_folder: Path) -> None:
    folder = common_folder / "closed"
    folder.mkdir()
    with ordinary_user(common_folder):
        folder.chmod(0)
        try:
            with pytest.raises(WorkspaceError) as caught:
                Workspace(folder)
        finally:
            folder.chmod(0o700)
    assert caught.value.reason.id == "workspace.unreadable"
    assert caught.value.reason.values["error"] == os.strerror(13)


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
