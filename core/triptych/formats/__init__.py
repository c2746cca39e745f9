"""Reading the sessions of this and other programs. A new format is one module, and its place in `FORMATS`."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from triptych.formats import lesson, meowgent, openai
from triptych.formats.reading import Format, FormatError
from triptych.formats.source import Decoded, Source, Unreadable, decode, parse
from triptych.messages import Message

__all__ = ["FORMATS", "FormatError", "Reading", "Unreadable", "read", "read_decoded"]

FORMATS: tuple[Format, ...] = (meowgent, lesson, openai)
"""Every format that is read, those with narrower marks first."""

_PLAIN_LISTS = (lesson, meowgent)


@dataclass(frozen=True, slots=True)
class Reading:
    """A file as it was understood.

    messages: in the order of the file; values, unknown keys and key order are the file's.
    unreadable: what is missing or altered in them, by line.
    replaced_characters: how many became U+FFFD, since their bytes or escapes are no characters.
    ours: a bare list that starts with a system message and was read without loss, so that it may be written again.
    """

    format: str
    messages: tuple[Message, ...]
    unreadable: tuple[Unreadable, ...]
    replaced_characters: int
    ours: bool


def read(data: bytes) -> Reading:
    """Read a file's bytes, whatever program wrote them. Raises FormatError when there are no messages in them."""
    return read_decoded(decode(data))


def read_decoded(decoded: Decoded) -> Reading:
    """Like `read`, for a text that was decoded before, so that the caller need not keep the bytes."""
    with _no_cycle_collection():
        source = parse(decoded)
    for each in FORMATS:
        if each.recognizes(source):
            conversation = each.read(source)
            unreadable = sorted(source.unreadable + conversation.unreadable, key=lambda fault: fault.line)
            return Reading(
                format=each.name,
                messages=conversation.messages,
                unreadable=tuple(unreadable),
                replaced_characters=source.replaced_characters,
                ours=each in _PLAIN_LISTS and lesson.recognizes(source) and not unreadable,
            )
    raise _no_messages(source)


@contextmanager
def _no_cycle_collection() -> Iterator[None]:
    """JSON makes no cycles; looking for them takes a third of the time that reading a large file takes."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _no_messages(source: Source) -> FormatError:
    documents, unreadable = source.documents, source.unreadable
    if unreadable and not (documents and documents[0].value):
        return FormatError("format.no_messages", line=unreadable[0].line, why=unreadable[0].reason)
    if documents:
        return FormatError("format.no_messages", line=source.line_of(documents[0]), why="not_a_conversation")
    return FormatError("format.empty")
