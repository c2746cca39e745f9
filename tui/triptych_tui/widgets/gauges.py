"""The rows between the panes and the prompt: a rule, what fills the context window, and the history of steps."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip
from textual.widget import Widget

from triptych.layers.plan import Plan
from triptych.layers.summarize import SummaryPlan
from triptych_tui.context_load import Change, Load, change_of, load_of
from triptych_tui.context_row import context_row
from triptych_tui.context_strip import Window
from triptych_tui.history_row import History, history_of, history_row
from triptych_tui.i18n import _
from triptych_tui.paint import strip_of
from triptych_tui.sheet import Sheet
from triptych_tui.spans import Span, pad
from triptych_tui.stage_words import LAYER_INKS
from triptych_tui.themes import glyphs_of, tokens_of

CAPTION_CELLS = 10
"""Captions stand beside the rows where there are as many columns as `CAPTIONS_FROM`."""
CAPTIONS_FROM = 100


class Gauges(Widget):
    """Two rows with a rule above them, where there is room for three. What they show is read anew when it changed."""

    def __init__(self, sheet: Sheet, window: int | None, *, id: str) -> None:
        """`window` is the model's context window in tokens, None where unknown."""
        super().__init__(id=id)
        self._sheet = sheet
        self._window = window
        self._plan: Plan | SummaryPlan | None = None
        self._load: tuple[object, Load] | None = None
        self._change: tuple[object, Change | None] | None = None
        self._history: tuple[object, History] | None = None

    def set_window(self, window: int | None) -> None:
        """Another model has another context window."""
        self._window = window
        self.refresh()

    def count_anew(self) -> None:
        """The same list has other numbers now."""
        self._load = self._change = None
        self.refresh()

    def show(self, plan: Plan | SummaryPlan | None) -> None:
        """Show how things are now, and what a layer's plan that waits to be applied would change."""
        self._plan = plan
        self.refresh()

    def render_line(self, y: int) -> Strip:
        row = y + 3 - self.size.height
        spans = (self._rule, self._context_row, self._history_row)[row]()
        return strip_of(spans, tokens_of(self), self.size.width, "bg")

    def _rule(self) -> Sequence[Span]:
        return [Span(glyphs_of(self).rule * self.size.width, "rule")]

    def _context_row(self) -> Sequence[Span]:
        threshold = self._sheet.session.policy.trigger.threshold(self._window) if self._window else None
        window = Window(self._window, threshold / self._window if self._window and threshold else None)
        return context_row(
            self._present_load(),
            window,
            glyphs_of(self),
            self.size.width,
            caption=self._caption(_("context")),
            change=self._planned_change(),
        )

    def _history_row(self) -> Sequence[Span]:
        pending = self._plan.stage if self._plan is not None and self._planned_change() is not None else None
        caption = self._caption(_("history"))
        return history_row(self._present_history(), glyphs_of(self), self.size.width, caption=caption, pending=pending)

    def _caption(self, word: str) -> str:
        if self.size.width < CAPTIONS_FROM:
            return " "
        return pad(f" {word}", CAPTION_CELLS)

    # Worked out once for each state, since a list may be long

    def _present_load(self) -> Load:
        state = (self._sheet.entries, self._sheet.size())
        if self._load is None or self._load[0] != state:
            self._load = (state, load_of(self._sheet))
        return self._load[1]

    def _planned_change(self) -> Change | None:
        plan = self._plan
        if plan is None:
            return None
        state = (plan, self._sheet.session.entries)
        if self._change is None or self._change[0] != state:
            self._change = (state, change_of(plan, self._sheet, LAYER_INKS[plan.stage]))
        return self._change[1]

    def _present_history(self) -> History:
        timeline = self._sheet.session.timeline
        state = (timeline.head, timeline.view, timeline.last_id)
        if self._history is None or self._history[0] != state:
            self._history = (state, history_of(timeline))
        return self._history[1]
