"""Pane 3: the session file as it is on disk, with what the next save changes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from operator import is_

from triptych.edits import apply
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummaryPlan
from triptych.session import Session
from triptych.storage.session_file import OnDisk
from triptych_tui.file_changes import FileChanges
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

    def __init__(self, session: Session, *, is_kept: bool, id: str) -> None:
        super().__init__(id=id)
        self._session = session
        self._is_kept = is_kept
        self._shown: tuple[object, ...] = ()
        self._file = FileChanges(())
        self._by_message = False

    def show(self, disk: OnDisk | None, plan: Plan | SummaryPlan | None = None) -> bool:
        """Show what is on disk now, None while there is no file, and what the next save changes of it.

        `plan` is shown before it is applied. Returns whether all that is something else than before.
        """
        session = self._session
        saved = head = () if session.store is None else session.saved_entries or ()
        if saved:
            head = session.entries
        shown = (disk, saved, head, plan)
        if len(self._shown) == len(shown) and all(map(is_, self._shown, shown)):
            return False
        coming = apply(head, plan.edits) if saved and isinstance(plan, Plan) and plan.edits else head
        old, self._shown = self._file, shown
        self._by_message = disk is not None and bool(disk.chunks)
        if disk is None:
            self._file = FileChanges(())
        elif disk.chunks:
            self._file = FileChanges(disk.chunks, saved, coming, head)
        else:
            self._file = FileChanges(disk.other_text.split("\n"), separator="")
        # The last block carries the closing bracket, so it is always drawn anew.
        same = max(min(self._file.same_before(old), len(old) - 1, len(self._file) - 1), 0)
        self.splice_blocks(same, len(old) - same, len(self._file) - same)
        return True

    @property
    def changed_lines(self) -> int:
        """How many lines the next save changes, as far as they are shown."""
        return self._file.changed_lines

    @property
    def selected(self) -> int | None:
        """The index of the message under the cursor; None in a file of another layout."""
        return self._file.index_of(self.cursor) if self._by_message and self.cursor is not None else None

    @property
    def indices(self) -> Sequence[int]:
        """The indices of the entries that are shown; none in a file of another layout."""
        return range(self._file.entry_count) if self._by_message else ()

    def select(self, index: int, *, reveal: bool = True) -> None:
        """Move the cursor to a message, if the file holds it already, or will."""
        if self._by_message and index < self._file.entry_count:
            self.move_cursor(self._file.place_of(index), reveal=reveal)

    def render_block(self, index: int, width: int, look: Look) -> Sequence[Line]:
        tokens = tokens_of(self)
        first = self._heights.top(index) + 1 - self._file.added_before(index)
        lines = [line_of(row, tokens) for row in self._rows(index, first + (self._by_message and index == 0), width)]
        if self._by_message and index == 0:
            lines.insert(0, line_of(_row("[", 1, width, aside=True), tokens))
        if self._by_message and index == len(self._file) - 1:
            number = first + sum(line.sign != "+" for line in self._file.lines(index)) + (index == 0)
            lines.append(line_of(_row("]", number, width, aside=True), tokens))
        return lines

    def _rows(self, index: int, first: int, width: int) -> Iterator[Row]:
        """A block's lines; the first of them that is on disk has this number there."""
        for line in self._file.lines(index):
            yield _row(line.text, 0 if line.offset is None else first + line.offset, width, sign=line.sign)

    def render_empty(self, width: int) -> Sequence[Line]:
        kept, lost = (
            _("No file yet: it is written when the first turn is over."),
            _("No file: this session is not saved."),
        )
        lines = wrap(kept if self._is_kept else lost, max(width - 8, 2))
        rows = [Row(), *(Row([Span(" " * 7), Span(line, "muted")]) for line in lines)]
        return [line_of(row, tokens_of(self)) for row in rows]

    def block_key(self, index: int) -> Hashable:
        return (index, self._heights.top(index), self._file.key(index), index == len(self._file) - 1)

    def estimate_heights(self, start: int, stop: int, width: int) -> Iterable[int]:
        heights = [self._file.height(index) for index in range(start, stop)]
        if heights and self._by_message:
            heights[0] += start == 0
            heights[-1] += stop == len(self._file)
        return heights


def _row(text: str, number: int, width: int, *, sign: str = "", aside: bool = False) -> Row:
    """A line of the file behind its number; what goes and what comes has its sign and its ground."""
    ink = {"-": "error", "+": "accent"}.get(sign, "faint")
    spans = json_spans(text)
    if sign == "-":
        spans = [span._replace(ink="muted") for span in spans]
    head = [Span(f"{number or '':>5}", "faint"), Span(f" {sign or ' '} ", ink, "b")]
    return Row(cut_spans([*head, *spans], width), {"-": "delete", "+": "add"}.get(sign, ""), aside)
