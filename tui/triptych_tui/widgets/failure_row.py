"""A request that failed, or waits to be sent again, in the rows above the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual.events import Event, Key, Paste
from textual.message import Message

from triptych.models.retries import Retry
from triptych.reasons import Reason
from triptych_tui.i18n import N_, _
from triptych_tui.spans import Span, wrap_spans
from triptych_tui.themes import glyphs_of, renamed_keys_of
from triptych_tui.widgets.notice import MOST_LINES, Notice
from triptych_tui.wording import fault_in_short

OWN_KEYS = frozenset({"retry", "model", "offline", "prompt"})
"""The bindings whose keys do what they say while the row has the focus; all others are typed."""


WAIT_CELLS = 20
"""Of the line that shows how long a wait still is."""


class RowKey(NamedTuple):
    """A key that is offered: as a keyboard has it, what it does (a message id), and for a layer its number."""

    key: str
    does: str
    layer: str = ""


class FailureRow(Notice):
    """What failed and whose fault it is, then what to press. Letters that are no key here are passed on."""

    class Again(Message):
        """Enter was pressed: ask again what failed."""

    def __init__(self, pass_on: Callable[[Event], None], *, id: str) -> None:
        super().__init__(id=id)
        self._pass_on = pass_on
        self._keys: Sequence[RowKey] = ()
        self._retry: Retry | None = None
        self._left = 0

    def fail(self, reason: Reason, keys: Sequence[RowKey], *, fault: bool = True) -> None:
        """Show a failure that is final, for now; the row can have the focus."""
        self._retry, self._keys, self.can_focus = None, keys, True
        self.say(reason, fault=fault)

    def wait(self, retry: Retry, left: int, keys: Sequence[RowKey]) -> None:
        """Show that a request will be sent again, `left` seconds from now, and what can be pressed meanwhile."""
        self._retry, self._left, self._keys, self.can_focus = retry, left, keys, False
        self.say(retry.reason, fault=False)

    def speak(self) -> None:
        self.refresh(layout=True)

    async def on_key(self, event: Key) -> None:
        if self.screen.focused is not self:  # it came behind one that has left for the prompt, and follows it
            event.stop()
            self._pass_on(Key(event.key, event.character))
        elif event.key == "enter":  # whoever has not noticed that the prompt lost the focus means the same
            event.stop()
            self.post_message(self.Again())  # behind the key before it, which may lead elsewhere
        elif event.is_printable and self._binding_of(event) not in OWN_KEYS:
            event.stop()
            self._pass_on(Key(event.key, event.character))

    def on_paste(self, event: Paste) -> None:
        event.stop()
        self._pass_on(Paste(event.text))

    def _binding_of(self, event: Key) -> str | None:
        active = self.screen.active_bindings.get(event.key)
        return active.binding.id if active is not None else None

    def _sign(self) -> Span:
        if self._retry is None:
            return super()._sign()
        return Span(f" {glyphs_of(self).retrying} ", "on_block", "b", "muted")

    def _lines(self, width: int) -> list[list[Span]]:
        if self._reason is None:
            return []
        fault, cause = fault_in_short(self._reason)
        spans = [Span(fault + "  ", "strong", "b"), Span(cause)] if fault else [Span(cause)]
        return wrap_spans(spans, max(width - 5, 10))[:MOST_LINES]

    def _foot(self) -> list[Span]:
        if self._retry is not None:
            words = _("retry {attempt}/{of} in {seconds} s")
            words = words.format(attempt=self._retry.attempt, of=self._retry.of, seconds=self._left)
            keys = [span for key in (RowKey("Esc", N_("stop waiting")), *self._keys) for span in self._offered(key)]
            return [Span(words, "strong", "b"), Span("   "), *self._waited(self._retry.seconds), *keys]
        return [span for key in (*self._keys, RowKey("Esc", N_("dismiss"))) for span in self._offered(key)][1:]

    def _waited(self, seconds: float) -> list[Span]:
        """How much of the wait is over, to scale."""
        glyphs = glyphs_of(self)
        over = round(WAIT_CELLS * max(0.0, 1 - self._left / max(seconds, 1)))
        return [Span(glyphs.rule_focused * over, "accent"), Span(glyphs.rule * (WAIT_CELLS - over), "rule")]

    def _offered(self, key: RowKey) -> list[Span]:
        spans = [Span("   "), Span(renamed_keys_of(self).get(key.key, key.key), "strong", "b")]
        if key.layer:
            spans.append(Span(f" {key.layer}", key.layer.lower(), "b"))
        return [*spans, Span(f" {_(key.does)}", "muted")]
