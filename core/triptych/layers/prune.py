"""Layer 2, the second lesson's way: old tool results keep their beginning and end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

from triptych.edits import replacement_edits
from triptych.entries import Entry, Pruned, messages_of
from triptych.layers.parameters import Flavour, at_least, one_of
from triptych.layers.plan import Plan, make_plan, shown_indices, tool_names
from triptych.messages import Message, is_tool_response, turn_starts
from triptych.reasons import Reason
from triptych.tokens import TokenCounter

NOTICE = "... [省略前期工具 {tool} 的部分輸出]"
NOTICE_START = "... [省略前期工具"

_TOOL_RESPONSE = r"(?s)<tool_response>\s*\[工具\s*(\w+)\s*執行結果\]：\n(.*?)\n</tool_response>"


@dataclass(frozen=True, slots=True)
class PruneParameters:
    """Which results are pruned, and to what.

    keep_turns: results of the newest turns that stay whole; 0 prunes nothing, a fault kept from the lesson. Robust: 0
        prunes all that the model has answered.
    max_lines, head_lines, tail_lines: a result of more than `max_lines` keeps that many lines at either end.
    max_characters, head_characters, tail_characters: else, over `max_characters`, that many characters.

    Robust prunes by lines or by characters, whichever leaves less, and only where that saves tokens; it keeps every
    block of a message, and knows a tool by any name.
    """

    keep_turns: int = 2
    max_lines: int = 6
    head_lines: int = 3
    tail_lines: int = 2
    max_characters: int = 300
    head_characters: int = 50
    tail_characters: int = 50
    flavour: Flavour = "lesson"

    def __post_init__(self) -> None:
        one_of("flavour", self.flavour, get_args(Flavour))
        for name in self.__slots__[:-1]:
            at_least(name, getattr(self, name), 0)
        # What is kept at both ends never overlaps.
        at_least("max_lines", self.max_lines, self.head_lines + self.tail_lines)
        at_least("max_characters", self.max_characters, self.head_characters + self.tail_characters)

    @classmethod
    def lesson(cls) -> PruneParameters:
        """The second lesson's: 2 turns; 6 lines to 3 + 2; 300 characters to 50 + 50."""
        return cls()

    @classmethod
    def robust(cls) -> PruneParameters:
        """The same numbers."""
        return cls(flavour="robust")


def prune(text: str, tool: str, parameters: PruneParameters) -> str | None:
    """The pruned text, or None when it is short enough or holds a notice already. Lines win over characters."""
    if NOTICE_START in text:
        return None
    notice = NOTICE.format(tool=tool)
    lines = text.split("\n")
    if len(lines) > parameters.max_lines:
        tail_start = len(lines) - parameters.tail_lines
        return "\n".join([*lines[: parameters.head_lines], notice, *lines[tail_start:]])
    if len(text) > parameters.max_characters:
        tail_start = len(text) - parameters.tail_characters
        return f"{text[: parameters.head_characters]} {notice} {text[tail_start:]}"
    return None


class Block(NamedTuple):
    """A result in the second lesson's text protocol: the tool's name, what it said, and what stands behind it."""

    tool: str
    body: str
    rest: str


def first_block(message: Message) -> Block | None:
    """The first block of a message of that protocol, or None where the lesson's pattern sees none."""
    content = message.get("content")
    if not isinstance(content, str) or not is_tool_response(message):
        return None
    found = re.match(_TOOL_RESPONSE, content)
    return None if found is None else Block(found[1], found[2], content[found.end() :])


def plan(entries: tuple[Entry, ...], parameters: PruneParameters, counter: TokenCounter) -> Plan:
    """Prune the results that stand before the newest `keep_turns` turns.

    Results are `role: tool` messages, and user messages of the second lesson's text protocol: of these the whole
    content becomes the first block in its plain form, and a tool's name must be a word (`list-file` is not seen).
    """
    if parameters.flavour == "robust":
        from triptych.layers import robust_prune  # on first use: the window opens without it

        return robust_prune.plan(entries, parameters, counter)
    messages = messages_of(entries)
    starts = turn_starts(messages)
    keep = parameters.keep_turns
    boundary = starts[-keep] if 0 < keep <= len(starts) else 0
    names = tool_names(messages[:boundary])
    mark = Pruned(keep_turns=keep)
    replacements = [
        (index, entries[index].replaced({**messages[index], "content": content}, mark))
        for index in range(boundary)
        if (content := _pruned_content(messages[index], names.get(index, ""), parameters)) is not None
    ]
    reason = _reason(starts, boundary, len(replacements), parameters)
    return make_plan("prune", entries, replacement_edits(entries, replacements), reason, counter)


def _pruned_content(message: Message, tool: str, parameters: PruneParameters) -> str | None:
    content = message.get("content")
    if not isinstance(content, str):
        return None
    if message.get("role") == "tool":
        return prune(content, tool, parameters)
    if (block := first_block(message)) is None:
        return None
    pruned = prune(block.body, block.tool, parameters)
    return None if pruned is None else f"<tool_response>\n[工具 {block.tool} 執行結果]：\n{pruned}\n</tool_response>"


def _reason(starts: Sequence[int], boundary: int, pruned: int, parameters: PruneParameters) -> Reason:
    values = {"turns": len(starts), "keep_turns": parameters.keep_turns, "pruned": pruned}
    variables = {"turns": shown_indices(starts), "boundary": boundary}
    if pruned:
        return Reason("prune.done", values, variables)
    if parameters.keep_turns == 0:
        return Reason("prune.keep_zero", values, variables)
    return Reason("prune.nothing_long" if boundary else "prune.nothing_old", values, variables)
