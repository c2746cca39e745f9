"""Reading wire messages: one chat-completions message is a JSON object, whatever wrote it.

Everything here tolerates foreign shapes (content null, a number or parts; calls that are no objects), since saved
sessions hold them; nothing here changes a message.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

Message = dict[str, Any]
"""A JSON object, never changed once it is in an entry."""

TOOL_RESPONSE_TAG = "<tool_response>"
"""A user message that begins with this carries a tool result in the second lesson's text protocol."""

TOOL_CALL_TAG = "<tool_call>"
"""In that protocol, what an assistant says holds its calls behind such tags."""

# Tuples, not sets: what is looked up in them comes from outside and need not be hashable.
_SYSTEM_ROLES = ("system", "developer")
_RESULT_ROLES = ("tool", "function")
_TEXT_KEYS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_PICTURE_PARTS = ("image_url", "image", "input_image")

PICTURE_SIGN = "[image]"
"""Stands for a picture where a message is put into text for a model."""


class ToolCall(NamedTuple):
    """One call of an assistant message. `arguments` is the model's raw text, valid JSON or not."""

    id: str
    name: str
    arguments: str


class Pairing(NamedTuple):
    """Which result answers which call, by place in the list.

    `results[i]` is the `(message, position)` of the call that the result at index i answers, None for an orphan; a
    result in the text protocol is no orphan, since it may be alone, and has no place here then;
    `unanswered` are the `(message, position)` of calls without a result.
    """

    results: dict[int, tuple[int, int] | None]
    unanswered: tuple[tuple[int, int], ...]


def role_of(message: Message) -> str:
    """The role, or "" where there is none."""
    role = message.get("role")
    return role if isinstance(role, str) else ""


def is_result(message: Message) -> bool:
    """Whether this message is a tool result by its role (`tool`, or the legacy `function`)."""
    return message.get("role") in _RESULT_ROLES


def native(message: Message) -> Message:
    """The message as one that says in fields what the second lesson's text protocol says in text.

    So one question asks after both: whether it is a result, what it says, what is called. What is in fields already, or
    has nothing to do with tools, is given back as it is. Calls and results of the protocol have no ids.
    """
    role = message.get("role")
    if role == "user":
        if is_tool_response(message):
            from triptych.text_protocol import native_response  # for those that need it: the window opens without it

            return native_response(message)
    elif role == "assistant" and not _has_calls(message):
        content = message.get("content")
        if isinstance(content, str) and TOOL_CALL_TAG in content:
            from triptych.text_protocol import native_calls

            return native_calls(message)
    return message


def _has_calls(message: Message) -> bool:
    return bool(message.get("tool_calls")) or "function_call" in message


def with_result_texts(message: Message, texts: Sequence[str]) -> Message:
    """A result with other texts in place of those of its `native` form."""
    if not is_tool_response(message):
        return with_texts(message, texts)
    from triptych.text_protocol import with_response_text

    return with_response_text(message, texts[0])


def result_message(calling: Message, call: ToolCall, text: str) -> Message:
    """The result of a call of the message `calling`, in the form in which that calls."""
    if not _has_calls(calling):
        from triptych.text_protocol import response_message

        return response_message(call.name, text)
    if not call.id and "function_call" in calling:  # the older form, which has no ids
        return {"role": "function", "name": call.name, "content": text}
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def carries_result(message: Message) -> bool:
    """Whether this message is a tool result in either form."""
    role = message.get("role")
    return role in _RESULT_ROLES or (role == "user" and is_tool_response(message))


def is_failed_result(message: Message) -> bool:
    """Whether a tool result is an error message, by the flags that programs save or by how its text begins."""
    message = native(message)
    if message.get("is_error") is True or message.get("status") == "error":
        return True
    return text_of(message)[:80].lstrip().lower().startswith("error:")


def text_of(message: Message) -> str:
    """The text of the content: a string as it is, the text parts of a list joined by newlines, else ""."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_part_texts(content))
    return ""


def _part_texts(parts: Sequence[Any]) -> Iterator[str]:
    return (text for part in parts if (text := _part_text(part)) is not None)


def _part_text(part: Any) -> str | None:
    if isinstance(part, dict):
        part = part.get(_text_key(part))
    return part if isinstance(part, str) else None


def _text_key(part: dict[str, Any]) -> str:
    return _TEXT_KEYS.get(str(part.get("type")), "text")


def texts_of(message: Message) -> list[str]:
    """The text of the content, part by part: those that `text_of` joins."""
    content = message.get("content")
    return list(_part_texts(content)) if isinstance(content, list) else [text_of(message)]


def with_texts(message: Message, texts: Sequence[str]) -> Message:
    """The message with other texts in the place of `texts_of`; parts of which nothing is left are dropped."""
    content = message.get("content")
    if not isinstance(content, list):
        return {**message, "content": texts[0]}
    left, parts = iter(texts), list[Any]()
    for part in content:
        if _part_text(part) is None:
            parts.append(part)
        elif text := next(left):
            parts.append({**part, _text_key(part): text} if isinstance(part, dict) else text)
    return {**message, "content": parts or [{"type": "text", "text": ""}]}


def text_with_signs_of(message: Message) -> str:
    """As `text_of`, the text parts followed by a `PICTURE_SIGN` for each picture."""
    text, signs = text_of(message), [PICTURE_SIGN] * pictures_in(message)
    return "\n".join([text, *signs] if text else signs) if signs else text


def picture_parts(message: Message) -> list[dict[str, Any]]:
    """The content parts that are pictures, in order."""
    content = message.get("content")
    if not isinstance(content, list):
        return []
    return [part for part in content if isinstance(part, dict) and part.get("type") in _PICTURE_PARTS]


def pictures_in(message: Message) -> int:
    """How many pictures the content parts hold."""
    return len(picture_parts(message))


def reasoning_of(message: Message) -> str:
    """What the model thought before it said this, as endpoints hand it over beside the content, else ""."""
    value = message.get("reasoning_content")
    return value if isinstance(value, str) else ""


def thought_and_said(message: Message) -> tuple[str, str]:
    """What the model thought, beside the content or at its start in `<think>` tags, and the rest of the text."""
    thought, text = reasoning_of(message), text_of(message)
    begun = text.lstrip()
    if not begun.startswith("<think>"):
        return thought, text
    inner, _, said = begun.removeprefix("<think>").partition("</think>")
    return "\n".join(filter(None, (thought, inner.strip()))), said.lstrip()


def tool_calls(message: Message) -> tuple[ToolCall, ...]:
    """The calls of an assistant message, in order, a legacy `function_call` last; shapes that are no call are left out.

    The arguments of a custom tool's call are its input, which is free text.
    """
    if message.get("tool_calls") is None and "function_call" not in message:  # most messages
        return ()
    return tuple([_tool_call(raw, function) for raw, function in _raw_calls(message)])


def tool_call_at(message: Message, position: int) -> ToolCall:
    """The call at a place among the `tool_calls` of a message. Raises IndexError where there is none."""
    return _tool_call(*_raw_calls(message)[position])


def ids_and_names(message: Message) -> Sequence[tuple[str, str]]:
    """The id and the name of each of the `tool_calls` of a message, found sooner than the calls themselves."""
    if message.get("tool_calls") is None and "function_call" not in message:
        return ()
    return [(_id_text(raw.get("id")), _name_in(function)) for raw, function in _raw_calls(message)]


def called_texts(message: Message) -> str:
    """Names and arguments of all the `tool_calls` of a message, joined; found sooner than the calls themselves."""
    return "".join([_name_in(function) + _arguments_in(function) for _raw, function in _raw_calls(message)])


def _raw_calls(message: Message) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What is a call by its shape, with what it says of its function."""
    calls, found = message.get("tool_calls"), []
    for raw in calls if isinstance(calls, list) else ():
        if isinstance(raw, dict):
            function = raw.get("custom" if raw.get("type") == "custom" else "function")
            if isinstance(function, dict):
                found.append((raw, function))
    if isinstance(legacy := message.get("function_call"), dict):
        found.append(({}, legacy))
    return found


def _tool_call(raw: dict[str, Any], function: dict[str, Any]) -> ToolCall:
    return ToolCall(_id_text(raw.get("id")), _name_in(function), _arguments_in(function))


def _arguments_in(function: dict[str, Any]) -> str:
    arguments = function.get("arguments", function.get("input"))
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else str(arguments)
    return arguments


def _name_in(function: dict[str, Any]) -> str:
    name = function.get("name")
    return name if isinstance(name, str) else ""


def _id_text(value: Any) -> str:
    """An id as text, the same on the call's side and the result's: "" where there is none."""
    return "" if value is None else str(value)


def answered_id(result: Message) -> str:
    """The id of the call that a tool result answers, "" where it names none."""
    return _id_text(result.get("tool_call_id"))


def pair_calls(messages: Sequence[Message]) -> Pairing:
    """Pair every tool result with the call it answers, by occurrence.

    Either may be text. A result answers the oldest open call of its id that stands before it, so ids that repeat or
    restart pair rightly.
    """
    open_calls: defaultdict[str, deque[tuple[int, int]]] = defaultdict(deque)
    results: dict[int, tuple[int, int] | None] = {}
    for index, message in enumerate(map(native, messages)):
        if is_result(message):
            waiting = open_calls.get(answered_id(message))
            if waiting or not is_tool_response(messages[index]):
                results[index] = waiting.popleft() if waiting else None
        else:
            for position, call in enumerate(tool_calls(message)):
                open_calls[call.id].append((index, position))
    unanswered = sorted(place for waiting in open_calls.values() for place in waiting)
    return Pairing(results, tuple(unanswered))


def leading_system_count(messages: Sequence[Message]) -> int:
    """How many system or developer messages the list begins with."""
    count = 0
    for message in messages:
        if message.get("role") not in _SYSTEM_ROLES:
            break
        count += 1
    return count


def is_tool_response(message: Message) -> bool:
    """Whether a user message carries a tool result in the second lesson's text protocol."""
    content = message.get("content")
    return message.get("role") == "user" and isinstance(content, str) and content.startswith(TOOL_RESPONSE_TAG)


def user_indices(messages: Sequence[Message]) -> list[int]:
    """The indices of all user messages: the first lesson's turns, a summary counted as one."""
    return [index for index, message in enumerate(messages) if message.get("role") == "user"]


def turn_starts(messages: Sequence[Message]) -> list[int]:
    """The indices of user messages that start a turn: results in the text protocol start none."""
    return [index for index, message in enumerate(messages) if asks(message)]


def asks(message: Message) -> bool:
    """Whether this is a user message that carries no result."""
    return message.get("role") == "user" and not is_tool_response(message)


def encodable(text: str) -> str:
    """The text with lone surrogates replaced, which JSON escapes can smuggle in and no file or request can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
