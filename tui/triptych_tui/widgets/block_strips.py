"""The strips of a block that is drawn line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from textual.strip import Strip

if TYPE_CHECKING:
    from triptych_tui.widgets.line_view import Line


class BlockStrips:
    """One strip a line, made when it is first asked for: of a long block few lines are seen, and strips are large."""

    def __init__(self, lines: Sequence[Line], draw: Callable[[Line], Strip]) -> None:
        self._lines = lines
        self._draw = draw
        self._drawn: dict[int, Strip] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, index: int) -> Strip:
        strip = self._drawn.get(index)
        if strip is None:
            strip = self._drawn[index] = self._draw(self._lines[index])
        return strip

    def __iter__(self) -> Iterator[Strip]:
        return map(self.__getitem__, range(len(self)))
