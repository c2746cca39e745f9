"""Lines, corners and blocks as shapes that fill their cells, as terminals draw them: fonts leave gaps between them."""

from __future__ import annotations

from typing import NamedTuple

LIGHT, HEAVY = 1.4, 3.4


class _Arms(NamedTuple):
    """How wide the line is that leaves the middle of a cell to each side; 0 where there is none."""

    left: float = 0
    up: float = 0
    right: float = 0
    down: float = 0


_LINES = {
    "─": _Arms(left=LIGHT, right=LIGHT),
    "━": _Arms(left=HEAVY, right=HEAVY),
    "╸": _Arms(left=HEAVY),
    "╺": _Arms(right=HEAVY),
    "│": _Arms(up=LIGHT, down=LIGHT),
    "┃": _Arms(up=HEAVY, down=HEAVY),
    "┌": _Arms(right=LIGHT, down=LIGHT),
    "┐": _Arms(left=LIGHT, down=LIGHT),
    "└": _Arms(up=LIGHT, right=LIGHT),
    "┘": _Arms(left=LIGHT, up=LIGHT),
    "├": _Arms(up=LIGHT, right=LIGHT, down=LIGHT),
    "┤": _Arms(left=LIGHT, up=LIGHT, down=LIGHT),
    "┬": _Arms(left=LIGHT, right=LIGHT, down=LIGHT),
    "┴": _Arms(left=LIGHT, up=LIGHT, right=LIGHT),
    "╰": _Arms(up=LIGHT, right=LIGHT),
}
_DASHES = {"╌": (False, 2), "╎": (True, 2), "┊": (True, 4)}
"""Dashed lines: whether they are upright, and in how many pieces."""
_BLOCKS = {
    "█": (0, 0, 1, 1),
    "▌": (0, 0, 1 / 2, 1),
    "▐": (1 / 2, 0, 1 / 2, 1),
    "▊": (0, 0, 3 / 4, 1),
    "▎": (0, 0, 1 / 4, 1),
    "▏": (0, 0, 1 / 8, 1),
    "▕": (7 / 8, 0, 1 / 8, 1),
    "▔": (0, 0, 1, 1 / 8),
    "▁": (0, 7 / 8, 1, 1 / 8),
    "▂": (0, 3 / 4, 1, 1 / 4),
    "▃": (0, 5 / 8, 1, 3 / 8),
    "▄": (0, 1 / 2, 1, 1 / 2),
    "▅": (0, 3 / 8, 1, 5 / 8),
    "▆": (0, 1 / 4, 1, 3 / 4),
    "▇": (0, 1 / 8, 1, 7 / 8),
    "▀": (0, 0, 1, 1 / 2),
}
"""Left, top, width and height, as shares of a cell."""


def shapes(sign: str, x: float, y: float, width: float, height: float, ink: str) -> str:
    """The SVG of a sign in its cell; "" for one that a font draws."""
    if block := _BLOCKS.get(sign):
        left, top, wide, high = block
        return _rect(x + left * width, y + top * height, wide * width, high * height, ink)
    if arms := _LINES.get(sign):
        return "".join(_arms(arms, x, y, width, height, ink))
    if dashes := _DASHES.get(sign):
        upright, count = dashes
        return "".join(_dashes(upright, count, x, y, width, height, ink))
    if sign == "░":
        step = width / 4
        dots = [(x + column * step, y + row * height / 8) for row in range(8) for column in (row % 2, row % 2 + 2)]
        return "".join(_rect(left + 0.7, top + 0.8, 1.4, 1.4, ink) for left, top in dots)
    return ""


def _rect(x: float, y: float, width: float, height: float, ink: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="#{ink}"/>'


def _arms(arms: _Arms, x: float, y: float, width: float, height: float, ink: str) -> list[str]:
    middle, centre = x + width / 2, y + height / 2
    across, upright = max(arms.left, arms.right), max(arms.up, arms.down)
    pieces: list[str] = []
    if across:
        left = x if arms.left else middle - upright / 2
        right = x + width if arms.right else middle + upright / 2
        pieces.append(_rect(left, centre - across / 2, right - left, across, ink))
    if upright:
        top = y if arms.up else centre - across / 2
        bottom = y + height if arms.down else centre + across / 2
        pieces.append(_rect(middle - upright / 2, top, upright, bottom - top, ink))
    return pieces


def _dashes(upright: bool, count: int, x: float, y: float, width: float, height: float, ink: str) -> list[str]:
    step = (height if upright else width) / count
    places = [step * (number + 0.2) for number in range(count)]
    if upright:
        return [_rect(x + width / 2 - LIGHT / 2, y + place, LIGHT, step * 0.6, ink) for place in places]
    return [_rect(x + place, y + height / 2 - LIGHT / 2, step * 0.6, LIGHT, ink) for place in places]
