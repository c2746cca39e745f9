"""Giving rows their colours: from named inks to what a terminal shows."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from triptych_tui.spans import Row, Span, cut_spans
from triptych_tui.themes import Tokens
from triptych_tui.widgets.line_view import Line


def style_of(span: Span, tokens: Tokens, ground: str = "") -> Style:
    """The style of a span; where neither it nor its row has a ground, what lies below shows."""
    flags = span.attributes
    return tokens.style(
        span.ink,
        span.ground or ground,
        bold="b" in flags or None,
        italic="i" in flags or None,
        strike="s" in flags or None,
    )


def line_of(row: Row, tokens: Tokens) -> Line:
    """A row as the line view takes it."""
    return Line(tuple([(span.text, style_of(span, tokens)) for span in row.spans]), row.ground, row.aside)


def strip_of(spans: Sequence[Span], tokens: Tokens, width: int, ground: str) -> Strip:
    """A one-row widget's strip, exactly `width` cells."""
    segments = [Segment(span.text, style_of(span, tokens, ground)) for span in cut_spans(spans, width)]
    return Strip(segments).adjust_cell_length(width, tokens.style("text", ground))
