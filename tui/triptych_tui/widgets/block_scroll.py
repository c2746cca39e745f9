"""Scrolling through a long list of blocks whose heights are known only once they come near the view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import repeat
from typing import Any, ClassVar

from textual.geometry import Size, clamp
from textual.scroll_view import ScrollView
from textual.widget import Widget

from triptych_tui.widgets.block_heights import BlockHeights


class BlockScroll(ScrollView, can_focus=True, inherit_bindings=False):
    """A virtual list of blocks of lines. What it shows stays put while heights above it become exact.

    A view that `follows` stays at the end of the list while blocks arrive or the last one grows, until the user
    scrolls up; scrolling to the end takes it up again.
    """

    follows: ClassVar[bool] = True
    """Whether this list ever follows its end."""
    exact_heights: ClassVar[bool] = False
    """Whether `estimate_heights` is always right, so that nothing needs measuring."""

    DEFAULT_CSS = """
    BlockScroll {
        background: $bg;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size: 0 1;
        scrollbar-color: $rule;
        scrollbar-color-hover: $faint;
        scrollbar-color-active: $accent;
        scrollbar-background: $bg;
        scrollbar-background-hover: $bg;
        scrollbar-background-active: $bg;
    }
    """

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._heights = BlockHeights()
        self._view = Size(0, 0)
        self._following = self.follows
        self._placing = False

    # What a subclass supplies

    def estimate_heights(self, start: int, stop: int, width: int) -> Iterable[int]:
        """Cheap guesses at the heights of these blocks; a block is measured when it comes near the view."""
        return repeat(1, stop - start)

    def measure_height(self, index: int) -> int:
        """The exact height of a block, at least 1."""
        raise NotImplementedError

    def repaint(self) -> None:
        """Draw what changed, where the view did not scroll."""
        self.refresh()

    def blocks_moved(self, start: int, removed: int, added: int) -> None:
        """`removed` blocks at `start` became `added` others, and the view is about to be placed."""

    def following_changed(self) -> None:
        """The view began or ceased to follow the end."""

    # The list

    @property
    def block_count(self) -> int:
        return len(self._heights)

    @property
    def following(self) -> bool:
        return self._following

    def set_blocks(self, count: int) -> None:
        """Show another list, of `count` blocks."""
        self.splice_blocks(0, self.block_count, count)

    def append_blocks(self, count: int = 1) -> None:
        self.splice_blocks(self.block_count, 0, count)

    def splice_blocks(self, start: int, removed: int, added: int) -> None:
        """`removed` blocks at `start` have become `added` others; the view stays on what it showed."""
        top, line = self._top()
        self._estimate(start, removed, added)
        self.blocks_moved(start, removed, added)
        self._settle(self._index_after(top, start, removed, added), line)

    def refresh_block(self, index: int) -> None:
        """The content of a block changed, its height perhaps too."""
        self._heights.doubt(index, index + 1)
        self._settle(*self._top())

    def refresh_blocks(self) -> None:
        """The content of any block may have changed."""
        if not self.exact_heights:
            self._heights.doubt(0, self.block_count)
        self._settle(*self._top())

    def scroll_to_block(self, index: int) -> None:
        """Bring a block wholly into view, or as much of it as fits, even away from the end that is followed."""
        if not self._view or not 0 <= index < self.block_count:
            return
        if not self._in_view(index):
            self._follow(False)
        self._measure(index)
        row = self._heights.top(index) - self._y
        room = self._view.height - self._heights[index]
        self._settle(index, -clamp(row, min(0, room), max(0, room)))

    def follow_end(self) -> None:
        """Go to the end of the list and stay there."""
        self._follow(True)
        self._settle(self.block_count, 0)

    # Where things are

    @property
    def _y(self) -> int:
        """The line of the list at the top of the view."""
        return self.scroll_offset.y

    @property
    def _end(self) -> int:
        """The last line that can be at the top of the view."""
        return max(0, self._heights.total - self._view.height)

    def _top(self) -> tuple[int, int]:
        """The block at the top of the view, and which of its lines is there."""
        return self._heights.at(self._y) if self.block_count else (0, 0)

    def _in_view(self, index: int) -> bool:
        top = self._heights.top(index)
        return top < self._y + self._view.height and top + self._heights[index] > self._y

    def _index_after(self, index: int, start: int, removed: int, added: int) -> int:
        """Where the block at `index` is after that splice; where it is gone, what stands in its place."""
        if self.block_count == added - removed:  # the list was empty
            return 0
        if index >= start + removed:
            index += added - removed
        elif index >= start:
            index = min(index, start + added - 1)
        return clamp(index, 0, max(0, self.block_count - 1))

    # Placing the view

    def _settle(self, block: int, line: int) -> None:
        """Put that line of that block at the top of the view, as far as the list allows, and measure what is near.

        `line` may lie above the block; the block behind the last one means the end. So does following.
        """
        if not self._view:
            return
        while True:
            y = self._end
            if block < self.block_count and not self._following:
                y = clamp(self._heights.top(block) + min(line, self._heights[block] - 1), 0, y)
            if not self._measure_around(y):
                break
        with self._placed():
            # The size and the scrollbar directly: setting `virtual_size` would lay out the whole screen.
            self.set_reactive(Widget.virtual_size, Size(self._view.width, self._heights.total))
            self.vertical_scrollbar.window_virtual_size = self._heights.total
            self.vertical_scrollbar.window_size = self._view.height
            if y != self._y:
                self.scroll_target_y = self.scroll_y = y
                self.refresh()  # while hidden, scrolling leaves what was drawn as it is, to be shown again
                return
        self.repaint()

    def _measure_around(self, y: int) -> bool:
        """Measure the blocks from a page above the view that begins at `y` to a page below it; whether any was new.

        Whatever one page's scrolling brings into view thus has its place already, and nothing jumps.
        """
        if not self.block_count:
            return False
        page = self._view.height
        first, line = self._heights.at(y)
        measured = False
        below, index = -line, first
        while below < 2 * page and index < self.block_count:
            measured |= self._measure(index)
            below += self._heights[index]
            index += 1
        above, index = line, first - 1
        while above < page and index >= 0:
            measured |= self._measure(index)
            above += self._heights[index]
            index -= 1
        return measured

    def _measure(self, index: int) -> bool:
        if self._heights.is_exact(index):
            return False
        self._heights.measure(index, self.measure_height(index))
        return True

    def _estimate(self, start: int, removed: int, added: int) -> None:
        width = max(1, self._view.width - 1)
        heights = [max(1, height) for height in self.estimate_heights(start, start + added, width)]
        self._heights.splice(start, removed, heights, exact=self.exact_heights)

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        # Not in `on_resize`, which comes after the first drawing at the new size.
        with self._placed():
            changed = super()._size_updated(size, virtual_size, container_size, layout)
        if self.scrollable_content_region.size != self._view:
            self._fit_view(self.scrollable_content_region.size)
        return changed

    def _fit_view(self, view: Size) -> None:
        """Fit the list into a view of that size."""
        top, line = self._top()
        old, self._view = self._view, view
        if view.width != old.width:
            self._estimate(0, self.block_count, self.block_count)
        self._settle(top, line)

    # Scrolling by the user

    def _follow(self, following: bool) -> None:
        following = following and self.follows
        if following != self._following:
            self._following = following
            self.following_changed()

    @contextmanager
    def _placed(self) -> Iterator[None]:
        """While the view itself, not the user, scrolls."""
        before, self._placing = self._placing, True
        try:
            yield
        finally:
            self._placing = before

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        old, new = round(old_value), round(new_value)
        if self._placing or old == new or not self.block_count:
            return
        if new < old:
            self._follow(False)
        self._settle(*self._heights.at(new))
        if new > old and self._y >= self._end:
            self._follow(True)

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: Any) -> None:
        """Scroll at once: nothing slides."""
        super().scroll_to(x, y, **(options | {"animate": False}))
