"""What is asked for while something runs: it waits, is seen to wait, and begins when all before it is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from triptych.stages import Layer
from triptych_tui.hand_run import layer_of_key
from triptych_tui.i18n import _
from triptych_tui.messages_rows import one_line
from triptych_tui.plain import plain
from triptych_tui.spans import Span, spread
from triptych_tui.stage_words import LAYER_INKS, LAYER_NUMBERS, stage_name
from triptych_tui.untrusted import clean, fit
from triptych_tui.widgets.bar import Bar
from triptych_tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from triptych.pictures import Picture
    from triptych_tui.screens.asking import Asking

WORDS_CELLS = 30
"""Cells of a question that waits; its beginning is enough to know it by."""


class Question(NamedTuple):
    """A question as it was sent."""

    text: str
    pictures: Sequence[Picture]

    def span(self) -> Span:
        return Span(fit(one_line(clean(self.text[: 4 * WORDS_CELLS], newlines=False)), WORDS_CELLS))


class Opening(NamedTuple):
    """A layer whose panel is to be opened."""

    layer: Layer

    def span(self) -> Span:
        return Span(f"{LAYER_NUMBERS[self.layer]} {stage_name(self.layer)}", LAYER_INKS[self.layer], "b")


class Queueing:
    """Questions, and layers to be opened, in the order in which they were asked for.

    Each begins when nothing runs and no panel is open: at such a point nothing is half done.
    """

    def __init__(self, screen: Asking) -> None:
        self._screen = screen
        self._waiting: list[Question | Opening] = []
        self._row = QueueRow(self._waiting, id="queue")
        screen.mount(self._row, before="#prompt")

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def add_question(self, text: str) -> None:
        """Take a question from the prompt."""
        self._waiting.append(Question(text, self._screen.query_one(Prompt).take(text)))
        self._row.look()

    def add_layer(self, layer: Layer) -> None:
        """Remember that a layer is wanted; its key, pressed again, means the same."""
        opening = Opening(layer_of_key(self._screen.session, layer))
        if opening not in self._waiting:
            self._waiting.append(opening)
            self._row.look()

    async def go_on(self) -> None:
        """Begin the next, if nothing is in its way any more."""
        if not self._waiting or self._screen.is_occupied:
            return
        following = self._waiting.pop(0)
        self._row.look()
        if isinstance(following, Question):
            self._screen.begin(*following)
        else:
            await self._screen.action_layer(following.layer)

    def take_back_last(self) -> None:
        """Let go of what was asked for last; a question returns to the prompt."""
        if self._waiting:
            self._take_back()

    def take_back_all(self) -> None:
        """Let go of everything; the questions return to the prompt, in their order."""
        while self._waiting:
            self._take_back()

    def _take_back(self) -> None:
        last = self._waiting.pop()
        if isinstance(last, Question):
            self._screen.query_one(Prompt).give_back(*last)
        self._row.look()


class QueueRow(Bar):
    """Above the prompt, as long as something waits: questions by their first words, layers by number and name."""

    DEFAULT_CSS = """
    QueueRow { display: none; }
    QueueRow.-shown { display: block; }
    """

    def __init__(self, waiting: Sequence[Question | Opening], *, id: str) -> None:
        super().__init__(ground="surface", id=id)
        self._waiting = waiting

    def look(self) -> None:
        """Show what waits now."""
        self.set_class(bool(self._waiting), "-shown")
        self.refresh()

    def spans(self, width: int) -> list[Span]:
        left = [Span("    " + _("next:") + " ", "strong", "b")]
        for place, each in enumerate(self._waiting):
            left += [Span(plain("  ·  "), "faint"), each.span()] if place else [each.span()]
        how = [Span("  " + _("backspace"), "strong", "b"), Span(" " + _("takes it back") + " ", "muted")]
        return spread(left, how, width)
