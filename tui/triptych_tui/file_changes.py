"""The session file as it is on disk, with what the next save changes in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from triptych.entries import Entry
from triptych.storage.layout import message_chunk

MOST_CHANGED = 1000
"""Messages whose changes are shown; where a save changes more, only what is on disk is."""


class FileLine(NamedTuple):
    """sign: "-" the line goes, "+" it comes, "" it stays. offset: which line of the block on disk it is, or replaces;
    None where it replaces none."""

    text: str
    offset: int | None
    sign: str = ""


class Block(NamedTuple):
    """A message, or one that goes or comes. entry: where its entry is in the list at the head; of one that goes, where
    what follows it is."""

    lines: Sequence[FileLine]
    entry: int
    goes: bool = False


class FileChanges:
    """The blocks of a file: messages that stay at its beginning and at its end, in between those that change.

    chunks: the messages on disk, which are those of `saved`, or lines of a file that has none. coming: what the next
    save writes. head: the list that indices speak of. separator: what stands between two chunks.
    """

    def __init__(
        self,
        chunks: Sequence[str],
        saved: Sequence[Entry] = (),
        coming: Sequence[Entry] = (),
        head: Sequence[Entry] = (),
        *,
        separator: str = ",",
    ) -> None:
        self._chunks, self._separator = chunks, separator
        self._first, self._last = len(chunks), 0
        self._blocks: list[Block] = []
        self.entry_count = len(chunks)
        """How many entries the blocks speak of."""
        if saved is not coming and len(saved) == len(chunks):
            self._compare(saved, coming, head)
        self._added = [0, *accumulate(_count(each, "+") for each in self._blocks)]
        self.changed_lines = sum(max(_count(each, "+"), _count(each, "-")) for each in self._blocks)

    def __len__(self) -> int:
        return self._first + len(self._blocks) + self._last

    def lines(self, place: int) -> Sequence[FileLine]:
        """The lines of a block."""
        if self._first <= place < len(self) - self._last:
            return self._blocks[place - self._first].lines
        on_disk = place if place < self._first else place - len(self) + len(self._chunks)
        text = self._chunk(place) + (self._separator if on_disk < len(self._chunks) - 1 else "")
        return [FileLine(line, offset) for offset, line in enumerate(text.split("\n"))]

    def height(self, place: int) -> int:
        """How many lines a block has."""
        if self._first <= place < len(self) - self._last:
            return len(self._blocks[place - self._first].lines)
        return self._chunk(place).count("\n") + 1

    def added_before(self, place: int) -> int:
        """How many lines that are not on disk yet stand before a block."""
        return self._added[min(max(place - self._first, 0), len(self._blocks))]

    def index_of(self, place: int) -> int:
        """The index of a block's entry in the list at the head."""
        if place < self._first:
            return place
        if place < len(self) - self._last:
            return self._blocks[place - self._first].entry
        return self.entry_count - (len(self) - place)

    def place_of(self, index: int) -> int:
        """The block of the entry at `index`."""
        if index < self._first:
            return index
        if index >= self.entry_count - self._last:
            return len(self) - (self.entry_count - index)
        places = (place for place, each in enumerate(self._blocks) if each.entry == index and not each.goes)
        return self._first + next(places, 0)

    def same_before(self, other: FileChanges) -> int:
        """How many blocks at the beginning are the same as another's."""
        most = min(self._first, other._first)
        if self._chunks is other._chunks:
            return most
        return next((place for place in range(most) if self._chunks[place] is not other._chunks[place]), most)

    def key(self, place: int) -> object:
        """What the look of a block depends on."""
        if self._first <= place < len(self) - self._last:
            return tuple(self._blocks[place - self._first].lines)
        return self._chunk(place)

    def _chunk(self, place: int) -> str:
        return self._chunks[place if place < self._first else place - len(self)]

    def _compare(self, saved: Sequence[Entry], coming: Sequence[Entry], head: Sequence[Entry]) -> None:
        first = _same(saved, coming, len(saved), len(coming))
        last = _same(saved[::-1], coming[::-1], len(saved) - first, len(coming) - first)
        old, new = saved[first : len(saved) - last], coming[first : len(coming) - last]
        if len(old) + len(new) > MOST_CHANGED:
            return
        self._first, self._last, self.entry_count = first, last, len(head)
        indices = {head[index].id: index for index in range(first, len(head) - last)}
        chunks = self._chunks[first : len(saved) - last]
        index = max(len(head) - last - 1, 0) if not last else len(head) - last
        for before, after in reversed(list(_paired(old, new))):
            entry = new[after] if after is not None else old[before or 0]
            index = indices.get(entry.id, index)
            comma = "" if not last and after == len(new) - 1 else ","
            text = None if after is None else message_chunk(new[after].message)[0] + comma
            chunk = None if before is None else chunks[before] + comma
            self._blocks.append(Block(_compared(chunk, text), index, goes=after is None))
        self._blocks.reverse()


def _same(one: Sequence[Entry], other: Sequence[Entry], *lengths: int) -> int:
    """How many entries at the beginning are the same; of slices, which compare fast."""
    low, high = 0, min(lengths)
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _paired(old: Sequence[Entry], new: Sequence[Entry]) -> Iterator[tuple[int | None, int | None]]:
    """The places of what goes, what comes, and what is the same entry in both, in the order they are shown."""
    old_ids, new_ids = {entry.id for entry in old}, {entry.id for entry in new}
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i].id == new[j].id:
            yield i, j
            i, j = i + 1, j + 1
        elif i < len(old) and (old[i].id not in new_ids or j == len(new) or new[j].id in old_ids):
            yield i, None
            i += 1
        else:
            yield None, j
            j += 1


def _compared(before: str | None, after: str | None) -> tuple[FileLine, ...]:
    """The lines of a message that stay at its beginning and end, in between those that go and those that come."""
    old, new = ([] if text is None else text.split("\n") for text in (before, after))
    most = min(len(old), len(new))
    first = next((place for place in range(most) if old[place] != new[place]), most)
    last = next((place for place in range(most - first) if old[-1 - place] != new[-1 - place]), most - first)
    end = len(old) - last
    return (
        *(FileLine(line, offset) for offset, line in enumerate(old[:first])),
        *(FileLine(line, offset, "-") for offset, line in enumerate(old[first:end], first)),
        *(
            FileLine(line, offset if offset < end else None, "+")
            for offset, line in enumerate(new[first : len(new) - last], first)
        ),
        *(FileLine(line, offset) for offset, line in enumerate(old[end:], end)),
    )


def _count(block: Block, sign: str) -> int:
    return sum(line.sign == sign for line in block.lines)
