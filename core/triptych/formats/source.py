"""What a file holds before its format is known: its text, and the JSON documents in it."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from triptych.formats.json_reader import REPLACEMENT, Document, JsonReader, LocatedList


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What could not be read, wholly or in part: the line it begins on (from 1), and why, in a word."""

    line: int
    reason: str


@dataclass(frozen=True)
class Source:
    """A file's text and the JSON documents in it.

    `replaced_characters`: how many became U+FFFD, since their bytes or escapes are no characters.
    """

    text: str
    documents: tuple[Document, ...]
    unreadable: tuple[Unreadable, ...]
    replaced_characters: int

    def line_of(self, document: Document) -> int:
        """The line a document begins on."""
        return self._lines.at(document.start)

    def line_of_item(self, document: Document, items: list[Any], index: int) -> int:
        """The line of an item of a list that is `document` or stands in it; the document's where it is not known."""
        located = items if isinstance(items, LocatedList) else self._located(document, items)
        return self._lines.at(located.starts[index] if isinstance(located, LocatedList) else document.start)

    def _located(self, document: Document, items: list[Any]) -> Any:
        if len(self.documents) > 1:
            return items
        twin = self._read_with_care[0].value
        if isinstance(twin, dict) and isinstance(document.value, dict):
            return next((twin.get(key) for key, value in document.value.items() if value is items), None)
        return twin

    @cached_property
    def _read_with_care(self) -> list[Document]:
        reader = JsonReader(self.text)
        reader.read_with_care()
        return reader.documents

    @cached_property
    def _lines(self) -> _LineIndex:
        return _LineIndex(self.text)


class _LineIndex:
    """Line numbers of offsets. Only a newline ends a line: U+2028 and its like stand inside JSON strings."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def at(self, offset: int) -> int:
        return bisect_left(self._ends, offset) + 1


class Decoded(NamedTuple):
    """A file's text, and how many of its characters stand for bytes that could not be decoded."""

    text: str
    undecodable: int


def decode(data: bytes) -> Decoded:
    """The text of a file's bytes, UTF-8 or UTF-16 with a byte order mark. Never raises."""
    encoding = "utf-8"
    if data.startswith(codecs.BOM_UTF16_LE):
        encoding = "utf-16-le"
    elif data.startswith(codecs.BOM_UTF16_BE):
        encoding = "utf-16-be"
    try:
        return Decoded(data.decode(encoding).removeprefix("\ufeff"), 0)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace").removeprefix("\ufeff")
        return Decoded(text, max(1, text.count(REPLACEMENT) - data.count(REPLACEMENT.encode(encoding))))


def parse(decoded: Decoded) -> Source:
    """All the JSON there is in a text. Never raises."""
    text, undecodable = decoded
    reader = JsonReader(text)
    if not reader.read_at_once():
        reader = JsonReader(text)
        reader.read_with_care()
    notes = sorted(reader.notes + (_undecodable_lines(text) if undecodable else []))
    unreadable: tuple[Unreadable, ...] = ()
    if notes:
        lines = _LineIndex(text)
        unreadable = tuple(Unreadable(lines.at(offset), reason) for offset, reason in notes)
    return Source(text, tuple(reader.documents), unreadable, reader.replaced + undecodable)


def _undecodable_lines(text: str) -> list[tuple[int, str]]:
    """A note at the first replaced character of each line that holds one."""
    return [(match.start(1), "invalid_encoding") for match in re.finditer(f"({REPLACEMENT}).*", text)]
