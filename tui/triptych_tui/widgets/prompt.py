"""The prompt: where questions are typed."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from triptych.tokens import TokenCounter
from triptych_tui.i18n import N_, _
from triptych_tui.paint import strip_of
from triptych_tui.spans import Span, spread
from triptych_tui.themes import glyphs_of, tokens_of


class PromptText(TextArea):
    """The text field: Enter sends, ctrl+j (and shift+enter where the terminal tells it apart) begins a new line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", N_("Send"), show=False, id="prompt.send"),
        Binding("ctrl+j,shift+enter", "new_line", N_("New line"), show=False, id="prompt.new_line"),
    ]

    class Sent(Message):
        """The user wants this text sent. It stays in the field until whoever handles it clears it."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def on_mount(self) -> None:
        self._bindings.apply_keymap(self.app._keymap)  # the keys below do not go through Textual's own look-up

    async def _on_key(self, event: events.Key) -> None:
        """The field's own keys before the text area's, in the order they were typed.

        As priority bindings they would overtake letters that are still on their way to the field.
        """
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if binding.action in ("send", "new_line"):
                event.stop()
                event.prevent_default()
                await self.run_action(binding.action)
                return
        await super()._on_key(event)

    def action_send(self) -> None:
        if self.text.strip():
            self.post_message(self.Sent(self.text))

    def action_new_line(self) -> None:
        self.insert("\n")


class Prompt(Horizontal):
    """A growing text field, at most six lines high, with its sign and an estimate of the tokens that were typed."""

    DEFAULT_CSS = """
    Prompt { height: auto; max-height: 6; background: $raised; padding: 0 1; }
    Prompt PromptText {
        width: 1fr; margin: 0 9 0 2; height: auto; max-height: 6; background: $raised; color: $text;
        border: none; padding: 0; scrollbar-size: 0 1;
        scrollbar-background: $raised; scrollbar-background-hover: $raised; scrollbar-background-active: $raised;
    }
    Prompt PromptText .text-area--placeholder { color: $faint; }
    Prompt PromptText .text-area--cursor-line { background: $raised; }
    """

    def __init__(self, counter: TokenCounter, *, id: str) -> None:
        super().__init__(id=id)
        self._counter = counter

    def compose(self) -> ComposeResult:
        yield PromptText(id="prompt-text", compact=True, highlight_cursor_line=False, placeholder=_invitation())

    def speak(self) -> None:
        self.field.placeholder = _invitation()

    @property
    def text(self) -> str:
        return self.field.text

    @property
    def field(self) -> PromptText:
        return self.query_one(PromptText)

    def put(self, text: str) -> None:
        """Replace the text, the cursor at its end."""
        self.field.load_text(text)
        self.field.move_cursor(self.field.document.end)

    def take(self, sent: str) -> None:
        """Take away the text that was sent; what was typed behind it since stays."""
        self.put(self.text.removeprefix(sent))

    def render_line(self, y: int) -> Strip:
        """The sign before the text, lit while the prompt has the focus, and the estimate behind it."""
        spans: list[Span] = []
        if y == 0:
            sign = Span(glyphs_of(self).prompt, "accent" if self.has_focus_within else "muted", "b")
            spans = spread([sign], self._estimate(), self.size.width)
        return strip_of(spans, tokens_of(self), self.size.width, "raised")

    @on(PromptText.Changed)
    def _on_typed(self) -> None:
        self.refresh()

    def _estimate(self) -> list[Span]:
        """`+~38`: what sending the text would add to the list."""
        text = self.text
        tokens = self._counter.tokens(self._counter.estimator.weight(text))
        return [Span(f"+~{tokens:,}", "muted")] if text else []

    def on_descendant_focus(self) -> None:
        self.refresh()

    def on_descendant_blur(self) -> None:
        self.refresh()


def _invitation() -> str:
    return _("Ask about the files in the workspace")
