"""The list that the workbench's second pane shows, read from a screen, and as it must be shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len

from triptych.entries import Entry
from triptych_tui.glyphs import MARKS
from triptych_tui.messages_rows import content_spans
from triptych_tui.sheet import role_letter

_ROW = re.compile(r"[▌ ]*(\d+) (\S) (.*?)\s+[\d,]+(?:  +(\S.*?))?\s*$")
_TIES = re.compile(r"^ *(?:[┌├└]?─?[a-z]+\d+(?:-\d+)?  +)?(?:T\d+ )?")

Row = tuple[int, str, str, str]
"""Index, letter of the role, first letters, mark."""
Rows = tuple[Row, ...]


def rows_of(entries: Sequence[Entry]) -> Rows:
    """What the second pane shows of a list."""
    return tuple(_row_of(index, entry) for index, entry in enumerate(entries))


def _row_of(index: int, entry: Entry) -> Row:
    words = "".join(span.text for span in content_spans(entry))
    mark = MARKS[entry.newest_mark.name].word if entry.newest_mark else ""
    return index, role_letter(entry), words.strip()[:8].strip(), mark


def rows_on(screen: str) -> Rows | None:
    """The list in the second pane; None where it is not whole, or a preview."""
    lines = [_by_cells(line) for line in screen.split("\n")]
    header = next((line for line in lines if " 2 Messages " in line), None)
    if header is None or header.count("│") < 2:
        return None
    left = header.index("│")
    right = header.index("│", left + 1)
    found = [_ROW.match(line[left + 1 : right].replace("\0", "")) for line in lines]
    rows = tuple(_row_on(match) for match in found if match and match[3][0] not in "·◉")
    return rows if rows and [row[0] for row in rows] == list(range(len(rows))) else None


def _by_cells(line: str) -> str:
    """One character a cell."""
    return "".join(letter + "\0" * (cell_len(letter) - 1) for letter in line)


def _row_on(match: re.Match[str]) -> Row:
    mark = (match[4] or "").split(" ")[-1].rstrip("?")
    return int(match[1]), match[2], _TIES.sub("", match[3])[:8].strip(), mark
