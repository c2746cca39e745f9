"""A text that grows, wrapped: what has been said long ago is not measured again with every word."""

from __future__ import annotations

import re
from itertools import pairwise

from triptych_tui.untrusted import wrap

_BREAK = re.compile(r"[^\S\n]*\n?")
_UNSETTLED = 3
"""Rows at the end that what comes next may still change."""


class GrowingText:
    """Wraps like `wrap`."""

    def __init__(self) -> None:
        self._width = 0
        self._settled = ""
        self._lines: list[str] = []

    def lines(self, text: str, width: int) -> list[str]:
        """The lines of `text`, cleaned and all of it so far."""
        if width != self._width or not text.startswith(self._settled):
            self._width, self._settled, self._lines = width, "", []
        start = len(self._settled)
        tail = wrap(text[start:], width)
        lines = [*self._lines, *tail]
        for line, following in pairwise(tail[: 1 - _UNSETTLED]):
            found = _BREAK.match(text, start + len(line))
            if found is None or not text.startswith(line, start) or not text.startswith(following, found.end()):
                break
            start = found.end()
            self._lines.append(line)
        self._settled = text[:start]
        return lines
