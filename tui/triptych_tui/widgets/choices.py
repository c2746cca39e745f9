"""A list to choose from while a text field has the focus."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.geometry import clamp
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from triptych_tui.connection import without_login
from triptych_tui.paint import strip_of
from triptych_tui.spans import Span, pad, spread
from triptych_tui.themes import glyphs_of, tokens_of
from triptych_tui.untrusted import clean, fit

LONGEST = 1_000
"""Characters of a choice that are looked at; more than a row holds."""


class Choices(Widget):
    """Rows of texts from outside with a note each; only what is seen is drawn. It never has the focus."""

    DEFAULT_CSS = """
    Choices { height: 1fr; width: 1fr; background: $bg; }
    """

    class Picked(Message):
        """A row was clicked."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._texts: Sequence[str] = ()
        self._note: Callable[[str], str] = lambda text: ""
        self._lead = 0
        self._empty = ""
        self._at: int | None = None
        self._top = 0

    def show(
        self, texts: Sequence[str], chosen: str, note: Callable[[str], str], *, empty: str = "", lead: int = 0
    ) -> None:
        """Show these, the chosen one standing out; `empty` is said where there are none.

        Notes stand at the right end, or in the first `lead` cells.
        """
        self._texts, self._note, self._empty, self._lead = texts, note, empty, lead
        self._at = texts.index(chosen) if chosen in texts else None
        self._reveal()

    def move(self, by: int) -> str | None:
        """Choose another row, from the first where none is chosen; None where there are none."""
        if not self._texts:
            return None
        start = self._at if self._at is not None else (-1 if by > 0 else 0)
        self._at = clamp(start + by, 0, len(self._texts) - 1)
        self._reveal()
        return self._texts[self._at]

    @property
    def page(self) -> int:
        """Rows of a page."""
        return max(1, self.size.height - 1)

    def _reveal(self) -> None:
        at, height = self._at or 0, max(1, self.size.height)
        self._show_from(clamp(self._top, at - height + 1, at))

    def _show_from(self, top: int) -> None:
        self._top = clamp(top, 0, max(0, len(self._texts) - self.size.height))
        self.refresh()

    def on_resize(self) -> None:
        self._reveal()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._show_from(self._top + 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._show_from(self._top - 3)

    def on_click(self, event: events.Click) -> None:
        index = self._top + event.y
        if index < len(self._texts):
            self.post_message(self.Picked(self._texts[index]))

    def render_line(self, y: int) -> Strip:
        tokens, width, index = tokens_of(self), self.size.width, self._top + y
        if not self._texts and y == 0:
            return strip_of([Span("  "), Span(self._empty, "muted")], tokens, width, "bg")
        if index >= len(self._texts):
            return strip_of([], tokens, width, "bg")
        text, is_chosen = self._texts[index], index == self._at
        note = clean(self._note(text), newlines=False)
        name = clean(without_login(text[:LONGEST]), newlines=False)
        edge = Span(glyphs_of(self).edge if is_chosen else " ", "accent")
        lead = [Span(pad(fit(note, self._lead), self._lead + 1), "muted")] if self._lead else []
        right = [Span(note, "muted"), Span("  ")] if note and not self._lead else []
        left = [edge, Span(" "), *lead, Span(name, "strong" if is_chosen else "text", "b" if is_chosen else "")]
        return strip_of(spread(left, right, width), tokens, width, "sel" if is_chosen else "bg")
