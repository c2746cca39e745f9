"""The heights of a long list of blocks: where a block stands and which one stands where, without walking them all."""

from __future__ import annotations

from collections.abc import Sequence

_CHUNK = 512


class BlockHeights:
    """Heights in lines, each estimated or exact. Every block is at least one line high.

    Kept as sums of chunks: changing one height, or adding at the end, touches one chunk; looking up a place adds up
    the chunks before it and walks one of them.
    """

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._exact = bytearray()
        self._sums: list[int] = []
        self.total = 0
        """The height of the whole list."""

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def is_exact(self, index: int) -> bool:
        return bool(self._exact[index])

    def splice(self, start: int, removed: int, heights: Sequence[int], *, exact: bool = False) -> None:
        """Replace `removed` blocks at `start` by blocks of these heights."""
        self._heights[start : start + removed] = heights
        self._exact[start : start + removed] = bytes([exact]) * len(heights)
        first = start // _CHUNK
        del self._sums[first:]
        for begin in range(first * _CHUNK, len(self._heights), _CHUNK):
            self._sums.append(sum(self._heights[begin : begin + _CHUNK]))
        self.total = sum(self._sums)

    def doubt(self, start: int, stop: int) -> None:
        """The heights of these blocks are estimates from now on."""
        self._exact[start:stop] = bytes(stop - start)

    def measure(self, index: int, height: int) -> int:
        """Note the exact height of a block; returns by how much it grew."""
        grown = height - self._heights[index]
        self._heights[index] = height
        self._exact[index] = True
        self._sums[index // _CHUNK] += grown
        self.total += grown
        return grown

    def top(self, index: int) -> int:
        """The line on which the block begins; `top(len(heights))` is the end of the list."""
        chunk = index // _CHUNK
        return sum(self._sums[:chunk]) + sum(self._heights[chunk * _CHUNK : index])

    def at(self, y: int) -> tuple[int, int]:
        """The block on line `y`, and which of its lines that is. The list must not be empty; `y` is kept inside it."""
        line = max(0, min(y, self.total - 1))
        first = 0
        for height in self._sums:
            if line < height:
                break
            line -= height
            first += _CHUNK
        for index, height in enumerate(self._heights[first : first + _CHUNK], first):
            if line < height:
                return index, line
            line -= height
        raise IndexError(y)
