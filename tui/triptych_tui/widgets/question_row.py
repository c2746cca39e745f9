"""A question above the prompt, with the keys that answer it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual.events import Event, Key, Paste

from triptych.reasons import Reason
from triptych_tui.i18n import N_, _
from triptych_tui.spans import Span
from triptych_tui.widgets.notice import Notice


class Answer(NamedTuple):
    """A key as a keyboard has it, what it does (a message id), and what is run then."""

    key: str
    does: str
    run: Callable[[], None]


class QuestionRow(Notice):
    """A sentence and its answers. While it has the focus, letters that are no answer go where questions are typed."""

    can_focus = True

    DEFAULT_CSS = """
    QuestionRow { display: none; height: auto; }
    QuestionRow.-shown { display: block; }
    """

    def __init__(self, pass_on: Callable[[Event], None], *, id: str) -> None:
        super().__init__(id=id)
        self._pass_on = pass_on
        self._answers: Sequence[Answer] = ()

    def ask(self, reason: Reason, answers: Sequence[Answer], *, fault: bool) -> None:
        """Show the question until it is answered or put away."""
        self._answers = answers
        self.say(reason, fault=fault)

    async def on_key(self, event: Key) -> None:
        answer = next((each for each in self._answers if each.key == event.key), None)
        if answer is not None and self.screen.focused is self:
            event.stop()
            answer.run()
        elif event.is_printable:
            event.stop()
            self._pass_on(Key(event.key, event.character))

    def on_paste(self, event: Paste) -> None:
        event.stop()
        self._pass_on(Paste(event.text))

    def _keys(self) -> list[tuple[str, str]]:
        keys = [(each.key, each.does) for each in self._answers]
        return [*keys, ("Esc", N_("leave it"))] if self.has_focus else keys

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def _foot(self) -> list[Span]:
        leads = [] if self.has_focus else [Span("Esc", "strong", "b"), Span(" " + _("leads here:") + "   ", "muted")]
        spans: list[Span] = leads
        for key, does in self._keys():
            spans += [Span(key, "strong", "b"), Span(f" {_(does)}   ", "muted")]
        return spans
