"""The offline model's summaries: sentences taken from the old part, the user's first, until the space is used up.

It loses things, as real summaries do.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triptych.layers.rendering import fenced_in
from triptych.layers.summarize import ACKNOWLEDGEMENTS, SUMMARY_PREFIX
from triptych.messages import TOOL_RESPONSE_TAG, ToolCall, native, text_of, tool_calls
from triptych.models.offline_language import SCRIPTS, Script, is_own, script_of, without_own_words
from triptych.models.offline_recall import Result, is_aside, result_in, result_of, sentences_of
from triptych.models.offline_requests import is_question, understand
from triptych.models.offline_sections import SECTIONS, UNANSWERED, sections_of, summary_in
from triptych.tokens import MeowgentEstimator

_MOST_TOKENS = 600
_SMALL = 48
"""Tokens a summary may have however short the input is, as long as that is no more than half of it."""
_LONGEST_ITEM = 160
_LONGEST_CARRIED = 100
_SENTENCES_PER_RESULT = 3

_NOTHING = ("Nothing to carry over was said.", "没有需要带到后面的内容。", "沒有需要帶到後面的內容。")

_LESSON_LINE = re.compile(
    r"\[(?P<role>system|developer|user|assistant 调用工具|assistant|tool|function)(?P<number>)(?P<tool>)\]"
    r" ?(?P<text>.*)",
    re.DOTALL,
)
_ROBUST_LINE = re.compile(
    r"\[(?P<role>system|developer|user|assistant|tool|message|call|result)"
    r"(?: (?P<number>\d{1,9})(?: of (?P<tool>[^\]\n]*))?)?\] ?(?P<text>.*)",
    re.DOTALL,
)
_CALLS, _RESULTS = ("assistant 调用工具", "call"), ("tool", "function", "result")
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
    """One message of the rendering.

    number: a call's, and that of the call which a result answers; tool: the name of what was called. The lesson's
    rendering tells neither.
    """

    role: str
    text: str
    number: str = ""
    tool: str = ""

    @property
    def is_response(self) -> bool:
        """Whether it carries a result in the text protocol."""
        return self.role in ("user", "tool") and self.text.startswith(TOOL_RESPONSE_TAG)

    @property
    def is_summary(self) -> bool:
        return self.role == "user" and summary_in(self.text) is not None

    @property
    def said(self) -> str:
        """The text without what the program put around it."""
        if not self.is_summary:
            return self.text
        return "\n".join(line for _, line in sections_of(summary_in(self.text) or ""))


@dataclass(frozen=True, slots=True)
class _Item:
    """A line the summary could have; low ranks are put in first."""

    section: str
    text: str
    rank: int


def summary_of(rendering: str) -> str:
    """A summary of rendered messages in the conversation's own language, never empty.

    At most a tenth of the input, or what an earlier summary in it takes, and 600 tokens by the `meowgent` estimate; a
    short input gets a sentence or two.
    """
    blocks = list(_blocks(rendering, _LESSON_LINE))
    earlier = sum(_weight(block.text) for block in blocks if block.is_summary)
    return _summary_of(blocks, max(_room_for(_weight(rendering)), earlier))


def summary_of_fenced(text: str) -> str:
    """As `summary_of`, for the robust layer's request: the summary so far and the conversation, fenced.

    The room for what is new comes on top of what the summary so far takes: that is to be updated.
    """
    so_far, conversation = fenced_in(text)
    earlier = [_Block("user", SUMMARY_PREFIX + so_far)] if so_far else []
    blocks = [*earlier, *_blocks(conversation, _ROBUST_LINE)]
    return _summary_of(blocks, _weight(so_far) + _room_for(_weight(conversation)))


def _room_for(weight: int) -> int:
    """The weight that a summary of this much may have."""
    return max(weight // 10, min(_SMALL * _ONE_TOKEN, weight // 2))


def _summary_of(blocks: Sequence[_Block], room: int) -> str:
    script = _script_of(blocks)
    items = _ranked(list(_items(blocks)), _answered(blocks))
    chosen = _chosen(items, script, min(room, _MOST_TOKENS * _ONE_TOKEN))
    if chosen:
        return "\n".join(_lines(chosen, script))
    return _fitted(items[0].text, _SMALL * _ONE_TOKEN) if items else _NOTHING[SCRIPTS.index(script)]


def _script_of(blocks: Sequence[_Block]) -> Script:
    """The script of what the user said, newest first; where that tells none, of everything else."""
    newest_first = [(block.role == "user" and not block.is_response, block.said) for block in reversed(blocks)]
    return script_of(
        [text for users, text in newest_first if users] + [text for users, text in newest_first if not users]
    )


def _blocks(rendering: str, label: re.Pattern[str]) -> Iterator[_Block]:
    start, lines = None, list[str]()
    for line in rendering.split("\n"):
        found = label.fullmatch(line)
        if found is None:
            lines.append(line)
            continue
        if start is not None:
            yield _block(start, lines)
        start, lines = found, [found["text"]]
    yield _block(start, lines)


def _block(start: re.Match[str] | None, lines: Sequence[str]) -> _Block:
    text = "\n".join(lines)
    if start is None:
        return _Block("user", text)
    return _Block(start["role"], text, start["number"] or "", start["tool"] or "")


def _items(blocks: Sequence[_Block]) -> Iterator[_Item]:
    calls: defaultdict[str, deque[ToolCall]] = defaultdict(deque)  # by number; without numbers they are in order
    for index, block in enumerate(blocks):
        if block.is_summary:
            # Read backwards, as the newest come first in the end.
            yield from reversed(list(_carried(summary_in(block.text) or "")))
        elif block.is_response:
            waiting = calls[""]
            message = {"role": "user", "content": block.text}
            yield from _from_result(result_in(index, message, waiting.popleft() if waiting else None))
        elif block.role == "user":
            yield from _from_user(block.text, _answer_after(blocks, index))
        elif block.role in _CALLS:
            match = _CALL.fullmatch(block.text)
            calls[block.number].append(ToolCall("", match[1], match[2]) if match else ToolCall("", "", ""))
        elif block.role in _RESULTS:
            waiting = calls[block.number]
            call = waiting.popleft() if waiting else ToolCall("", block.tool, "") if block.tool else None
            yield from _from_result(result_of(index, call, block.text))
        elif block.role == "assistant" and block.text not in ACKNOWLEDGEMENTS:
            message = native({"role": "assistant", "content": block.text})
            calls[""].extend(tool_calls(message))
            rest, quotes = without_own_words(text_of(message))
            said = [*quotes, *sentences_of(rest)]
            yield from (_Item("facts", text, 7) for text in said[:_SENTENCES_PER_RESULT] if _INFORMATIVE.search(text))


def _carried(summary: str) -> Iterator[_Item]:
    """The lines of an earlier summary, shorter, in the sections they were in; the first of each matters more."""
    begun: set[str] = set()
    for found, line in sections_of(summary):
        for text in sentences_of(line):
            section = found or ("open" if is_question(text) else "facts")
            rank = 1 if section in ("facts", "decisions") else 5 if section in begun else 2
            begun.add(section)
            yield _Item(section, _cut(text, _LONGEST_CARRIED), rank)


def _from_user(text: str, answer: str) -> Iterator[_Item]:
    for sentence in sentences_of(text):
        wish = understand(sentence)
        if wish.kind == "statement":
            yield _Item("decisions" if _DECIDES.search(sentence) else "facts", sentence, 0)
        elif wish.kind == "question" and _leaves_open(answer):
            yield _Item("open", sentence, 4)
        elif wish.kind in ("read", "search") and not is_question(sentence):
            yield _Item("goal", sentence, 4)


def _leaves_open(answer: str) -> bool:
    return not answer or is_own("unknown", answer) or is_own("unknown_there", answer)


def _answered(blocks: Sequence[_Block]) -> set[str]:
    """The questions that had an answer when they were last asked."""
    last_answers = {
        sentence: _answer_after(blocks, index)
        for index, block in enumerate(blocks)
        if block.role == "user" and not block.is_summary
        for sentence in sentences_of(block.text)
        if is_question(sentence)
    }
    return {question for question, answer in last_answers.items() if not _leaves_open(answer)}


def _answer_after(blocks: Sequence[_Block], index: int) -> str:
    """What the assistant said before the user spoke again."""
    answer = ""
    for block in blocks[index + 1 :]:
        if block.role == "user" and not block.is_response:
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
        yield _Item("files", f"{result.path}: {first}" if first else result.path, 3)
    elif first:
        yield _Item("facts", first, 3)
    sentences = (text for line in lines[1:] for text in sentences_of(line))
    telling = (text for text in sentences if _INFORMATIVE.search(text) and _weight(text) > _SHORTEST)
    for _, text in zip(range(_SENTENCES_PER_RESULT), telling, strict=False):
        yield _Item("facts", text, 6)


def _ranked(items: Sequence[_Item], answered: set[str]) -> list[_Item]:
    """The most important first: by rank, then with names and numbers, then the newest. Questions only where open."""
    usable = [
        item
        for item in reversed(items)
        if (item.text not in answered if item.section in ("goal", *UNANSWERED) else not is_question(item.text))
    ]
    return sorted(usable, key=lambda item: (item.rank, not _INFORMATIVE.search(item.text)))


def _chosen(items: Sequence[_Item], script: Script, budget: int) -> list[_Item]:
    """As many as fit, none that says what another one says."""
    chosen: list[_Item] = []
    sections: set[str] = set()
    for item in items:
        line = _weight(f"- {_cut(item.text, _LONGEST_ITEM)}\n")
        heading = 0 if item.section in sections else _weight(SECTIONS[item.section][SCRIPTS.index(script)] + "\n")
        if line + heading <= budget and not any(item.text in other.text for other in chosen):
            budget -= line + heading
            sections.add(item.section)
            chosen.append(item)
    return chosen


def _lines(items: Sequence[_Item], script: Script) -> Iterator[str]:
    for section, headings in SECTIONS.items():
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
