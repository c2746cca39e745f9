"""A workspace in a folder of its own, with a secret beside it, and the tools asked as a model asks them."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from triptych.messages import ToolCall
from triptych.tools.base import Toolbox, ToolOutput
from triptych.tools.files import file_tools
from triptych.tools.workspace import Workspace

SECRET = "what lies outside"


def make_workspace(place: Path) -> Path:
    """Three files in `workspace`, and `outside/secret.txt` beside it."""
    (place / "outside").mkdir()
    (place / "outside" / "secret.txt").write_text(SECRET)
    root = place / "workspace"
    (root / "docs" / "deep").mkdir(parents=True)
    (root / "readme.md").write_text("# Read me\nHello\n")
    (root / "docs" / "plan.txt").write_text("Plan\n")
    (root / "docs" / "deep" / "中文.txt").write_text("第一行\n今天天氣很好\n")
    return root


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


@contextmanager
def common_folder() -> Iterator[Path]:
    """A folder that another user can reach too: pytest's own are closed to others."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@contextmanager
def unreadable(path: Path) -> Iterator[None]:
    """Take every permission away for a while."""
    mode = stat.S_IMODE(path.stat().st_mode)
    path.chmod(0)
    try:
        yield
    finally:
        path.chmod(mode)
