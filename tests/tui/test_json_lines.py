"""JSON as it is unfolded beneath a row."""

from __future__ import annotations

import pytest

from triptych_tui.json_lines import json_spans
from triptych_tui.untrusted import clean


@pytest.mark.parametrize("blank", ["\x85", "\x1c", "\x1d", "\x1e", "\x1f", "\u2028", "\u3164"])
@pytest.mark.parametrize("line", ['"key"{}: 1', '{}"key": {}"value"{}', "12{} ,{}true{}", "²{}"])
def test_nothing_in_a_line_reaches_the_screen_as_it_is(line: str, blank: str) -> None:
    line = line.replace("{}", blank)
    shown = "".join(span.text for span in json_spans(line))
    assert blank not in shown
    assert shown == clean(line, newlines=False)


def test_parts_have_their_inks() -> None:
    inks = [(span.text, span.ink) for span in json_spans('"a": [1.5, "x", null]') if span.text.strip()]
    assert inks == [
        ('"a"', "json_key"),
        (":", "faint"),
        ("[", "faint"),
        ("1.5", "json_num"),
        (",", "faint"),
        ('"x"', "json_str"),
        (",", "faint"),
        ("null", "json_num"),
        ("]", "faint"),
    ]
