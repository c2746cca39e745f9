"""Small conversations, all there are up to a size, the smallest first: what verified functions are tried on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, product

from triptych.messages import Message

SYSTEM: Message = {"role": "system", "content": "S"}
WAITING: Message = {"role": "user", "content": "q"}
"""A question that nobody has answered yet."""

Shape = Callable[[int, Iterator[int]], list[Message]]
"""Makes turn number n, with numbers for its calls."""


def _user(number: int) -> Message:
    return {"role": "user", "content": f"q{number}"}


def _assistant(number: int) -> Message:
    return {"role": "assistant", "content": f"a{number}"}


def _calling(content: str | None, *calls: int) -> list[Message]:
    """An assistant message with calls, and their results."""
    made = [
        {"id": f"c{call}", "type": "function", "function": {"name": "read", "arguments": f'{{"n": {call}}}'}}
        for call in calls
    ]
    results = [{"role": "tool", "tool_call_id": f"c{call}", "content": f"r{call}"} for call in calls]
    return [{"role": "assistant", "content": content, "tool_calls": made}, *results]


def _plain(number: int, calls: Iterator[int]) -> list[Message]:
    return [_user(number), _assistant(number)]


def _one_call(number: int, calls: Iterator[int]) -> list[Message]:
    return [_user(number), *_calling(None, next(calls)), _assistant(number)]


def _two_calls_at_once(number: int, calls: Iterator[int]) -> list[Message]:
    return [_user(number), *_calling(f"t{number}", next(calls), next(calls)), _assistant(number)]


def _two_rounds(number: int, calls: Iterator[int]) -> list[Message]:
    return [_user(number), *_calling("", next(calls)), *_calling(None, next(calls)), _assistant(number)]


SHAPES: tuple[Shape, ...] = (_plain, _one_call, _two_calls_at_once, _two_rounds)


def _in_text(body: str, tool: str = "read_file") -> Shape:
    """A turn of the second lesson's text protocol, in which results are user messages."""
    block = f"<tool_response>\n[工具 {tool} 執行結果]：\n{body}\n</tool_response>"
    return lambda number, calls: [
        _user(number),
        _assistant(number),
        {"role": "user", "content": block},
        _assistant(number),
    ]


LINES = ["\n".join(f"l{line}" for line in range(lines)) for lines in (6, 7, 9)]
LENGTHS = ["x" * 300, "x" * 301, "字" * 150 + "y" * 151]
IN_TEXT: tuple[Shape, ...] = (
    _plain,
    *map(_in_text, ("r", *LINES, *LENGTHS)),
    _in_text("... [省略前期工具 read_file 的部分輸出]" + "x" * 300),
    _in_text(LINES[2], "list-file"),
)


def conversations(
    shapes: tuple[Shape, ...] = SHAPES, most_turns: int = 2, *, system: bool = True
) -> Iterator[list[Message]]:
    """Every conversation of up to `most_turns` turns of these shapes, each also with a question that waits."""
    for turns in range(most_turns + 1):
        for chosen in product(shapes, repeat=turns):
            calls = count(1)
            messages = [dict(SYSTEM)] if system else []
            for number, shape in enumerate(chosen, 1):
                messages += shape(number, calls)
            yield messages
            yield [*messages, dict(WAITING)]


def long_conversations(turns: range) -> Iterator[list[Message]]:
    """Conversations of so many turns, plain ones and ones with calls by turns."""
    for each in turns:
        for first in range(len(SHAPES) if each else 1):
            calls = count(1)
            shapes = [SHAPES[(first + number) % len(SHAPES)] for number in range(each)]
            yield [dict(SYSTEM), *(message for n, shape in enumerate(shapes, 1) for message in shape(n, calls))]
