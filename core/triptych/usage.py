"""What servers say they read of consecutive requests, and whether they silently leave out the beginning."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from triptych.entries import Entry

LEAST_GROWTH = 16
"""Estimated tokens that a list must have grown by before a measure that did not grow with it means anything."""

_NOISE = 64
"""Tokens that templates and the like may add to what was estimated."""


class Sent(NamedTuple):
    """One request: its whole tokens by the estimator, and as the server counted them."""

    estimate: int
    measured: int


class DroppedBeginning(NamedTuple):
    """read: the most tokens that the server read of any request. expected: what the newest one has by its measure."""

    read: int
    expected: int


def dropped_beginning(requests: Sequence[Sent]) -> DroppedBeginning | None:
    """Whether the server left out the beginning of the newest request, as Ollama does without a word.

    requests: consecutive ones to one model, oldest first, each of them the one before with messages added.

    A list to which only something was added has more tokens than before, however they are counted. Where the server
    counts no more, it read no more; unless it counts only what its prompt cache did not have, that is, what was added.
    """
    if len(requests) < 2:
        return None
    newest = requests[-1]
    growth = newest.estimate - requests[-2].estimate
    if growth < LEAST_GROWTH or not 0 < newest.measured <= requests[-2].measured:
        return None
    rate = max(each.measured / each.estimate for each in requests if each.estimate)
    if _is_like_what_was_added(newest, growth * rate) and not _counts_all(requests[:-1], rate):
        return None
    return DroppedBeginning(max(each.measured for each in requests), round(newest.estimate * rate))


def _is_like_what_was_added(sent: Sent, added: float) -> bool:
    """Whether a measure may be that of the new messages alone, which estimates miss by a factor of two or three."""
    return added / 3 <= sent.measured <= added * 2 + _NOISE


def _counts_all(requests: Sequence[Sent], rate: float) -> bool:
    """Whether the server counts what its cache has too. Once may be chance: a model loaded anew has no cache."""
    steps = list(pairwise(requests))[-2:]
    whole = [new.measured > (new.estimate - old.estimate) * rate * 2 + _NOISE for old, new in steps]
    return len(whole) == 2 and all(whole)


class UsageHistory:
    """The requests since the list last changed otherwise than by growing, as far as they were measured."""

    def __init__(self) -> None:
        self._requests: list[Sent] = []
        self._entries: tuple[Entry, ...] = ()
        self._told = 0

    def add(self, entries: tuple[Entry, ...], sent: Sent) -> DroppedBeginning | None:
        """Take note of a request that held `entries`; tells of a beginning left out, once for each size of window."""
        if entries[: len(self._entries)] != self._entries:
            self._requests.clear()
        self._entries = entries
        self._requests.append(sent)
        dropped = dropped_beginning(self._requests)
        if dropped is None or abs(dropped.read - self._told) <= self._told // 20:
            return None
        self._told = dropped.read
        return dropped
