"""One-row widgets that draw spans."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip
from textual.widget import Widget

from triptych_tui.paint import strip_of
from triptych_tui.spans import Span, spread
from triptych_tui.themes import tokens_of


class Bar(Widget):
    """A row of spans on one ground. Subclasses or owners say what it shows (`spans`)."""

    DEFAULT_CSS = """
    Bar { height: 1; width: 1fr; }
    """

    def __init__(self, *, ground: str = "bg", id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._ground = ground
        self._spans: Sequence[Span] = ()
        self._right: Sequence[Span] = ()

    def show(self, spans: Sequence[Span]) -> None:
        """Show these spans from now on; they are cut at the widget's width."""
        self._spans = spans
        self.refresh()

    def show_spread(self, left: Sequence[Span], right: Sequence[Span]) -> None:
        """Show these at either end from now on."""
        self._spans, self._right = left, right
        self.refresh()

    def spans(self, width: int) -> Sequence[Span]:
        """What to draw in `width` cells."""
        return spread(self._spans, self._right, width) if self._right else self._spans

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        return strip_of(self.spans(width), tokens_of(self), width, self._ground)
