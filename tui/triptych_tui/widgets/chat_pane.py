"""Pane 1: the conversation as a person follows it, with what the model is saying right now."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.strip import Strip

from triptych.messages import Message, native, text_of, thought_and_said, tool_calls
from triptych_tui.chat_lines import LAST_LINES, SHOWN_LINES, ChatLines, is_cut, later_start, lines_before
from triptych_tui.growing_text import GrowingText
from triptych_tui.i18n import N_
from triptych_tui.paint import line_of
from triptych_tui.sheet import Change, Sheet, is_spoken
from triptych_tui.spans import Row
from triptych_tui.themes import Tokens, glyphs_of, tokens_of
from triptych_tui.widgets.line_view import Line, LineView, Look

if TYPE_CHECKING:
    from triptych_tui.previews import Preview

_said_line = lru_cache(maxsize=1024)(line_of)
_SAID_LINES = 128
"""Lines kept drawn of what streams, a view and more: a strip is large, and many hold up the collection of garbage."""

CONTEXT_ROWS = 3
"""Rows of what was known already above the middle of a text that is unfolded."""


class ChatPane(LineView):
    """One block an entry that is spoken, and one for the answer that streams. `welcome` fills an empty chat."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "unfold", N_("Unfold what was thought, or is long"), show=False, id="chat.unfold"),
    ]

    def __init__(self, sheet: Sheet, welcome: Callable[[int], Sequence[Row]], *, id: str) -> None:
        super().__init__(id=id)
        self._sheet = sheet
        self._welcome = welcome
        self._spoken: list[int] = []
        self._seen = 0  # entries of the sheet that `_spoken` speaks of
        self._streaming: Message | None = None
        self._unfolded: set[int] = set()  # ids of entries, as those that are shown
        self._whole: set[int] = set()  # to the end although they are long
        self._growing = GrowingText()
        self._start = self._lines_said = 0  # the first character that is shown of what streams, and its lines
        self._said: LRUCache[Hashable, Strip] = LRUCache(_SAID_LINES)
        self._is_summary = False
        self._preview: Preview | None = None
        self._known = 0  # spoken entries that were there when the end was followed last

    def on_mount(self) -> None:
        self.follow_sheet("rebuilt")

    @property
    def selected(self) -> int | None:
        """The index of the selected entry in the list."""
        cursor = self.cursor
        return self._spoken[cursor] if cursor is not None and cursor < len(self._spoken) else None

    @property
    def unread(self) -> int:
        """How many spoken entries came while the end was not followed."""
        return 0 if self.following else max(len(self._spoken) - self._known, 0)

    def following_changed(self) -> None:
        self._known = len(self._spoken)
        super().following_changed()

    @property
    def indices(self) -> Sequence[int]:
        """The indices of the entries that are shown."""
        return self._spoken

    def select(self, index: int, *, reveal: bool = True) -> None:
        """Move the cursor to an entry, or to the spoken one before it."""
        block = bisect_right(self._spoken, index) - 1
        if block >= 0:
            self.move_cursor(block, reveal=reveal)

    def follow_sheet(self, change: Change) -> None:
        """The sheet changed: keep the blocks that are the same, draw the others anew."""
        if change == "rebuilt":
            self._seen, self._spoken = 0, []
        known = len(self._spoken)
        entries = self._sheet.entries
        self._spoken += [index for index in range(self._seen, len(entries)) if is_spoken(entries[index])]
        self._seen = len(entries)
        if change == "rebuilt":
            self.set_blocks(len(self._spoken) + (self._streaming is not None))
        else:
            new = len(self._spoken) - known
            said = int(new > 0 and self._streaming is not None)
            line = self._line_read(known, self._streaming) if said and self._streaming is not None else None
            if said:
                self._streaming = None  # it is the first of the new ones
            self.splice_blocks(known, said, new)
            self.refresh_blocks()
            if line is not None:
                self._settle(known, line)

    def _line_read(self, block: int, streamed: Message) -> int | None:
        """Let what streamed, and is an entry now, stay whole under whoever reads in it: the line of it they read at."""
        entry, width = self._sheet.entries[self._spoken[block]], self._text_width
        if self.following or not self._in_view(block) or not is_cut(entry, width):
            return None
        self._whole.add(entry.id)
        more = lines_before(streamed, self._start, width) - (self._start > 0)
        return self._y - self._heights.top(block) + more

    def stream(self, message: Message, *, summary: bool) -> None:
        """Show a message, all of it so far, as what the model is saying."""
        is_new, self._streaming, self._is_summary = self._streaming is None, message, summary
        if is_new:
            self._start = self._lines_said = 0
            self.append_blocks()
        else:
            self.refresh_block(self.block_count - 1)

    def show_preview(self, preview: Preview | None) -> None:
        """Mark what a plan would change; None ends it."""
        if preview is not self._preview:
            self._preview = preview
            self.refresh_blocks()

    def end_stream(self) -> None:
        """What streamed has become an entry, or was dropped."""
        if self._streaming is not None:
            self._streaming = None
            self.splice_blocks(len(self._spoken), 1, 0)

    def action_unfold(self) -> None:
        """Show what the model thought before the selected message, and all of that, or fold it again."""
        place, cursor = self.selected, self.cursor
        if place is None or cursor is None:
            return
        entry = self._sheet.entries[place]
        was_open = entry.id in self._unfolded | self._whole
        is_long, has_thought = is_cut(entry, self._text_width), bool(thought_and_said(entry.message)[0])
        for ids, folds in ((self._unfolded, has_thought), (self._whole, is_long)):
            if folds and not was_open:
                ids.add(entry.id)
            else:
                ids.discard(entry.id)
        if is_long and not has_thought:
            self._show_middle(cursor)
        elif has_thought:
            self.show_anew(cursor)

    def _show_middle(self, block: int) -> None:
        """Draw a block with or without its middle, which begins on screen; what stands before it stays."""
        self.refresh_block(block)
        row = self._heights.top(block) + SHOWN_LINES - LAST_LINES - self._y
        if not 0 <= row < self._view.height:
            self._follow(False)
            self.scroll_to(y=self._y + row - CONTEXT_ROWS)

    def render_block(self, index: int, width: int, look: Look) -> Sequence[Line]:
        lines, tokens = ChatLines(self._sheet, glyphs_of(self), self._preview), tokens_of(self)
        if index < len(self._spoken):
            entry = self._sheet.entries[self._spoken[index]]
            at_hand = look.selected and look.focused
            opened = {"unfolded": entry.id in self._unfolded, "whole": entry.id in self._whole}
            rows = lines.block(self._spoken[index], width, **opened, at_hand=at_hand)
        else:
            message = self._streaming or {}
            if self.following:  # else what is being read would move away
                self._start = later_start(message, self._start, self._lines_said)
            rows = lines.streaming(message, width, self._growing, summary=self._is_summary, start=self._start)
            self._lines_said = len(rows)
            return [_said_line(row, tokens) for row in rows]
        return [line_of(row, tokens) for row in rows]

    def render_empty(self, width: int) -> Sequence[Line]:
        return [line_of(row, tokens_of(self)) for row in self._welcome(width)]

    def block_key(self, index: int) -> Hashable:
        if index >= len(self._spoken):
            return "streaming"  # one key, so that what was said before is not kept
        place = self._spoken[index]
        group = self._sheet.outline.group_at(place)
        is_last = group is not None and bool(group.results) and place == group.results[-1]
        entry = self._sheet.entries[place]
        target = self._preview.ink if self._preview is not None and entry.id in self._preview.targets else ""
        opened = (entry.id in self._unfolded, entry.id in self._whole)
        return (place, entry, self._sheet.tokens_of(place), is_last, opened, target)

    def estimate_heights(self, start: int, stop: int, width: int) -> Iterable[int]:
        entries = self._sheet.entries
        room = max(width - 8, 8)
        for block in range(start, stop):
            if block >= len(self._spoken):
                yield 2
                continue
            message = native(entries[self._spoken[block]].message)
            calls = len(tool_calls(message)) if message.get("tool_calls") else 0
            yield calls or min(len(text_of(message)) // room, 400) + 2

    def _strip(self, line: Line, look: Look, tokens: Tokens) -> Strip:
        if self._streaming is None:
            return super()._strip(line, look, tokens)
        # With every word that streams, the lines before it come again: they are drawn once.
        key = (line, look, self._view.width, tokens, self._marker)
        strip = self._said.get(key)
        if strip is None:
            strip = self._said[key] = super()._strip(line, look, tokens)
        return strip

    def tied_blocks(self, index: int) -> Collection[int]:
        return ()
