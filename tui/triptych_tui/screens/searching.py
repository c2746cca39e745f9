"""Searching on a workbench: `/` writes what is sought, `n` and `N` go from hit to hit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from triptych.entries import Entry
from triptych.reasons import Reason
from triptych_tui.i18n import _, ngettext
from triptych_tui.plain import plain
from triptych_tui.search import Hit, SearchError, find, places
from triptych_tui.sheet import Sheet
from triptych_tui.spans import Span
from triptych_tui.untrusted import clean, fit
from triptych_tui.widgets.chat_pane import ChatPane
from triptych_tui.widgets.find_field import FindField
from triptych_tui.widgets.messages_pane import MessagesPane
from triptych_tui.widgets.session_pane import SessionPane

if TYPE_CHECKING:
    from triptych_tui.screens.three_panes import ThreePanes

Pane = ChatPane | MessagesPane | SessionPane
SOUGHT_CELLS = 20


class _Found(NamedTuple):
    """What was sought, where, and which entries of it hold it."""

    sought: str = ""
    entries: tuple[Entry, ...] = ()
    hits: Sequence[Hit] = ()


class _Before(NamedTuple):
    """How things stood when the search was opened: Esc goes back to it."""

    selected: int | None
    following: Sequence[Pane]
    found: _Found


class Searching:
    """One search at a time, in the pane that had the focus. The hits of a list that changed are sought anew."""

    def __init__(self, screen: ThreePanes, sheet: Sheet, field: FindField) -> None:
        self._screen = screen
        self._sheet = sheet
        self._field = field
        self._pane: Pane = screen.query_one(MessagesPane)
        self._found = _Found()
        self._before = _Before(None, (), self._found)
        self._fault: Reason | None = None
        self._at: Hit | None = None

    def open(self) -> None:
        """Write what is sought; the cursor goes to the first hit at once."""
        self._pane = self.present_pane()
        following = [pane for pane in self.panes() if pane.following]
        self._before = _Before(self._pane.selected, following, self._found)
        self._screen.hush()
        self._field.open("search", "", self._kept, self._left, self._changed)

    def step(self, direction: int) -> None:
        """Go to the next hit (1) or the one before (-1), around the ends of the list."""
        self._pane = self.present_pane()
        if not self._found.sought:
            self._screen.say(Reason("search.nothing_sought"), fault=False)
        elif self._found.entries is self._sheet.entries:
            self._step(direction)
        else:
            self._seek(self._found.sought, direction)

    def forget(self) -> None:
        """Seek nothing any more."""
        self._at = None
        self._keep(_Found())

    def fact(self, pane_id: str) -> str:
        """What the header of a pane says of the search."""
        if not self._found.sought or pane_id != self._pane.id or self._field.is_open:
            return ""
        sought = fit(clean(self._found.sought, newlines=False), SOUGHT_CELLS)
        where = " " + _("gone, v shows it") if self._at is not None and self._at.gone else ""
        return f"/{sought} {self._count()}{where}"

    def panes(self) -> list[Pane]:
        query = self._screen.query_one
        return [query(ChatPane), query(MessagesPane), query(SessionPane)]

    def present_pane(self) -> Pane:
        """The pane with the focus, or else the messages; a file of another layout has no entries to go to."""
        focused = self._screen.focused
        if isinstance(focused, ChatPane | MessagesPane | SessionPane) and focused.indices:
            return focused
        return self._screen.query_one(MessagesPane)

    # The field

    def _changed(self, text: str) -> None:
        self._seek(text, 0)

    def _kept(self, text: str) -> None:
        if self._fault is not None:
            self._screen.say(self._fault)
            return
        self._close()
        if not text:
            self.forget()
        elif self._found.sought == text and not self._shown_hits():
            self._say_none()
        self._screen.refresh_facts()

    def _left(self) -> None:
        self._screen.workers.cancel_group(self._screen, "search")
        self._close()
        self._at = None
        self._keep(self._before.found)
        if self._before.selected is not None:
            self._select(self._before.selected)
        for pane in self._before.following:
            pane.follow_end()
        self._screen.refresh_facts()

    def _close(self) -> None:
        self._fault = None
        self._field.close()
        self._screen.hush()
        self._screen.set_focus(self._pane)

    # Seeking

    def _seek(self, text: str, direction: int) -> None:
        """Find the entries that hold `text`, then go on from the cursor; 0: a hit under it is the one."""
        self._fault = None
        self._screen.run_worker(self._find(text, direction), group="search", exclusive=True)

    async def _find(self, text: str, direction: int) -> None:
        entries = self._sheet.entries
        try:
            self._keep(_Found(text, entries, await find(text, self._sheet) if text else ()))
        except SearchError as error:
            self._fault = error.reason
            self._keep(_Found())
        self._step(direction)

    def _keep(self, found: _Found) -> None:
        """Seek this from now on: it stands out in all panes."""
        if found.sought != self._found.sought:
            marker = places(found.sought) if found.sought else None
            for pane in self.panes():
                pane.mark(marker)
        self._found = found

    def _step(self, direction: int) -> None:
        hits = self._shown_hits()
        origin = self._before.selected if direction == 0 else self._pane.selected
        self._at = _next(hits, -1 if origin is None else origin, direction) if hits else None
        if self._at is not None:
            self._select(self._at.row)
            for pane in self.panes():
                pane.show_mark()
        elif direction == 0 and self._before.selected is not None:
            self._select(self._before.selected)
        if self._field.is_open:
            self._field.note(self._note())
        elif self._fault is not None:
            self._screen.say(self._fault)
        elif not hits:
            self._say_none()
        self._screen.refresh_facts()

    def _shown_hits(self) -> list[Hit]:
        """The hits that are in the pane."""
        indices = self._pane.indices
        shown = indices if isinstance(indices, range) else set(indices)
        return [hit for hit in self._found.hits if hit.row in shown]

    def _select(self, index: int) -> None:
        for pane in self.panes():
            pane.select(index)

    # Words

    def _note(self) -> list[Span]:
        if self._fault is not None:
            return [Span(_("no expression yet"), "error")]
        if not self._found.sought:
            return []
        hits = self._shown_hits()
        if not hits:
            return [Span(_("no hits"), "muted")]
        gone = sum(hit.gone for hit in hits)
        words = ngettext("{count} gone", "{count} gone", gone).format(count=f"{gone:,}")
        count = Span(self._count(), "strong", "b")
        return [count, Span(plain(" · ") + words, "muted")] if gone else [count]

    def _count(self) -> str:
        """`3/12`; nothing when the list has changed since."""
        if self._found.entries is not self._sheet.entries:
            return ""
        hits = self._shown_hits()
        place = f"{hits.index(self._at) + 1:,}/" if self._at in hits else ""
        return f"{place}{len(hits):,}"

    def _say_none(self) -> None:
        self._screen.say(Reason("search.no_hits", {"sought": self._found.sought}), fault=False)


def _next(hits: Sequence[Hit], index: int, direction: int) -> Hit:
    """The hit at or after an index (0), after it (1) or before it (-1), around the ends."""
    if direction < 0:
        return hits[bisect_left(hits, index, key=_row_of) - 1]
    find_place = bisect_right if direction else bisect_left
    return hits[find_place(hits, index, key=_row_of) % len(hits)]


def _row_of(hit: Hit) -> int:
    return hit.row
