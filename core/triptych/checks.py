"""What an API would refuse in a list, and what its reader should know."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from triptych.messages import Message, answered_id, is_result, leading_system_count, role_of, tool_calls

Severity = Literal["error", "note"]
Kind = Literal[
    "orphan_result",
    "unanswered_call",
    "empty_assistant",
    "duplicate_call_id",
    "invalid_arguments",
    "no_system",
    "system_not_first",
    "replaced_characters",
]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a list. An `error` is refused by an API; a `note` is for the reader.

    `message` is the index in the list, None where the problem is the whole list's. `detail` is a short value: the
    call's id, its name where it has none, a role, a number of characters.
    """

    kind: Kind
    severity: Severity
    message: int | None
    detail: str = ""


def problems(messages: Sequence[Message], replaced_characters: int = 0) -> list[Problem]:
    """Everything to say about a list, in its order; `replaced_characters` is what reading it has counted."""
    of_list = [*_missing_system(messages), *_replaced(replaced_characters)]
    of_messages = [*_refused(messages), *_misplaced_system(messages), *_repeated_ids(messages), *_bad_calls(messages)]
    return of_list + sorted(of_messages, key=lambda problem: problem.message or 0)


def would_be_refused(messages: Sequence[Message]) -> bool:
    """Whether an API would refuse the list."""
    return any(True for _ in _refused(messages))


def _refused(messages: Sequence[Message]) -> Iterator[Problem]:
    """Results pair by occurrence, and only with calls of the assistant message right before their run of results."""
    calling = 0
    open_calls: dict[str, int] = {}
    for index, message in enumerate(messages):
        if is_result(message):
            call_id = answered_id(message)
            if open_calls.get(call_id):
                open_calls[call_id] -= 1
            else:
                yield Problem("orphan_result", "error", index, call_id)
            continue
        if open_calls:
            yield from _unanswered(calling, open_calls)
            open_calls = {}
        if message.get("role") == "assistant":
            calling = index
            for call in tool_calls(message):
                open_calls[call.id] = open_calls.get(call.id, 0) + 1
            if not open_calls and _is_empty(message):
                yield Problem("empty_assistant", "error", index)
    yield from _unanswered(calling, open_calls)


def _unanswered(index: int, open_calls: dict[str, int]) -> Iterator[Problem]:
    for call_id, count in open_calls.items():
        for _ in range(count):
            yield Problem("unanswered_call", "error", index, call_id)


def _is_empty(message: Message) -> bool:
    content = message.get("content")
    if isinstance(content, str | list) and content:
        return False
    return not message.get("refusal") and not message.get("audio")


def _missing_system(messages: Sequence[Message]) -> Iterator[Problem]:
    if messages and not any(_is_system(message) for message in messages):
        yield Problem("no_system", "note", None)


def _misplaced_system(messages: Sequence[Message]) -> Iterator[Problem]:
    for index in range(leading_system_count(messages), len(messages)):
        if _is_system(messages[index]):
            yield Problem("system_not_first", "note", index, role_of(messages[index]))


def _is_system(message: Message) -> bool:
    return message.get("role") in ("system", "developer")


def _replaced(characters: int) -> Iterator[Problem]:
    if characters:
        yield Problem("replaced_characters", "note", None, str(characters))


def _repeated_ids(messages: Sequence[Message]) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, message in enumerate(messages):
        for call in tool_calls(message):
            if call.id in seen:
                yield Problem("duplicate_call_id", "note", index, call.id)
            elif call.id:
                seen.add(call.id)


def _bad_calls(messages: Sequence[Message]) -> Iterator[Problem]:
    for index, message in enumerate(messages):
        calls = message.get("tool_calls")
        for position, raw in enumerate(calls if isinstance(calls, list) else ()):
            call = next(iter(tool_calls({"tool_calls": [raw]})), None)
            if call is None:
                yield Problem("invalid_arguments", "note", index, f"tool_calls[{position}]")
            elif not _has_valid_arguments(raw):
                yield Problem("invalid_arguments", "note", index, call.id or call.name or f"tool_calls[{position}]")


def _has_valid_arguments(call: dict[str, Any]) -> bool:
    """Whether the arguments are the text of a JSON object; those of a custom tool are free text."""
    if call.get("type") == "custom":
        return True
    arguments = call["function"].get("arguments") or "{}"  # tools without parameters are often called with no text
    if not isinstance(arguments, str):
        return False
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False
