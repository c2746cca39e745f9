"""Making an input on which two functions differ smaller, as long as they still differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from triptych.checks import would_be_refused
from triptych.verifying.cases import Given

MOST_TRIES = 400

READABLE = 8
"""Characters that a message may keep: a conversation of empty messages is hard to read."""

_CONVERSATIONS = ("messages", "msgs", "history", "history_messages")


def shrunk(given: Given, differs: Callable[[Given], bool], tries: int = MOST_TRIES) -> Given:
    """A smaller input for which `differs` holds as well, found in so many tries; `given` itself where there is none."""
    left = tries
    while left > 0:
        for candidate in _smaller(given):
            left -= 1
            if differs(candidate):
                given = candidate
                break
            if left == 0:
                return given
        else:
            break
    return given


def _smaller(given: Given) -> Iterator[Given]:
    """Inputs of the same kind with something left out, the most first."""
    for name, value in given.items():
        for smaller in _smaller_values(name, value):
            yield {**given, name: smaller}


def _smaller_values(name: str, value: Any) -> Iterator[Any]:
    if name in _CONVERSATIONS:
        refused = would_be_refused(value)
        yield from (each for each in _smaller_conversations(value) if refused or not would_be_refused(each))
    elif isinstance(value, str | list) and name != "summary":
        yield from _shorter(value)
    elif type(value) is int and value > 1:
        yield value - 1


def _smaller_conversations(messages: list[Any]) -> Iterator[list[Any]]:
    first = 1 if messages and messages[0].get("role") == "system" else 0
    for rest in _without_some(messages[first:]):
        yield [*messages[:first], *rest]
    for index, message in enumerate(messages):
        before, after = messages[:index], messages[index + 1 :]
        calls, content = message.get("tool_calls") or [], message.get("content") or ""
        if len(calls) > 1:
            for call in calls:
                fewer = {**message, "tool_calls": [each for each in calls if each is not call]}
                yield [*before, fewer, *(each for each in after if each.get("tool_call_id") != call["id"])]
        if len(content) > READABLE:
            yield from ([*before, {**message, "content": shorter}, *after] for shorter in _shorter(content))


def _without_some(messages: list[Any]) -> Iterator[list[Any]]:
    """The list without some that follow one another; an exchange has several that go together or not at all."""
    for size in sorted({len(messages) // 2, len(messages) // 4, 4, 3, 2, 1}, reverse=True):
        for start in range(len(messages) - size + 1) if size else ():
            yield messages[:start] + messages[start + size :]


def _shorter(value: Any) -> Iterator[Any]:
    """A text or list without a part of it: half of it, a quarter, … at last a single item."""
    size = (len(value) + 1) // 2
    while size:
        for start in range(0, len(value), size):
            yield value[:start] + value[start + size :]
        size //= 2
