"""A terminal's screen as an SVG on a strict cell grid: Chinese text and rules stand where a terminal puts them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

import pyte
from rich.cells import cell_len

from tests.support_box_drawing import shapes

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE = 11, 24, 18
WIDE_FONT_SIZE = 21
"""Of Chinese signs, which fill two cells."""
# What is no letter stands alone: its font may put it elsewhere, or join it with others to one sign.
_PIECES = re.compile(r"\s+|[0-9A-Za-z]+|.", re.DOTALL)
FONTS = "JetBrains Mono, DejaVu Sans Mono, Noto Sans Mono CJK {script}, Noto Sans CJK {script}, monospace"


@dataclass(frozen=True, slots=True)
class _Run:
    """Cells of one look, side by side."""

    column: int
    cells: int
    text: str
    ink: str
    ground: str
    bold: bool
    italic: bool
    struck: bool


def svg_of(screen: pyte.Screen, *, ink: str = "DCE1E8", ground: str = "14171C", script: str = "SC") -> str:
    """The screen's cells with their colours; `ink` and `ground` are the terminal's own, as RRGGBB.

    `script` is how Chinese is written: SC or TC.
    """
    width, height = screen.columns * CELL_WIDTH, screen.lines * CELL_HEIGHT
    grounds: list[str] = []
    texts: list[str] = []
    for row in range(screen.lines):
        for run in _runs(screen, row, ink, ground):
            x, y = run.column * CELL_WIDTH, row * CELL_HEIGHT
            if run.ground != ground:
                size = f'width="{run.cells * CELL_WIDTH}" height="{CELL_HEIGHT}"'
                grounds.append(f'<rect x="{x}" y="{y}" {size} fill="#{run.ground}"/>')
            if run.text.strip():
                texts.append(_text(run, x, y))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">',
            f'<rect width="100%" height="100%" fill="#{ground}"/>',
            *grounds,
            f'<g font-family="{FONTS.format(script=script)}" font-size="{FONT_SIZE}" xml:space="preserve">',
            *texts,
            "</g></svg>",
        ]
    )


def _text(run: _Run, x: int, y: int) -> str:
    look = ' font-weight="bold"' if run.bold else ""
    look += ' font-style="italic"' if run.italic else ""
    look += ' text-decoration="line-through"' if run.struck else ""
    style = f'y="{y + FONT_SIZE}" fill="#{run.ink}"{look}'
    wide = f'{style} font-size="{WIDE_FONT_SIZE}"'
    texts: list[str] = []
    for piece in _PIECES.findall(run.text):
        cells = cell_len(piece)
        if drawn := shapes(piece, x, y, CELL_WIDTH, CELL_HEIGHT, run.ink):
            texts.append(drawn)
        elif not piece.isspace():
            places = " ".join(str(x + offset * CELL_WIDTH) for offset in range(cells if piece.isascii() else 1))
            texts.append(f'<text x="{places}" {style if cells == len(piece) else wide}>{escape(piece)}</text>')
        x += cells * CELL_WIDTH
    return "".join(texts)


def _runs(screen: pyte.Screen, row: int, ink: str, ground: str) -> Iterator[_Run]:
    line = screen.buffer[row]
    column = 0
    run: _Run | None = None
    while column < screen.columns:
        char = line[column]
        cells = max(cell_len(char.data), 1)
        fore = ink if char.fg == "default" else char.fg
        back = ground if char.bg == "default" else char.bg
        if char.reverse:
            fore, back = back, fore
        look = (fore, back, char.bold, char.italics, char.strikethrough)
        if run is not None and look == (run.ink, run.ground, run.bold, run.italic, run.struck):
            run = _Run(run.column, run.cells + cells, run.text + char.data, *look)
        else:
            if run is not None:
                yield run
            run = _Run(column, cells, char.data, *look)
        column += cells
    if run is not None:
        yield run
