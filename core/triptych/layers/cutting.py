"""Cutting the middle out of texts, so that what stays, notice included, is within a limit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from triptych.layers.parameters import Unit

ELLIPSIS = "..."
"""Stands where there is no room for a whole notice."""

_CONTINUATION = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""

_FIELD = re.compile(r"\{([a-z]+)\}|%")


class Middle(NamedTuple):
    """What is cut out of a text: `text[head_end:tail_start]` gives way to `notice`."""

    head_end: int
    tail_start: int
    notice: str


def size(text: str, unit: Unit) -> int:
    """How long a text is. An empty text has no line; bytes are UTF-8."""
    if unit == "lines":
        return text.count("\n") + 1 if text else 0
    return len(text) if unit == "characters" else len(_encoded(text))


def filled(template: str, values: Mapping[str, object]) -> str:
    """The template with `{name}` replaced for the names in `values`; other braces stay, and no value is looked into."""
    return _percent_format(template, tuple(values)) % values


@lru_cache(maxsize=64)
def _percent_format(template: str, names: tuple[str, ...]) -> str:
    """The template as the `%` operator reads it, which is far quicker than `str.format`."""

    def field(found: re.Match[str]) -> str:
        return f"%({found[1]})s" if found[1] in names else found[0].replace("%", "%%")

    return _FIELD.sub(field, template)


def boundary_before(text: str, place: int) -> int:
    """The last place up to `place` where a cut parts no grapheme (what a reader takes for one character)."""
    if not 0 < place < len(text):
        return 0 if place <= 0 else len(text)
    if _is_plain_boundary(text, place):
        return place
    # Its tables take longer to load than a window to open, so they wait for the first text that needs them.
    from wcwidth import grapheme_boundary_before

    return grapheme_boundary_before(text, place + 1)


def boundary_after(text: str, place: int) -> int:
    """The first place from `place` on where a cut parts no grapheme."""
    start = boundary_before(text, place)
    if start >= place:
        return start
    from wcwidth import iter_graphemes

    return start + len(next(iter_graphemes(text[start:])))


def clip_lines(text: str, longest: int) -> str:
    """The text with every line of more than `longest` characters cut to that length, its end marked."""
    if len(text) <= longest:
        return text
    return "\n".join(line if len(line) <= longest else _clipped(line, longest) for line in text.split("\n"))


def one_line(text: str, longest: int) -> str:
    """A text on one line of at most `longest` characters."""
    return clip_lines(" ".join(text.split()), longest)


def shortened(
    texts: Sequence[str],
    limit: int,
    unit: Unit = "characters",
    head_share: float = 0.5,
    notice: Callable[[int], str] = lambda omitted: ELLIPSIS,
) -> list[str] | None:
    """The texts without their middle, as one text of parts joined by newlines; None when they are within the limit.

    limit: the most that may stay, `notice(omitted)` included. A part of which nothing stays is "".
    """
    joined = "\n".join(texts)
    total = size(joined, unit)
    if total <= limit:
        return None
    # Where the middle spans parts, the newline between what is left of them comes on top.
    room = max(limit - (len(texts) > 1), 0)
    shown = next((each for each in (notice, lambda _: ELLIPSIS) if _notice_size(each(total), unit) <= room), None)
    room -= 0 if shown is None else _notice_size(shown(total), unit)
    head = int(room * head_share)
    if unit == "lines":
        return list(_spread(texts, _middle_of_lines(joined, head, room - head, shown)))
    head_end, tail_start = _ends(joined, head, room - head, unit)
    omitted = total - size(joined[:head_end], unit) - size(joined[tail_start:], unit)
    return list(_spread(texts, Middle(head_end, tail_start, shown(omitted) if shown else "")))


def _notice_size(notice: str, unit: Unit) -> int:
    return size(notice.strip("\n"), unit) if unit == "lines" else size(notice, unit)


def _ends(text: str, head: int, tail: int, unit: Unit) -> tuple[int, int]:
    """Where the middle begins and ends when `head` and `tail` characters or bytes may stay."""
    if unit == "characters":
        return boundary_before(text, head), boundary_after(text, len(text) - tail)
    encoded = _encoded(text)
    start = len(encoded) - tail
    while head and encoded[head] in _CONTINUATION:
        head -= 1
    while start < len(encoded) and encoded[start] in _CONTINUATION:
        start += 1
    return boundary_before(text, _characters(encoded[:head])), boundary_after(text, _characters(encoded[:start]))


def _middle_of_lines(text: str, head: int, tail: int, notice: Callable[[int], str] | None) -> Middle:
    lines = text.split("\n")
    head_end = len("\n".join(lines[:head]))
    tail_start = len(text) - len("\n".join(lines[len(lines) - tail :]))
    words = "" if notice is None else notice(len(lines) - head - tail).strip("\n")
    if not words:
        return Middle(head_end, tail_start, "\n" if head and tail else "")
    return Middle(head_end, tail_start, ("\n" if head else "") + words + ("\n" if tail else ""))


def _spread(texts: Sequence[str], middle: Middle) -> Iterator[str]:
    """What is left of each part of the text whose middle was found; the notice goes where the middle begins."""
    start, is_placed = 0, False
    for text in texts:
        end = start + len(text)
        notice = middle.notice if middle.head_end <= end and not is_placed else ""
        is_placed = is_placed or middle.head_end <= end
        yield text[: max(middle.head_end - start, 0)] + notice + text[max(middle.tail_start - start, 0) :]
        start = end + 1


def _is_plain_boundary(text: str, place: int) -> bool:
    around = text[place - 1 : place + 1]
    return around.isascii() and around != "\r\n"


def _clipped(line: str, longest: int) -> str:
    if longest < len(ELLIPSIS):
        return ELLIPSIS[:longest]
    return line[: boundary_before(line, longest - len(ELLIPSIS))] + ELLIPSIS


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _characters(encoded: bytes) -> int:
    return len(encoded.translate(None, _CONTINUATION))
