"""What went wrong, or what a user should know, in the rows above the prompt."""

from __future__ import annotations

from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from triptych.reasons import Reason
from triptych_tui.i18n import _
from triptych_tui.paint import strip_of
from triptych_tui.spans import Span
from triptych_tui.themes import glyphs_of, tokens_of
from triptych_tui.untrusted import wrap

MOST_LINES = 4


class Notice(Widget):
    """A sentence, and that Esc puts it away. Faults stand on red, news on the neutral ground."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._reason: Reason | None = None
        self._text = ""
        self._fault = True

    def say(self, reason: Reason, *, fault: bool = True) -> None:
        """Show what `reason` says until it is put away."""
        self._reason, self._fault = reason, fault
        self.speak()
        self.add_class("-shown")

    def speak(self) -> None:
        """Put the reason into the words of the language now in force."""
        from triptych_tui.wording import say  # a start has nothing to say

        if self._reason is not None:
            self._text = say(self._reason)
            self.refresh(layout=True)

    @property
    def is_shown(self) -> bool:
        return self._reason is not None

    def hush(self) -> bool:
        """Put the sentence away; whether there was one."""
        if not self.is_shown:
            return False
        self._reason, self._text = None, ""
        self.remove_class("-shown")
        return True

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width)) + 1 if self.is_shown else 0

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        lines = self._lines(width)
        if y < len(lines):
            spans = [self._sign() if y == 0 else Span("   "), Span(" "), *lines[y]]
        else:
            spans = [Span("    "), *self._foot()]
        return strip_of(spans, tokens_of(self), width, "err" if self._fault else "surface")

    def _sign(self) -> Span:
        return Span(f" {glyphs_of(self).fault} ", "on_block", "b", "error") if self._fault else Span("   ")

    def _lines(self, width: int) -> list[list[Span]]:
        """What is said, in lines that leave room for the sign."""
        return [[Span(line)] for line in wrap(self._text, max(width - 5, 10))[:MOST_LINES]]

    def _foot(self) -> list[Span]:
        """The row under it: what to press."""
        return [Span("Esc", "strong", "b"), Span(" " + _("dismiss"), "muted")]
