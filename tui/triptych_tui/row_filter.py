"""Which rows of the messages pane are shown: `role:tool mark:cleared tool:read_file` and words of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from triptych.messages import answered_id, is_result, native, tool_calls
from triptych.reasons import TriptychError
from triptych_tui.search import Matcher, plain_matcher, texts_of
from triptych_tui.sheet import Sheet, role_letter

_KEYS = {"role": "role", "角色": "role", "mark": "mark", "标记": "mark", "標記": "mark", "tool": "tool", "工具": "tool"}
_WORD = re.compile(r"([^:：]+)[:：](.*)", re.DOTALL)

ROLE_WORDS: Mapping[str, tuple[str, ...]] = {
    "S": ("system", "developer", "系统", "系統"),
    "U": ("user", "用户", "使用者"),
    "A": ("assistant", "助手"),
    "T": ("tool", "result", "工具", "工具结果", "工具執行結果"),
    "Σ": ("summary", "摘要"),
}
"""The words for each letter of the gutter, whatever the interface's language."""

MARK_WORDS: Mapping[str, tuple[str, ...]] = {
    "truncated": ("trunc", "truncated", "截断", "已截断", "截斷", "已截斷"),
    "cleared": ("cleared", "清理", "已清理"),
    "pruned": ("pruned", "裁剪", "已裁剪"),
    "summary": ("summary", "摘要"),
    "acknowledgement": ("ack", "acknowledgement", "固定回复", "固定回覆"),
    "interrupted": ("stopped", "interrupted", "已中断", "已中斷"),
    "repaired": ("fixed", "repaired", "已修复", "已修復"),
    "pinned": ("pinned", "钉住", "釘選"),
    "orphan": ("orphan", "孤立"),
}
"""The words for each mark, and for the two that are derived."""


class FilterError(TriptychError):
    """A role or a mark that there is not."""


@dataclass(frozen=True, slots=True, eq=False)
class RowFilter:
    """Shows entries of any of the roles, with any of the marks, of any of the tools, with all of the words.

    What is empty excludes nothing. `text` is what the user wrote.
    """

    text: str
    roles: frozenset[str]
    marks: frozenset[str]
    tools: tuple[str, ...]
    words: tuple[Matcher, ...]

    def rows(self, sheet: Sheet, start: int = 0) -> list[int]:
        """The indices, from `start` on, of the entries to be shown."""
        return [index for index in range(start, len(sheet.entries)) if self._shows(sheet, index)]

    def _shows(self, sheet: Sheet, index: int) -> bool:
        entry = sheet.entries[index]
        return (
            (not self.roles or role_letter(entry) in self.roles)
            and (not self.marks or not self.marks.isdisjoint(_mark_names(sheet, index)))
            and (not self.tools or any(tool in name for name in _tool_names(sheet, index) for tool in self.tools))
            and all(any(map(matches, texts_of(entry.message))) for matches in self.words)
        )


def parse_filter(text: str) -> RowFilter:
    """The filter that a user wrote. Raises FilterError naming the word that is none, and those that there are."""
    found: dict[str, list[str]] = {"role": [], "mark": [], "tool": [], "": []}
    for word in text.split():
        pair = _WORD.fullmatch(word)
        key = _KEYS.get(pair[1].casefold()) if pair else None
        found[key or ""].append(pair[2].casefold() if pair and key else word)
    return RowFilter(
        text=" ".join(text.split()),
        roles=frozenset().union(*(_meant(word, ROLE_WORDS) for word in found["role"])),
        marks=frozenset().union(*(_meant(word, MARK_WORDS) for word in found["mark"])),
        tools=tuple(found["tool"]),
        words=tuple(map(plain_matcher, found[""])),
    )


def _meant(word: str, words: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """The roles or marks that a word names, or begins the names of."""
    named = {name for name, known in words.items() if word in known}
    meant = named or {name for name, known in words.items() if word and any(each.startswith(word) for each in known)}
    if not meant:
        raise FilterError("filter.unknown_word", word=word, known=", ".join(known[0] for known in words.values()))
    return frozenset(meant)


def _mark_names(sheet: Sheet, index: int) -> Iterator[str]:
    entry = sheet.entries[index]
    yield from (mark.name for mark in entry.marks)
    if entry.pinned:
        yield "pinned"
    if sheet.outline.is_orphan(index):
        yield "orphan"


def _tool_names(sheet: Sheet, index: int) -> Iterator[str]:
    """The tools that an entry calls, or whose result it is, in small letters."""
    message, group = native(sheet.entries[index].message), sheet.outline.group_at(index)
    if not is_result(message):
        yield from (call.name.casefold() for call in tool_calls(message))
        return
    if isinstance(message.get("name"), str):
        yield message["name"].casefold()
    if group is not None and answered_id(message):
        calls = tool_calls(sheet.entries[group.call_index].message)
        yield from (call.name.casefold() for call in calls if call.id == answered_id(message))
