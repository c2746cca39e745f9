"""Layer 2, pruning, as one would ship it: only where it saves tokens, and nothing but results gets shorter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from triptych.edits import replacement_edits
from triptych.entries import Cleared, Entry, Pruned
from triptych.layers.cutting import boundary_after, boundary_before
from triptych.layers.exchanges import Exchanges, exchanges_of
from triptych.layers.plan import Plan, make_plan
from triptych.layers.prune import NOTICE, PruneParameters
from triptych.messages import Message, is_tool_response, text_of, texts_of, with_texts
from triptych.reasons import Reason
from triptych.tokens import Estimator, TokenCounter

_END = "\n</tool_response>"
_BLOCK = re.compile(  # a name with an end, and white space around it that is told from it later: else it takes forever
    r"(?P<start><tool_response>\s*\[工具(?P<tool>[^\]]{0,200}?)執行結果\]：\n)(?P<body>.*?)(?P<end>\n</tool_response>)",
    re.DOTALL,
)


def plan(entries: tuple[Entry, ...], parameters: PruneParameters, counter: TokenCounter) -> Plan:
    """Prune the results before the newest `keep_turns` turns, save what is pinned or was not answered yet."""
    exchanges = exchanges_of(entries)
    starts, keep = exchanges.turns, parameters.keep_turns
    boundary = len(entries) if keep == 0 else starts[-keep] if keep <= len(starts) else 0
    end = min(boundary, exchanges.unanswered_start)
    replacements = list(_replacements(exchanges, end, parameters, counter))
    values = {"turns": len(starts), "keep_turns": keep, "pruned": len(replacements)}
    why = "prune.done" if replacements else "prune.nothing_to_gain" if boundary else "prune.nothing_old"
    return make_plan("prune", entries, replacement_edits(entries, replacements), Reason(why, values), counter)


def _replacements(
    exchanges: Exchanges, end: int, parameters: PruneParameters, counter: TokenCounter
) -> Iterator[tuple[int, Entry]]:
    mark = Pruned(keep_turns=parameters.keep_turns)
    for index in exchanges.results:
        if index >= end:
            return
        entry = exchanges.entries[index]
        if index in exchanges.pinned or entry.has_mark(Pruned) or entry.has_mark(Cleared):
            continue
        message, gain = _pruned(entry.message, exchanges.tool_of(index), parameters, counter.estimator)
        if gain:
            pruned = entry.replaced(message, mark)
            if isinstance(message["content"], str):  # of a list, parts that were empty before are dropped too
                pruned.remember_weight(counter.estimator, counter.weight(entry) - gain)
            yield index, pruned


def _pruned(message: Message, tool: str, parameters: PruneParameters, estimator: Estimator) -> tuple[Message, int]:
    """A result with its texts pruned, and how much less it weighs."""
    if is_tool_response(message):
        return _with_pruned_blocks(message, parameters, estimator)
    if isinstance(content := message.get("content"), str):
        shorter, gain = _shorter(content, tool, parameters, estimator)
        return {**message, "content": shorter}, gain
    texts, whole = list[str](), 0
    for text in texts_of(message):
        shorter, gain = _shorter(text, tool, parameters, estimator)
        texts.append(shorter)
        whole += gain
    return with_texts(message, texts) if whole else message, whole


def _with_pruned_blocks(message: Message, parameters: PruneParameters, estimator: Estimator) -> tuple[Message, int]:
    gains: list[int] = []

    def pruned_block(block: re.Match[str]) -> str:
        body, gain = _shorter(block["body"], " ".join(block["tool"].split()), parameters, estimator)
        gains.append(gain)
        return block["start"] + body + block["end"]

    text = text_of(message)
    end = text.rfind(_END) + len(_END)  # behind it every search for an end would go to the end of the text in vain
    content = _BLOCK.sub(pruned_block, text[:end]) + text[end:] if _END in text else text
    return {**message, "content": content}, sum(gains)


def _shorter(text: str, tool: str, parameters: PruneParameters, estimator: Estimator) -> tuple[str, int]:
    """The text pruned by lines or by characters, whichever weighs less, and how much less than the text that is.

    The text itself where neither saves any.
    """
    notice, notice_weight = _notice(tool, estimator)
    room, shorter, gain = estimator.weight(text) - notice_weight, text, 0
    for ends in (_ends_by_lines(text, parameters), _ends_by_characters(text, parameters)):
        if ends is not None and (saved := room - estimator.weight(ends[0] + ends[1])) > gain:
            shorter, gain = ends[0] + notice + ends[1], saved
    return shorter, gain


@lru_cache(maxsize=64)
def _notice(tool: str, estimator: Estimator) -> tuple[str, int]:
    """What stands for the middle of a result, and its weight."""
    notice = NOTICE.format(tool=tool)
    return notice, estimator.weight(notice)


def _ends_by_lines(text: str, parameters: PruneParameters) -> tuple[str, str] | None:
    """What stays before and behind the notice."""
    lines = text.split("\n", parameters.max_lines)
    if len(lines) <= parameters.max_lines:
        return None
    head = "\n".join(lines[: parameters.head_lines]) + "\n" * (parameters.head_lines > 0)
    return head, text[len(text.rsplit("\n", parameters.tail_lines)[0]) :]


def _ends_by_characters(text: str, parameters: PruneParameters) -> tuple[str, str] | None:
    if len(text) <= parameters.max_characters:
        return None
    head_end = boundary_before(text, parameters.head_characters)
    return text[:head_end] + " ", " " + text[boundary_after(text, len(text) - parameters.tail_characters) :]
