"""Drawing without colour: what colours say elsewhere becomes bold, dim and reverse, and no colour code is sent."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

PAPER = "#000000"
INK = "#FFFFFF"
LIT = "#FEFEFE"
"""An ink that shows as bold; as a ground it is like INK."""
LINE = "#808080"
"""An ink for lines, which are dim; never text."""

_BRIGHT = 3 * 0x80


class WithoutColour(LineFilter):
    """Takes the colours out of styles: bright grounds are reversed, lit inks bold, lines dim."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text, style and _colourless(style), control) if not control else Segment(text, style, control)
            for text, style, control in segments
        ]


@lru_cache(maxsize=1024)
def _colourless(style: Style) -> Style:
    ink, ground = _value(style.color), style.bgcolor
    is_block = ground is not None and not ground.is_default and sum(ground.get_truecolor()) > _BRIGHT
    attributes = Style(
        bold=True if ink == LIT else None,
        dim=True if ink == LINE and not is_block else None,
        reverse=is_block != bool(style.reverse),
    )
    return style.without_color + attributes


def _value(colour: RichColor | None) -> str:
    return "" if colour is None or colour.is_default else colour.get_truecolor().hex.upper()
