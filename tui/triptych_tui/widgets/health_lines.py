"""How things stand with a server, in as many lines as that takes."""

from __future__ import annotations

from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from triptych_tui.connection import Health
from triptych_tui.paint import strip_of
from triptych_tui.themes import glyphs_of, tokens_of

MOST_LINES = 6


class HealthLines(Widget):
    """Shows a `Health`."""

    DEFAULT_CSS = """
    HealthLines { height: auto; min-height: 2; width: 1fr; }
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._health = Health()

    def show(self, health: Health) -> None:
        self._health = health
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return min(len(self._health.rows(glyphs_of(self), width)), MOST_LINES)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        rows = self._health.rows(glyphs_of(self), width)
        return strip_of(rows[y].spans if y < len(rows) else [], tokens_of(self), width, "bg")
