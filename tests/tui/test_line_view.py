from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import pytest
from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection
from textual.strip import Strip
from textual.widgets import Button

from triptych_tui.glyphs import ASCII
from triptych_tui.themes import ThemedApp, Tokens, tokens_of
from triptych_tui.widgets.line_view import Line, LineView, Look


class Numbered(LineView):
    """Block n is `heights[n]` lines: `n.0`, `n.1`, … and a note of how it looks."""

    def __init__(self, heights: Sequence[int], estimate: int = 1, id: str = "list") -> None:
        super().__init__(id=id)
        self.heights = list(heights)
        self.names = [str(index) for index in range(len(self.heights))]
        self.estimate = estimate
        self.drawn: list[int] = []
        self.partners: dict[int, int] = {}

    def on_mount(self) -> None:
        self.set_blocks(len(self.heights))

    def grow(self, height: int = 1) -> None:
        self.heights.append(height)
        self.names.append(str(len(self.names)))
        self.append_blocks()

    def replace(self, start: int, removed: int, added: Sequence[str]) -> None:
        self.heights[start : start + removed] = [1] * len(added)
        self.names[start : start + removed] = added
        self.splice_blocks(start, removed, len(added))

    def estimate_heights(self, start: int, stop: int, width: int) -> Iterable[int]:
        return [self.estimate] * (stop - start)

    def tied_blocks(self, index: int) -> Collection[int]:
        return [self.partners[index]] if index in self.partners else ()

    def render_block(self, index: int, width: int, look: Look) -> Sequence[Line]:
        self.drawn.append(index)
        style = tokens_of(self).style("muted")
        note = " tied" if look.tied else ""
        return [Line([(f"{self.names[index]}.{line}{note}", style)]) for line in range(self.heights[index])]

    def render_empty(self, width: int) -> Sequence[Line]:
        return [Line([("nothing here", tokens_of(self).style("muted"))])]

    def shown(self) -> list[str]:
        """The rows in view, without blanks at their ends."""
        return [self.render_line(y).text.rstrip() for y in range(self.size.height)]


class Held(Numbered):
    follows = False


class Lists(ThemedApp):
    def __init__(self, *views: LineView) -> None:
        super().__init__()
        self.views = views
        self.heard: list[tuple[str, object]] = []

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield from self.views

    def on_mount(self) -> None:
        self.views[0].focus()

    def on_line_view_cursor_moved(self, message: LineView.CursorMoved) -> None:
        self.heard.append(("cursor", message.index))

    def on_line_view_follow_changed(self, message: LineView.FollowChanged) -> None:
        self.heard.append(("follow", message.following))


async def keys(pilot: Pilot[int], *names: str) -> None:
    await pilot.press(*names)
    await pilot.pause()


async def repeat(pilot: Pilot[int], view: LineView, action: str, times: int) -> None:
    """What so many presses of the action's key do, without the time they take."""
    for _ in range(times):
        await view.run_action(action)
    await pilot.pause()


async def wheel(pilot: Pilot[int], view: LineView, kind: type[events.MouseScrollUp | events.MouseScrollDown]) -> None:
    view.post_message(kind(view, 1, 1, 0, 0, 0, shift=False, meta=False, ctrl=False))
    await pilot.pause()


def is_marked(app: ThemedApp, style: Style) -> bool:
    return style.bgcolor is not None and style.bgcolor.name == app.tokens.accent.lower()


def selected(view: Numbered) -> list[str]:
    return [row[1:] for row in view.shown() if row.startswith("▌")]


async def test_a_hundred_thousand_blocks_draw_only_what_is_near() -> None:
    view = Held([1] * 100_000)
    async with Lists(view).run_test(size=(40, 10)) as pilot:
        assert view.shown() == ["▌0.0"] + [f" {index}.0" for index in range(1, 10)]
        await keys(pilot, "end")
        assert view.shown()[-1] == "▌99999.0"
        await keys(pilot, "pageup", "pageup", "home", "pagedown")
        assert view.cursor == 9
        assert len(view.drawn) < 400


async def test_of_a_long_block_only_the_lines_that_are_seen_are_drawn() -> None:
    class Counting(Held):
        lines = 0

        def _strip(self, line: Line, look: Look, tokens: Tokens) -> Strip:
            self.lines += 1
            return super()._strip(line, look, tokens)

    view = Counting([400])
    async with Lists(view).run_test(size=(40, 10)) as pilot:
        await keys(pilot, "j", "j")
        assert view.shown()[-1] == "▌0.11"
        assert view.lines < 30


async def test_keys_move_the_cursor() -> None:
    view = Held([1] * 50)
    app = Lists(view)
    async with app.run_test(size=(40, 10)) as pilot:
        for key, cursor in [
            ("j", 1),
            ("down", 2),
            ("k", 1),
            ("up", 0),
            ("up", 0),
            ("pagedown", 9),
            ("pagedown", 18),
            ("pageup", 9),
            ("G", 49),
            ("down", 49),
            ("g", 0),
            ("end", 49),
            ("home", 0),
        ]:
            await keys(pilot, key)
            assert view.cursor == cursor, key
            assert selected(view) == [f"{cursor}.0"], key
    assert [what for what, _ in app.heard] == ["cursor"] * 11


async def test_moving_scrolls_no_more_than_needed() -> None:
    view = Held([1] * 50)
    async with Lists(view).run_test(size=(40, 10)) as pilot:
        await repeat(pilot, view, "cursor_down", 10)
        assert view.shown() == [f" {index}.0" for index in range(1, 10)] + ["▌10.0"]
        await repeat(pilot, view, "cursor_up", 9)
        assert view.shown()[0] == "▌1.0"


async def test_a_key_brings_a_cursor_back_that_was_scrolled_away_from() -> None:
    view = Held([1] * 50)
    async with Lists(view).run_test(size=(40, 5)) as pilot:
        view.scroll_to(y=20)
        await keys(pilot, "up")
        assert view.shown()[0] == "▌0.0"


async def test_a_list_that_follows_begins_at_its_end() -> None:
    view = Numbered([2] * 30)
    async with Lists(view).run_test(size=(40, 6)):
        assert view.following
        assert view.shown() == [" 27.0", " 27.1", " 28.0", " 28.1", "▌29.0", "▌29.1"]


async def test_following_stays_at_the_end_while_blocks_arrive_and_the_last_one_grows() -> None:
    view = Numbered([1] * 20)
    app = Lists(view)
    async with app.run_test(size=(40, 5)) as pilot:
        view.grow(2)
        await pilot.pause()
        assert view.shown()[-3:] == [" 19.0", "▌20.0", "▌20.1"]
        view.heights[-1] = 4
        view.refresh_block(20)
        await pilot.pause()
        assert view.shown() == [" 19.0", "▌20.0", "▌20.1", "▌20.2", "▌20.3"]
    assert app.heard == [("cursor", 19), ("cursor", 20)]


async def test_moving_up_holds_the_view_and_end_follows_again() -> None:
    view = Numbered([1] * 20)
    app = Lists(view)
    async with app.run_test(size=(40, 5)) as pilot:
        await keys(pilot, "up")
        held = view.shown()
        for _ in range(3):
            view.grow()
        await pilot.pause()
        assert view.shown() == held
        assert view.cursor == 18
        await keys(pilot, "end")
        assert view.shown()[-1] == "▌22.0"
        view.grow()
        await pilot.pause()
        assert view.shown()[-1] == "▌23.0"
    assert [following for what, following in app.heard if what == "follow"] == [False, True]


async def test_scrolling_up_holds_and_scrolling_to_the_end_follows() -> None:
    view = Numbered([1] * 30)
    app = Lists(view)
    async with app.run_test(size=(40, 5)) as pilot:
        await wheel(pilot, view, events.MouseScrollUp)
        assert not view.following
        held = view.shown()
        view.grow()
        await pilot.pause()
        assert view.shown() == held
        await wheel(pilot, view, events.MouseScrollDown)
        assert not view.following
        await wheel(pilot, view, events.MouseScrollDown)
        assert view.following
        view.grow()
        await pilot.pause()
        assert view.shown()[-1] == " 31.0"
        assert view.cursor == 29


async def test_a_selection_further_up_stays_while_the_end_is_followed() -> None:
    view = Numbered([1] * 30)
    async with Lists(view).run_test(size=(40, 5)) as pilot:
        view.move_cursor(27)
        view.grow()
        await pilot.pause()
        assert view.following
        assert view.cursor == 27
        assert view.shown()[-1] == " 30.0"
        view.move_cursor(3)
        assert not view.following
        assert "▌3.0" in view.shown()


async def test_a_list_that_never_follows_stays_where_it_is() -> None:
    view = Held([1] * 10)
    app = Lists(view)
    async with app.run_test(size=(40, 5)) as pilot:
        await keys(pilot, "end")
        view.grow()
        await pilot.pause()
        assert view.shown()[-1] == "▌9.0"
    assert ("follow", True) not in app.heard


@pytest.mark.parametrize("estimate", [1, 9])
async def test_content_stays_put_while_heights_above_become_exact(estimate: int) -> None:
    heights = [1 + index * 7 % 5 for index in range(3000)]
    lines = [f"{index}.{line}" for index, height in enumerate(heights) for line in range(height)]
    view = Held(heights, estimate=estimate)
    async with Lists(view).run_test(size=(40, 8)) as pilot:
        view.move_cursor(1500)
        await pilot.pause()

        def first() -> int:
            rows = [row[1:] for row in view.shown()]
            place = lines.index(rows[0])
            assert rows == lines[place : place + 8]
            return place

        place = first()
        for by in [-1, -1, -3, -7, 2, -8, -8, -8, 5, -8, -8, -8, -8]:
            view.scroll_to(y=view.scroll_offset.y + by)
            await pilot.pause()
            place += by
            assert first() == place


async def test_wrong_guesses_leave_no_gap_at_the_end() -> None:
    view = Held([1] * 40, estimate=25)
    async with Lists(view).run_test(size=(40, 8)) as pilot:
        await keys(pilot, "end")
        assert view.shown() == [f" {index}.0" for index in range(32, 39)] + ["▌39.0"]
        view.scroll_to(y=500)
        await pilot.pause()
        assert all(view.shown())


async def test_a_block_taller_than_the_view_is_read_line_by_line() -> None:
    view = Held([1, 12, 1])
    async with Lists(view).run_test(size=(40, 5)) as pilot:
        await keys(pilot, "j")
        assert view.shown() == [f"▌1.{line}" for line in range(5)]
        await keys(pilot, "j", "j")
        assert view.shown()[0] == "▌1.2"
        assert view.cursor == 1
        await repeat(pilot, view, "cursor_down", 5)
        assert view.shown()[-1] == "▌1.11"
        await keys(pilot, "j")
        assert view.cursor == 2
        await keys(pilot, "k")
        assert view.shown()[-1] == "▌1.11"
        await repeat(pilot, view, "cursor_up", 8)
        assert view.cursor == 0
        await keys(pilot, "pagedown", "pagedown")
        assert view.cursor == 1


async def test_resizing_keeps_the_cursor_in_view() -> None:
    class Wrapped(Held):
        def render_block(self, index: int, width: int, look: Look) -> Sequence[Line]:
            style = tokens_of(self).style("text")
            return [Line([(f"{index}.{line}", style)]) for line in range(1 + index % 5 * 20 // width)]

    view = Wrapped([1] * 500, estimate=3)
    async with Lists(view).run_test(size=(60, 20)) as pilot:
        await repeat(pilot, view, "page_down", 6)
        cursor = view.cursor
        for size in [(60, 5), (14, 20), (8, 3), (100, 30), (1, 1), (3, 4), (60, 20)]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert view.cursor == cursor
            if size[0] > 8:
                assert f"▌{cursor}.0" in view.shown(), size


async def test_resizing_stays_at_the_end_that_is_followed() -> None:
    view = Numbered([3] * 100)
    async with Lists(view).run_test(size=(40, 9)) as pilot:
        for size in [(20, 5), (70, 30), (2, 2), (40, 9)]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert view.following
            assert view.shown()[-1].startswith("▌99.2"[: size[0] - 1])


@pytest.mark.parametrize("width", [1, 2, 3])
async def test_the_narrowest_views_draw_and_move(width: int) -> None:
    view = Numbered([1] * 20)
    async with Lists(view).run_test(size=(width, 3)) as pilot:
        await keys(pilot, "k", "G", "g", "pagedown", "j")
        assert all(cell_len(view.render_line(y).text) <= width for y in range(3))


async def test_an_empty_list_says_so_and_takes_every_key() -> None:
    view = Numbered([])
    app = Lists(view)
    async with app.run_test(size=(40, 4)) as pilot:
        assert view.shown() == [" nothing here", "", "", ""]
        await keys(pilot, "j", "k", "G", "g", "pagedown", "pageup")
        assert view.cursor is None
        assert app.heard == []
        view.grow()
        await pilot.pause()
        assert view.shown()[0] == "▌0.0"
        view.replace(0, 1, [])
        await pilot.pause()
        assert view.shown()[0] == " nothing here"
        assert view.cursor is None


async def test_replacing_blocks_keeps_the_view_and_the_cursor_on_what_they_showed() -> None:
    view = Held([1] * 200)
    async with Lists(view).run_test(size=(40, 6)) as pilot:
        await repeat(pilot, view, "page_down", 20)
        before, cursor = view.shown(), view.cursor
        assert cursor is not None
        view.replace(10, 14, ["summary"])
        await pilot.pause()
        assert view.shown() == before
        assert view.cursor == cursor - 13
        view.replace(0, 0, ["new", "newer"])
        await pilot.pause()
        assert view.shown() == before
        view.replace(view.cursor - 2, 5, ["here"])
        await pilot.pause()
        assert selected(view) == ["here.0"]


async def test_a_block_that_changes_its_height_is_drawn_anew() -> None:
    view = Held([1] * 30)
    async with Lists(view).run_test(size=(40, 6)) as pilot:
        view.heights[1] = 3
        view.refresh_block(1)
        await pilot.pause()
        assert view.shown()[:5] == ["▌0.0", " 1.0", " 1.1", " 1.2", " 2.0"]


async def test_the_selection_shows_where_the_focus_is() -> None:
    view, other = Held([1] * 5, id="one"), Held([1] * 5, id="two")
    app = Lists(view, other)
    async with app.run_test(size=(40, 4)) as pilot:
        tokens = app.tokens

        def ground(list_view: LineView) -> str | None:
            style = list(list_view.render_line(0))[1].style
            return style.bgcolor.name if style and style.bgcolor else None

        assert (ground(view), ground(other)) == (tokens.sel.lower(), tokens.raised.lower())
        await keys(pilot, "tab")
        assert (ground(view), ground(other)) == (tokens.raised.lower(), tokens.sel.lower())
        app.show_theme("light")
        await pilot.pause()
        assert ground(other) == app.tokens.sel.lower() != tokens.sel.lower()


async def test_blocks_that_belong_to_the_selected_one_are_told() -> None:
    view = Held([1] * 5)
    view.partners = {2: 3, 3: 2}
    async with Lists(view).run_test(size=(40, 5)) as pilot:
        await keys(pilot, "j", "j")
        assert view.shown() == [" 0.0", " 1.0", "▌2.0", " 3.0 tied", " 4.0"]
        await keys(pilot, "j")
        assert view.shown() == [" 0.0", " 1.0", " 2.0 tied", "▌3.0", " 4.0"]


async def test_a_line_may_stand_aside_or_have_its_own_ground() -> None:
    class Chatty(Held):
        def render_block(self, index: int, width: int, look: Look) -> Sequence[Line]:
            return [Line([("said", tokens_of(self).style("text"))], ground="surface"), Line(aside=True)]

    view = Chatty([1] * 3)
    app = Lists(view)
    async with app.run_test(size=(40, 4)):
        said, blank = view.render_line(0), view.render_line(1)
        assert said.text.startswith("▌said")
        assert {segment.style.bgcolor.name for segment in said} == {app.tokens.surface.lower()}  # type: ignore[union-attr]
        assert blank.text.strip() == ""
        assert {segment.style.bgcolor.name for segment in blank} == {app.tokens.bg.lower()}  # type: ignore[union-attr]


async def test_a_click_selects_a_block_and_moves_nothing() -> None:
    view = Held([2] * 20)
    app = Lists(view)
    async with app.run_test(size=(40, 7)) as pilot:
        await pilot.click(view, offset=(5, 6))
        await pilot.pause()
        assert selected(view) == ["3.0"]
        assert app.heard == [("cursor", 3)]
        await pilot.click(view, offset=(5, 6), times=2)
        assert app.screen.get_selected_text() is None


async def test_text_is_selected_with_the_mouse_as_it_is_seen() -> None:
    view = Held([2] * 20)
    app = Lists(view)
    async with app.run_test(size=(40, 8)) as pilot:
        await pilot.mouse_down(view, offset=(2, 1))
        await pilot.hover(view, offset=(3, 4))
        await pilot.mouse_up(view, offset=(3, 4))
        assert app.screen.get_selected_text() == ".1\n1.0\n1.1\n2.0"
        marked = [
            "".join(segment.text for segment in view.render_line(y) if segment.style and is_marked(app, segment.style))
            for y in range(6)
        ]
        assert [text.strip() for text in marked] == ["", ".1", "1.0", "1.1", "2.0", ""]
        view.heights[0] = 5
        view.refresh_block(0)
        await pilot.pause()
        assert app.screen.get_selected_text() == ".1\n0.2\n0.3\n0.4\n1.0\n1.1\n2.0"
        assert view.get_selection(Selection(None, Offset(3, 0))) == ("0.", "\n")


async def test_the_cursor_can_be_drawn_in_other_glyphs() -> None:
    view = Held([1] * 3)
    app = Lists(view)
    async with app.run_test(size=(40, 3)) as pilot:
        app.glyphs = ASCII
        view.redraw()
        await pilot.pause()
        assert view.shown()[0] == ">0.0"


async def test_a_list_that_scrolled_while_hidden_is_shown_again_as_it_is_now() -> None:
    view = Numbered([1] * 20)

    class Boxed(ThemedApp):
        def compose(self) -> ComposeResult:
            yield Button("b")
            with Vertical():
                yield view

    async with Boxed().run_test(size=(40, 9)) as pilot:
        box, compositor = view.query_ancestor(Vertical), view.screen._compositor
        await pilot.pause()
        compositor.render_strips()
        box.display = False
        await pilot.pause()
        view.replace(16, 4, ())
        box.display = True
        await pilot.pause()
        rows = [strip.text[1:5].strip() for strip in compositor.render_strips()]
        assert rows[3:] == ["10.0", "11.0", "12.0", "13.0", "14.0", "15.0"]


async def test_lists_that_are_hidden_are_placed_when_shown() -> None:
    view = Numbered([1] * 50)

    class Hiding(ThemedApp):
        def compose(self) -> ComposeResult:
            with Vertical():
                yield Button("b")
                yield view

    app = Hiding()
    async with app.run_test(size=(40, 10)) as pilot:
        view.display = False
        await pilot.pause()
        for _ in range(10):
            view.grow(3)
        await pilot.pause()
        view.display = True
        await pilot.pause()
        assert view.shown()[-1] == "▌59.2"


async def test_blocks_may_be_given_before_the_list_is_on_a_screen() -> None:
    view = Numbered([1] * 30)
    view.set_blocks(30)
    view.refresh_block(3)
    view.scroll_to_block(4)
    view.follow_end()
    async with Lists(view).run_test(size=(40, 5)):
        assert view.shown()[-1] == "▌29.0"
