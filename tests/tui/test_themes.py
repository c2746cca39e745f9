from __future__ import annotations

from dataclasses import asdict, fields

import pytest
from rich.cells import cell_len
from textual.app import ComposeResult
from textual.color import Color
from textual.widgets import Static

from triptych.entries import Mark
from triptych.settings import WITHOUT_COLOUR
from triptych_tui.glyphs import ASCII, MARKS, UNICODE, Glyphs
from triptych_tui.themes import TOKENS, ThemedApp, Tokens, variables

INKS = ("faint", "muted", "text", "strong", "accent", "error", "l1", "l2", "l3", "role_s", "role_u", "role_a", "role_t")
JSON_INKS = ("json_key", "json_str", "json_num")
GROUNDS = ("bg", "surface", "raised", "sel")
COLOURED = {name: tokens for name, tokens in TOKENS.items() if name != WITHOUT_COLOUR}
every_theme = pytest.mark.parametrize("tokens", TOKENS.values(), ids=TOKENS.keys())


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast, from 1 to 21."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@every_theme
def test_text_can_be_read_on_every_ground(tokens: Tokens) -> None:
    colours = asdict(tokens)
    pairs = [(ink, ground) for ink in (*INKS, "role_sum", *JSON_INKS) for ground in GROUNDS]
    pairs += [("on_fill", name) for name in colours if name.startswith("fill_")]
    pairs += [("on_block", name) for name in ("accent", "error", "l1", "l2", "l3")]
    pairs += [(ink, ground) for ink in ("text", "muted", "faint", "strong") for ground in ("add", "delete", "err")]
    pairs += [("error", "err"), *((ink, ground) for ink in JSON_INKS for ground in ("add", "delete"))]
    weak = {pair: ratio for pair in pairs if (ratio := contrast(colours[pair[0]], colours[pair[1]])) < 4.5}
    assert weak == {}


@pytest.mark.parametrize("tokens", COLOURED.values(), ids=COLOURED.keys())
def test_the_three_layers_differ_from_each_other_and_from_focus_and_faults(tokens: Tokens) -> None:
    assert len({tokens.l1, tokens.l2, tokens.l3, tokens.accent, tokens.error}) == 5


def test_monochrome_has_greys_and_nothing_else() -> None:
    for name, colour in asdict(TOKENS[WITHOUT_COLOUR]).items():
        assert len({colour[1:3], colour[3:5], colour[5:7]}) == 1, name


def test_styles_are_made_of_token_names() -> None:
    tokens = TOKENS["dark"]
    style = tokens.style("l1", "sel", bold=True)
    assert style.color is not None
    assert style.bgcolor is not None
    assert (style.color.name, style.bgcolor.name, style.bold) == (tokens.l1.lower(), tokens.sel.lower(), True)
    assert tokens.style("l1", "sel", bold=True) is style
    assert tokens.style("muted").bgcolor is None


def test_every_token_is_a_stylesheet_variable() -> None:
    for tokens in TOKENS.values():
        names = variables(tokens)
        assert all(names[field.name.replace("_", "-")] == getattr(tokens, field.name) for field in fields(tokens))


class Inked(ThemedApp):
    CSS = "#one { background: $l1; color: $on-block; } #two { color: $json-key; background: $sel; }"

    def compose(self) -> ComposeResult:
        yield Static("one", id="one", markup=False)
        yield Static("two", id="two", markup=False)


async def test_every_theme_can_be_chosen_and_its_inks_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")
    app = Inked()
    async with app.run_test() as pilot:
        for theme in TOKENS:
            app.show_theme(theme)
            await pilot.pause()
            tokens = TOKENS[theme]
            assert app.tokens is tokens
            assert app.query_one("#one").styles.background == Color.parse(tokens.l1)
            assert app.query_one("#two").styles.color == Color.parse(tokens.json_key)


def test_every_glyph_has_a_fallback_of_the_same_width() -> None:
    for name in Glyphs._fields:
        sign, fallback = getattr(UNICODE, name), getattr(ASCII, name)
        assert cell_len(sign) == cell_len(fallback) == (2 if name == "waiting" else 1), name
        assert fallback.isascii(), name


def test_every_mark_has_a_look() -> None:
    assert {mark.name for mark in Mark.__subclasses__()} | {"pinned", "orphan"} == set(MARKS)
    for look in MARKS.values():
        assert look.glyph(UNICODE)
        assert look.glyph(ASCII).isascii()
        assert cell_len(look.word) <= 8
        assert getattr(TOKENS["dark"], look.ink)
    assert len({look.word for look in MARKS.values()}) == len(MARKS)
    assert len({look.glyph(ASCII) for look in MARKS.values()}) == len(MARKS)
