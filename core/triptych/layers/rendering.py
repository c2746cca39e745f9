"""The old part of a conversation as text for a summarizer: fenced as data, in pieces that fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count
from typing import NamedTuple

from triptych.entries import Entry, messages_of
from triptych.layers.cutting import shortened
from triptych.layers.exchanges import owners
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
    entries: Sequence[Entry], chosen: Sequence[int], longest: int, original_of: Callable[[int], Entry | None] | None
) -> Iterator[str]:
    """The messages at the `chosen` indices, a block a message or call, each of at most `longest` characters.

    Calls are numbered, and their results name the number; what was only thought is left out.
    """
    messages = messages_of(entries)
    owner_of = owners(messages)
    numbered: dict[tuple[int, int], str] = {}
    for index in chosen:
        message = messages[index]
        if original_of is not None and (original := original_of(entries[index].id)) is not None:
            message = original.message
        owner = owner_of.get(index)
        if owner is not None or not is_tool_response(message):
            message = native(message)
        label = f"[{role_of(message) or 'message'}]"
        if is_tool_response(message):
            label = "[tool]"
        elif is_result(message):
            label = f"[result{numbered.get(owner, '') if owner is not None else ''}]"
        if text := _said(message):
            yield _clipped(f"{label} {text}", longest)
        for position, call in enumerate(tool_calls(message)):
            number = len(numbered) + 1
            numbered[index, position] = f" {number} of {call.name}"
            yield _clipped(f"[call {number}] {call.name}({call.arguments})", longest)


def _said(message: Message) -> str:
    text = thought_and_said(message)[1] if role_of(message) == "assistant" else text_of(message)
    return " ".join(filter(None, (text, *[PICTURE_SIGN] * pictures_in(message))))


def _clipped(text: str, longest: int) -> str:
    """A block of which no line can pass for the beginning of another."""
    if "\n[" in text:
        text = text.replace("\n[", "\n [")
    if len(text) <= longest:
        return text
    made = shortened([text], longest, notice=lambda omitted: f" [... {omitted} characters left out ...] ")
    return text if made is None else made[0]


def in_pieces(blocks: Sequence[str], room: int | None, weight: Callable[[str], int]) -> list[str]:
    """The blocks on lines, in as few texts as have no more than `room` each; a block larger than that is alone."""
    if room is None:
        return ["\n".join(blocks)]
    pieces: list[list[str]] = []
    left = 0
    for block in blocks:
        needed = weight(block + "\n")
        if not pieces or needed > left:
            pieces.append([])
            left = room
        pieces[-1].append(block)
        left -= needed
    return ["\n".join(piece) for piece in pieces]


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
