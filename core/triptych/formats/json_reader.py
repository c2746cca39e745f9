"""Reading broken JSON: what cannot be read costs only itself, and is noted by place and reason.

A text holds one document or many (JSON Lines, glued objects). Documents that go on over lines are read member by
member, so that one bad message does not cost the list; in JSON Lines one bad line does not cost the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

MAX_DEPTH = 200
"""Values nested deeper are not read: writing and showing them would exhaust the interpreter's stack."""

MAX_NOTES = 100_000
"""A text with more faults is not read further."""

REPLACEMENT = "\ufffd"

_WIDEST_MARGIN = 80

_SPACE = re.compile(r"[ \t\n\r]*")
_GAP = re.compile(r"[ \t\n\r\ufeff\0]*")  # between documents also what crashes and concatenation leave there
_TOKEN = re.compile(r'"(?:[^"\\\n]++|\\.)*+("?)|[\[\]{},:]')
_CONTAINERS = (dict, list)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Document(NamedTuple):
    """A JSON value at the top of a text, and the offset it begins at."""

    value: Any
    start: int


class LocatedList(list[Any]):
    """A list that knows the offset of each of its items."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: list[int] = []


class _Bad(Exception):
    """A value that cannot be read; the one argument is the reason."""


class JsonReader:
    """Reads one text, once: `documents` in order, `notes` as `(offset, reason)`, how many characters were `replaced`.

    `_text` is the window that is read at present, the whole or one line, and `_base` its offset.
    """

    def __init__(self, text: str) -> None:
        self.documents: list[Document] = []
        self.notes: list[tuple[int, str]] = []
        self.replaced = 0
        self._whole = self._text = text
        self._base = 0
        self._found_fault = False
        self._seen_last: set[str] = set()
        self._oddities: set[str] = set()
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_constant=self._constant)
        self._may_hold_surrogates = "\\u" in text and ("\\ud" in text or "\\uD" in text)

    def read_at_once(self) -> bool:
        """Read a text that is one sound document, the fast way; False where it is not, and must be read with care."""
        start = _end_of(_SPACE, self._whole, 0)
        try:
            value, end = self._value(start)
        except _Bad:
            return False
        self.documents.append(Document(value, start))
        return not self.notes and _end_of(_SPACE, self._whole, end) == len(self._whole)

    def read_with_care(self) -> None:
        """Read any text, so that a fault costs only itself and lists know where their items are."""
        if _goes_on_over_lines(self._whole):
            self._read_window(self._document_over_lines)
            return
        for start, end in _lines(self._whole):
            self._text, self._base = self._whole[start:end], start
            self._read_window(self._document_in_line)

    # Documents

    def _read_window(self, read: Callable[[int], tuple[Any, int]]) -> None:
        position = self._pass_gap(0)
        while position < len(self._text) and not self._gave_up:
            start = position
            try:
                value, position = read(start)
            except _Bad as bad:
                position = _line_end(self._text, start)
                self._note(start, "cut_off" if _is_open(self._text, start, position) else str(bad))
            else:
                self.documents.append(Document(value, self._base + start))
            position = self._pass_gap(position)

    def _document_in_line(self, start: int) -> tuple[Any, int]:
        return self._list(start) if self._text[start] == "[" else self._value(start)

    def _document_over_lines(self, start: int) -> tuple[Any, int]:
        opener = self._text[start]
        if opener == "[":
            return self._list(start)
        return self._members(start) if opener == "{" else self._value(start, _line_end(self._text, start))

    def _pass_gap(self, position: int) -> int:
        end = _end_of(_GAP, self._text, position)
        if (nul := self._text.find("\0", position, end)) >= 0:
            self._note(nul, "nul_bytes")
        return end

    # Lists and objects, member by member

    def _list(self, start: int) -> tuple[LocatedList, int]:
        items = LocatedList()

        def read(position: int) -> int:
            item, end = self._member(position)
            items.append(item)
            items.starts.append(self._base + position)
            return end

        return items, self._each_member(start, "]", read)

    def _members(self, start: int) -> tuple[dict[str, Any], int]:
        members: dict[str, Any] = {}

        def read(position: int) -> int:
            key, end = self._member(position)
            colon = _end_of(_SPACE, self._text, end)
            if not isinstance(key, str) or not self._text.startswith(":", colon):
                raise _Bad("invalid_json")
            if key in members:
                self._note(position, "duplicate_key")
            position = _end_of(_SPACE, self._text, colon + 1)
            is_list = self._text.startswith("[", position)
            members[key], end = self._list(position) if is_list else self._member(position)
            return end

        return members, self._each_member(start, "}", read)

    def _each_member(self, start: int, closer: str, read: Callable[[int], int]) -> int:
        """Read what stands between the bracket at `start` and its closer; returns the offset after that."""
        text = self._text
        position = _end_of(_SPACE, text, start + 1)
        while not text.startswith(closer, position):
            reason = ""
            try:
                position = _end_of(_SPACE, text, read(position))
            except _Bad as bad:
                reason = str(bad)
            if reason or not text.startswith((",", closer), position):
                self._found_fault = True
                following = self._member_end(position, closer)
                self._note(position, "cut_off" if following is None else reason or "invalid_json")
                if following is None or self._gave_up:
                    return len(text)
                position = following
            if text.startswith(",", position):
                position = _end_of(_SPACE, text, position + 1)
        return position + 1

    def _member(self, start: int) -> tuple[Any, int]:
        # The decoder's errors count all lines before them: among many faults, look no further than a member's end.
        # To look for that end is slow, so not before a first fault.
        return self._value(start, self._member_end(start, "]}:") if self._found_fault else None)

    def _member_end(self, start: int, closers: str) -> int | None:
        """The offset of what ends the member at `start`: a comma, a closer, or else the beginning of the next one.

        None when the text ends before.
        """
        following = self._next_alike(start)
        depth = 0
        for match in _TOKEN.finditer(self._text, start, len(self._text) if following is None else following):
            token = match[0]
            if depth == 0 and (token == "," or token in closers):
                return match.start()
            if token in "[{":
                depth += 1
            elif token in "]}" and depth:
                depth -= 1
        return following

    def _next_alike(self, position: int) -> int | None:
        """Where the next line begins with an object, as far in as `position`: a quote too few hides all other ends."""
        line = self._text.rfind("\n", max(0, position - _WIDEST_MARGIN), position)
        beginning = self._text[line:position] + "{"
        if line < 0 or beginning.strip() != "{" or beginning in self._seen_last:
            return None
        following = self._text.find(beginning, position)
        if following < 0:
            self._seen_last.add(beginning)
            return None
        return following + len(beginning) - 1

    # Values

    def _value(self, start: int, stop: int | None = None) -> tuple[Any, int]:
        """The value at `start`, looked for no further than `stop`, and the offset after it. Raises _Bad."""
        self._oddities.clear()
        text = self._text if stop is None else self._text[start:stop]
        offset = 0 if stop is None else start
        try:
            value, end = self._decoder.raw_decode(text, start - offset)
        except RecursionError:
            raise _Bad("too_deep") from None
        except json.JSONDecodeError:
            raise _Bad("invalid_json") from None
        except ValueError:  # the interpreter reads no numbers of more than 4,300 digits
            raise _Bad("number_too_long") from None
        if is_deep(value):
            raise _Bad("too_deep")
        if self._may_hold_surrogates:
            value = self._without_surrogates(value)
        for reason in self._oddities:
            self._note(start, reason)
        return value, end + offset

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            self._oddities.add("duplicate_key")
        return members

    def _constant(self, name: str) -> float:
        self._oddities.add("not_a_number")
        return float(name)

    def _without_surrogates(self, value: Any) -> Any:
        if isinstance(value, str):
            text, count = _LONE_SURROGATE.subn(REPLACEMENT, value)
            if count:
                self.replaced += count
                self._oddities.add("lone_surrogate")
            return text
        if isinstance(value, list):
            return [self._without_surrogates(item) for item in value]
        if isinstance(value, dict):
            return {self._without_surrogates(key): self._without_surrogates(item) for key, item in value.items()}
        return value

    @property
    def _gave_up(self) -> bool:
        return len(self.notes) > MAX_NOTES

    def _note(self, position: int, reason: str) -> None:
        if not self._gave_up:
            self.notes.append((self._base + position, "given_up" if len(self.notes) == MAX_NOTES else reason))


def is_deep(value: Any, levels: int = MAX_DEPTH) -> bool:
    """Whether containers are nested in `value` more than `levels` deep."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return False
    if levels == 0:
        return True
    for child in value:  # noqa: SIM110  this walks every message, where a generator takes twice as long
        if isinstance(child, _CONTAINERS) and is_deep(child, levels - 1):
            return True
    return False


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Where the match at `position` ends of a pattern that always matches."""
    match = pattern.match(text, position)
    return match.end() if match else position


def _is_open(text: str, start: int, stop: int) -> bool:
    """Whether a bracket or a string is opened between the offsets and not closed."""
    depth, unterminated = 0, False
    for match in _TOKEN.finditer(text, start, stop):
        token = match[0]
        unterminated = token[0] == '"' and not match[1]
        depth += (token in "[{") - (token in "]}")
    return depth > 0 or unterminated


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return end if end >= 0 else len(text)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each line."""
    start = 0
    while start <= len(text):
        end = _line_end(text, start)
        yield start, end
        start = end + 1


def _goes_on_over_lines(text: str) -> bool:
    """Whether the first document goes on after its first line, as indented JSON does and JSON Lines do not."""
    start = _end_of(_GAP, text, 0)
    end = _line_end(text, start)
    following = _end_of(_GAP, text, end)
    return text[start:end].rstrip()[-1:] in ("[", "{", ",", ":") or text.startswith((",", "]", "}", ":"), following)
