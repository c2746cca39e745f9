"""What each function is tried on: generated inputs from small to large, then the published vectors.

An input is a mapping of the function's arguments, in their order. Those that the lesson refuses come last, since a
function may well do all else right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from triptych.verifying.conversations import IN_TEXT, SYSTEM, WAITING, conversations, long_conversations
from triptych_assets import FOLDER

Given = dict[str, Any]

DIGITS = "0123456789ab"
SUMMARIES = ("s", "", " \n", None)

# The ends of what counts as CJK, and what lies beside them: kana, Hangul and curly quotes do not.
EDGES = "\u4dff\u4e00\u9fff\ua000\u2fff\u3000\u303f\u3040\ufeff\uff00\uffef\ufff0あ한“”é🙂"


def cases_of(name: str) -> list[Given]:
    """All inputs for a function of the lesson, each once."""
    cases = [*_GENERATED[name](), *_from_vectors(name), *_REFUSED.get(name, ())]
    return list({json.dumps(given): given for given in cases}.values())


def _cut_tool_result() -> Iterator[Given]:
    for size in range(len(DIGITS) + 1):
        for limit in range(size + 2):
            yield {"text": DIGITS[:size], "limit": limit}
    for text, limit in (("文件开头中间结尾", 3), ("🙂" * 9, 4), ("e\u0301" * 6, 5), ("a\nb\r\nc", 2)):
        yield {"text": text, "limit": limit}
    for size in (79, 80, 81, 85, 97, 160, 240):
        yield {"text": (DIGITS * 20)[:size], "limit": 80}


def _clean_old_tool_result() -> Iterator[Given]:
    # 0 last, so that who clears nothing at all is not told of a fault that only 0 has.
    return ({"messages": messages, "keep": keep} for keep in (1, 2, 3, 0) for messages in conversations())


def _classify() -> Iterator[Given]:
    return ({"messages": messages, "keep_turns": keep} for messages in conversations() for keep in range(1, 4))


def _render() -> Iterator[Given]:
    for messages in conversations(system=False):
        yield {"msgs": messages}
    for content in ("", " ", "两行\n文字", "[user] q"):
        yield {"msgs": [{"role": "user", "content": content}, {"role": "assistant", "content": content}]}


def _rebuild() -> Iterator[Given]:
    for messages in conversations():
        for keep in range(1, 3):
            yield {"messages": messages, "keep_turns": keep, "summary": "s"}
    for messages in long_conversations(range(2, 5)):
        for summary in SUMMARIES:
            yield {"messages": messages, "keep_turns": 1, "summary": summary}


def _compact() -> Iterator[Given]:
    for messages in long_conversations(range(7)):
        for summary in SUMMARIES:
            yield {"messages": messages, "summary": summary}


def _save() -> Iterator[Given]:
    yield from ({"history": messages} for messages in conversations(most_turns=1))
    yield {"history": [SYSTEM, {"role": "user", "content": '你好 🙂 "x" \\ \n\t é'}]}


def _load() -> Iterator[Given]:
    for messages in conversations(most_turns=1):
        yield {"text": json.dumps(messages, ensure_ascii=False, indent=2)}
    yield {"text": json.dumps([SYSTEM, {"role": "user", "content": "你好 🙂"}])}


def _estimate() -> Iterator[Given]:
    for size in range(13):
        for wide in range(size + 1):
            yield {"text": "字" * wide + "a" * (size - wide)}
    for character in EDGES:
        yield {"text": character * 10}


def _images() -> Iterator[Given]:
    yield {"images": None}
    yield from ({"images": ["a.png"] * number} for number in range(6))


def _turn_separation() -> Iterator[Given]:
    yield {"history_messages": []}
    yield from ({"history_messages": messages} for messages in conversations(IN_TEXT[:3]))
    for content in ("<tool_response>", " <tool_response>\nx", "看 <tool_response>", "<tool_respons>"):
        yield {"history_messages": [SYSTEM, WAITING, {"role": "user", "content": content}]}


def _pruner() -> Iterator[Given]:
    for keep in range(1, 3):
        yield from ({"history_messages": messages, "keep_turns": keep} for messages in conversations(IN_TEXT))
    for messages in conversations(IN_TEXT, most_turns=1):
        if messages != [SYSTEM]:  # the lesson's turns[-0] needs a turn
            yield {"history_messages": messages, "keep_turns": 0}


_GENERATED: dict[str, Callable[[], Iterator[Given]]] = {
    "cut_tool_result": _cut_tool_result,
    "clean_old_tool_result": _clean_old_tool_result,
    "classify_old_and_kept_msgs": _classify,
    "render_for_summary": _render,
    "rebuild": _rebuild,
    "compact": _compact,
    "save_session": _save,
    "load_session": _load,
    "estimate_token": _estimate,
    "images_token": _images,
    "turn_separation": _turn_separation,
    "pruner_tool_text": _pruner,
}
NAMES = tuple(_GENERATED)
"""The lesson's functions that can be verified, in its order."""

_NO_SESSIONS: list[Any] = [[], {}, None, [WAITING]]
_REFUSED: dict[str, list[Given]] = {
    "cut_tool_result": [{"text": text, "limit": limit} for limit in (-1, -2) for text in ("", DIGITS)],
    "classify_old_and_kept_msgs": [
        {"messages": messages, "keep_turns": keep} for keep in (0, -1) for messages in conversations(most_turns=1)
    ],
    "rebuild": [{"messages": messages, "keep_turns": 0, "summary": "s"} for messages in conversations(most_turns=1)],
    "load_session": [{"text": json.dumps(saved)} for saved in _NO_SESSIONS],
}

_VECTORS = {
    "cut_tool_result": ("truncate", ("text", "limit")),
    "clean_old_tool_result": ("clear", ("messages", "keep")),
    "classify_old_and_kept_msgs": ("split", ("messages", "keep_turns")),
    "render_for_summary": ("render", ("messages",)),
    "rebuild": ("rebuild", ("messages", "keep_turns", "summary")),
    "compact": ("rebuild", ("messages", "summary")),
    "save_session": ("save", ("messages",)),
    "load_session": ("save", ("text",)),
    "estimate_token": ("estimate", ("text",)),
    "turn_separation": ("meowgent_turns", ("messages",)),
    "pruner_tool_text": ("meowgent_prune", ("messages", "keep_turns")),
}
"""Where the vectors of a function are found in their file, and what they call its arguments."""


def _from_vectors(name: str) -> list[Given]:
    if name not in _VECTORS:
        return []
    section, keys = _VECTORS[name]
    arguments = next(_GENERATED[name]())
    vectors = json.loads((FOLDER / "conformance" / "lesson_vectors.json").read_text("utf-8"))[section]
    inputs = [dict(zip(arguments, (vector[key] for key in keys), strict=True)) for vector in vectors]
    return sorted(inputs, key=lambda given: len(json.dumps(given)))
