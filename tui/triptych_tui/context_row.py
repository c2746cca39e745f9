"""The context bar: a caption, the strip of what fills the window, and its numbers."""

from __future__ import annotations

from triptych_tui.context_load import Change, Load
from triptych_tui.context_strip import Window, strip
from triptych_tui.glyphs import Glyphs
from triptych_tui.i18n import _
from triptych_tui.plain import SIZE_MARKS, plain
from triptych_tui.spans import Span, cut_spans, width_of

LEAST_STRIP = 8
"""With fewer cells than these there is no strip, only numbers."""


def context_row(
    load: Load, window: Window, glyphs: Glyphs, width: int, *, caption: str = "", change: Change | None = None
) -> list[Span]:
    """The row in `width` cells. The parts of the strip add up to the total of the messages, with the tools and what is
    free to the window."""
    left = Span(caption, "faint")
    right = _numbers(load, window, glyphs, change, named=bool(caption.strip()))
    room = width - width_of([left, *right]) - 2
    if room < LEAST_STRIP:
        return cut_spans([left, *right], width)
    return [left, *strip(load, window, glyphs, room, change), Span("  "), *right]


def _numbers(load: Load, window: Window, glyphs: Glyphs, change: Change | None, *, named: bool) -> list[Span]:
    """`~2,483 + 311 tools / 8,192   34%`; before a layer is applied `~4,232 → ~1,711 …`."""
    now = load if change is None else change.after
    spans: list[Span] = []
    if change is not None:
        spans.append(Span(f"~{change.before.total:,} {glyphs.call} ", "muted"))
    grows = change is not None and now.total > change.before.total
    spans.append(Span(f"{plain(SIZE_MARKS[now.kind])}{now.total:,}", "error" if grows else "strong", "b"))
    if change is not None and change.awaits_summary:
        spans.append(Span(f" + {glyphs.summary}", change.ink, "b"))
    if now.tools:
        tools = " + " + _("{tools} tools").format(tools=f"{now.tools:,}") if named else f" +{now.tools:,}"
        spans.append(Span(tools, "muted"))
    if window.tokens:
        share = f"{now.whole / window.tokens:.0%}"
        over = now.whole > window.tokens
        spans += [Span(f" / {window.tokens:,}", "muted"), Span(f"{share:>6}", "error" if over else "strong", "b")]
    return [*spans, Span(" ")]
