"""A scrollbar that is half a cell wide: it tells where one is and is not the heaviest thing on screen."""

from __future__ import annotations

from math import ceil

from rich.color import Color
from rich.segment import Segment, Segments
from rich.style import Style
from textual.scrollbar import ScrollBarRender

_DEFAULT = Color.parse("default")


class ThinScrollbar(ScrollBarRender):
    """Upright, one cell wide, drawn in whole rows."""

    THUMB = "▐"

    @classmethod
    def render_bar(
        cls,
        size: int = 25,
        virtual_size: float = 50,
        window_size: float = 20,
        position: float = 0,
        thickness: int = 1,
        vertical: bool = True,
        back_color: Color = _DEFAULT,
        bar_color: Color = _DEFAULT,
    ) -> Segments:
        start, length = 0, 0
        if window_size and virtual_size > size:
            length = min(max(1, ceil(size * window_size / virtual_size)), size)
            start = round((size - length) * position / max(virtual_size - window_size, 1))
        before = Segment(" ", Style(bgcolor=back_color, meta={"@mouse.down": "scroll_up"}))
        thumb = Segment(cls.THUMB, Style(bgcolor=back_color, color=bar_color, meta={"@mouse.down": "grab"}))
        behind = Segment(" ", Style(bgcolor=back_color, meta={"@mouse.down": "scroll_down"}))
        return Segments([before] * start + [thumb] * length + [behind] * (size - start - length), new_lines=True)


class AsciiScrollbar(ThinScrollbar):
    THUMB = "|"
