"""Pane 2: the raw list exactly as it is sent to the model, one row an entry."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from triptych_tui.messages_rows import Preview, message_row, tools_row
from triptych_tui.paint import line_of
from triptych_tui.sheet import Sheet
from triptych_tui.themes import glyphs_of, tokens_of
from triptych_tui.widgets.line_view import Line, LineView, Look

_TOOLS_ROWS = 1  # the request's schemas stand above row 0


class MessagesPane(LineView):
    """The sheet's entries. While a layer is previewed its targets are marked and a line shows where the cache ends."""

    exact_heights = True

    def __init__(self, sheet: Sheet, tools: int, *, id: str) -> None:
        super().__init__(id=id)
        self._sheet = sheet
        self._tools = tools
        self._preview: Preview | None = None

    def on_mount(self) -> None:
        self.set_blocks(len(self._sheet.entries) + _TOOLS_ROWS)

    @property
    def selected(self) -> int | None:
        """The index of the selected entry, None on the tools row."""
        cursor = self.cursor
        return cursor - _TOOLS_ROWS if cursor is not None and cursor >= _TOOLS_ROWS else None

    def select(self, index: int) -> None:
        self.move_cursor(index + _TOOLS_ROWS)

    def follow_sheet(self) -> None:
        """The sheet changed: draw anew what is in view, with more or fewer rows."""
        count = len(self._sheet.entries) + _TOOLS_ROWS
        if count >= self.block_count:
            self.append_blocks(count - self.block_count)
        else:
            self.splice_blocks(count, self.block_count - count, 0)
        self.refresh_blocks()

    def show_preview(self, preview: Preview | None) -> None:
        """Mark what a plan would do; None ends it."""
        self._preview = preview
        if preview is not None and preview.first_index is not None:
            self.scroll_to_block(preview.first_index + _TOOLS_ROWS)
        self.refresh_blocks()

    def render_block(self, index: int, width: int, look: Look) -> Sequence[Line]:
        glyphs, tokens = glyphs_of(self), tokens_of(self)
        if index < _TOOLS_ROWS:
            return [line_of(tools_row(self._sheet, self._tools, width), tokens)]
        row = message_row(
            self._sheet,
            index - _TOOLS_ROWS,
            width,
            tied=look.selected or look.tied,
            glyphs=glyphs,
            preview=self._preview,
        )
        return [line_of(row, tokens)]

    def block_key(self, index: int) -> Hashable:
        if index < _TOOLS_ROWS:
            return "tools"
        index -= _TOOLS_ROWS
        place = self._sheet.outline.place(index)
        where = None if place is None else (place.call, place.bracket)
        return (index, self._sheet.entries[index], self._sheet.tokens_of(index), where, self._preview)

    def tied_blocks(self, index: int) -> Collection[int]:
        group = self._sheet.outline.group_at(index - _TOOLS_ROWS)
        if group is None:
            return ()
        return [place + _TOOLS_ROWS for place in (group.call_index, *group.results)]
