"""The lesson's own session file, and ours: a bare list of messages, the first of role `system`."""

from __future__ import annotations

from triptych.formats.openai import read
from triptych.formats.reading import is_message
from triptych.formats.source import Source

__all__ = ["name", "read", "recognizes"]

name = "lesson"


def recognizes(source: Source) -> bool:
    first = source.documents[0].value if source.documents else None
    return isinstance(first, list) and bool(first) and is_message(first[0]) and first[0]["role"] == "system"
