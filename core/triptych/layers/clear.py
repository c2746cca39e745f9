"""Layer 2: old tool results give way to a placeholder; call, result message and id stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from triptych.edits import replacement_edits
from triptych.entries import Cleared, Entry, messages_of
from triptych.layers.parameters import Flavour, at_least, one_of
from triptych.layers.plan import Plan, make_plan, shown_indices, tool_names
from triptych.messages import Message
from triptych.reasons import Reason
from triptych.tokens import TokenCounter

RECOMMENDED_PLACEHOLDER = "[旧工具结果已清理, 如有需要请重新调用工具]"
ROBUST_PLACEHOLDER = "[Old result of {tool} cleared: {characters} characters. Call it again if you need it.]"

_FROM_ZERO = (
    "minimum_gain",
    "from_tokens",
    "protect_tokens",
    "minimum_characters",
    "skip_turns",
    "head_characters",
    "tail_characters",
)


@dataclass(frozen=True, slots=True)
class ClearParameters:
    """Which results are cleared.

    keep: the newest results that stay, in messages; 0 or less clears all.
    placeholder: the text that stands for a cleared result. Robust: `{tool}`, `{arguments}` (as called) and
        `{characters}` (how many the result had) are filled in.
    exclude_tools: results of these tools are neither cleared nor counted.

    Robust only, which clears only what saves tokens, and nothing that is pinned or that the model has not answered yet:
    whole_batches: results of calls that were made together stay when one of them does.
    keep_errors: messages of tools that failed are neither cleared nor counted.
    minimum_gain: tokens by the estimator below which nothing is cleared: each clearing spoils the provider's cache.
    from_tokens: the list's tokens by the estimator below which nothing is cleared.
    protect_tokens: the newest results stay as long as they have no more tokens than this together.
    minimum_characters: results of fewer characters than this stay.
    skip_turns: results of the newest turns stay, in turns.
    head_characters, tail_characters: what a cleared result keeps before and after the placeholder.
    on_overflow_only: nothing is cleared unless the list is known to be too long for the model's window.
    """

    keep: int = 2
    placeholder: str = RECOMMENDED_PLACEHOLDER
    exclude_tools: tuple[str, ...] = ()
    whole_batches: bool = False
    keep_errors: bool = False
    minimum_gain: int = 0
    from_tokens: int = 0
    protect_tokens: int = 0
    minimum_characters: int = 0
    skip_turns: int = 0
    head_characters: int = 0
    tail_characters: int = 0
    on_overflow_only: bool = False
    flavour: Flavour = "lesson"

    def __post_init__(self) -> None:
        one_of("flavour", self.flavour, get_args(Flavour))
        for name in _FROM_ZERO:
            at_least(name, getattr(self, name), 0)

    @classmethod
    def lesson(cls) -> ClearParameters:
        """The first lesson's: keep 2, with the placeholder it recommends."""
        return cls()

    @classmethod
    def robust(cls) -> ClearParameters:
        """Keep 3 and what was called with them, and do nothing for less than 200 tokens."""
        return cls(3, ROBUST_PLACEHOLDER, whole_batches=True, minimum_gain=200, flavour="robust")


def tool_results(messages: Sequence[Message]) -> list[int]:
    """The indices of the results that the lesson counts."""
    return [index for index, message in enumerate(messages) if message.get("role") == "tool"]


def old_results(results: Sequence[int], keep: int) -> Sequence[int]:
    """All but the last `keep` of them; all where that is 0 or less."""
    return results[: max(len(results) - max(keep, 0), 0)]


def plan(
    entries: tuple[Entry, ...], parameters: ClearParameters, counter: TokenCounter, *, overflows: bool = True
) -> Plan:
    """Clear all tool results but the newest `keep`; a result that already is the placeholder is no change.

    overflows: the list is too long for the model's window; only `on_overflow_only` asks.
    """
    if parameters.flavour == "robust":
        from triptych.layers import robust_clear  # on first use: the window opens without it

        return robust_clear.plan(entries, parameters, counter, overflows=overflows)
    messages = messages_of(entries)
    results = tool_results(messages)
    if parameters.exclude_tools:
        names = tool_names(messages)
        results = [index for index in results if names.get(index) not in parameters.exclude_tools]
    old = old_results(results, parameters.keep)
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
