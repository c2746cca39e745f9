from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from triptych_tui.spans import Span
from triptych_tui.themes import ThemedApp
from triptych_tui.widgets.pane_header import PaneHeader

FILE_FACTS = [
    Span("会话.json  ", "text"),
    Span("18.2 kB  ", "faint"),
    Span("11:09  ", "faint"),
    Span("✓ saved", "text"),
]


class Headed(ThemedApp):
    def compose(self) -> ComposeResult:
        with Vertical():
            yield PaneHeader(1, "Chat", id="one")
            yield Input()
        with Vertical():
            yield PaneHeader(0, "L2 Clear", id="two")
            yield Input(id="second")


def text(app: ThemedApp, name: str) -> str:
    return app.query_one(f"#{name}", PaneHeader).render_line(0).text


async def test_the_rule_is_heavy_where_the_focus_is() -> None:
    app = Headed()
    async with app.run_test(size=(24, 8)) as pilot:
        assert text(app, "one") == "━ 1 Chat " + "━" * 15
        assert text(app, "two") == "─ L2 Clear " + "─" * 13
        app.query_one("#second").focus()
        await pilot.pause()
        assert text(app, "one").startswith("─ 1 Chat ─")
        assert text(app, "two").startswith("━ L2 Clear ━")


async def test_facts_stand_at_the_right_end() -> None:
    app = Headed()
    async with app.run_test(size=(34, 8)):
        header = app.query_one("#one", PaneHeader)
        header.set_facts([Span("following", "faint")])
        assert text(app, "one") == "━ 1 Chat ━━━━━━━━━━━━━ following ━"
        header.set_facts([Span("~tok  ", "faint"), Span("mark      ", "faint")])
        assert text(app, "one") == "━ 1 Chat ━━━━━━━━ ~tok  mark      "
        header.set_title("对话")
        assert text(app, "one") == "━ 1 对话 ━━━━━━━━ ~tok  mark      "


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 13, 19, 20, 21, 34, 49, 50, 69])
async def test_every_width_is_filled_exactly_and_what_is_rightmost_stays_longest(width: int) -> None:
    app = Headed()
    async with app.run_test(size=(width, 4)):
        app.query_one("#one", PaneHeader).set_facts(FILE_FACTS)
        shown = text(app, "one")
        assert cell_len(shown) == width
        assert ("✓ saved" in shown) == (width >= 20)
        if width >= 50:
            assert shown.endswith("会话.json  18.2 kB  11:09  ✓ saved ━")


async def test_details_go_before_the_name_does() -> None:
    app = Headed()
    facts = [Span("class.json"), Span("  18.2 kB", "muted"), Span("  11:09 UTC", "muted"), Span("  ● 91 lines change")]
    async with app.run_test(size=(46, 8)):
        header = app.query_one("#one", PaneHeader)
        header.set_facts(facts)
        assert text(app, "one") == "━ 1 Chat ━━━━━ class.json  ● 91 lines change ━"
