"""The old part of a conversation as text for a summarizer: fenced as data, in pieces that fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, count
from typing import NamedTuple

from triptych.entries import Entry
from triptych.layers.cutting import shortened
from triptych.layers.exchanges import Exchanges
from triptych.messages import (
    PICTURE_SIGN,
    Message,
    is_result,
    is_tool_response,
    native,
    pictures_in,
    role_of,
    text_of,
    thought_and_said,
    tool_calls,
)

SO_FAR = "summary"
CONVERSATION = "conversation"
"""The tags that fence an earlier summary and the conversation."""

_FENCED = re.compile(rf"<({SO_FAR}|{CONVERSATION})(|-\d+)>\n(.*?)\n</\1\2>", re.DOTALL)


class Fenced(NamedTuple):
    """What a request for a summary holds."""

    so_far: str
    conversation: str


def rendered(
    exchanges: Exchanges, chosen: Iterable[int], longest: int, original_of: Callable[[int], Entry | None] | None
) -> Iterator[str]:
    """The messages at the `chosen` indices, a block a message or call, each of at most `longest` characters.

    Calls are numbered, and their results name the number; what was only thought is left out.
    """
    entries, messages, owners = exchanges.entries, exchanges.messages, exchanges.owners
    numbered: dict[tuple[int, int], str] = {}
    for index in chosen:
        entry, message = entries[index], messages[index]
        if original_of is not None and (original := original_of(entry.id)) is not None:
            entry, message = original, native(original.message)
        if not is_result(message):
            speaker = role_of(message) or "message"
        elif (owner := owners.get(index)) is not None:
            speaker = numbered.get(owner[:2], "result")
        elif is_tool_response(entry.message):
            speaker, message = "tool", entry.message  # only there is said whose result it is
        else:
            speaker = "result"
        if text := _said(message):
            yield _clipped(f"[{speaker}] {text}", longest)
        for position, call in enumerate(tool_calls(message)):
            number = len(numbered) + 1
            numbered[index, position] = f"result {number} of {call.name}"
            yield _clipped(f"[call {number}] {call.name}({call.arguments})", longest)


def _said(message: Message) -> str:
    content = message.get("content")
    if not content or (isinstance(content, str) and "<think>" not in content):  # most messages
        return content or ""
    text = thought_and_said(message)[1] if role_of(message) == "assistant" else text_of(message)
    return " ".join(filter(None, (text, *[PICTURE_SIGN] * pictures_in(message))))


def _clipped(text: str, longest: int) -> str:
    """A block of which no line can pass for the beginning of another."""
    if text.find("[", 1) > 0 and "\n[" in text:  # that there is none at all is found much sooner
        text = text.replace("\n[", "\n [")
    if len(text) <= longest:
        return text
    made = shortened([text], longest, notice=lambda omitted: f" [... {omitted} characters left out ...] ")
    return text if made is None else made[0]


def in_pieces(blocks: Iterable[str], room: int | None, weight: Callable[[str], int]) -> Iterator[str]:
    """The blocks on lines, in as few texts as have no more than `room` each; a block larger than that is alone."""
    piece: list[str] = []
    left, line_end = room, weight("\n")
    for block in blocks:
        if left is not None and room is not None:
            needed = weight(block) + line_end
            if piece and needed > left:
                yield "\n".join(piece)
                piece, left = [], room
            left -= needed
        piece.append(block)
    if piece:
        yield "\n".join(piece)


def request(prompt: str, so_far: str, piece: str) -> tuple[Message, ...]:
    """The request for a summary of `piece`, or for an update of the summary so far."""
    parts = [f"The conversation{' since then' if so_far else ''}:", _fenced(CONVERSATION, piece)]
    if so_far:
        parts = ["The summary so far:", _fenced(SO_FAR, so_far), "", *parts]
    return {"role": "system", "content": prompt}, {"role": "user", "content": "\n".join(parts)}


def _fenced(tag: str, text: str) -> str:
    """The text between tags that it does not hold itself."""
    taken = set(re.findall(rf"</?{tag}(|-[0-9]+)>", text))
    endings = chain([""], (f"-{number}" for number in count(2)))
    name = tag + next(ending for ending in endings if ending not in taken)
    return f"<{name}>\n{text}\n</{name}>"


def fenced_in(text: str) -> Fenced:
    """What the user message of a request for a summary holds, read back."""
    found = {match[1]: match[3] for match in _FENCED.finditer(text)}
    return Fenced(found.get(SO_FAR, ""), found.get(CONVERSATION, ""))
