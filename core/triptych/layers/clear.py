"""Layer 2: old tool results give way to a placeholder; call, result message and id stay."""

from __future__ import annotations

from dataclasses import dataclass

from triptych.edits import replacement_edits
from triptych.entries import Cleared, Entry, messages_of
from triptych.layers.plan import Plan, make_plan, shown_indices, tool_names
from triptych.reasons import Reason
from triptych.tokens import TokenCounter

RECOMMENDED_PLACEHOLDER = "[旧工具结果已清理, 如有需要请重新调用工具]"


@dataclass(frozen=True, slots=True)
class ClearParameters:
    """Which results are cleared.

    keep: the newest results that stay, in messages; 0 or less clears all.
    placeholder: the text that stands for a cleared result.
    exclude_tools: results of these tools are neither cleared nor counted.
    """

    keep: int = 2
    placeholder: str = RECOMMENDED_PLACEHOLDER
    exclude_tools: tuple[str, ...] = ()

    @classmethod
    def lesson(cls) -> ClearParameters:
        """The first lesson's: keep 2, with the placeholder it recommends."""
        return cls()


def plan(entries: tuple[Entry, ...], parameters: ClearParameters, counter: TokenCounter) -> Plan:
    """Clear all tool results but the newest `keep`; a result that already is the placeholder is no change."""
    results = [index for index, entry in enumerate(entries) if entry.message.get("role") == "tool"]
    if parameters.exclude_tools:
        names = tool_names(messages_of(entries))
        results = [index for index in results if names.get(index) not in parameters.exclude_tools]
    old = results[: max(len(results) - max(parameters.keep, 0), 0)]
    mark, placeholder = Cleared(keep=parameters.keep), parameters.placeholder
    replacements = [
        (index, entries[index].replaced({**entries[index].message, "content": placeholder}, mark))
        for index in old
        if entries[index].message.get("content") != placeholder
    ]
    variables = {"tool_msgs": shown_indices(results), "old_tool_msgs": shown_indices(old)}
    values = {"results": len(results), "keep": max(parameters.keep, 0), "cleared": len(replacements)}
    if replacements:
        reason = Reason("clear.done" if parameters.keep > 0 else "clear.none_kept", values, variables)
    else:
        reason = Reason("clear.all_cleared_before" if old else "clear.nothing_old", values, variables)
    return make_plan("clear", entries, replacement_edits(entries, replacements), reason, counter)
