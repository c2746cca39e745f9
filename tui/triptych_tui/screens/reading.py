"""Reading tools on a workbench: search, filter, copy, and what stood there before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual.events import Key
from textual.widget import Widget

from triptych.entries import Cleared, Pruned, Summary, Truncated
from triptych.messages import Message
from triptych.reasons import Reason
from triptych.storage.atomic import replace_file
from triptych.storage.places import copied_entry_path
from triptych_tui.plain import plain
from triptych_tui.row_filter import FilterError, parse_filter
from triptych_tui.screens.searching import Searching
from triptych_tui.sheet import Sheet
from triptych_tui.spans import Span
from triptych_tui.untrusted import clean, fit
from triptych_tui.widgets.find_field import FindField, Purpose
from triptych_tui.widgets.messages_pane import MessagesPane

if TYPE_CHECKING:
    from triptych_tui.screens.three_panes import ThreePanes

MOST_IN_CLIPBOARD = 100_000
"""Characters that are sent to the terminal's clipboard: many terminals drop what is longer."""
FILTER_CELLS = 28


class Reading:
    """What the keys `/ n N f v y` do. Nothing here changes the session."""

    def __init__(self, screen: ThreePanes, sheet: Sheet) -> None:
        self._screen = screen
        self._sheet = sheet
        self._field = FindField()
        self._messages = screen.query_one(MessagesPane)
        self._hinted = False
        self.search = Searching(screen, sheet, self._field)

    async def open_search(self) -> None:
        await self._mount_field()
        self.search.open()

    async def open_filter(self) -> None:
        """Write which rows of the messages are shown."""
        await self._mount_field()
        self._screen.hush()
        present, focused = self._messages.filter, self._screen.focused or self._messages
        text, leave = present.text if present else "", partial(self._close, focused)
        self._field.open("filter", text, self._set_filter, leave, lambda _text: self._forget_fault())

    def _forget_fault(self) -> None:
        """What was wrong with a filter is not said of the one that is written now."""
        self._screen.hush()

    async def open_path(self, purpose: Purpose, path: str, kept: Callable[[str], None]) -> None:
        """Write a path; `kept` is told what Enter was pressed on."""
        await self._mount_field()
        focused = self._screen.focused or self._messages

        def keep(text: str) -> None:
            self._close(focused)
            kept(text)

        self._field.open(purpose, path, keep, partial(self._close, focused))

    @property
    def field_name(self) -> str:
        """What is being written in the field; "" while it has not the focus."""
        return self._field.purpose if self._field.is_open and self._field.has_focus_within else ""

    def leave(self) -> None:
        """Esc outside the field: close it, or else show all rows, or else seek nothing any more."""
        if self._field.has_focus_within:  # the key was on its way before the field had the focus
            self._field.leave()
        elif self._field.is_open:
            self._field.close()
        elif self._messages.filter is not None:
            self._messages.show_only(None)
        else:
            self.search.forget()
        self._screen.refresh_facts()

    def facts(self, pane_id: str) -> list[Span]:
        """What the header of a pane says of search and filter."""
        facts = [self.search.fact(pane_id)]
        if pane_id == self._messages.id and self._messages.filter is not None:
            text = fit(clean(self._messages.filter.text, newlines=False), FILTER_CELLS)
            share = f"{len(self._messages.indices):,}/{len(self._sheet.entries):,}"
            facts.insert(0, f"f {share} {text}")
        text = plain(" · ").join(filter(None, facts))
        return [Span(text, "accent")] if text else []

    def show_original(self) -> None:
        """Show what stood where the selected entry stands, or hide it again."""
        index = self.selected()
        if index is None:
            return
        entry = self._sheet.entries[index]
        if not self._sheet.behind(entry):
            lost = any(isinstance(mark, Truncated | Cleared | Pruned | Summary) for mark in entry.marks)
            reason = Reason("original.unknown" if lost else "original.same", {"index": index})
            self._screen.say(reason, fault=False)
            return
        self._screen.hush()
        if not self._messages.shows(index):
            self._messages.show_only(None)
        if not self._messages.size:
            self._screen.action_pane("messages")
        self._messages.select(index)
        self._messages.toggle_original()
        self._screen.refresh_facts()

    async def copy(self) -> None:
        """Give the selected entry's JSON to the clipboard, and keep it in a file too: not every terminal takes it."""
        index = self.selected()
        if index is None:
            return
        text, path = harmless_json(self._sheet.entries[index].message), copied_entry_path()
        fits = len(text) <= MOST_IN_CLIPBOARD
        if fits:
            self._screen.app.copy_to_clipboard(text)
        try:
            await asyncio.to_thread(replace_file, path, text.encode())
        except OSError as error:
            reason_id = "copy.clipboard_only" if fits else "copy.failed"
            detail = error.strerror or type(error).__name__
            self._screen.say(Reason(reason_id, {"index": index, "path": str(path), "error": detail}))
        else:
            reason_id = "copy.done" if fits else "copy.file_only"
            self._screen.say(Reason(reason_id, {"index": index, "path": str(path)}), fault=False)

    def hear_input_method(self, event: Key) -> None:
        """Chinese text came where only keys do something: say so, once."""
        if not self._hinted and event.key not in self._screen.active_bindings:
            self._hinted = True
            self._screen.say(Reason("input_method.on"), fault=False)

    def selected(self) -> int | None:
        """The index of the entry under the cursor; says so where there is none."""
        index = self.search.present_pane().selected
        if index is None or index >= len(self._sheet.entries):
            self._screen.say(Reason("entry.none_selected"), fault=False)
            return None
        return index

    async def _mount_field(self) -> None:
        if not self._field.is_mounted:
            await self._screen.mount(self._field, before="#prompt")

    def _set_filter(self, text: str) -> None:
        try:
            row_filter = parse_filter(text)
        except FilterError as error:
            self._screen.say(error.reason)
            return
        rows = row_filter.rows(self._sheet)
        if not rows:
            self._screen.say(Reason("filter.no_rows", {"filter": row_filter.text}), fault=False)
            return
        if row_filter.text:
            self._messages.show_only(row_filter, rows)
        else:
            self._messages.show_only(None)
        self._close(self._messages)
        self._screen.action_pane("messages")

    def _close(self, focused: Widget) -> None:
        self._field.close()
        self._screen.hush()
        self._screen.set_focus(focused)


def harmless_json(message: Message) -> str:
    """A message as JSON whose every character can be seen: what moves a cursor or hides is escaped."""
    text = json.dumps(message, indent=2, ensure_ascii=False)
    unseen = {ord(each): json.dumps(each)[1:-1] for each in set(text) if not each.isprintable() and each != "\n"}
    return text.translate(unseen)
