"""The rule above the prompt, and the tabs that stand for them where there is little room."""

from __future__ import annotations

from collections.abc import Sequence

from triptych_tui.i18n import _
from triptych_tui.spans import Span
from triptych_tui.themes import glyphs_of
from triptych_tui.widgets.bar import Bar


class Rule(Bar):
    """The light rule above the prompt."""

    def spans(self, width: int) -> Sequence[Span]:
        return [Span(glyphs_of(self).rule * width, "rule")]


class Tabs(Bar):
    """The panes by number and name, the shown one lit."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._shown = "chat"

    def show_tab(self, shown: str) -> None:
        """Light this pane's tab; "" lights none."""
        self._shown = shown
        self.refresh()

    def spans(self, width: int) -> Sequence[Span]:
        tabs: list[Span] = []
        for number, (name, word) in enumerate(_pane_words().items(), 1):
            lit = name == self._shown
            tabs.append(Span(f" {number} ", "accent" if lit else "faint", "b" if lit else ""))
            tabs.append(Span(f"{word}  ", "strong" if lit else "muted", "b" if lit else ""))
        return tabs


def _pane_words() -> dict[str, str]:
    return {"chat": _("Chat"), "messages": _("Messages"), "file": _("File")}
