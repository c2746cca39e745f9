"""Where layer 3 parts a list into what is old and what stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from triptych.entries import Acknowledgement, Entry, Summary
from triptych.layers.exchanges import Exchanges
from triptych.layers.summarize import SummarizeParameters
from triptych.messages import Message, is_result, leading_system_count, role_of, tool_calls
from triptych.tokens import TokenCounter

Way = Literal["turns", "fewer_turns", "inside_turn", "messages", "part", "questions"]
WAYS: tuple[Way, ...] = get_args(Way)


class CutPoint(NamedTuple):
    """`entries[start:cut]` is old, save what `stays`: indices of what is pinned and of questions.

    way: `turns`, `messages` or `part` where as much stays as these ask for; `fewer_turns` where that is too long,
        `inside_turn` where the newest turn alone is; `questions` where nothing else stays. turns: how many there are.
    """

    start: int
    cut: int
    stays: frozenset[int]
    way: Way
    turns: int


class _Ground(NamedTuple):
    """A list, and where it can be parted.

    start: how many messages at the beginning stay. is_safe: for each index whether a cut before it parts no result
    from its call. turns: the indices of questions. starts: of those behind the beginning that a cut can stand before.
    """

    entries: Sequence[Entry]
    messages: Sequence[Message]
    start: int
    is_safe: Sequence[bool]
    turns: Sequence[int]
    starts: Sequence[int]
    pinned: set[int]
    counter: TokenCounter


def cut_point(
    exchanges: Exchanges, parameters: SummarizeParameters, budget: int | None, counter: TokenCounter
) -> CutPoint:
    """The cut behind which stays what the parameters ask for, or what of that fits into `budget` (a weight).

    It never parts a result from its call. By turns it stands before a question; only within the newest turn before an
    assistant message that follows results, so that all that is old has been answered. The question of a newest turn
    that is parted stays.
    """
    entries, messages, turns, is_safe = exchanges.entries, exchanges.messages, exchanges.turns, exchanges.is_safe
    start = _start(entries, messages, parameters.keep_first, is_safe)
    starts = [index for index in turns if index >= start and is_safe[index]]
    ground = _Ground(entries, messages, start, is_safe, turns, starts, exchanges.pinned, counter)
    cut, way = _wanted(ground, parameters)
    if parameters.keep_part is not None and _has_nothing_new(entries):
        cut = start  # a part of what was left would be less each time
    elif not parameters.summary_last:
        cut, way = _within(ground, cut, way, budget)
    parted = turns[-1:] if turns and turns[-1] < cut < len(entries) else ()
    stays = {*ground.pinned, *parted, *_questions(ground, cut, parameters.keep_question_tokens)}
    answers = (index for index, owner in exchanges.owners.items() if owner.calling < start or owner.calling in stays)
    return CutPoint(start, cut, frozenset((*stays, *answers)), way, len(turns))


def _start(entries: Sequence[Entry], messages: Sequence[Message], keep_first: int, is_safe: Sequence[bool]) -> int:
    """Behind the first messages that stay; an earlier summary is none of them."""
    systems = leading_system_count(messages)
    if keep_first <= systems:
        return systems
    summary = next((index for index, entry in enumerate(entries) if entry.has_mark(Summary)), len(entries))
    wanted = min(keep_first, summary)
    return next((index for index in range(wanted, systems, -1) if is_safe[index]), systems)


def _wanted(ground: _Ground, parameters: SummarizeParameters) -> tuple[int, Way]:
    """The cut that keeps what is asked for, where there are several that keeps most."""
    if parameters.summary_last:
        return len(ground.entries), "questions"
    cuts: list[tuple[int, Way]] = []
    if parameters.keep_messages is not None:
        cuts.append((_by_messages(ground, parameters.keep_messages, parameters.count_results), "messages"))
    if parameters.keep_part is not None:
        cuts.append((_by_part(ground, parameters.keep_part, parameters.keep_messages is not None), "part"))
    return min(cuts, default=(_by_turns(ground, parameters.keep_turns), "turns"))


def _by_turns(ground: _Ground, keep: int) -> int:
    """The cut that keeps so many turns, moved back to one that parts nothing."""
    if keep == 0:
        wanted = len(ground.entries) if _is_at_rest(ground) else ground.turns[-1] if ground.turns else ground.start
    else:
        wanted = ground.turns[-keep] if len(ground.turns) > keep else ground.start
    if wanted == len(ground.entries):
        return wanted
    return max((ground.start, *(index for index in ground.starts if index <= wanted)))


def _by_messages(ground: _Ground, keep: int, count_results: bool) -> int:
    """The cut that keeps so many messages, moved back to one that parts nothing."""
    counted = [index for index, message in enumerate(ground.messages) if count_results or not is_result(message)]
    wanted = counted[-keep] if len(counted) >= keep else 0
    return next((index for index in range(wanted, ground.start, -1) if ground.is_safe[index]), ground.start)


def _by_part(ground: _Ground, part: float, anywhere: bool) -> int:
    """The cut that keeps no more than this part of the list's weight."""
    weights = [ground.counter.weight(entry) for entry in ground.entries[ground.start :]]
    kept, allowed = sum(weights), part * sum(weights)
    starts = frozenset(ground.starts)
    for index, weight in enumerate(weights, ground.start):
        if kept <= allowed and (ground.is_safe[index] if anywhere else index in starts):
            return index
        kept -= weight
    return _by_turns(ground, 0)


def _has_nothing_new(entries: Sequence[Entry]) -> bool:
    """Whether nothing was added since the newest summary."""
    newest = max((entry.id for entry in entries if entry.has_mark(Summary)), default=None)
    return newest is not None and all(entry.id <= newest or entry.has_mark(Acknowledgement) for entry in entries)


def _within(ground: _Ground, base: int, way: Way, budget: int | None) -> tuple[int, Way]:
    """The cut at `base`, or one that keeps less, so that what stays is within the budget."""
    room = {} if budget is None else _room(ground, base, budget)
    if room.get(base, 0) >= 0:
        return base, way
    for index in ground.starts:
        if index > base and room[index] >= 0:
            return index, "fewer_turns"
    newest = ground.turns[-1] if ground.turns else ground.start
    needed = sum(ground.counter.weight(ground.entries[index]) for index in ground.turns[-1:])
    batch_ends = [index for index in range(max(newest + 1, base), len(ground.entries)) if _ends_batch(ground, index)]
    if batch_ends:
        fitting = (index for index in batch_ends if room[index] >= needed)
        return next(fitting, batch_ends[-1]), "inside_turn"
    least = max((base, *ground.starts[-1:]))
    return least, "fewer_turns" if least > base else way


def _ends_batch(ground: _Ground, index: int) -> bool:
    """Whether the model goes on here after a complete batch of results."""
    is_answer = ground.is_safe[index] and role_of(ground.messages[index]) == "assistant"
    return is_answer and is_result(ground.messages[index - 1])


def _is_at_rest(ground: _Ground) -> bool:
    """Whether the model has had the last word, and asks for nothing."""
    messages = ground.messages
    return bool(messages) and role_of(messages[-1]) == "assistant" and not tool_calls(messages[-1])


def _questions(ground: _Ground, cut: int, tokens: int | None) -> Iterator[int]:
    """The newest questions before the cut that have no more tokens than this together; of all the newest anyhow."""
    if tokens is None:
        return
    left = tokens * ground.counter.estimator.denominator
    for index in reversed(ground.turns):
        if index < cut:
            left -= ground.counter.weight(ground.entries[index])
            if left < 0 and index != ground.turns[-1]:
                return
            yield index


def _room(ground: _Ground, base: int, budget: int) -> dict[int, int]:
    """For each cut from `base` on, and the end: what of the budget is left when all behind it stays.

    What stays in any case does not count.
    """
    left, room = budget, {len(ground.entries): budget}
    for index in range(len(ground.entries) - 1, base - 1, -1):
        entry = ground.entries[index]
        if index not in ground.pinned and not entry.has_mark(Summary) and not entry.has_mark(Acknowledgement):
            left -= ground.counter.weight(entry)
        room[index] = left
    return room
