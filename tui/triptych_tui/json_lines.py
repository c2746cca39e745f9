"""JSON text with the inks of its parts, line by line."""

from __future__ import annotations

import re

from triptych_tui.spans import Span
from triptych_tui.untrusted import clean

_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*(?:"(?P<key>\s*:)?|\\?$)|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[^\s"\w]|\s+|\w+|"'
)
_WORDS = frozenset({"true", "false", "null"})


def json_spans(line: str, limit: int = 1000) -> list[Span]:
    """One line of pretty-printed JSON as spans; no more than `limit` characters are looked at."""
    spans: list[Span] = []
    for match in _TOKEN.finditer(line[:limit]):
        text = match.group()
        if text[0] == '"':
            spans += _string_spans(text, match.group("key"))
        elif text[0].isdigit() or text in _WORDS or (text[0] == "-" and len(text) > 1):
            spans.append(Span(clean(text, newlines=False), "json_num"))
        else:
            spans.append(Span(clean(text, newlines=False), "faint"))
    return spans


def _string_spans(text: str, colon: str | None) -> list[Span]:
    if colon is None:
        return [Span(clean(text, newlines=False), "json_str")]
    key, colon = (clean(part, newlines=False) for part in (text.removesuffix(colon), colon))
    return [Span(key, "json_key"), Span(colon, "faint")]
