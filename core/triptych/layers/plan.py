"""What a layer would do, as a value: showing it and doing it use the same object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triptych.edits import Edit
from triptych.entries import Entry
from triptych.messages import Message, native, pair_calls, tool_calls
from triptych.reasons import Reason
from triptych.stages import Stage
from triptych.tokens import Count, TokenCounter


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The edits of one stage with their reason, and the list's size before and after. Doing it is applying `edits`.

    A plan without edits says by its reason why there is nothing to do.
    """

    stage: Stage
    edits: tuple[Edit, ...]
    reason: Reason
    before: Count
    after: Count


def make_plan(
    stage: Stage, entries: Sequence[Entry], edits: tuple[Edit, ...], reason: Reason, counter: TokenCounter
) -> Plan:
    """A plan whose counts are worked out from the edits."""
    weight = counter.total(entries)
    before = Count(len(entries), counter.tokens(weight))
    removed = [entry for edit in edits for entry in edit.removed]
    inserted = [entry for edit in edits for entry in edit.inserted]
    weight += counter.total(inserted) - counter.total(removed)
    after = Count(len(entries) - len(removed) + len(inserted), counter.tokens(weight))
    return Plan(stage, edits, reason, before, after)


def tool_names(messages: Sequence[Message]) -> Mapping[int, str]:
    """The tool's name for the index of each paired result."""
    return {
        index: tool_calls(native(messages[place[0]]))[place[1]].name
        for index, place in pair_calls(messages).results.items()
        if place is not None
    }


def shown_indices(indices: Sequence[int]) -> tuple[int | str, ...]:
    """Indices for a reason's variables; a long list is shortened, so that a reason stays small."""
    if len(indices) <= 12:
        return tuple(indices)
    return (*indices[:5], f"… {len(indices) - 10} …", *indices[-5:])


def kept_prefix(entries: Sequence[Entry], edits: Sequence[Edit], counter: TokenCounter) -> Count:
    """How much of the list's beginning the edits leave as it is: what a provider's prompt cache can still use."""
    length = min((edit.index for edit in edits), default=len(entries))
    return counter.count(entries[:length])
