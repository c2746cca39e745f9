"""The tabs that stand for the panes where there is little room."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from triptych_tui.i18n import _
from triptych_tui.spans import Span, spread, width_of
from triptych_tui.widgets.bar import Bar


class Tabs(Bar):
    """The panes by number and name, the shown one lit."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._shown = "chat"
        self._facts: Sequence[Span] = ()

    def show_tab(self, shown: str) -> None:
        """Light this pane's tab; "" lights none."""
        self._shown = shown
        self.refresh()

    def show_facts(self, facts: Sequence[Span]) -> None:
        """Show this at the right end, as far as there is room."""
        self._facts = facts
        self.refresh()

    def spans(self, width: int) -> Sequence[Span]:
        tabs: list[Span] = []
        for number, (name, word) in enumerate(pane_words().items(), 1):
            lit = name == self._shown
            tabs.append(Span(f" {number} ", "accent" if lit else "faint", "b" if lit else ""))
            tabs.append(Span(f"{word}  ", "strong" if lit else "muted", "b" if lit else ""))
        facts = list(self._facts)
        while len(facts) > 1 and width_of(facts) > width - width_of(tabs):
            del facts[-2]  # the blank behind stays; from the model's host to its name, to the session's
        return spread(tabs, facts, width)


def tab_place(number: int) -> tuple[int, int]:
    """The first cell of a pane's tab, and how many it takes."""
    cells = [cell_len(f" {each} {word} ") for each, word in enumerate(pane_words().values(), 1)]
    return sum(cells[: number - 1]) + number - 1, cells[number - 1]


def pane_words() -> dict[str, str]:
    """What the panes are called, by their ids."""
    return {"chat": _("Chat"), "messages": _("Messages"), "file": _("File")}
