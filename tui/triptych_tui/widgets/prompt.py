"""The prompt: where questions are typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from triptych.reasons import Reason
from triptych.tokens import PICTURE_TOKENS, TokenCounter
from triptych_tui.i18n import N_, _
from triptych_tui.paint import strip_of
from triptych_tui.spans import Span, spread
from triptych_tui.themes import glyphs_of, tokens_of

if TYPE_CHECKING:
    from triptych.pictures import Picture
    from triptych_tui.widgets.attachments import Attachments


class TextField(TextArea):
    """Textual draws its cursor on a line that an undo has just taken away, where the scrollbar goes with it."""

    def _recompute_cursor_offset(self) -> None:
        if self.cursor_location[0] < self.document.line_count:
            super()._recompute_cursor_offset()  # type: ignore[no-untyped-call]


class PromptText(TextField):
    """The text field: Enter sends, ctrl+j (and shift+enter where the terminal tells it apart) begins a new line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", N_("Send"), show=False, id="prompt.send"),
        Binding("ctrl+j,shift+enter", "new_line", N_("New line"), show=False, id="prompt.new_line"),
    ]

    class Nudged(Message):
        """Enter was pressed, and there was nothing to send."""

    class Sent(Message):
        """The user wants this text sent. It stays in the field until whoever handles it clears it."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Recalled(Message):
        """Backspace with nothing before the cursor: the user wants back what was sent and has not begun."""

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
        if event.key == "backspace" and self.selection == ((0, 0), (0, 0)):
            event.stop()
            event.prevent_default()
            if not self._prompt.detach_last():
                self.post_message(self.Recalled())
            return
        await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        """Paths to pictures attach them; all other text is pasted as it is."""
        event.stop()  # else the application would send it here again
        if "/" in event.text:
            event.prevent_default()
            if text := await self._prompt.attach_pasted(event.text):
                await super()._on_paste(events.Paste(text))

    async def action_send(self) -> None:
        if not await self._prompt.is_settled():
            return
        text = self._prompt.sent_now()
        self.post_message(self.Nudged() if text is None else self.Sent(text))

    def action_new_line(self) -> None:
        self.insert("\n")

    @property
    def _prompt(self) -> Prompt:
        return self.query_ancestor(Prompt)


class Prompt(Horizontal):
    """A growing text field, at most six lines high, with its sign and an estimate of the tokens that were typed.

    Above it stand the pictures that go with the text.
    """

    DEFAULT_CSS = """
    Prompt { height: auto; max-height: 7; background: $raised; padding: 0 1; }
    Prompt PromptText {
        width: 1fr; margin: 0 9 0 2; height: auto; max-height: 6; background: $raised; color: $text;
        border: none; padding: 0; scrollbar-size: 0 1;
        scrollbar-background: $raised; scrollbar-background-hover: $raised; scrollbar-background-active: $raised;
    }
    Prompt PromptText .text-area--placeholder { color: $faint; }
    Prompt PromptText .text-area--cursor-line { background: $raised; }
    Prompt PromptText:focus .text-area--cursor { background: $raised; color: $accent; text-style: reverse; }
    """

    def __init__(self, counter: TokenCounter, *, id: str) -> None:
        super().__init__(id=id)
        self._counter = counter
        self._attachments: Attachments | None = None
        self._on_its_way = ""  # sent, and not taken yet: what is typed and sent right behind it is another question
        self._held = ""  # a text that names a file that is no picture: sent when Enter is pressed once more

    class NotAttached(Message):
        """A file that was meant as a picture is none; its path stays in the text."""

        def __init__(self, reason: Reason) -> None:
            super().__init__()
            self.reason = reason

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

    def sent_now(self) -> str | None:
        """What Enter sends: all but what is on its way already; None where that is nothing."""
        on_its_way = self._on_its_way if self.text.startswith(self._on_its_way) else ""
        text = _behind(on_its_way, self.text)
        if not text.strip() and (on_its_way or not self.pictures):
            return None
        self._on_its_way = self.text
        return text

    def take(self, sent: str) -> tuple[Picture, ...]:
        """Take away the text that was sent and its pictures, which are returned; what was typed since stays."""
        pictures = self._attachments.take() if self._attachments is not None else ()
        self._on_its_way = _behind(sent, self._on_its_way)
        self.put(_behind(sent, self.text))
        return pictures

    def give_back(self, sent: str, pictures: Sequence[Picture]) -> None:
        """Put back what was taken, before what was typed since."""
        self.put(f"{sent}\n{self.text}" if self.text else sent)
        if pictures and self._attachments is not None:
            self._attachments.attach(pictures)

    def paste(self, text: str) -> None:
        """Take what was pasted elsewhere."""
        self.field.focus()
        self.field.post_message(events.Paste(text))

    # Pictures

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures that go with the text as it stands."""
        return self._attachments.pictures if self._attachments is not None else ()

    async def attach_pasted(self, text: str) -> str:
        """Attach the pictures that a paste names; what remains of it is text."""
        text, problem = await (await self._row_of_pictures()).paste(text)
        if problem is not None:
            self.post_message(self.NotAttached(problem))
        self.refresh()
        return text

    def detach_last(self) -> bool:
        """Remove the pasted picture that came last; False when there is none."""
        if self._attachments is None or not self._attachments.remove_last():
            return False
        self.refresh()
        return True

    async def is_settled(self) -> bool:
        """Attach what the text names. A file that is no picture is told of once: the same text is settled next time."""
        problem = await self._follow()
        if problem is None or self._held == self.text:
            return True
        self._held = self.text
        self.post_message(self.NotAttached(problem))
        return False

    async def _follow(self) -> Reason | None:
        if self._attachments is None and "@" not in self.text:
            return None
        problem = await (await self._row_of_pictures()).follow(self.text)
        self.refresh()
        return problem

    async def _row_of_pictures(self) -> Attachments:
        if self._attachments is None:
            from triptych_tui.widgets.attachments import Attachments  # a start has no pictures

            self._attachments = Attachments()
            await self.mount(self._attachments, before=0)
        return self._attachments

    def render_line(self, y: int) -> Strip:
        """The sign before the text, lit while the prompt has the focus, and the estimate behind it."""
        spans: list[Span] = []
        if y == bool(self.pictures):
            sign = Span(glyphs_of(self).prompt, "accent" if self.has_focus_within else "muted", "b")
            spans = spread([sign], self._estimate(), self.size.width)
        return strip_of(spans, tokens_of(self), self.size.width, "raised")

    @on(PromptText.Changed)
    def _on_typed(self) -> None:
        self.refresh()
        if self._attachments is not None or "@" in self.text:
            self.run_worker(self._follow(), group="pictures", exclusive=True)

    def _estimate(self) -> list[Span]:
        """`+~38`: what sending the text would add to the list."""
        text, pictures = self.text, len(self.pictures)
        tokens = self._counter.tokens(self._counter.estimator.weight(text)) + pictures * PICTURE_TOKENS
        return [Span(f"+~{tokens:,}", "muted")] if text or pictures else []

    def on_descendant_focus(self) -> None:
        self.refresh()

    def on_descendant_blur(self) -> None:
        self.refresh()


def _behind(sent: str, text: str) -> str:
    """What of a text was typed behind what was sent, from the next line on if there is one."""
    return text.removeprefix(sent).removeprefix("\n") if sent else text


def _invitation() -> str:
    return _("Ask about the files in the workspace")
