"""The only door from outside text to the screen: what models, tools, files and errors say, made harmless and measured.

`clean` shows whatever a terminal might obey or hide, instead of passing it on or dropping it:

- C0 controls and DEL become their pictures (`␛`), everything else that is invisible its code point (`‹U+202E›`):
  C1 and bidi controls, zero-width and other format characters, tags, fillers, line separators, lone surrogates,
  noncharacters, variation selectors;
- a zero-width joiner becomes `⁀`, so that a joined emoji stays readable and is as wide on every terminal;
- combining marks beyond four on one character, and marks with nothing before them to sit on, become code points;
- a tab becomes blanks up to the next stop, or one blank where the text has to stay on one line.

One thing is left out, not shown: a single presentation selector (U+FE0E, U+FE0F) right behind a symbol. It chooses
between two pictures of the same symbol, and terminals disagree about how wide it makes it.

Clean a text whole, not piece by piece, and cut what is too long to be read before cleaning it: hostile text may grow
eightfold. The session keeps the original.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from rich.cells import cell_len, get_character_cell_size, split_graphemes

from triptych_tui.plain import plain

TAB_STOPS = 4
MOST_MARKS = 4
"""How many combining marks one character keeps: enough for real scripts, too few to smear a row."""

_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_UNSEEN_RANGES = (  # drawn as nothing, although their category does not say so
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2065, 0x2065),
    (0x3164, 0x3164),
    (0xFDD0, 0xFDEF),
    (0xFE00, 0xFE0D),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),
)
_JOINER = "\u200d"
_PRESENTATIONS = "\ufe0e\ufe0f"

# What must not stand at the end of a line, and what must not begin one.
_OPENERS = frozenset("（「『《〈【〔［｛“‘([{")
_CLOSERS = frozenset("，。、；：？！）」』”’》〉】〕］｝…·％,.;:?!)]}")
_CLOSERS_BEHIND_BLANKS = frozenset("，。、；：？！）」』”》〉】〕］｝")


def clean(text: str, *, newlines: bool = True) -> str:
    """`text` as it may be drawn: nothing in it moves a cursor, hides, or turns the reading direction.

    With `newlines`, line feeds stay and nothing else breaks a line; without, they are shown as `⏎`.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.expandtabs(TAB_STOPS) if newlines else text.replace("\t", " ")
    characters = set(text)
    pictures = {ord(each): picture for each in characters if (picture := _picture(each)) != each}
    if not newlines and "\n" in characters:
        pictures[0x0A] = plain("⏎")
    if pictures:
        text = text.translate(pictures)
    if any(get_character_cell_size(each) == 0 for each in characters if each >= "\u0300"):
        text = "".join(_seated_marks(text))
    return text


@lru_cache(maxsize=8192)
def _picture(character: str) -> str:
    """What is drawn for `character`: itself when it is harmless, and for a line feed."""
    code = ord(character)
    if code < 0x20:
        return character if character == "\n" else chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if character == _JOINER:
        return "⁀"
    unseen = unicodedata.category(character) in _UNSEEN_CATEGORIES or code & 0xFFFE == 0xFFFE
    if unseen or any(first <= code <= last for first, last in _UNSEEN_RANGES):
        return _code_point(character)
    return character


def _code_point(character: str) -> str:
    return f"‹U+{ord(character):04X}›"


def _seated_marks(text: str) -> Iterator[str]:
    """The characters of `text`, with marks that have no seat shown as code points."""
    base = "\n"
    marks = 0
    for character in text:
        if character == "\n" or get_character_cell_size(character):
            base, marks = character, 0
            yield character
            continue
        if character in _PRESENTATIONS:
            if marks or not _has_presentations(base):
                yield _code_point(character)
            base = ""  # a second selector would be one too many
            continue
        marks += 1
        yield character if base != "\n" and marks <= MOST_MARKS else _code_point(character)


def _has_presentations(base: str) -> bool:
    return bool(base) and (unicodedata.category(base) == "So" or cell_len(base) < cell_len(base + "\ufe0f"))


def fit(text: str, width: int, ellipsis: str = "…") -> str:
    """Cleaned one-line text, cut to at most `width` cells; what was cut ends in `ellipsis`."""
    ellipsis = plain(ellipsis)
    if len(text) > (MOST_MARKS + 1) * max(width, 1):  # surely too wide; measuring all of it might take long
        text = text[: (MOST_MARKS + 1) * (max(width, 1) + 1)]
    if cell_len(text) <= width:
        return text
    room = width - cell_len(ellipsis)
    if room < 0:
        return ""
    return _head(list(_graphemes(text)), room) + ellipsis


def wrap(text: str, width: int) -> list[str]:
    """Cleaned text as lines of at most `width` (at least 2) cells.

    Breaks at blanks, which are dropped there, and beside wide characters, though never before closing nor behind
    opening punctuation unless nothing else fits. A word that is too long is broken between graphemes.
    """
    width = max(width, 2)
    return [row for line in text.split("\n") for row in _wrapped_line(line, width)]


def _wrapped_line(line: str, width: int) -> list[str]:
    if cell_len(line) <= width:
        return [line]
    rows: list[str] = []
    row, used = "", 0
    for piece in _pieces(line):
        cells = cell_len(piece)
        if used + cells <= width:
            row, used = row + piece, used + cells
            continue
        if row and not row.isspace():
            rows.append(row.rstrip())
        if piece.isspace():
            row, used = "", 0
            continue
        *full, row = _broken(piece, width) if cells > width else [piece]
        rows += full
        used = cell_len(row)
    if row.strip() or not rows:
        rows.append(row)
    return rows


def _pieces(line: str) -> Iterator[str]:
    """Runs of blanks, and runs of what should not be broken."""
    if line.isascii():
        yield from re.findall(r" +|[^ ]+", line)
        return
    pieces: list[str] = []
    before, before_cells = "", 0
    for grapheme, cells in _graphemes(line):
        if grapheme in _CLOSERS_BEHIND_BLANKS and len(pieces) > 1 and pieces[-1].isspace():
            blanks = pieces.pop()
            pieces[-1] += blanks + grapheme
        elif not pieces or _may_break(before, grapheme, wide=before_cells > 1 or cells > 1):
            pieces.append(grapheme)
        else:
            pieces[-1] += grapheme
        before, before_cells = grapheme, cells
    yield from pieces


def _may_break(before: str, after: str, *, wide: bool) -> bool:
    if before.isspace() or after.isspace():
        return before.isspace() != after.isspace()
    return wide and before not in _OPENERS and after not in _CLOSERS


def _broken(word: str, width: int) -> list[str]:
    """`word`, wider than `width`, as rows."""
    rows: list[str] = []
    graphemes = list(_graphemes(word))
    start = 0
    while start < len(graphemes):
        end = fitting = _end_of_fitting(graphemes, width, start)
        while start < end < len(graphemes) and (graphemes[end][0] in _CLOSERS or graphemes[end - 1][0] in _OPENERS):
            end -= 1
        if end == start:
            end = max(fitting, start + 1)
        rows.append("".join(grapheme for grapheme, _ in graphemes[start:end]))
        start = end
    return rows


def _head(graphemes: list[tuple[str, int]], width: int) -> str:
    return "".join(grapheme for grapheme, _ in graphemes[: _end_of_fitting(graphemes, width)])


def _end_of_fitting(graphemes: list[tuple[str, int]], width: int, start: int = 0) -> int:
    """The index behind the last grapheme that fits, counted from `start`."""
    used = 0
    for index in range(start, len(graphemes)):
        used += graphemes[index][1]
        if used > width:
            return index
    return len(graphemes)


def _graphemes(text: str) -> Iterator[tuple[str, int]]:
    """The graphemes of `text` with their cells; the two letters of a flag are one."""
    flag = ""
    for start, end, cells in split_graphemes(text)[0]:
        grapheme = text[start:end]
        if flag:
            paired = _is_flag_letter(grapheme)
            yield (flag + grapheme, 2) if paired else (flag, 1)
            flag = ""
            if paired:
                continue
        if _is_flag_letter(grapheme):
            flag = grapheme
        else:
            yield grapheme, cells
    if flag:
        yield flag, 1


def _is_flag_letter(grapheme: str) -> bool:
    return "\U0001f1e6" <= grapheme[0] <= "\U0001f1ff"
