"""How a list of messages is laid out in a session file, byte for byte as `json.dumps` does with `indent=2`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from json.encoder import encode_basestring
from typing import Any

from triptych.messages import Message

_LONE_SURROGATE = "[\ud800-\udfff]"  # compiled by whoever meets one, which is seldom
_BATCH = 256


def message_chunk(message: Message) -> tuple[str, int]:
    """A message's lines in the file, without the separating comma, and how many lone surrogates became U+FFFD in it.

    A model's broken text may hold surrogates, which UTF-8 cannot; everything else survives.
    """
    chunk = "  " + _json(message, "\n  ")
    try:
        chunk.encode()
    except UnicodeEncodeError:
        return re.subn(_LONE_SURROGATE, "\ufffd", chunk)
    return chunk, 0


def file_pieces(chunks: Sequence[str]) -> Iterator[bytes]:
    """The file whose messages are `chunks`, in pieces."""
    if not chunks:
        yield b"[]"
        return
    separator = "[\n"
    for start in range(0, len(chunks), _BATCH):
        yield (separator + ",\n".join(chunks[start : start + _BATCH])).encode()
        separator = ",\n"
    yield b"\n]"


def split_chunks(text: str) -> tuple[str, ...]:
    """The chunks of a file in this layout; none where the text is laid out in another way.

    `text` must be a sound JSON list. Newlines stand between its tokens only, so those looked for are structure.
    """
    if not text.startswith("[\n  {\n") or not text.endswith("\n  }\n]"):
        return ()
    chunks, start = [], len("[\n")
    while (end := text.find("\n  },\n  {\n", start)) >= 0:
        chunks.append(text[start : end + len("\n  }")])
        start = end + len("\n  },\n")
    return (*chunks, text[start : -len("\n]")])


def _json(value: Any, line: str) -> str:
    """`json.dumps(value, indent=2, ensure_ascii=False)`, in half its time; `line` begins a line at this depth."""
    if isinstance(value, str):
        return encode_basestring(value)
    inner = line + "  "
    if isinstance(value, dict) and value:
        members = [f"{inner}{encode_basestring(key)}: {_json(item, inner)}" for key, item in value.items()]
        return "{" + ",".join(members) + line + "}"
    if isinstance(value, list | tuple) and value:
        return "[" + ",".join([inner + _json(item, inner) for item in value]) + line + "]"
    return json.dumps(value)
