"""The second lesson's lists: tool results are user messages that begin with `<tool_response>`."""

from __future__ import annotations

from triptych.formats.openai import read
from triptych.formats.reading import is_message
from triptych.formats.source import Source
from triptych.messages import is_tool_response

__all__ = ["name", "read", "recognizes"]

name = "meowgent"


def recognizes(source: Source) -> bool:
    if "tool_response" not in source.text or not source.documents:  # to look at every message takes long
        return False
    first = source.documents[0].value
    return isinstance(first, list) and any(is_message(item) and is_tool_response(item) for item in first)
