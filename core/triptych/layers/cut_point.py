"""Where layer 3 parts a list into what is old and what stays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Literal, NamedTuple, get_args

from triptych.entries import Acknowledgement, Entry, Summary, messages_of
from triptych.layers.exchanges import owners, pinned_indices, real_turn_starts, safe_cuts
from triptych.messages import is_result, is_tool_response, leading_system_count, role_of, tool_calls
from triptych.tokens import TokenCounter

Way = Literal["turns", "fewer_turns", "inside_turn"]
WAYS: tuple[Way, ...] = get_args(Way)


class CutPoint(NamedTuple):
    """`entries[start:cut]` is old, save what `stays`: indices of what is pinned and of a parted turn's question.

    way: `turns` where as many stay as asked for, `fewer_turns` where these are too long, `inside_turn` where the newest
    alone is. turns: how many there are.
    """

    start: int
    cut: int
    stays: frozenset[int]
    way: Way
    turns: int


def cut_point(entries: Sequence[Entry], keep_turns: int, budget: int | None, counter: TokenCounter) -> CutPoint:
    """The cut that keeps the newest `keep_turns` turns, or what of them fits into `budget` (a weight).

    It never parts a result from its call, and stands before a user message; only within the newest turn before an
    assistant message that follows results, so that all that is old has been answered.
    """
    messages = messages_of(entries)
    owner_of = owners(messages)
    is_safe = safe_cuts(messages, owner_of)
    start, turns = leading_system_count(messages), real_turn_starts(entries)
    pinned = pinned_indices(entries, owner_of)
    starts = [index for index in turns if index >= start and is_safe[index]]

    def found(cut: int, way: Way, question: Sequence[int] = ()) -> CutPoint:
        return CutPoint(start, cut, frozenset((*pinned, *question)), way, len(turns))

    base = _base(entries, keep_turns, start, turns, starts)
    room = _room(entries, pinned, budget, counter)
    if room is None or room[base] >= 0:
        return found(base, "turns")
    for index in starts:
        if index > base and room[index] >= 0:
            return found(index, "fewer_turns")
    newest = turns[-1] if turns else start
    question = turns[-1:]
    needed = sum(counter.weight(entries[index]) for index in question)
    batch_ends = [
        index
        for index in range(newest + 1, len(entries))
        if is_safe[index]
        and role_of(messages[index]) == "assistant"
        and (is_result(messages[index - 1]) or is_tool_response(messages[index - 1]))
    ]
    if batch_ends:
        fitting = (index for index in batch_ends if room[index] >= needed)
        return found(next(fitting, batch_ends[-1]), "inside_turn", question)
    least = max((base, *starts[-1:]))
    return found(least, "fewer_turns" if least > base else "turns")


def _base(entries: Sequence[Entry], keep_turns: int, start: int, turns: Sequence[int], starts: Sequence[int]) -> int:
    """The cut that keeps so many turns, moved back to one that parts nothing."""
    if keep_turns == 0:
        wanted = len(entries) if _is_at_rest(entries) else turns[-1] if turns else start
    else:
        wanted = turns[-keep_turns] if len(turns) > keep_turns else start
    if wanted == len(entries):
        return wanted
    return max((start, *(index for index in starts if index <= wanted)))


def _is_at_rest(entries: Sequence[Entry]) -> bool:
    """Whether the model has had the last word, and asks for nothing."""
    return bool(entries) and role_of(entries[-1].message) == "assistant" and not tool_calls(entries[-1].message)


def _room(entries: Sequence[Entry], pinned: set[int], budget: int | None, counter: TokenCounter) -> list[int] | None:
    """For each cut, and the end: what of the budget is left when all behind it stays; None without a budget.

    What stays in any case does not count.
    """
    if budget is None:
        return None
    weights = [
        0 if index in pinned or entry.has_mark(Summary) or entry.has_mark(Acknowledgement) else counter.weight(entry)
        for index, entry in enumerate(entries)
    ]
    return [budget - weight for weight in accumulate(reversed(weights), initial=0)][::-1]
