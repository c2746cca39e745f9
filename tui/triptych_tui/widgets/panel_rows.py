"""Rows of a layer's panel that stay in view whatever else it shows: why above, what to press below."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from triptych_tui.paint import strip_of
from triptych_tui.spans import Row
from triptych_tui.themes import tokens_of

Write = Callable[[int], Sequence[Row]]
"""The rows at a width in cells."""


class PanelRows(Widget):
    """As high as its rows; without any it is not there."""

    DEFAULT_CSS = """
    PanelRows { height: auto; width: 1fr; padding: 0 1; background: $bg; }
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._write: Write = lambda width: ()
        self._written: tuple[int, Sequence[Row]] = (0, ())

    def show(self, write: Write) -> None:
        """Show what this writes from now on."""
        height = len(self._written[1])
        self._write, self._written = write, (0, ())
        self.refresh(layout=len(self._rows(self.size.width)) != height)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._rows(width))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        rows = self._rows(width)
        return strip_of(rows[y].spans if y < len(rows) else (), tokens_of(self), width, "bg")

    def _rows(self, width: int) -> Sequence[Row]:
        if self._written[0] != width:
            self._written = (width, self._write(width) if width else ())
        return self._written[1]
