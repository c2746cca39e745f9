"""Lines of the big panes as values: text with the name of its ink, no colours and no widgets yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from triptych_tui.untrusted import fit, wrap


class Span(NamedTuple):
    """A piece of a line. `ink` and `ground` name theme tokens (ground "": the line's own).

    `attributes` may hold b (bold), i (italic), s (struck).
    """

    text: str
    ink: str = "text"
    attributes: str = ""
    ground: str = ""


class Row(NamedTuple):
    """One row of a pane, right of the selection edge.

    `ground` names the token behind it ("": the pane's or the selection's). An `aside`, a blank between blocks for
    example, never shows the selection.
    """

    spans: Sequence[Span] = ()
    ground: str = ""
    aside: bool = False


def width_of(spans: Iterable[Span]) -> int:
    """The cells that spans take."""
    return sum(cell_len(span.text) for span in spans)


def pad(text: str, width: int) -> str:
    """Text with blanks behind it up to `width` cells."""
    return text + " " * (width - cell_len(text))


def cut_spans(spans: Iterable[Span], width: int) -> list[Span]:
    """Spans cut to at most `width` cells, with `…` where text was lost."""
    kept: list[Span] = []
    left = width
    for span in spans:
        cells = cell_len(span.text)
        if cells > left:
            if left > 0:
                kept.append(span._replace(text=fit(span.text, left)))
            return kept
        kept.append(span)
        left -= cells
    return kept


def spread(left: Iterable[Span], right: Iterable[Span], width: int) -> list[Span]:
    """`left` and `right` at either end of `width` cells; when they do not fit, `left` is cut, then `right`."""
    right_spans = cut_spans(right, width)
    room = width - width_of(right_spans)
    left_spans = cut_spans(left, max(room - 1, 0) if right_spans else room)
    gap = room - width_of(left_spans)
    return [*left_spans, Span(" " * gap), *right_spans]


def wrap_spans(spans: Sequence[Span], width: int) -> list[list[Span]]:
    """The spans of one line as lines of at most `width` cells, broken as `wrap` breaks text."""
    text = "".join(span.text for span in spans)
    lines: list[list[Span]] = []
    place = 0
    for line in wrap(text, width):
        place = text.index(line, place)  # only blanks are left out between two lines
        lines.append(slice_spans(spans, place, place + len(line)))
        place += len(line)
    return lines


def slice_spans(spans: Iterable[Span], start: int, stop: int) -> list[Span]:
    """The spans of these characters."""
    kept: list[Span] = []
    for span in spans:
        piece = span.text[max(start, 0) : max(stop, 0)]
        if piece:
            kept.append(span._replace(text=piece))
        start, stop = start - len(span.text), stop - len(span.text)
    return kept
