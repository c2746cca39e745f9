"""A conversation in pieces for a summarizer: as much as fits into each, and together all of it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.core.test_layers import ESTIMATOR
from tests.core.test_robust_layers import entry_lists
from tests.support_strategies import ALWAYS
from triptych.entries import Entry
from triptych.layers.exchanges import Exchanges
from triptych.layers.rendering import Conversation
from triptych.tokens import TokenCounter


def blocks_in(piece: str) -> int:
    return len(re.findall(r"^\[", piece, re.MULTILINE))


@ALWAYS
@given(entry_lists(), ESTIMATOR, st.sampled_from([5, 40, 200, 1000]), st.sampled_from([30, 500]))
def test_pieces_are_within_their_room_and_together_the_whole(
    entries: tuple[Entry, ...], counter: TokenCounter, tokens: int, longest: int
) -> None:
    room, weight = tokens * counter.estimator.denominator, counter.estimator.weight
    whole, pieces = (
        Conversation(Exchanges(entries), range(len(entries)), {}, longest, most, counter) for most in (None, room)
    )
    assert len(whole) <= 1
    assert "\n".join(pieces) == "\n".join(whole)
    for piece in pieces:
        spaces = piece.count("\n [")
        assert weight(piece) - weight(" " * spaces) <= room or blocks_in(piece) == 1
