"""The history bar: one tick a step, and where the screen stands among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from triptych.stages import Stage
from triptych.timeline import Step, Timeline
from triptych_tui.glyphs import Glyphs
from triptych_tui.i18n import _
from triptych_tui.spans import Span, cut_spans, width_of
from triptych_tui.stage_words import LAYER_INKS, LAYER_NUMBERS

_GAPS = (2, 1, 0)
"""Cells between two ticks, as far as there is room."""


class History(NamedTuple):
    """steps: from the first to the last that can be done again. here: how many of them the list on screen has seen."""

    steps: Sequence[Step]
    here: int


def history_of(timeline: Timeline) -> History:
    """The steps that lead to the head and those that were taken back, with the place of the view."""
    steps = [*timeline.path(), *timeline.ahead()]
    here = next((number for number, step in enumerate(steps, 1) if step.id == timeline.view), 0)
    return History(steps, here)


def step_words(here: int, steps: int) -> str:
    """Which of how many steps."""
    return _("step {here} / {steps}").format(here=f"{here:,}", steps=f"{steps:,}")


def history_row(
    history: History, glyphs: Glyphs, width: int, *, caption: str = "", pending: Stage | None = None
) -> list[Span]:
    """The caption, the ticks and `step 24 / 25` in `width` cells; `pending` is a layer shown before it is applied."""
    left = [Span(caption, "faint")]
    right = [Span(step_words(history.here, len(history.steps)), "muted"), Span(" ")]
    room = max(width - width_of(left) - width_of(right) - 2, 0)
    ticks = cut_spans(_ticks(history, glyphs, room, pending), room)
    blank = Span(" " * max(width - width_of([*left, *ticks, *right]), 0))
    return cut_spans([*left, *ticks, blank, *right], width)


def _ticks(history: History, glyphs: Glyphs, room: int, pending: Stage | None) -> list[Span]:
    # No row has room for more ticks than cells, so only those around the place are looked at.
    first = max(min(len(history.steps) - room, history.here - 1), 0)
    steps = history.steps[first : first + room]
    here = history.here - first
    ticks = [_tick(step, number == here, glyphs) for number, step in enumerate(steps, 1)]
    if not history.here:
        ticks.insert(0, Span(glyphs.present, "accent", "b"))
        here = 1
    if pending is not None:
        ticks.insert(here, Span(f"[{LAYER_NUMBERS[pending]}]", LAYER_INKS[pending], "b"))
    all_shown = len(steps) == len(history.steps)
    gap = next((gap for gap in _GAPS if all_shown and width_of(ticks) + gap * (len(ticks) - 1) <= room), None)
    return _crowded(ticks, here, glyphs, room) if gap is None else _joined(ticks, here, gap, glyphs)


def _joined(ticks: list[Span], here: int, gap: int, glyphs: Glyphs) -> list[Span]:
    """Ticks with pieces of rule between them; what lies ahead of `here` is joined by another rule."""
    spans = ticks[:1]
    for place, tick in enumerate(ticks[1:], 1):
        spans += [Span((glyphs.rule if place < here else glyphs.rule_future) * gap, "rule"), tick]
    return spans


def _crowded(ticks: list[Span], here: int, glyphs: Glyphs, room: int) -> list[Span]:
    """The newest ticks that fit, side by side; where one stands is always among them."""
    room -= width_of([Span(glyphs.more_before)])
    while width_of(ticks) > room and here > 1:
        ticks, here = ticks[1:], here - 1
    return [Span(glyphs.more_before, "muted"), *cut_spans(ticks, room)]


def _tick(step: Step, is_here: bool, glyphs: Glyphs) -> Span:
    """`●` for the step on screen, with the layer's number where it is one."""
    number = LAYER_NUMBERS.get(step.stage, "")
    ink = LAYER_INKS.get(step.stage, "accent")
    if is_here:
        return Span(f"{glyphs.present} {number}".rstrip(), ink, "b")
    if number:
        return Span(number, ink)
    if step.stage == "pin":
        return Span(glyphs.pinned, "muted")
    return Span(glyphs.turn if step.stage == "receive" else glyphs.step, "muted")
