"""A text that grows is wrapped like one that was there at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych_tui import growing_text
from triptych_tui.growing_text import GrowingText
from triptych_tui.untrusted import wrap

PIECES = st.lists(
    st.sampled_from(["word ", "longer-word", " ", "\n", "    code", "你好，", "（世界）", "a" * 30, "。"])
)


@given(PIECES, st.integers(2, 40))
def test_the_lines_are_those_of_the_whole_text(pieces: list[str], width: int) -> None:
    growing, text = GrowingText(), ""
    for piece in pieces:
        text += piece
        assert growing.lines(text, width) == wrap(text, width)


def test_another_text_begins_anew() -> None:
    growing = GrowingText()
    growing.lines("one two three four five six seven eight", 10)
    assert growing.lines("other", 10) == ["other"]


def test_what_was_said_long_ago_is_not_wrapped_again(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped: list[int] = []

    def recording(text: str, width: int) -> list[str]:
        wrapped.append(len(text))
        return wrap(text, width)

    monkeypatch.setattr(growing_text, "wrap", recording)
    growing, text = GrowingText(), "one two three four\n" * 500
    for end in range(100, len(text) + 1, 100):
        growing.lines(text[:end], 40)
    assert sum(wrapped) < 4 * len(text)
