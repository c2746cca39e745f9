"""One line above the prompt where a search, a filter or a path is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input

from triptych_tui.plain import plain
from triptych_tui.spans import Span
from triptych_tui.untrusted import clean
from triptych_tui.widgets.bar import Bar

Purpose = Literal["search", "filter", "save_as", "rename", "new", "save_policy"]
SIGNS = {"search": "/", "filter": "f"}


def _ignore(text: str) -> None:
    pass


class FindText(Input):
    """The text itself. It takes Enter and Esc in the order of typing: letters behind them belong elsewhere."""

    DEFAULT_CSS = """
    FindText { width: 1fr; height: 1; border: none; padding: 0; background: $raised; color: $text; }
    FindText:focus { border: none; background: $raised; background-tint: transparent; }
    """

    def __init__(self, field: FindField) -> None:
        super().__init__(id="find-text", compact=True, select_on_focus=False)
        self.cursor_blink = False
        self._initial_value = False  # else the first text that is pasted would not be scrolled to its end
        self._field = field

    def watch_value(self, value: str) -> None:
        self._field.tell(value)

    async def _on_key(self, event: events.Key) -> None:
        if event.key in ("enter", "escape"):
            event.stop()
            event.prevent_default()
            if event.key == "enter":
                self._field.keep(self.value)
            else:
                self._field.leave()
            return
        await super()._on_key(event)

    def _on_paste(self, event: events.Paste) -> None:
        """What is pasted comes from outside: it stays on one line, and nothing in it is obeyed."""
        event.stop()
        event.prevent_default()
        self.insert_text_at_cursor(clean(" ".join(event.text.split()), newlines=False))


class FindField(Horizontal):
    """Hidden until it is opened, for one purpose at a time."""

    DEFAULT_CSS = """
    FindField { display: none; height: 1; background: $raised; }
    FindField.-shown { display: block; }
    FindField #find-sign { width: 3; }
    FindField #find-note { width: 30; max-width: 40%; }
    """

    def __init__(self) -> None:
        super().__init__(id="find")
        self.purpose: Purpose = "search"
        self._changed: Callable[[str], None] = _ignore
        self._kept: Callable[[str], None] = _ignore
        self._left: Callable[[], None] = lambda: None

    def compose(self) -> ComposeResult:
        yield Bar(ground="raised", id="find-sign")
        yield FindText(self)
        yield Bar(ground="raised", id="find-note")

    @property
    def is_open(self) -> bool:
        return self.has_class("-shown")

    def open(
        self,
        purpose: Purpose,
        text: str,
        kept: Callable[[str], None],
        left: Callable[[], None],
        changed: Callable[[str], None] = _ignore,
    ) -> None:
        """Show the field with this text in it and give it the focus.

        `changed` is told what is typed, `kept` what Enter was pressed on, `left` that Esc was.
        """
        self.close()
        field = self.query_one(FindText)
        field.value = text
        field.cursor_position = len(text)  # else it stays where it was in what stood here before
        self.purpose, self._kept, self._left, self._changed = purpose, kept, left, changed
        self.query_one("#find-sign", Bar).show([Span(f" {SIGNS.get(purpose, plain('→'))} ", "accent", "b")])
        self.note([])
        self.add_class("-shown")
        self.screen.set_focus(field)

    def close(self) -> None:
        self.remove_class("-shown")

    def note(self, spans: Sequence[Span]) -> None:
        """Say something at the right end."""
        self.query_one("#find-note", Bar).show_spread([], [*spans, Span(" ")])

    def tell(self, text: str) -> None:
        if self.is_open:
            self._changed(text)

    def speak(self) -> None:
        self.tell(self.query_one(FindText).value)

    def keep(self, text: str) -> None:
        self._kept(text)

    def leave(self) -> None:
        self._left()
