"""Chat-completions messages in any wrapping: a bare list, an object with `messages`, or JSON Lines of either.

Lines may be single messages too. Of several conversations in one file the first is read.
"""

from __future__ import annotations

from typing import Any

from triptych.formats.json_reader import Document
from triptych.formats.reading import Conversation, is_message, keep_messages
from triptych.formats.source import Source, Unreadable

name = "openai"


def recognizes(source: Source) -> bool:
    return any(is_message(document.value) or _items(document) is not None for document in source.documents)


def read(source: Source) -> Conversation:
    first = next((document for document in source.documents if _items(document) is not None), None)
    if first is None:
        lines = [document.value for document in source.documents]
        return keep_messages(lines, lambda index: source.line_of(source.documents[index]))
    items = _items(first) or []
    conversation = keep_messages(items, lambda index: source.line_of_item(first, items, index))
    others = [document for document in source.documents if document is not first]
    left_out = tuple(Unreadable(source.line_of(other), _kind(other)) for other in others)
    return Conversation(conversation.messages, conversation.unreadable + left_out)


def _items(document: Document) -> list[Any] | None:
    """The list of a conversation, None where the document holds none."""
    value = document.value
    items = value.get("messages") if isinstance(value, dict) else value
    return items if isinstance(items, list) and any(map(is_message, items)) else None


def _kind(document: Document) -> str:
    return "not_a_conversation" if _items(document) is None else "another_conversation"
