"""The pictures that go with the question in the prompt: which they are, and the row that shows them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from triptych.pictures import Picture, PictureError
from triptych.reasons import Reason
from triptych_tui.i18n import _
from triptych_tui.picture_paths import mentioned_paths, read_mentioned, read_pasted
from triptych_tui.picture_words import picture_label, size_fact
from triptych_tui.spans import Span, spread, width_of
from triptych_tui.untrusted import clean, fit
from triptych_tui.widgets.bar import Bar

NAME_CELLS = 32


class Attachments(Bar):
    """Above the text of the prompt, as long as a picture goes with it.

    Pasted pictures stay until they are taken or removed; one that the text names goes when its name goes.
    """

    DEFAULT_CSS = """
    Attachments { dock: top; display: none; }
    Attachments.-shown { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(ground="raised")
        self._pasted: list[Picture] = []
        self._named: dict[str, Picture] = {}
        self._text = ""

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """What would be sent with the text now, each picture once."""
        return tuple(dict.fromkeys([*self._pasted, *self._named.values()]))

    async def paste(self, text: str) -> tuple[str, Reason | None]:
        """Attach the pictures that a paste names: the text that remains of it, and what is to be said."""
        pasted = await asyncio.to_thread(read_pasted, text)
        self.attach(pasted.pictures)
        return pasted.text, pasted.problem

    def attach(self, pictures: Sequence[Picture]) -> None:
        self._pasted += pictures
        self._show()

    async def follow(self, text: str) -> Reason | None:
        """Attach what this text names, and let go what it does not name any more: why one of them is no picture."""
        self._text = text
        paths = mentioned_paths(text)
        self._named = {path: self._named[path] for path in paths if path in self._named}
        problem: Reason | None = None
        for path in paths:
            if path not in self._named:
                try:
                    picture = await asyncio.to_thread(read_mentioned, path)
                except PictureError as error:
                    problem = problem or error.reason
                else:
                    if self._text == text:  # nothing was typed meanwhile
                        self._named[path] = picture
        self._show()
        return problem

    def remove_last(self) -> bool:
        """Remove the pasted picture that came last; False when there is none."""
        if not self._pasted:
            return False
        self._pasted.pop()
        self._show()
        return True

    def take(self) -> tuple[Picture, ...]:
        """Give the pictures away."""
        pictures = self.pictures
        self._pasted, self._named = [], {}
        self._show()
        return pictures

    def spans(self, width: int) -> list[Span]:
        hint = [Span("  " + _("backspace at the start removes"), "faint")] if self._pasted else []
        pictures = [_picture_spans(picture) for picture in self.pictures]
        shown, left = [Span("  ")], width - width_of(hint) - 2
        for place, spans in enumerate(pictures):
            rest = len(pictures) - place
            left -= width_of(spans)
            if place and left < len(f"+{rest}") * (rest > 1):
                shown.append(Span(f"+{rest}", "muted"))
                break
            shown += spans
        return spread(shown, hint, width)

    def _show(self) -> None:
        self.set_class(bool(self.pictures), "-shown")
        self.refresh()


def _picture_spans(picture: Picture) -> list[Span]:
    name = fit(clean(picture.name, newlines=False), NAME_CELLS)
    return [Span(picture_label(size_fact(*picture.size)), "text"), Span(f" {name}   ", "muted")]
