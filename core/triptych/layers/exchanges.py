"""Which messages belong together: calls with their results, and what the model has not answered yet."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from triptych.entries import Entry, Summary
from triptych.messages import (
    Message,
    ToolCall,
    answered_id,
    asks,
    call_ids,
    is_result,
    native,
    role_of,
    tool_call_at,
)

Place = tuple[int, int]
"""A call: the index of its message, and which of its calls it is."""


def owners(messages: Sequence[Message]) -> dict[int, Place]:
    """The call that each result answers, for results that answer one.

    Calls of the message right before a run of results come first, as an API pairs them; what is left is paired by
    occurrence. So ids that repeat, and calls that were never answered, put no later result to the wrong call.
    """
    found: dict[int, Place] = {}
    left: defaultdict[str, deque[Place]] = defaultdict(deque)
    near: dict[str, deque[Place]] = {}
    for index, message in enumerate(map(native, messages)):
        if is_result(message):
            call_id = answered_id(message)
            waiting = near.get(call_id) or left.get(call_id)
            if waiting:
                found[index] = waiting.popleft()
            continue
        if near:
            for call_id, places in near.items():
                if places:
                    left[call_id] += places
            near = {}
        for position, call_id in enumerate(call_ids(message)):
            near.setdefault(call_id, deque()).append((index, position))
    return found


def called(messages: Sequence[Message], owner: Place) -> ToolCall:
    """The call at a place."""
    return tool_call_at(native(messages[owner[0]]), owner[1])


def first_unanswered(messages: Sequence[Message]) -> int:
    """The index from which on the model has seen nothing yet: what stands behind its last message."""
    for index in range(len(messages) - 1, -1, -1):
        if role_of(messages[index]) == "assistant":
            return index + 1
    return 0


def pinned_indices(entries: Sequence[Entry], owner_of: Mapping[int, Place]) -> set[int]:
    """The entries that stay by a pin: a pinned call or result holds its whole exchange."""
    pinned = {index for index, entry in enumerate(entries) if entry.pinned}
    if not pinned:
        return pinned
    calling = pinned | {owner_of[index][0] for index in pinned if index in owner_of}
    return calling | {index for index, owner in owner_of.items() if owner[0] in calling}


def batches(results: Sequence[int], owner_of: Mapping[int, Place]) -> Iterator[list[int]]:
    """Results, in order, that answer calls of one message together; a result without a call is on its own."""
    batch: list[int] = []
    for index in results:
        owner = owner_of.get(index)
        if batch and (owner is None or owner[0] != owner_of.get(batch[-1], (None,))[0]):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def real_turn_starts(entries: Sequence[Entry]) -> list[int]:
    """The indices of user messages that a user asked: no summaries, no results in the text protocol."""
    return [index for index, entry in enumerate(entries) if asks(entry.message) and not entry.has_mark(Summary)]


def safe_cuts(messages: Sequence[Message], owner_of: Mapping[int, Place]) -> list[bool]:
    """For each index, and the end: whether a cut before it parts no result from its call."""
    changes = [0] * (len(messages) + 1)
    for index, owner in owner_of.items():
        changes[owner[0] + 1] += 1
        changes[index + 1] -= 1
    spanned = list(accumulate(changes))
    return [spanning == 0 for spanning in spanned]
