"""The one virtual list that all big panes share: blocks of lines, of which only those near the view are ever drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region, Size, clamp
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from triptych_tui.glyphs import UNICODE
from triptych_tui.i18n import N_
from triptych_tui.themes import Tokens, glyphs_of, tokens_of
from triptych_tui.widgets.block_scroll import BlockScroll
from triptych_tui.widgets.block_strips import BlockStrips
from triptych_tui.widgets.thin_scrollbar import AsciiScrollbar, ThinScrollbar

Marker = Callable[[str], Sequence[tuple[int, int]]]
"""The places in a text, as start and end, that are to stand out."""

Span = tuple[str, Style]
"""Cleaned text without line feeds, and its style; a style without a background takes the row's."""

_CACHED_BLOCKS = 1024
_LINES_A_BLOCK = 1 << 32  # text selection speaks of (block, line) as one number, which no height above can move


class Line(NamedTuple):
    """One row of a block, to the right of the selection edge.

    `ground` names the token that fills the row, over the selection's own. An `aside` (a blank between blocks, a
    divider) belongs to the list rather than to its block: it never shows the selection.
    """

    spans: Sequence[Span] = ()
    ground: str = ""
    aside: bool = False


class Look(NamedTuple):
    """What a block's looks depend on besides its content.

    `tied`: a block it belongs to is selected. `focused`: it is selected or tied, and the list has the focus.
    """

    selected: bool
    focused: bool
    tied: bool


_STANDING_OUT = Style(bold=True, underline=True)
_EMPTY, _BLANK = object(), object()
"""Cache keys of what stands there without blocks, and below the last one."""

_PLAIN = Look(selected=False, focused=False, tied=False)


class LineView(BlockScroll):
    """A list of blocks with a cursor on one of them. Subclasses say what a block looks like (`render_block`).

    Column 0 is the selection's edge. Moving the cursor up ceases to follow the end, End takes it up again. A cursor on
    the last block goes along with the end that is followed. A block taller than the view is read line by line.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "cursor_down", N_("Next"), show=False, id="list.down"),
        Binding("up,k", "cursor_up", N_("Previous"), show=False, id="list.up"),
        Binding("pagedown", "page_down", N_("Page down"), show=False, id="list.page_down"),
        Binding("pageup", "page_up", N_("Page up"), show=False, id="list.page_up"),
        Binding("home,g", "first", N_("First"), show=False, id="list.first"),
        Binding("end,G", "last", N_("Last, and follow"), show=False, id="list.last"),
    ]

    class CursorMoved(Message):
        """The user moved the cursor, or it went `along` with the end of the list."""

        def __init__(self, view: LineView, index: int, *, along: bool = False) -> None:
            super().__init__()
            self.view = view
            self.index = index
            self.along = along

        @property
        def control(self) -> LineView:
            return self.view

    class FollowChanged(Message):
        """The view began or ceased to follow the end of the list."""

        def __init__(self, view: LineView, following: bool) -> None:
            super().__init__()
            self.view = view
            self.following = following

        @property
        def control(self) -> LineView:
            return self.view

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._cursor = 0
        self._tied: Collection[int] = ()
        self._strips: LRUCache[tuple[Hashable, Look, int, Tokens], BlockStrips] = LRUCache(_CACHED_BLOCKS)
        self._painted: dict[int, Strip] = {}
        self._marker: Marker | None = None

    def on_mount(self) -> None:
        thin = ThinScrollbar if glyphs_of(self) is UNICODE else AsciiScrollbar
        self.vertical_scrollbar.renderer = thin  # type: ignore[misc]  # Textual reads it from the instance

    # What a subclass supplies

    def render_block(self, index: int, width: int, look: Look) -> Sequence[Line]:
        """The lines of a block, `width` cells each. Their number must not depend on `look`."""
        raise NotImplementedError

    def block_key(self, index: int) -> Hashable:
        """What a block's lines depend on besides width, look and theme: blocks with equal keys look alike.

        With a key that tells, changes show by themselves at `refresh_blocks`; the place in the list tells nothing.
        """
        return index

    def tied_blocks(self, index: int) -> Collection[int]:
        """The blocks that look different while `index` is selected: its call, its results."""
        return ()

    def render_empty(self, width: int) -> Sequence[Line]:
        """What stands there while there are no blocks."""
        return ()

    # The list and its cursor

    @property
    def goes_along(self) -> bool:
        """Whether the cursor is on the last block and stays there as the list grows."""
        return self.following and self._cursor >= self.block_count - 1

    @property
    def cursor(self) -> int | None:
        """The selected block; None while there are no blocks."""
        return self._cursor if self.block_count else None

    def move_cursor(self, index: int, *, reveal: bool = True) -> None:
        """Select a block from outside, without a message; `reveal` brings it into view, even away from the end."""
        self._select(index)
        if reveal:
            self.scroll_to_block(self._cursor)

    def blocks_moved(self, start: int, removed: int, added: int) -> None:
        count_before = self.block_count - added + removed
        if start < count_before:
            self._strips.clear()  # a key may be no more than a place
        before = self._cursor
        if self._following and before >= count_before - 1:
            self._cursor = max(0, self.block_count - 1)
            if self._cursor != before:
                self.post_message(self.CursorMoved(self, self._cursor, along=True))
        else:
            self._cursor = self._index_after(before, start, removed, added)
        self._tie()

    def refresh_block(self, index: int) -> None:
        block_key = self.block_key(index)
        for key in [key for key in self._strips.keys() if key[0] == block_key]:  # noqa: SIM118 (it is no mapping)
            self._strips.discard(key)
        super().refresh_block(index)

    def refresh_blocks(self) -> None:
        self._tie()
        super().refresh_blocks()

    def redraw(self) -> None:
        """Forget what was drawn: the language or the glyphs changed."""
        self._strips.clear()
        self.refresh_blocks()

    def mark(self, marker: Marker | None) -> None:
        """Let places in the text stand out from now on; None: no more."""
        self._marker = marker
        self._strips.clear()
        self.repaint()

    def show_anew(self, index: int) -> None:
        """Draw a block that was unfolded or folded, and bring into view what there is to see of it."""
        self.refresh_block(index)
        self.scroll_to_block(index)
        if self._heights[index] > self._view.height:
            self._follow(False)
            self.scroll_to(y=self._heights.top(index))

    def show_mark(self) -> None:
        """Bring the first line of the selected block in which something stands out into view."""
        strips = self._block_strips(self._cursor) if self.block_count and self._view else ()
        line = next((line for line, strip in enumerate(strips) if self._marker and self._marker(strip.text)), 0)
        row = self._heights.top(self._cursor) + line - self._y if strips else 0
        if not 0 <= row < max(1, self._view.height):
            self._follow(False)
            self.scroll_to(y=self._y + row - self._view.height // 2)

    def following_changed(self) -> None:
        self.post_message(self.FollowChanged(self, self.following))

    def _select(self, index: int) -> bool:
        """Move the cursor, and nothing else; whether it moved."""
        before, self._cursor = self._cursor, clamp(index, 0, max(0, self.block_count - 1))
        if self._cursor != before:
            self._tie()
            self.repaint()
        return self._cursor != before

    def _tie(self) -> None:
        self._tied = self.tied_blocks(self._cursor) if self.block_count else ()

    def _fit_view(self, view: Size) -> None:
        seen = not self._view or (self.block_count > 0 and self._in_view(self._cursor))
        self._painted.clear()
        super()._fit_view(view)
        if seen and not self._following:
            self.scroll_to_block(self._cursor)

    # What the user does

    def _go(self, index: int) -> None:
        before = self._cursor
        moved = self._select(index)
        if self._cursor < before:
            self._follow(False)
        self.scroll_to_block(self._cursor)
        if moved:
            self.post_message(self.CursorMoved(self, self._cursor))

    def _hidden_lines(self) -> tuple[int, int]:
        """How many lines of the cursor's block are above and below the view, where it is in view but does not fit."""
        if not self.block_count or not self._in_view(self._cursor):
            return 0, 0
        height = self._heights[self._cursor]
        above = self._y - self._heights.top(self._cursor)
        return (max(0, above), max(0, height - self._view.height - above)) if height > self._view.height else (0, 0)

    def _turn_page(self, direction: int) -> None:
        """Scroll by a page less one line, and keep the cursor on its row of the view."""
        if not self.block_count:
            return
        row = clamp(self._heights.top(self._cursor) - self._y, 0, max(0, self._view.height - 1))
        before = self._y
        self.scroll_to(y=before + direction * max(1, self._view.height - 1))
        if self._y != before:
            self._go(self._heights.at(self._y + row)[0])
        else:
            self._go(self.block_count if direction > 0 else 0)

    def action_cursor_down(self) -> None:
        if self._hidden_lines()[1]:
            self.scroll_to(y=self._y + 1)
        else:
            self._go(self._cursor + 1)

    def action_cursor_up(self) -> None:
        if self._hidden_lines()[0]:
            self.scroll_to(y=self._y - 1)
        else:
            self._go(self._cursor - 1)

    def action_page_down(self) -> None:
        self._turn_page(1)

    def action_page_up(self) -> None:
        self._turn_page(-1)

    def action_first(self) -> None:
        self._go(0)
        self.scroll_to(y=0)

    def action_last(self) -> None:
        self._go(self.block_count - 1)
        self.follow_end()

    async def on_click(self, event: events.Click) -> None:
        event.prevent_default()  # a second click would select the text of the whole list
        offset = event.get_content_offset(self)
        if offset is None or self.text_selection is not None or self._y + offset.y >= self._heights.total:
            return
        if self._select(self._heights.at(self._y + offset.y)[0]):
            self.post_message(self.CursorMoved(self, self._cursor))

    # Drawing

    def measure_height(self, index: int) -> int:
        return len(self._block_strips(index))

    def repaint(self) -> None:
        """Draw again those rows that look different from what was drawn."""
        for y, painted in self._painted.items():
            if self._row(y)[0] != painted:
                self.refresh(Region(0, y, self._view.width, 1))

    def render_line(self, y: int) -> Strip:
        strip, address = self._row(y)
        self._painted[y] = strip
        if address is None:
            return strip
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(address)) is not None:
            strip = _highlighted(strip, span, self.screen.get_component_rich_style("screen--selection"))
        return strip.apply_offsets(0, address)

    def _row(self, y: int) -> tuple[Strip, int | None]:
        """What row `y` of the view shows, and its address for text selection."""
        line = self._y + y
        if self.block_count and line < self._heights.total:
            index, line = self._heights.at(line)
            strips = self._block_strips(index)
            if line < len(strips):
                return strips[line], index * _LINES_A_BLOCK + line
        elif not self.block_count:
            strips = self._empty_strips()
            if y < len(strips):
                return strips[y], None
        return self._blank_strip(), None

    def _empty_strips(self) -> BlockStrips:
        tokens = tokens_of(self)
        key = (_EMPTY, _PLAIN, self._view.width, tokens)
        strips = self._strips.get(key)
        if strips is None:
            strips = self._strips[key] = self._drawn_later(self.render_empty(self._text_width), _PLAIN, tokens)
        return strips

    def _blank_strip(self) -> Strip:
        tokens = tokens_of(self)
        key = (_BLANK, _PLAIN, self._view.width, tokens)
        strips = self._strips.get(key)
        if strips is None:
            strips = self._strips[key] = self._drawn_later([Line()], _PLAIN, tokens)
        return strips[0]

    @property
    def _text_width(self) -> int:
        return max(1, self._view.width - 1)

    def _block_strips(self, index: int) -> BlockStrips:
        selected, tied = index == self._cursor, index in self._tied
        look = Look(selected, self.has_focus and (selected or tied), tied)
        tokens = tokens_of(self)
        key = (self.block_key(index), look, self._view.width, tokens)
        strips = self._strips.get(key)
        if strips is None:
            lines = self.render_block(index, self._text_width, look) or (Line(),)
            strips = self._strips[key] = self._drawn_later(lines, look, tokens)
        return strips

    def _drawn_later(self, lines: Sequence[Line], look: Look, tokens: Tokens) -> BlockStrips:
        return BlockStrips(lines, lambda line: self._strip(line, look, tokens))

    def _strip(self, line: Line, look: Look, tokens: Tokens) -> Strip:
        selected = look.selected and not line.aside
        ground = line.ground or (("sel" if look.focused else "raised") if selected else "bg")
        base = tokens.style("text", ground)
        edge = Segment(glyphs_of(self).edge if selected else " ", tokens.style("accent", ground))
        segments = [edge, *(Segment(text, base + style) for text, style in line.spans if text)]
        strip = Strip(segments).adjust_cell_length(self._view.width, base)
        for place in self._marker(strip.text) if self._marker is not None else ():
            strip = _highlighted(strip, place, tokens.style("accent") + _STANDING_OUT)
        return strip

    # Selecting text with the mouse

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        if not self.block_count:
            return None
        first = selection.start.y // _LINES_A_BLOCK if selection.start else 0
        last = selection.end.y // _LINES_A_BLOCK if selection.end else self.block_count - 1
        rows = []
        for index in range(first, min(last + 1, self.block_count)):
            for line, strip in enumerate(self._block_strips(index)):
                if (span := selection.get_span(index * _LINES_A_BLOCK + line)) is not None:
                    start, end = span
                    rows.append(strip.text[max(1, start) : None if end == -1 else end].rstrip())
        return "\n".join(rows), "\n"


def _highlighted(strip: Strip, span: tuple[int, int], style: Style) -> Strip:
    """`strip` with the characters of `span` in another style; an end of -1 is the end of the line."""
    start, end = span
    text = strip.text
    first = cell_len(text[:start])
    last = strip.cell_length if end == -1 else cell_len(text[:end])
    marked = Strip(Segment.apply_style(strip.crop(first, last), post_style=style), max(0, last - first))
    return Strip.join([strip.crop(0, first), marked, strip.crop(last)])
