"""The old part of a conversation as text for a summarizer: fenced as data, in pieces that fit."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count, islice
from typing import NamedTuple, overload

from triptych.entries import Entry
from triptych.layers.cutting import shortened
from triptych.layers.exchanges import Exchanges, Place
from triptych.messages import (
    PICTURE_SIGN,
    Message,
    called_texts,
    is_result,
    is_tool_response,
    native,
    pictures_in,
    role_of,
    text_of,
    thought_and_said,
    tool_calls,
)
from triptych.tokens import TokenCounter

SO_FAR = "summary"
CONVERSATION = "conversation"
"""The tags that fence an earlier summary and the conversation."""

_SPEAKERS = ("system", "developer", "user", "assistant", "tool", "function")

_FENCED = re.compile(rf"<({SO_FAR}|{CONVERSATION})(|-\d+)>\n(.*?)\n</\1\2>", re.DOTALL)


class Fenced(NamedTuple):
    """What a request for a summary holds."""

    so_far: str
    conversation: str


class Conversation(Sequence[str]):
    """The messages at the `chosen` indices as texts of no more than `room` each, written when they are asked for.

    A text has a block for each message or call, of at most `longest` characters, on lines of its own; a block larger
    than the room is alone. Calls are numbered, and their results name the number; what was only thought is left out.
    originals: what is written in the place of entries, by their indices. room: a weight, None for any; the spaces that
    keep a block's lines from passing for others may come on top.
    """

    def __init__(
        self,
        exchanges: Exchanges,
        chosen: Sequence[int],
        originals: Mapping[int, Entry],
        longest: int,
        room: int | None,
        counter: TokenCounter,
    ) -> None:
        self._exchanges = exchanges
        self._entries, self._messages = exchanges.entries, exchanges.messages
        if originals:
            self._entries = [originals.get(index, entry) for index, entry in enumerate(exchanges.entries)]
            self._messages = [native(entry.message) for entry in self._entries]
        self._chosen = chosen
        self._longest = longest
        self._first_calls = _numbered(chosen, exchanges.calls)
        starts = self._parted(sys.maxsize if room is None else room, counter)
        self._bounds = [*starts, (len(chosen), 0)]

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[str]: ...
    def __getitem__(self, number: int | slice) -> str | Sequence[str]:
        place = range(len(self))[number]
        if not isinstance(place, int):
            return [self[each] for each in place]
        (start, first), (end, stop) = self._bounds[place : place + 2]
        blocks = [block for index in self._chosen[start:end] for block in self._blocks(index)]
        if stop:
            blocks += islice(self._blocks(self._chosen[end]), stop)
        return "\n".join(blocks[first:])

    def _parted(self, room: int, counter: TokenCounter) -> Iterator[tuple[int, int]]:
        """Where each text starts: a place in `chosen`, and the first block of the message there."""
        left = -1
        for place, weights in enumerate(self._weights(room, counter)):
            for block, weight in enumerate(weights):
                if weight > left:
                    yield place, block
                    left = room
                left -= weight

    def _weights(self, room: int, counter: TokenCounter) -> Iterator[Sequence[int]]:
        """What the blocks of each message weigh; or all together, or a little more: so most need not be written."""
        weigh, calls = counter.estimator.weight, self._exchanges.calls
        tools = {_escaped(owner.tool) for owner in self._exchanges.owners.values()}
        label = weigh(f"[result {sum(calls.values())} of ] \n") + max(map(weigh, tools), default=0)
        light = min(weigh(" ") * self._longest, room)  # what weighs no more is not clipped
        entries, messages = self._entries, self._messages
        for index in self._chosen:
            message, weight, made = messages[index], counter.weight(entries[index]), calls.get(index, 0)
            whole = weight + label * (1 + made)
            if not made:
                is_light = weight <= light and bool(said := _said(message)) and not _is_to_escape(said)
            elif message is not entries[index].message:  # from the text protocol: here their JSON has another form
                is_light = False
            elif weight <= light // 4:
                is_light, whole = True, whole + weight // 2  # no escaping adds more
            else:
                is_light = weight <= light and not _is_to_escape(_said(message) + called_texts(message))
            if is_light and whole <= room and message.get("role") in _SPEAKERS:
                yield (whole,)
            else:
                yield [weigh(block + "\n") for block in self._blocks(index)]

    def _blocks(self, index: int) -> Iterator[str]:
        message = self._messages[index]
        speaker = role_of(message) or "message"
        if is_result(message):
            owner = self._exchanges.owners.get(index)
            speaker = self._named(owner)
            if owner is None and is_tool_response(self._entries[index].message):
                speaker, message = "tool", self._entries[index].message  # only there is said whose result it is
        if text := _said(message):
            yield _clipped(f"[{speaker}] {text}", self._longest)
        if index in self._first_calls:
            for number, call in enumerate(tool_calls(message), self._first_calls[index]):
                yield _clipped(f"[call {number}] {call.name}({call.arguments})", self._longest)

    def _named(self, owner: Place | None) -> str:
        """A result by the call that it answers, where that is in the text."""
        if owner is None or owner.calling not in self._first_calls:
            return "result"
        return f"result {self._first_calls[owner.calling] + owner.position} of {owner.tool}"


def _numbered(chosen: Sequence[int], calls: Mapping[int, int]) -> dict[int, int]:
    """The number of the first call of each chosen message that makes any, counted from 1."""
    numbers, number = dict[int, int](), 1
    for index in chosen:
        if made := calls.get(index):
            numbers[index] = number
            number += made
    return numbers


def _said(message: Message) -> str:
    content = message.get("content")
    if not content or (isinstance(content, str) and "<think>" not in content):  # most messages
        return content or ""
    text = thought_and_said(message)[1] if role_of(message) == "assistant" else text_of(message)
    return " ".join(filter(None, (text, *[PICTURE_SIGN] * pictures_in(message))))


def _clipped(text: str, longest: int) -> str:
    """A block of which no line can pass for the beginning of another."""
    text = _escaped(text)
    if len(text) <= longest:
        return text
    made = shortened([text], longest, notice=lambda omitted: f" [... {omitted} characters left out ...] ")
    return text if made is None else made[0]


def _escaped(text: str) -> str:
    return text.replace("\n[", "\n [") if _is_to_escape(text) else text


def _is_to_escape(text: str) -> bool:
    return text.find("[", 1) > 0 and "\n[" in text  # the one alone is seen much sooner than the two together


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
