from __future__ import annotations

import unicodedata

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from triptych_tui.control_filter import ControlFilter
from triptych_tui.untrusted import clean, fit, wrap

# Written down here on purpose, independent of the module: what a screen must never be sent.
UNSEEN = {
    *map(chr, [*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164]),
    *map(chr, [*range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070)]),
    *map(chr, [*range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0, *range(0xFFF0, 0xFFFC), 0xFFFE, 0xFFFF]),
    *map(chr, [*range(0xD800, 0xE000), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)]),
}
CLOSING = "，。、；：？！）」』”》】"

hostile_characters = st.one_of(
    st.sampled_from(sorted(UNSEEN)),
    st.sampled_from("\u0301\u0302\u20e3\ufe0f\u200d👨👩⚠❤1a 的，。（" + "\U0001f1e8\U0001f1f3"),
    st.characters(exclude_categories=()),
)
hostile_texts = st.lists(hostile_characters, max_size=40).map("".join)
readable_texts = st.text(st.sampled_from("abc de,.()的中文，。（）「」“”👍 \n\u0301\t"), max_size=120)


@given(hostile_texts, st.booleans())
def test_nothing_unseen_is_left(text: str, newlines: bool) -> None:
    left = set(clean(text, newlines=newlines)) & UNSEEN
    assert left <= ({"\n"} if newlines else set())


@given(hostile_texts)
def test_cleaning_what_is_clean_changes_nothing(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned


@given(hostile_texts)
def test_nothing_vanishes_but_presentation_selectors(text: str) -> None:
    without = [character for character in text if character not in "\ufe0e\ufe0f"]
    assert len(clean(text)) >= len(without)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("\x1b[31mred", "␛[31mred"),
        ("\x1b]52;c;eHg=\x07", "␛]52;c;eHg=␇"),
        ("a\x00b\x7fc", "a␀b␡c"),
        ("\x9b2J", "‹U+009B›2J"),
        ("\u202egpj.exe", "‹U+202E›gpj.exe"),
        ("zero\u200bwidth", "zero‹U+200B›width"),
        ("\u2028line", "‹U+2028›line"),
        ("\ud800", "‹U+D800›"),
        ("\U000e0041tag", "‹U+E0041›tag"),
        ("one\r\ntwo", "one␍\ntwo"),
        ("a\tb", "a   b"),
        ("👨\u200d💻", "👨⁀💻"),
        ("⚠\ufe0f 1\ufe0f\u20e3", "⚠ 1\u20e3"),
        ("⚠\ufe0f\ufe0f", "⚠‹U+FE0F›"),
        ("a\ufe0f", "a‹U+FE0F›"),
        ("👍🏽 🇨🇳 中文。é", "👍🏽 🇨🇳 中文。é"),
        ("\u0301x", "‹U+0301›x"),
        ("\nab\n\u0301", "\nab\n‹U+0301›"),
        ("[@click=app.quit]x[/]", "[@click=app.quit]x[/]"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_one_line_stays_one_line() -> None:
    assert clean("a\tb\r\nc\vd", newlines=False) == "a b␍⏎c␋d"


def test_a_flood_of_marks_does_not_smear_the_row() -> None:
    flooded = clean("Z" + "\u0336" * 500)
    marks = [character for character in flooded if unicodedata.combining(character)]
    assert len(marks) == 4
    assert flooded.count("‹U+0336›") == 496


def test_marks_of_real_scripts_are_left_alone() -> None:
    for text in ("e\u0301", "tiếng Việt", "שָׁלוֹם", "ก็ดี", unicodedata.normalize("NFD", "Ệ")):
        assert clean(text) == text


@pytest.mark.parametrize(
    "text",
    ["网关只允许 800 毫秒，", "plain", "\x1b[2J中\u200b文", "👨\u200d💻⚠\ufe0f❤\ufe0f", "e\u0301", "한국어 ｶﾅ ①…“”"],
)
def test_a_terminal_agrees_about_the_width(text: str) -> None:
    screen = pyte.Screen(200, 2)
    pyte.Stream(screen).feed(clean(text, newlines=False))
    assert screen.cursor.x == cell_len(clean(text, newlines=False))


@given(hostile_texts | readable_texts, st.integers(0, 30))
def test_fit_never_exceeds_its_width(text: str, width: int) -> None:
    line = clean(text, newlines=False)
    fitted = fit(line, width)
    assert cell_len(fitted) <= width
    if cell_len(line) <= width:
        assert fitted == line
    elif width:
        assert fitted.endswith("…")
        assert line.startswith(fitted[:-1])


def test_fit_cuts_between_graphemes() -> None:
    assert fit("中文字", 4) == "中…"
    assert fit("e\u0301e\u0301e\u0301", 2) == "e\u0301…"
    assert fit("🇨🇳🇨🇳", 3) == "🇨🇳…"
    assert fit("🇨🇳🇨🇳", 2) == "…"
    assert fit("abcdef", 4, "~") == "abc~"


@given(hostile_texts | readable_texts, st.integers(2, 30))
def test_wrap_keeps_the_width_and_loses_nothing_visible(text: str, width: int) -> None:
    text = clean(text)
    rows = wrap(text, width)
    assert all(cell_len(row) <= width for row in rows)
    assert "".join("".join(rows).split()) == "".join(text.split())
    assert len(rows) >= text.count("\n") + 1


@given(
    st.lists(st.sampled_from(["中", "文", "字，", "字。", "（字）", "「字」", "worker ", "ab", "7731 "]), max_size=40)
)
def test_no_line_begins_with_closing_punctuation(pieces: list[str]) -> None:
    for width in (8, 11, 16):
        for row in wrap("".join(pieces), width):
            assert not row.startswith(tuple(CLOSING)), row
            assert not row.rstrip().endswith(("（", "「")), row


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("", 10, [""]),
        ("The gateway allows 800 ms", 12, ["The gateway", "allows 800", "ms"]),
        ("a\n\nb", 10, ["a", "", "b"]),
        ("    indented text", 12, ["    indented", "text"]),
        ("abcdefghij，", 5, ["abcde", "fghi", "j，"]),
        ("https://host/a/very/long/path", 10, ["https://ho", "st/a/very/", "long/path"]),
        ("你好，世界", 6, ["你好，", "世界"]),
        ("你好世，界", 6, ["你好", "世，界"]),
        ("他说“好”", 6, ["他说", "“好”"]),
        ("有worker在", 6, ["有", "worker", "在"]),
        ("好，", 2, ["好", "，"]),
        ("e\u0301e\u0301e\u0301", 2, ["e\u0301e\u0301", "e\u0301"]),
        ("🇨🇳🇨🇳", 3, ["🇨🇳", "🇨🇳"]),
        ("word ", 4, ["word"]),
        ("     ", 3, [""]),
    ],
)
def test_where_lines_break(text: str, width: int, rows: list[str]) -> None:
    assert wrap(text, width) == rows


def drawn(*segments: Segment) -> list[Segment]:
    return ControlFilter().apply(list(segments), Color(0, 0, 0))


def test_the_net_catches_what_reached_a_line_unclean() -> None:
    line = drawn(Segment("safe "), Segment("\x1b]52;c;eHg=\x07"), Segment("   "))
    assert "".join(segment.text for segment in line) == "safe ␛]52;c;eHg=␇ "


def test_the_net_keeps_the_width_of_the_line() -> None:
    before = [Segment("\x1b\x1b\x1b"), Segment("ab中")]
    assert Segment.get_line_length(drawn(*before)) == Segment.get_line_length(before)


def test_the_net_takes_hyperlinks_away() -> None:
    (segment,) = drawn(Segment("here", Style(link="http://host", bold=True)))
    assert segment.style is not None
    assert segment.style.link is None
    assert segment.style.bold


def test_the_net_leaves_the_frameworks_own_sequences() -> None:
    sequence = Segment("\x1b[2J", None, [(0, 0)])  # type: ignore[list-item]
    assert drawn(sequence) == [sequence]
