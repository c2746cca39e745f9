"""The offline model's summaries: sentences taken from the old part, the user's first, until the space is used up.

It loses things, as real summaries do.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triptych.layers.summarize import ACKNOWLEDGEMENT, SUMMARY_PREFIX
from triptych.messages import TOOL_RESPONSE_TAG, ToolCall
from triptych.models.offline_language import SCRIPTS, Script, is_own, script_of, without_own_words
from triptych.models.offline_recall import Result, is_aside, result_of, result_of_response, sentences_of
from triptych.models.offline_requests import is_question, understand
from triptych.tokens import MeowgentEstimator

_MOST_TOKENS = 600
_SMALL = 48
"""Tokens a summary may have however short the input is, as long as that is no more than half of it."""
_LONGEST_ITEM = 160
_LONGEST_CARRIED = 100
_SENTENCES_PER_RESULT = 3

_SECTIONS: dict[str, tuple[str, str, str]] = {
    "goal": ("Goal:", "目标：", "目標："),
    "decisions": ("Decisions:", "决定：", "決定："),
    "facts": ("Facts:", "事实：", "事實："),
    "files": ("Files:", "文件：", "檔案："),
    "open": ("Open:", "未决：", "未決："),
}
_SECTION_OF = {heading: section for section, headings in _SECTIONS.items() for heading in headings}
_NOTHING = ("Nothing to carry over was said.", "没有需要带到后面的内容。", "沒有需要帶到後面的內容。")

_LINE = re.compile(r"\[(system|developer|user|assistant 调用工具|assistant|tool|function)\] ?(.*)", re.DOTALL)
_CALL = re.compile(r"([\w.-]*)\((.*)\)", re.DOTALL)
_DECIDES = re.compile(
    r"\b(?:decided?|agreed?|must|never|always|from now on|do not|don['’]t|rule|instead of|shall)\b"
    r"|决定|決定|必须|必須|不能|不要|不得|一律|以后|以後|改为|改為|改成|约定|約定|同意",
    re.IGNORECASE,
)
_INFORMATIVE = re.compile(r"\d|(?<=[a-z,] )[A-Z][a-z]+|[一二三四五六七八九十百千]{2,}")

_weight = MeowgentEstimator().weight
_ONE_TOKEN = MeowgentEstimator().denominator
_SHORTEST = 5 * _ONE_TOKEN
"""A sentence of a result that weighs less is a heading or a remark."""


@dataclass(frozen=True, slots=True)
class _Block:
    """One message of the rendering."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class _Item:
    """A line the summary could have; low ranks are put in first."""

    section: str
    text: str
    rank: int


def summary_of(rendering: str) -> str:
    """A summary of rendered messages in the conversation's own language, never empty.

    At most a tenth of the input and 600 tokens by the `meowgent` estimate; a short input gets a sentence or two.
    """
    blocks = list(_blocks(rendering))
    script = script_of([block.text for block in reversed(blocks) if block.role == "user"] or [rendering])
    tokens = _weight(rendering) // _ONE_TOKEN
    budget = min(_MOST_TOKENS, max(tokens // 10, min(_SMALL, tokens // 2))) * _ONE_TOKEN
    items = _ranked(list(_items(blocks)))
    chosen = _chosen(items, script, budget)
    if chosen:
        return "\n".join(_lines(chosen, script))
    return _fitted(items[0].text, _SMALL * _ONE_TOKEN) if items else _NOTHING[SCRIPTS.index(script)]


def _blocks(rendering: str) -> Iterator[_Block]:
    role, lines = "", list[str]()
    for line in rendering.split("\n"):
        start = _LINE.fullmatch(line)
        if start is None:
            lines.append(line)
            continue
        if role:
            yield _Block(role, "\n".join(lines))
        role, lines = start[1], [start[2]]
    yield _Block(role or "user", "\n".join(lines))


def _items(blocks: Sequence[_Block]) -> Iterator[_Item]:
    calls: deque[ToolCall] = deque()
    after_summary = False
    for index, block in enumerate(blocks):
        summary = block.role == "user" and block.text.startswith(SUMMARY_PREFIX.strip())
        if summary:
            yield from _carried(block.text.removeprefix(SUMMARY_PREFIX.strip()))
        elif block.role == "user" and block.text.startswith(TOOL_RESPONSE_TAG):
            yield from _from_result(result_of_response(index, block.text))
        elif block.role == "user":
            yield from _from_user(block.text, _answer_after(blocks, index))
        elif block.role == "assistant 调用工具":
            match = _CALL.fullmatch(block.text)
            calls.append(ToolCall("", match[1], match[2]) if match else ToolCall("", "", ""))
        elif block.role in ("tool", "function"):
            yield from _from_result(result_of(index, calls.popleft() if calls else None, block.text))
        elif block.role == "assistant" and not (after_summary and block.text == ACKNOWLEDGEMENT):
            rest, quotes = without_own_words(block.text)
            said = [*quotes, *sentences_of(rest)]
            yield from (_Item("facts", text, 6) for text in said[:_SENTENCES_PER_RESULT] if _INFORMATIVE.search(text))
        after_summary = summary


def _carried(summary: str) -> Iterator[_Item]:
    """The lines of an earlier summary, shorter, in the sections they were in."""
    section = "facts"
    for line in summary.splitlines():
        if heading := _SECTION_OF.get(line.strip()):
            section = heading
            continue
        for text in sentences_of(line):
            yield _Item(section, _cut(text, _LONGEST_CARRIED), 1 if section in ("facts", "decisions") else 4)


def _from_user(text: str, answer: str) -> Iterator[_Item]:
    for sentence in sentences_of(text):
        wish = understand(sentence)
        if wish.kind == "statement":
            yield _Item("decisions" if _DECIDES.search(sentence) else "facts", sentence, 0)
        elif wish.kind == "question" and (not answer or is_own("unknown", answer) or is_own("unknown_there", answer)):
            yield _Item("open", sentence, 3)
        elif wish.kind in ("read", "search"):
            yield _Item("goal", sentence, 3)


def _answer_after(blocks: Sequence[_Block], index: int) -> str:
    """What the assistant said before the user spoke again."""
    answer = ""
    for block in blocks[index + 1 :]:
        if block.role == "user":
            break
        if block.role == "assistant":
            answer = block.text
    return answer


def _from_result(result: Result) -> Iterator[_Item]:
    lines = [line for line in result.lines if not is_aside(line)]
    if result.failed or result.tool == "list_files":
        return
    first = next(sentences_of(lines[0]), "") if lines else ""
    if result.tool == "read_file" and result.path:
        yield _Item("files", f"{result.path}: {first}" if first else result.path, 2)
    elif first:
        yield _Item("facts", first, 2)
    sentences = (text for line in lines[1:] for text in sentences_of(line))
    telling = (text for text in sentences if _INFORMATIVE.search(text) and _weight(text) > _SHORTEST)
    for _, text in zip(range(_SENTENCES_PER_RESULT), telling, strict=False):
        yield _Item("facts", text, 5)


def _ranked(items: Sequence[_Item]) -> list[_Item]:
    """The most important first: by rank, then with names and numbers, then the newest. Questions only where open."""
    usable = [item for item in reversed(items) if item.section == "open" or not is_question(item.text)]
    return sorted(usable, key=lambda item: (item.rank, not _INFORMATIVE.search(item.text)))


def _chosen(items: Sequence[_Item], script: Script, budget: int) -> list[_Item]:
    """As many as fit, none that says what another one says."""
    chosen: list[_Item] = []
    sections: set[str] = set()
    for item in items:
        line = _weight(f"- {_cut(item.text, _LONGEST_ITEM)}\n")
        heading = 0 if item.section in sections else _weight(_SECTIONS[item.section][SCRIPTS.index(script)] + "\n")
        if line + heading <= budget and not any(item.text in other.text for other in chosen):
            budget -= line + heading
            sections.add(item.section)
            chosen.append(item)
    return chosen


def _lines(items: Sequence[_Item], script: Script) -> Iterator[str]:
    for section, headings in _SECTIONS.items():
        texts = [item.text for item in items if item.section == section]
        if texts:
            yield headings[SCRIPTS.index(script)]
            yield from (f"- {_cut(text, _LONGEST_ITEM)}" for text in texts)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _fitted(text: str, budget: int) -> str:
    while _weight(text) > budget:
        text = text[: len(text) * 3 // 4]
    return text
