"""Layer 2, pruning, as one would ship it: only where it saves tokens, and nothing but results gets shorter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from triptych.edits import replacement_edits
from triptych.entries import Cleared, Entry, Pruned, messages_of
from triptych.layers.cutting import boundary_after, boundary_before
from triptych.layers.exchanges import (
    Place,
    called,
    first_unanswered,
    owners,
    pinned_indices,
    real_turn_starts,
)
from triptych.layers.plan import Plan, make_plan
from triptych.layers.prune import NOTICE, PruneParameters
from triptych.messages import Message, is_result, is_tool_response, text_of, texts_of, with_texts
from triptych.reasons import Reason
from triptych.tokens import TokenCounter

_END = "\n</tool_response>"
_BLOCK = re.compile(  # a name with an end, and white space around it that is told from it later: else it takes forever
    r"(?P<start><tool_response>\s*\[工具(?P<tool>[^\]]{0,200}?)執行結果\]：\n)(?P<body>.*?)(?P<end>\n</tool_response>)",
    re.DOTALL,
)


def plan(entries: tuple[Entry, ...], parameters: PruneParameters, counter: TokenCounter) -> Plan:
    """Prune the results before the newest `keep_turns` turns, save what is pinned or was not answered yet."""
    messages = messages_of(entries)
    starts, keep = real_turn_starts(entries), parameters.keep_turns
    boundary = len(entries) if keep == 0 else starts[-keep] if keep <= len(starts) else 0
    replacements = list(_replacements(entries, min(boundary, first_unanswered(messages)), parameters, counter))
    values = {"turns": len(starts), "keep_turns": keep, "pruned": len(replacements)}
    why = "prune.done" if replacements else "prune.nothing_to_gain" if boundary else "prune.nothing_old"
    return make_plan("prune", entries, replacement_edits(entries, replacements), Reason(why, values), counter)


def _replacements(
    entries: Sequence[Entry], boundary: int, parameters: PruneParameters, counter: TokenCounter
) -> Iterator[tuple[int, Entry]]:
    messages = messages_of(entries)
    owner_of = owners(messages)
    pinned = pinned_indices(entries, owner_of)
    mark = Pruned(keep_turns=parameters.keep_turns)
    for index in range(boundary):
        entry = entries[index]
        if index in pinned or entry.has_mark(Pruned) or entry.has_mark(Cleared):
            continue
        message = _pruned(index, messages, owner_of, parameters, counter)
        if message is not None and counter.message_weight(message) < counter.weight(entry):
            yield index, entry.replaced(message, mark)


def _pruned(
    index: int,
    messages: Sequence[Message],
    owner_of: Mapping[int, Place],
    parameters: PruneParameters,
    counter: TokenCounter,
) -> Message | None:
    """A shorter form of a result; None for what is no result."""
    message = messages[index]
    if is_result(message):
        tool = called(messages, owner_of[index]).name if index in owner_of else ""
        texts = [shorter(text, tool, parameters, counter) for text in texts_of(message)]
        return with_texts(message, texts) if texts and texts != texts_of(message) else None
    if not is_tool_response(message):
        return None

    def pruned_block(block: re.Match[str]) -> str:
        tool = " ".join(block["tool"].split())
        return block["start"] + shorter(block["body"], tool, parameters, counter) + block["end"]

    text = text_of(message)
    end = text.rfind(_END) + len(_END)  # behind it every search for an end would go to the end of the text in vain
    return {**message, "content": _BLOCK.sub(pruned_block, text[:end]) + text[end:]} if _END in text else None


def shorter(text: str, tool: str, parameters: PruneParameters, counter: TokenCounter) -> str:
    """The text pruned by lines or by characters, whichever weighs less; the text itself where neither saves any."""
    return min((text, *_candidates(text, tool, parameters)), key=counter.estimator.weight)


def _candidates(text: str, tool: str, parameters: PruneParameters) -> Iterator[str]:
    notice = NOTICE.format(tool=tool)
    if text.count("\n") >= parameters.max_lines:
        head = text.split("\n", parameters.head_lines)[: parameters.head_lines]
        tail = text.rsplit("\n", parameters.tail_lines)[1:]
        yield "\n".join([*head, notice, *tail])
    if len(text) > parameters.max_characters:
        head_end = boundary_before(text, parameters.head_characters)
        tail_start = boundary_after(text, len(text) - parameters.tail_characters)
        yield f"{text[:head_end]} {notice} {text[tail_start:]}"
