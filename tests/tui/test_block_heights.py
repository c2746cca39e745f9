from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triptych_tui.widgets.block_heights import BlockHeights

heights_lists = st.lists(st.integers(1, 9), max_size=30)


class Model:
    """The same, the slow and obvious way."""

    def __init__(self) -> None:
        self.heights: list[int] = []

    def lines(self) -> list[tuple[int, int]]:
        return [(index, line) for index, height in enumerate(self.heights) for line in range(height)]


def agree(heights: BlockHeights, model: Model) -> None:
    assert len(heights) == len(model.heights)
    assert heights.total == sum(model.heights)
    for index in range(len(model.heights) + 1):
        assert heights.top(index) == sum(model.heights[:index])
    lines = model.lines()
    assert [heights.at(y) for y in range(len(lines))] == lines
    if lines:
        assert heights.at(-1) == lines[0]
        assert heights.at(len(lines) + 5) == lines[-1]


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 20), heights_lists, st.integers(1, 9)), max_size=8))
def test_places_are_those_of_a_plain_list(changes: list[tuple[float, int, list[int], int]]) -> None:
    heights, model = BlockHeights(), Model()
    for where, removed, added, measured in changes:
        start = round(where * len(model.heights))
        removed = min(removed, len(model.heights) - start)
        heights.splice(start, removed, added)
        model.heights[start : start + removed] = added
        if start < len(model.heights):
            grown = heights.measure(start, measured)
            assert grown == measured - model.heights[start]
            model.heights[start] = measured
        agree(heights, model)


def test_places_in_a_list_of_many_chunks() -> None:
    heights, model = BlockHeights(), Model()
    model.heights = [1 + index % 3 for index in range(2000)]
    heights.splice(0, 0, model.heights)
    for start, removed, added in [(700, 5, [4, 4]), (0, 1, []), (1994, 2, [1] * 600), (511, 2, [2, 2])]:
        heights.splice(start, removed, added)
        model.heights[start : start + removed] = added
        assert [heights.at(y) for y in range(heights.total)] == model.lines()
        assert heights.top(1500) == sum(model.heights[:1500])


def test_heights_are_estimates_until_measured_and_again_when_doubted() -> None:
    heights = BlockHeights()
    heights.splice(0, 0, [1, 1, 1])
    heights.measure(1, 4)
    assert [heights.is_exact(index) for index in range(3)] == [False, True, False]
    heights.splice(1, 0, [2], exact=True)
    assert [heights.is_exact(index) for index in range(4)] == [False, True, True, False]
    heights.doubt(1, 2)
    assert [heights.is_exact(index) for index in range(4)] == [False, False, True, False]
    assert heights.total == 8
