"""The second lesson's text protocol: tools are called, and answer, in the text of plain messages.

A call is a block `<tool_call>{"name": …, "arguments": …}</tool_call>` at the beginning of a line of what the assistant
says; a result is a user message `<tool_response>`, `[工具 NAME 執行結果]：`, what the tool said, `</tool_response>`.
A message has no other way to hold either: tags inside of a tool's output or a call's arguments are written so that
they are none, and read back as they were.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from triptych.messages import (
    TOOL_CALL_TAG,
    TOOL_RESPONSE_TAG,
    Message,
    ToolCall,
    text_of,
    thought_and_said,
    tool_calls,
)

_CALL_END, _RESPONSE_END = "</tool_call>", "</tool_response>"
_CALL = re.compile(rf"(?:^|(?<={_CALL_END}))[^\S\n]*{TOOL_CALL_TAG}(.*?)({_CALL_END}|\Z)", re.DOTALL | re.MULTILINE)
_HEADER = re.compile(rf"{TOOL_RESPONSE_TAG}\s{{0,20}}(?:\[工具([^\]\n]{{0,200}})執行結果\]：\n?)?")
_TAG = r"(?=\s{0,8}/?\s{0,8}tool_response)"
_TO_HIDE = re.compile(rf"<(\\*){_TAG}", re.IGNORECASE)
_HIDDEN = re.compile(rf"<\\(\\*){_TAG}", re.IGNORECASE)
_OPEN_NAME = re.compile(r'"name"\s*:\s*"([^"\\]*)"')
_OPEN_ARGUMENT = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*(?:"((?:[^"\\]|\\.)*)|([^\s",:{}\[\]]+))', re.DOTALL)
_HALF_AN_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{0,3}\Z")
_NO_NAME = re.compile(r"[^\w.-]+")
LONGEST_NAME = 64
OPEN_CHARACTERS = 1000
"""Of a call that is still being said, so many characters are looked at."""
UNKNOWN = "unknown"
"""The name of a tool that was called without one."""


class Response(NamedTuple):
    """A message with a result: the tool's name, "" where it tells none, what it said, and what stands around that."""

    tool: str
    text: str
    start: str
    end: str


def response_message(tool: str, text: str) -> Message:
    """What a tool said, as a message."""
    name = _NO_NAME.sub("_", tool)[:LONGEST_NAME] or UNKNOWN
    start = f"{TOOL_RESPONSE_TAG}\n[工具 {name} 執行結果]：\n"
    return {"role": "user", "content": f"{start}{_hidden(text)}\n{_RESPONSE_END}"}


def _hidden(text: str) -> str:
    return _TO_HIDE.sub(r"<\\\1", text)


@lru_cache(maxsize=64)
def read_response(content: str) -> Response:
    """The result in a message that begins with the tag, however it goes on."""
    header = _HEADER.match(content)
    end_of_header = header.end() if header else 0
    rest = content[end_of_header:]
    inner = rest.rstrip()
    body = inner.removesuffix(_RESPONSE_END).removesuffix("\n") if inner.endswith(_RESPONSE_END) else rest
    tool = " ".join(header[1].split()) if header and header[1] else ""
    return Response(tool, _HIDDEN.sub(r"<\1", body), content[:end_of_header], rest[len(body) :])


def with_response_text(message: Message, text: str) -> Message:
    """The message with another text in place of what the tool said."""
    response = read_response(message["content"])
    return {**message, "content": response.start + _hidden(text) + response.end}


def native_response(message: Message) -> Message:
    """The result as one of `role: tool`."""
    response = read_response(message["content"])
    name = {"name": response.tool} if response.tool else {}
    return {**message, "role": "tool", **name, "content": response.text}


def with_calls_as_text(message: Message) -> Message:
    """An assistant message with its `tool_calls` as blocks behind what it says."""
    blocks = map(_block, tool_calls(message))
    others = {key: value for key, value in message.items() if key != "tool_calls"}
    return {**others, "content": "\n".join(filter(None, (text_of(message), *blocks)))}


def _block(call: ToolCall) -> str:
    """Arguments that are no JSON object are a text, so that the block is JSON in any case."""
    arguments = call.arguments or "{}"
    if not isinstance(_parsed(arguments), dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    said = f'{{"name": {json.dumps(call.name, ensure_ascii=False)}, "arguments": {arguments}}}'
    return "\n".join((TOOL_CALL_TAG, said.replace("</", "<\\/"), _CALL_END))


def _parsed(text: str) -> Any:
    """A JSON value, None for what is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def native_calls(message: Message) -> Message:
    """An assistant message with its blocks as `tool_calls`; the message itself where it has none.

    A block that is not closed, or holds no JSON with a name, is a call without a name, of which nothing can be run.
    """
    content: str = message["content"]
    said = thought_and_said({"content": content})[1]  # what is only thought calls nothing
    calls = read_calls(said)
    if not calls:
        return message
    text = (content[: len(content) - len(said)] + _CALL.sub("", said)).strip()
    return {**message, "content": text or None, "tool_calls": list(_in_fields(calls))}


def calls_so_far(said: str) -> tuple[str, list[ToolCall]]:
    """What an assistant has said until now without its blocks, and the calls in these, the last one as far as it goes.

    A tag that has only begun is no word of what is said.
    """
    calls, pieces, end = [], [], 0
    for block in _CALL.finditer(said):
        name, arguments = _read_block(block[1], closed=True) if block[2] else _read_open_block(block[1])
        calls.append(ToolCall("", name, arguments))
        pieces.append(said[end : block.start()])
        end = block.end()
    text = "".join([*pieces, said[end:]])
    line = text[text.rfind("\n") + 1 :].strip()
    if line and TOOL_CALL_TAG.startswith(line):
        text = text[: text.rfind(line)]
    return (text.rstrip() if calls else text), calls


def _read_open_block(block: str) -> tuple[str, str]:
    """The name, once it is whole, and those arguments that have begun; of nested ones only what is in them."""
    start = block[:OPEN_CHARACTERS]
    name = _OPEN_NAME.search(start)
    found = _OPEN_ARGUMENT.finditer(start.partition('"arguments"')[2])
    arguments = {each[1]: _unescaped(each[2]) if each[2] is not None else each[3] for each in found}
    return name[1] if name else "", _as_json(arguments)


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{_HALF_AN_ESCAPE.sub("", text)}"', strict=False))
    except ValueError:
        return text


@lru_cache(maxsize=64)
def read_calls(said: str) -> tuple[tuple[str, str], ...]:
    """The calls in what is said, in order: the name, and the arguments as JSON."""
    return tuple(_read_block(block[1], closed=bool(block[2])) for block in _CALL.finditer(said))


def _read_block(block: str, *, closed: bool) -> tuple[str, str]:
    value = _parsed(block) if closed else None
    if not isinstance(value, dict) or not isinstance(name := value.get("name"), str):
        return "", block.strip()
    arguments = value.get("arguments")
    if isinstance(arguments, str):
        return name, arguments
    return name, "{}" if arguments is None else _as_json(arguments)


def _as_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, as an escape can say it
        return json.dumps(value)
    return text


def _in_fields(calls: Iterable[tuple[str, str]]) -> Iterable[Message]:
    for name, arguments in calls:
        yield {"id": "", "type": "function", "function": {"name": name, "arguments": arguments}}
