"""What a model gets from the tools: the text of files, listings, matches, and errors it can understand."""

from __future__ import annotations

import asyncio
import json
import os
import unicodedata
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.support_workspace import (
    ask,
    assert_refused,
    listed,
    make_workspace,
    open_handles,
    read,
    searched,
)
from triptych.messages import ToolCall
from triptych.tools import files, workspace
from triptych.tools.base import Toolbox, ToolOutput
from triptych.tools.files import file_tools
from triptych.tools.workspace import LARGEST_FILE, Refused, Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_workspace(tmp_path)


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
    assert f"{name}  (3 bytes)" in listed(root)


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
