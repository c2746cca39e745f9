"""The one-row head of a pane: a rule that carries its number, its title and what there is to say about it."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip
from textual.widget import Widget

from triptych_tui.paint import strip_of
from triptych_tui.spans import Span, width_of
from triptych_tui.themes import glyphs_of, tokens_of
from triptych_tui.untrusted import fit
from triptych_tui.widgets.tabs import tab_place

_LEAST_FACT = 12
"""Cells that must be left of a fact for it to be shortened; numbers are shorter, and are shown whole or not."""


class PaneHeader(Widget):
    """`━ 2 Messages ━━━━ ~tok  mark`: heavy and in accent while its pane has the focus, light otherwise.

    Facts stand at the right, one behind the other. In a narrow pane the rightmost ones are kept longest. They end in
    a piece of rule, unless the last one ends in a blank: captions of columns reach the edge. A pane without a number
    has 0. Below tabs, which say number and title, the rule is only heavy under the pane's own tab.
    """

    DEFAULT_CSS = """
    PaneHeader { height: 1; background: $bg; }
    """

    def __init__(self, number: int, title: str, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._number = number
        self._title = title
        self._lead = Span("")
        self._facts: Sequence[Span] = ()

    def on_mount(self) -> None:
        self.watch(self.screen, "focused", self._focus_moved, init=False)

    def _focus_moved(self) -> None:
        self.refresh()

    def set_title(self, title: str, lead: Span | None = None) -> None:
        """Show another title; `lead` stands before it in a pane without a number."""
        self._title, self._lead = title, lead or Span("")
        self.refresh()

    def set_facts(self, facts: Sequence[Span]) -> None:
        """Show these cleaned one-line spans at the right end."""
        self._facts = facts
        self.refresh()

    def render_line(self, y: int) -> Strip:
        glyphs, width = glyphs_of(self), self.size.width
        focused = isinstance(self.parent, Widget) and self.parent.has_focus_within
        if self._number and self.screen.has_class("-narrow"):
            rule, line = glyphs.rule, "rule"
            start, cells = tab_place(self._number)
            under_tab = Span(glyphs.rule_focused * cells, "accent" if focused else "muted")
            left = [Span(rule * start, line), under_tab]
        else:
            rule, line = (glyphs.rule_focused, "accent") if focused else (glyphs.rule, "rule")
            number = Span(f"{self._number} " if self._number else "", "accent" if focused else "muted")
            title = Span(self._title, "strong" if focused else "muted", "b")
            left = [Span(f"{rule} ", line), number, self._lead, title, Span(" " if self._title else "")]
        right = _fitting(self._facts, width - width_of(left) - 2, glyphs.ellipsis)
        if right:
            tail = "" if right[-1].text.endswith(" ") else f" {rule}"
            right = [Span(" "), *right, Span(tail, line)]
        room = max(0, width - width_of(left) - width_of(right))
        return strip_of([*left, Span(rule * room, line), *right], tokens_of(self), width, "bg")


def _fitting(facts: Sequence[Span], room: int, ellipsis: str) -> list[Span]:
    """The facts that fit. Details, which are muted, go first; then the leftmost, a text shortened if enough is left."""
    room -= 2  # the blank before them and the piece of rule behind
    kept = list(facts)
    while kept and width_of(kept) > room:
        detail = next((place for place, fact in enumerate(kept[:-1]) if fact.ink == "muted"), None)
        if detail is not None:
            del kept[detail]
            continue
        first, *kept = kept
        left = room - width_of(kept)
        if left >= _LEAST_FACT and first.ink in ("text", "accent") and first.text.strip():
            return [first._replace(text=fit(first.text, left, ellipsis)), *kept]
    return kept
