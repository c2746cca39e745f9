"""The second net under `untrusted`: whatever reached a widget unclean is caught as its lines are drawn."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from triptych_tui.untrusted import clean


class ControlFilter(LineFilter):
    """Shows control characters instead of sending them to the terminal, and takes hyperlinks (OSC 8) out of styles."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(map(_is_harmless, segments)):
            return segments
        width = Segment.get_line_length(segments)
        caught = [segment if _is_harmless(segment) else _caught(segment) for segment in segments]
        # What became visible takes room, and the line is already laid out.
        return Segment.adjust_line_length(caught, width)


def _is_harmless(segment: Segment) -> bool:
    text, style, control = segment
    return bool(control) or (text.isprintable() and (style is None or style.link is None))


def _caught(segment: Segment) -> Segment:
    text, style, control = segment
    return Segment(clean(text, newlines=False), style and style.update_link(None), control)
