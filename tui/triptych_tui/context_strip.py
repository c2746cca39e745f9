"""A strip of cells, to scale, of what fills the model's window: roles, tools, what a layer would free, what is free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.cells import cell_len

from triptych.tokens import apportion
from triptych_tui.context_load import SHOWN_LETTERS, Change, Load
from triptych_tui.glyphs import Glyphs
from triptych_tui.i18n import _
from triptych_tui.sheet import ROLE_INKS
from triptych_tui.spans import Span, width_of

FILLS = {"S": "fill_s", "Σ": "fill_sum", "U": "fill_u", "A": "fill_a", "T": "fill_t", "?": "fill_s"}
_LABEL_OFFSET = 2
"""Cells of a run before the label that stands within it."""
_LEAST_AROUND = 6
"""Cells of what would go that a label must leave, its blanks with them."""


class Window(NamedTuple):
    """The model's context window in tokens, None where unknown, and the part of it at which layer 3 runs by itself."""

    tokens: int | None
    trigger_share: float | None = None


def strip(load: Load, window: Window, glyphs: Glyphs, cells: int, change: Change | None = None) -> list[Span]:
    """The strip in so many cells. Labels that would collide are left out, never written over one another."""
    now = load if change is None else change.after
    runs = list(_runs(now, glyphs))
    gone = max(change.before.whole - now.whole, 0) if change is not None else 0
    free = max((window.tokens or 0) - now.whole - gone, 0)
    *sizes, gone_size, free_size = _cells_of([*(run.tokens for run in runs), gone, free], cells)

    canvas = _Canvas(cells)
    place = 0
    unnamed: list[_Run] = []
    for run, size in zip(runs, sizes, strict=True):
        if not canvas.draw_run(place, size, run, glyphs) and run.letter:
            unnamed.append(run)
        place += size
    canvas.fill(place, gone_size, Span(glyphs.going, change.ink if change is not None else ""))
    canvas.fill(place + gone_size, free_size, Span(glyphs.free, "rule"))
    if window.tokens and window.trigger_share:
        threshold = int(window.trigger_share * window.tokens)
        canvas.write(threshold * cells // (now.whole + gone + free), [Span(glyphs.tie + "L3", "l3")])
    if change is not None and gone:
        _write_gone(canvas, place, gone_size, change, gone)
    _write_free(canvas, place + gone_size, free_size, unnamed, free)
    return canvas.spans()


class _Run(NamedTuple):
    """Neighbouring cells on one ground. `letter` is a role's, "" for the tools; `name` what stands in front of it."""

    tokens: int
    name: str
    fill: Span
    letter: str = ""


def _runs(load: Load, glyphs: Glyphs) -> Iterator[_Run]:
    for letter in SHOWN_LETTERS:
        if tokens := load.parts.get(letter):
            shown = glyphs.summary if letter == "Σ" else letter
            yield _Run(tokens, shown, Span(" ", "on_fill", "b", FILLS[letter]), letter)
    if load.tools:
        yield _Run(load.tools, _("tools"), Span(" ", "muted", "", "raised"))


def _cells_of(tokens: Sequence[int], room: int) -> list[int]:
    """Cells to scale, at least one for all that is there, taken from the largest."""
    cells = list(apportion(dict(enumerate(tokens)), room).values())
    for index, count in enumerate(cells):
        largest = max(range(len(cells)), key=cells.__getitem__)
        if not count and tokens[index] and cells[largest] > 1:
            cells[largest] -= 1
            cells[index] = 1
    return cells


def _write_gone(canvas: _Canvas, place: int, size: int, change: Change, gone: int) -> None:
    """`T -2,521` within what would go, or behind it where it would hide that."""
    letter, amount = Span(f"{change.letter} " if change.letter else "", change.ink, "b"), f"-{gone:,}"
    label = [letter, Span(amount, change.ink, "b")]
    if size < width_of(label) + _LEAST_AROUND or not canvas.write_within(place, size, label):
        canvas.write(place + size, [Span(" "), *label, Span(" ")])


def _write_free(canvas: _Canvas, place: int, size: int, unnamed: Sequence[_Run], free: int) -> None:
    """`free 1,613`, and where there is room the numbers that did not fit into their runs."""
    word = Span(_("free {tokens}").format(tokens=f"{free:,}"), "muted")
    legend: list[Span] = []
    for run in unnamed:
        legend += [
            Span(("  " if legend else "") + run.name, ROLE_INKS[run.letter], "b"),
            Span(f" {run.tokens:,}", "muted"),
        ]
    both = [*legend, Span("  "), word] if legend else [word]
    if not canvas.write_within(place, size, both) and canvas.write_within(place, size, [word]):
        canvas.write_within(place, size, legend)


class _Canvas:
    """A row of cells that are filled first and then written on, each at most once."""

    def __init__(self, cells: int) -> None:
        self._cells = [Span(" ")] * cells
        self._taken = [False] * cells

    def fill(self, place: int, size: int, cell: Span) -> None:
        self._cells[place : place + size] = [cell] * size

    def draw_run(self, place: int, size: int, run: _Run, glyphs: Glyphs) -> bool:
        """A run with the sign of its start, its name and its number as far as they fit; whether the number did."""
        self.fill(place, size, run.fill)
        self._taken[place : place + size] = [True] * size
        if size == 1 and cell_len(run.name) == 1:
            self._put(place, run.fill._replace(text=run.name))
        if size < 2:
            return False
        self._put(place, run.fill._replace(text=glyphs.run_start, ink="bg"))
        full = f"{run.name} {run.tokens:,}"
        label = next((text for text in (full, run.name) if cell_len(text) < size), "")
        self._put(place + 1, run.fill._replace(text=label))
        return label == full

    def write(self, place: int, label: Sequence[Span]) -> bool:
        """Write on the ground of the bar, unless something stands there or the row ends; whether it was written."""
        stop = place + width_of(label)
        if stop > len(self._cells) or any(self._taken[place:stop]):
            return False
        self._taken[place:stop] = [True] * (stop - place)
        for span in label:
            self._put(place, span)
            place += cell_len(span.text)
        return True

    def write_within(self, place: int, size: int, label: Sequence[Span]) -> bool:
        """Write at the first free place of a run, with a blank on either side; whether there is one."""
        framed = [Span(" "), *label, Span(" ")]
        spare = size - width_of(framed)
        offsets = range(min(_LABEL_OFFSET, spare), spare + 1) if spare >= 0 else ()
        return any(self.write(place + offset, framed) for offset in offsets)

    def spans(self) -> list[Span]:
        """The cells, those of one look together."""
        alike = (list(cells) for _look, cells in groupby(self._cells, key=lambda cell: cell[1:]))
        return [cells[0]._replace(text="".join(cell.text for cell in cells)) for cells in alike]

    def _put(self, place: int, span: Span) -> None:
        """One character a cell; a wide one takes two, of which the second holds nothing."""
        for character in span.text:
            size = cell_len(character)
            self._cells[place : place + size] = [span._replace(text=character), span._replace(text="")][:size]
            place += size
