"""read_file, list_files and search_files: what a model may do with the workspace. All of them only read."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, NamedTuple

from triptych.tools.base import Toolbox, ToolOutput
from triptych.tools.workspace import LARGEST_FILE, Refusal, Refused, Workspace

MOST_FILES_LISTED = 1_000
MOST_FILES_SEARCHED = 10_000
MOST_BYTES_SEARCHED = 64 * 1024 * 1024
MOST_MATCHES = 200
"""Where one call stops; its answer then says that there is more."""

LONGEST_LINE = 240
"""Characters of a matching line that are shown."""

_SENTENCES: dict[Refusal, str] = {
    "outside": "{path} is outside the workspace",
    "closed": "{path} is closed to tools, like all hidden files and this program's own files",
    "missing": "there is no file or folder {path}",
    "link": "{path} is a link that cannot be followed",
    "folder": "{path} is a folder; list_files shows what is in it",
    "special": "{path} is not a regular file",
    "huge": f"{{path}} is larger than {LARGEST_FILE:,} bytes, too large to read",
    "binary": "{path} is not UTF-8 text",
    "denied": "there is no permission to read {path}",
    "name": "{path} is not a possible path",
    "unreadable": "{path} cannot be read",
}
_ESCAPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_LONGEST_PATH_SHOWN = 200


class BadArgumentError(Exception):
    """Arguments a tool cannot run with; the text says what it needs."""


def file_tools(workspace: Workspace) -> Toolbox:
    """The tools that read this workspace."""
    return Toolbox((ReadFile(workspace), ListFiles(workspace), SearchFiles(workspace)))


def visible(name: str) -> str:
    """A file name on one line, nothing in it invisible: controls as JSON escapes, which a model can send back."""
    return "".join(json.dumps(c)[1:-1] if unicodedata.category(c) in _ESCAPED_CATEGORIES else c for c in name)


class ReadFile(NamedTuple):
    """The text of one file, as it is."""

    workspace: Workspace

    @property
    def name(self) -> str:
        return "read_file"

    @property
    def description(self) -> str:
        return "Read a text file of the workspace."

    @property
    def parameters(self) -> Mapping[str, Any]:
        return _schema(path="The file's path, relative to the workspace.", required=["path"])

    async def run(self, arguments: Mapping[str, Any]) -> ToolOutput:
        return await _output(arguments, self._read(arguments))

    async def _read(self, arguments: Mapping[str, Any]) -> str:
        return await asyncio.to_thread(self.workspace.read, _required(arguments, "path"))


class ListFiles(NamedTuple):
    """One `path  (N bytes)` a line, everything below a folder."""

    workspace: Workspace

    @property
    def name(self) -> str:
        return "list_files"

    @property
    def description(self) -> str:
        return "List the files of the workspace, or of one folder in it, with their sizes."

    @property
    def parameters(self) -> Mapping[str, Any]:
        return _schema(path="A folder, relative to the workspace. Default: the whole workspace.", required=[])

    async def run(self, arguments: Mapping[str, Any]) -> ToolOutput:
        return await _output(arguments, self._list(arguments))

    async def _list(self, arguments: Mapping[str, Any]) -> str:
        path = _optional(arguments, "path")
        listing = await asyncio.to_thread(self.workspace.files, path, MOST_FILES_LISTED)
        lines = [f"{visible(file.path)}  ({file.size} bytes)" for file in listing.files]
        if not lines:
            lines.append("(no files)")
        if listing.more:
            lines.append(f"(more files were left out after the first {len(listing.files)})")
        if listing.unread:
            lines.append(f"(folders that could not be read: {listing.unread})")
        return "\n".join(lines)


class SearchFiles(NamedTuple):
    """One `path:line: text` a line, for every line that holds the query."""

    workspace: Workspace

    @property
    def name(self) -> str:
        return "search_files"

    @property
    def description(self) -> str:
        return "Find the lines that contain a text, in all files or below one path. Upper and lower case are the same."

    @property
    def parameters(self) -> Mapping[str, Any]:
        return _schema(
            query="The text to find: plain text of one line, no regular expression.",
            path="A file or folder, relative to the workspace. Default: the whole workspace.",
            required=["query"],
        )

    async def run(self, arguments: Mapping[str, Any]) -> ToolOutput:
        return await _output(arguments, self._search(arguments))

    async def _search(self, arguments: Mapping[str, Any]) -> str:
        query = _required(arguments, "query")
        if not query or "\n" in query:
            raise BadArgumentError('"query" must be one line of text')
        path = _optional(arguments, "path")
        listing = await asyncio.to_thread(self.workspace.files, path, MOST_FILES_SEARCHED)
        lines: list[str] = []
        size, unread, more = 0, 0, listing.more
        for file in listing.files:  # one thread call a file, so that a cancelled search stops at the next file
            size += min(file.size, LARGEST_FILE)
            if size > MOST_BYTES_SEARCHED or len(lines) > MOST_MATCHES:
                more = True
                break
            try:
                lines += await asyncio.to_thread(self._matches, file.path, query)
            except Refused:
                unread += 1
        shown = lines[:MOST_MATCHES] or ["(no matches)"]
        if len(lines) > MOST_MATCHES:
            shown.append(f"(more matches were left out after the first {MOST_MATCHES})")
        elif more:
            shown.append("(not all files were searched: there are too many)")
        if unread or listing.unread:
            shown.append(f"(files and folders that could not be searched: {unread + listing.unread})")
        return "\n".join(shown)

    def _matches(self, path: str, query: str) -> list[str]:
        """The first matching lines of one file, one more than can be shown."""
        found: list[str] = []
        for number, text in _lines_with(query, self.workspace.read(path)):
            found.append(f"{visible(path)}:{number}: {text}")
            if len(found) > MOST_MATCHES:
                break
        return found


def _lines_with(query: str, text: str) -> Iterator[tuple[int, str]]:
    """The number and text of each line that holds the query; a long line is cut around its first match."""
    needle = query.casefold()
    if needle not in text.casefold():
        return
    for number, line in enumerate(text.split("\n"), start=1):
        at = line.casefold().find(needle)
        if at < 0:
            continue
        line = line.removesuffix("\r")
        start = max(0, min(at - LONGEST_LINE // 3, len(line) - LONGEST_LINE))
        end = start + LONGEST_LINE
        yield number, ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


async def _output(arguments: Mapping[str, Any], answer: Coroutine[Any, Any, str]) -> ToolOutput:
    try:
        return ToolOutput(await answer)
    except BadArgumentError as error:
        return ToolOutput(f"error: {error}", failed=True)
    except Refused as refused:
        path = visible(str(arguments.get("path") or ".")[:_LONGEST_PATH_SHOWN])
        return ToolOutput("error: " + _SENTENCES[refused.why].format(path=f"'{path}'"), failed=True)


def _required(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise BadArgumentError(f'"{name}" is needed, and must be a string')
    return value


def _optional(arguments: Mapping[str, Any], name: str) -> str:
    return "" if arguments.get(name) is None else _required(arguments, name)


def _schema(*, required: list[str], **properties: str) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": text} for name, text in properties.items()},
        "required": required,
    }
