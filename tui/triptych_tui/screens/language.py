"""Changing the language while everything stays where it is."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from textual.screen import Screen

from triptych_tui.i18n import current_language, languages, set_language
from triptych_tui.widgets.line_view import LineView
from triptych_tui.widgets.pane_header import PaneHeader
from triptych_tui.widgets.tabs import pane_words


@runtime_checkable
class Speaker(Protocol):
    """A widget that keeps words instead of asking for them whenever it is drawn."""

    def speak(self) -> None:
        """Say the same in the language now in force."""


def speak_next() -> None:
    """Set the language after the present one."""
    known = languages()
    set_language(known[(known.index(current_language()) + 1) % len(known)])


def speak_anew(screen: Screen[int]) -> None:
    """Let a workbench say all it says in the language now in force."""
    for name, word in pane_words().items():
        screen.query_one(f"#{name}-header", PaneHeader).set_title(word)
    for widget in screen.query("*"):
        if isinstance(widget, LineView):
            widget.redraw()
        elif isinstance(widget, Speaker):
            widget.speak()
        else:
            widget.refresh()
