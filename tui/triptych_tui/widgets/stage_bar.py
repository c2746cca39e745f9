"""The stage bar under the title; in a narrow terminal it stands in for the title too."""

from __future__ import annotations

from collections.abc import Collection

from textual.strip import Strip
from textual.widget import Widget

from triptych.stages import Stage
from triptych_tui.paint import strip_of
from triptych_tui.spans import Span
from triptych_tui.stage_rows import Moment, compact_row, compact_rows, stage_rows
from triptych_tui.stage_words import logo
from triptych_tui.themes import glyphs_of, tokens_of


class StageBar(Widget):
    """The stages of a turn with the present one lit: two rows, or one.

    Stepping through a turn or its history, the one row has more under it, so that the reason is read whole.
    """

    def __init__(self, moment: Moment, *, id: str) -> None:
        super().__init__(id=id)
        self.moment = moment
        self._overlaid: Moment | None = None
        self._off: Collection[Stage] = ()

    def show(self, moment: Moment) -> None:
        """Show where a turn is, or what was done last."""
        self.moment = moment
        steps = moment.waiting or (self.has_class("-stepping") and moment.present is not None and not moment.fault)
        self.set_class(steps, "-stepping")
        self.refresh()

    def overlay(self, moment: Moment | None, off: Collection[Stage]) -> None:
        """Show this instead until it is taken away again (None); `off` are the layers that are switched off."""
        self._overlaid, self._off = moment, off
        self.set_class(moment is not None and moment.whole, "-whole")
        self.refresh()

    def render_line(self, y: int) -> Strip:
        moment, width, glyphs = self._overlaid or self.moment, self.size.width, glyphs_of(self)
        moment = moment._replace(off=self._off)
        if self.size.height == 1:
            spans = [*logo(), Span(" "), *compact_row(moment, width - 5, glyphs)]
        elif self.size.height > 2:
            spans = [*logo(), Span(" ")] if y == 0 else []
            spans += compact_rows(moment, width, glyphs)[y]
        else:
            spans = stage_rows(moment, width, glyphs)[y]
        return strip_of(spans, tokens_of(self), width, "bg")
