"""Pane 3: the session file as it is on disk."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from triptych.storage.session_file import OnDisk
from triptych_tui.i18n import _
from triptych_tui.json_lines import json_spans
from triptych_tui.paint import line_of
from triptych_tui.spans import Row, Span, cut_spans
from triptych_tui.themes import tokens_of
from triptych_tui.untrusted import wrap
from triptych_tui.widgets.line_view import Line, LineView, Look


class SessionPane(LineView):
    """One block a message of the file, so that the selection is shared; a file of another layout is plain lines."""

    exact_heights = True

    def __init__(self, *, is_kept: bool, id: str) -> None:
        super().__init__(id=id)
        self._is_kept = is_kept
        self._disk: OnDisk | None = None
        self._chunks: Sequence[str] = ()
        self._by_message = False

    def show(self, disk: OnDisk | None) -> bool:
        """Show what is on disk now, None while there is no file; whether that is something else than before."""
        if disk is self._disk:
            return False
        old = self._chunks
        self._disk = disk
        if disk is None:
            self._chunks, self._by_message = (), False
        elif disk.chunks:
            self._chunks, self._by_message = disk.chunks, True
        else:
            self._chunks, self._by_message = disk.other_text.split("\n"), False
        same = 0
        # The last block carries the closing bracket, so it is always drawn anew.
        while same < min(len(old), len(self._chunks)) - 1 and old[same] is self._chunks[same]:
            same += 1
        self.splice_blocks(same, len(old) - same, len(self._chunks) - same)
        return True

    @property
    def selected(self) -> int | None:
        """The index of the message under the cursor; None in a file of another layout."""
        return self.cursor if self._by_message else None

    @property
    def indices(self) -> Sequence[int]:
        """The indices of the entries that are shown; none in a file of another layout."""
        return range(len(self._chunks)) if self._by_message else ()

    def select(self, index: int, *, reveal: bool = True) -> None:
        """Move the cursor to a message, if the file holds it already."""
        if self._by_message and index < len(self._chunks):
            self.move_cursor(index, reveal=reveal)

    def render_block(self, index: int, width: int, look: Look) -> Sequence[Line]:
        tokens = tokens_of(self)
        first = self._heights.top(index) + 1
        return [
            line_of(
                Row(cut_spans([Span(f"{first + offset:>6}  ", "faint"), *json_spans(line)], width), "", aside), tokens
            )
            for offset, (line, aside) in enumerate(self._lines(index))
        ]

    def _lines(self, index: int) -> Iterator[tuple[str, bool]]:
        """A block's lines as they stand in the file, and whether a line belongs to the list, not to its message."""
        is_last = index == len(self._chunks) - 1
        if self._by_message and index == 0:
            yield "[", True
        comma = "," if self._by_message and not is_last else ""
        yield from ((line, False) for line in (self._chunks[index] + comma).split("\n"))
        if self._by_message and is_last:
            yield "]", True

    def render_empty(self, width: int) -> Sequence[Line]:
        kept, lost = (
            _("No file yet: it is written when the first turn is over."),
            _("No file: this session is not saved."),
        )
        lines = wrap(kept if self._is_kept else lost, max(width - 8, 2))
        rows = [Row(), *(Row([Span(" " * 7), Span(line, "muted")]) for line in lines)]
        return [line_of(row, tokens_of(self)) for row in rows]

    def block_key(self, index: int) -> Hashable:
        return (index, self._heights.top(index), self._chunks[index], index == len(self._chunks) - 1)

    def estimate_heights(self, start: int, stop: int, width: int) -> Iterable[int]:
        heights = [self._chunks[index].count("\n") + 1 for index in range(start, stop)]
        if heights and self._by_message:
            heights[0] += start == 0
            heights[-1] += stop == len(self._chunks)
        return heights
