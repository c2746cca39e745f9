"""Pane 2: the raw list exactly as it is sent to the model, one row an entry."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size

from triptych_tui.i18n import N_
from triptych_tui.messages_rows import (
    MARK_CELLS,
    SIGN_CELLS,
    dividing_row,
    message_row,
    summary_legend,
    tools_row,
)
from triptych_tui.paint import line_of
from triptych_tui.sheet import Change, Sheet
from triptych_tui.spans import Row, Span
from triptych_tui.themes import glyphs_of, tokens_of
from triptych_tui.widgets.line_view import Line, LineView, Look

if TYPE_CHECKING:
    from triptych_tui.previews import Preview
    from triptych_tui.row_filter import RowFilter

_TOOLS_ROWS = 1  # the request's schemas stand above row 0
_AROUND = 8  # rows of the screen that are not the panes
_MOST_PERCENT = 55  # of the panes' rows, header included
_TOOLS = -1  # where entries have an id


class MessagesPane(LineView):
    """The sheet's entries, or those that a filter shows. While a layer is previewed its targets are marked.

    A row unfolds to how its number comes about with the message's JSON, and to what stood there before a layer changed
    it.
    """

    exact_heights = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "unfold", N_("Unfold"), show=False, id="messages.unfold"),
    ]

    def __init__(self, sheet: Sheet, schemas: Sequence[Mapping[str, Any]], *, id: str) -> None:
        super().__init__(id=id)
        self._sheet = sheet
        self._schemas = schemas
        self._preview: Preview | None = None
        self.filter: RowFilter | None = None
        self.indices: Sequence[int] = range(len(sheet.entries))
        """The indices of the entries that are shown."""
        self._filtered = len(sheet.entries)  # how many entries the filter has looked at
        self._asked = 0  # rows, when the screen was laid out last
        self._unfolded: set[int] = set()  # ids of entries, and _TOOLS
        self._with_original: set[int] = set()

    def on_mount(self) -> None:
        self.set_blocks(len(self.indices) + _TOOLS_ROWS)

    @property
    def selected(self) -> int | None:
        """The index of the selected entry, None on the tools row."""
        cursor = self.cursor
        return self.indices[cursor - _TOOLS_ROWS] if cursor is not None and cursor >= _TOOLS_ROWS else None

    def select(self, index: int, *, reveal: bool = True) -> None:
        """Move the cursor to an entry, or to the shown one before it."""
        self.move_cursor(self._block_of(index), reveal=reveal)

    def follow_sheet(self, change: Change) -> None:
        """The sheet changed: draw anew what is in view, with more or fewer rows."""
        filtered, self._filtered = self._filtered, len(self._sheet.entries)
        if self.filter is not None and change != "appended":
            self._show(self.filter.rows(self._sheet))
            return
        if self.filter is not None:
            self.indices = [*self.indices, *self.filter.rows(self._sheet, filtered)]
        else:
            self.indices = range(len(self._sheet.entries))
        self._fit_rows()
        self.refresh_blocks()

    def show_only(self, row_filter: RowFilter | None, rows: Sequence[int] = ()) -> None:
        """Show the `rows` that a filter found; without a filter, all."""
        self.filter = row_filter
        self._show(rows if row_filter is not None else range(len(self._sheet.entries)))

    def shows(self, index: int) -> bool:
        """Whether an entry is among those that are shown."""
        block = self._block_of(index)
        return block >= _TOOLS_ROWS and self.indices[block - _TOOLS_ROWS] == index

    def action_unfold(self) -> None:
        """Show beneath the selected row how its number comes about and its JSON, or hide that again."""
        self._toggle(self._unfolded)

    def toggle_original(self) -> None:
        """Show what stood where the selected entry stands, or hide that again."""
        self._toggle(self._with_original)

    def show_preview(self, preview: Preview | None) -> None:
        """Mark what a plan would do; None ends it."""
        changed = [each.divided_at for each in (self._preview, preview) if each is not None]
        self._preview = preview
        for index in changed:
            if index is not None and index < len(self._sheet.entries):
                self.refresh_block(self._block_of(index))  # it has one line more, or no more
        if preview is not None and preview.first_index is not None:
            self.scroll_to_block(self._block_of(preview.first_index))
        self.refresh_blocks()

    @property
    def has_only_signs(self) -> bool:
        """Whether its marks are signs without words: beside a panel that is about other things there is little room."""
        return self._preview is not None and self._preview.cut is not None and self.screen.has_class("-medium")

    @property
    def legend(self) -> list[Span]:
        """What the signs mean that stand alone, with the caption of the one column left; nothing where words stand."""
        return summary_legend(glyphs_of(self)) if self.has_only_signs else []

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Where it may be as high as it needs: a row more, but the file keeps its share of the body."""
        self._asked = self._heights.total + 1
        return max(min(self._asked, (viewport.height - _AROUND) * _MOST_PERCENT // 100 - 1), 1)

    def _settle(self, block: int, line: int) -> None:
        # Laying out takes time, and a list that is longer than the screen changes nothing there.
        if (
            min(self._heights.total + 1, self._asked) < self.screen.size.height
            and self._heights.total + 1 != self._asked
        ):
            self.refresh(layout=True)
        super()._settle(block, line)

    def render_block(self, index: int, width: int, look: Look) -> Sequence[Line]:
        glyphs, tokens = glyphs_of(self), tokens_of(self)
        if index < _TOOLS_ROWS:
            cells = SIGN_CELLS if self.has_only_signs else MARK_CELLS
            tools = tools_row(self._sheet, len(self._schemas), width, mark_cells=cells)
            rows = [tools, *self._tools_details(width)]
            return [line_of(each, tokens) for each in rows]
        place = self.indices[index - _TOOLS_ROWS]
        tied = look.selected or look.tied
        preview = self._preview
        row = message_row(
            self._sheet, place, width, tied=tied, glyphs=glyphs, preview=preview, slim=self.screen.has_class("-medium")
        )
        lines = [line_of(each, tokens) for each in (row, *self._details(place, width))]
        if self._preview is not None and self._preview.divided_at == place:
            staying = len(self._sheet.entries) - place
            lines.insert(0, line_of(dividing_row(self._preview, width, glyphs, staying), tokens))
        return lines

    def block_key(self, index: int) -> Hashable:
        if index < _TOOLS_ROWS:
            return ("tools", _TOOLS in self._unfolded, self.has_only_signs)
        index = self.indices[index - _TOOLS_ROWS]
        entry, place = self._sheet.entries[index], self._sheet.outline.place(index)
        where = None if place is None else (place.call, place.bracket)
        opened = (entry.id in self._unfolded, entry.id in self._with_original)
        return (index, entry, self._sheet.tokens_of(index), where, opened, self._preview)

    def estimate_heights(self, start: int, stop: int, width: int) -> Iterable[int]:
        heights = [1] * (stop - start)
        if start < _TOOLS_ROWS <= stop:
            heights[0] += len(self._tools_details(width))
        for entry_id in self._unfolded | self._with_original:
            index = self._sheet.index_of(entry_id)
            if index is not None and self.shows(index) and start <= self._block_of(index) < stop:
                heights[self._block_of(index) - start] += len(self._details(index, width))
        divided = self._preview.divided_at if self._preview is not None else None
        if divided is not None and self.shows(divided):
            place = self._block_of(divided) - start
            if 0 <= place < len(heights):
                heights[place] += 1
        return heights

    def tied_blocks(self, index: int) -> Collection[int]:
        if index < _TOOLS_ROWS:
            return ()
        group = self._sheet.outline.group_at(self.indices[index - _TOOLS_ROWS])
        if group is None:
            return ()
        return [self._block_of(place) for place in (group.call_index, *group.results) if self.shows(place)]

    def _block_of(self, index: int) -> int:
        """The block of an entry, or of the shown one before it."""
        return bisect_right(self.indices, index) - 1 + _TOOLS_ROWS

    def _fit_rows(self) -> None:
        """Have as many rows as there are entries to be shown."""
        count = len(self.indices) + _TOOLS_ROWS
        if self._unfolded or self._with_original:
            self.set_blocks(count)  # heights are not all the same
        elif count >= self.block_count:
            self.append_blocks(count - self.block_count)
        else:
            self.splice_blocks(count, self.block_count - count, 0)

    def _show(self, indices: Sequence[int]) -> None:
        """Show other entries; the selected one stays selected, if it is still there."""
        goes_along = self.following and self.cursor == self.block_count - 1
        selected = self.selected
        self.indices = indices
        self.set_blocks(len(indices) + _TOOLS_ROWS)
        if selected is not None and not goes_along:
            self.move_cursor(self._block_of(selected), reveal=not self.following)
        if self.selected != selected and self.cursor is not None:
            self.post_message(self.CursorMoved(self, self.cursor))
        self.refresh_blocks()

    def _toggle(self, opened: set[int]) -> None:
        """Open or fold the selected entry, and bring into view what there is to see."""
        index, cursor = self.selected, self.cursor
        if cursor is None:
            return
        opened ^= {_TOOLS if index is None else self._sheet.entries[index].id}
        self.show_anew(cursor)

    def _details(self, index: int, width: int) -> list[Row]:
        """What is unfolded beneath a row."""
        entry = self._sheet.entries[index]
        unfolded, with_original = entry.id in self._unfolded, entry.id in self._with_original
        if not unfolded and not with_original:
            return []
        from triptych_tui.entry_details import entry_rows, original_rows  # not needed for the first picture

        rows = original_rows(self._sheet, index, width, glyphs_of(self), whole=unfolded) if with_original else []
        return [*rows, *entry_rows(self._sheet, index, width)] if unfolded else rows

    def _tools_details(self, width: int) -> list[Row]:
        """What is unfolded beneath the tools row."""
        if _TOOLS not in self._unfolded:
            return []
        from triptych_tui.entry_details import tools_rows  # not needed for the first picture

        return tools_rows(self._sheet, self._schemas, width)
