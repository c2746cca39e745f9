"""Layer 2 as one would ship it: what was answered long ago goes, where that is worth it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from triptych.edits import replacement_edits
from triptych.entries import Cleared, Entry, messages_of
from triptych.layers.clear import ClearParameters
from triptych.layers.cutting import boundary_after, boundary_before, filled, one_line
from triptych.layers.exchanges import (
    Place,
    batches,
    called,
    first_unanswered,
    owners,
    pinned_indices,
    real_turn_starts,
)
from triptych.layers.plan import Plan, make_plan
from triptych.messages import (
    Message,
    ToolCall,
    carries_result,
    is_failed_result,
    is_result,
    native,
    text_of,
    with_result_texts,
)
from triptych.reasons import Reason
from triptych.tokens import TokenCounter

LONGEST_ARGUMENTS = 80
"""Characters of a call's arguments that a placeholder repeats."""


def plan(entries: tuple[Entry, ...], parameters: ClearParameters, counter: TokenCounter, *, overflows: bool) -> Plan:
    """Clear the results that are old by every parameter, all together or, where that gains too little, none."""
    if (reason := _too_early(entries, parameters, counter, overflows=overflows)) is not None:
        return make_plan("clear", entries, (), reason, counter)
    messages = messages_of(entries)
    owner_of = owners(messages) if _asks_for_calls(entries, parameters) else {}
    results = list(_counted(messages, owner_of, parameters))
    old = _old(entries, results, owner_of, parameters, counter)
    found = list(_replacements(entries, old, owner_of, parameters, counter))
    replacements, gain = [(index, entry) for index, entry, _gain in found], sum(gain for *_, gain in found)
    values = {"results": len(results), "keep": max(parameters.keep, 0), "cleared": len(replacements)}
    if not replacements:
        reason = Reason("clear.nothing_to_gain" if old else "clear.nothing_old", values)
    elif counter.tokens(gain) < parameters.minimum_gain:
        short = {**values, "gain": counter.tokens(gain), "minimum": parameters.minimum_gain}
        reason, replacements = Reason("clear.too_little", short), []
    else:
        reason = Reason("clear.gained", {**values, "gain": counter.tokens(gain)})
    return make_plan("clear", entries, replacement_edits(entries, replacements), reason, counter)


def _asks_for_calls(entries: Sequence[Entry], parameters: ClearParameters) -> bool:
    """Whether it matters which call a result answers: to find that takes long."""
    names = "{tool}" in parameters.placeholder or "{arguments}" in parameters.placeholder
    return names or parameters.whole_batches or bool(parameters.exclude_tools) or any(each.pinned for each in entries)


def _too_early(
    entries: Sequence[Entry], parameters: ClearParameters, counter: TokenCounter, *, overflows: bool
) -> Reason | None:
    if parameters.on_overflow_only and not overflows:
        return Reason("clear.no_overflow")
    if parameters.from_tokens and (tokens := counter.count(entries).tokens) < parameters.from_tokens:
        return Reason("clear.list_short", {"tokens": tokens, "from_tokens": parameters.from_tokens})
    return None


def _counted(messages: Sequence[Message], owner_of: Mapping[int, Place], parameters: ClearParameters) -> Iterator[int]:
    """The results that may be cleared or count among those that stay."""
    for index, message in enumerate(messages):
        if not carries_result(message) or (parameters.keep_errors and is_failed_result(message)):
            continue
        tool = called(messages, owner_of[index]).name if parameters.exclude_tools and index in owner_of else None
        if tool not in parameters.exclude_tools:
            yield index


def _old(
    entries: Sequence[Entry],
    results: Sequence[int],
    owner_of: Mapping[int, Place],
    parameters: ClearParameters,
    counter: TokenCounter,
) -> list[int]:
    """The results that nothing keeps."""
    old = results[: _count_of_old(entries, results, owner_of, parameters, counter)]
    end = first_unanswered(messages_of(entries))
    if parameters.skip_turns:
        starts = real_turn_starts(entries)
        end = min(end, starts[-parameters.skip_turns] if len(starts) >= parameters.skip_turns else 0)
    pinned = pinned_indices(entries, owner_of)
    return [
        index
        for index in old
        if index < end
        and index not in pinned
        and not entries[index].has_mark(Cleared)
        and _is_long_enough(entries[index].message, parameters)
    ]


def _is_long_enough(result: Message, parameters: ClearParameters) -> bool:
    return not parameters.minimum_characters or len(text_of(native(result))) >= parameters.minimum_characters


def _count_of_old(
    entries: Sequence[Entry],
    results: Sequence[int],
    owner_of: Mapping[int, Place],
    parameters: ClearParameters,
    counter: TokenCounter,
) -> int:
    """How many of the results come before those that stay for being the newest."""
    count = max(len(results) - max(parameters.keep, 0), 0)
    protected = parameters.protect_tokens * counter.estimator.denominator
    while count and (protected := protected - counter.weight(entries[results[count - 1]])) >= 0:
        count -= 1
    if not parameters.whole_batches or count == len(results):
        return count
    passed = 0
    for batch in batches(results, owner_of):
        if passed + len(batch) > count:
            break
        passed += len(batch)
    return passed


def _replacements(
    entries: Sequence[Entry],
    old: Sequence[int],
    owner_of: Mapping[int, Place],
    parameters: ClearParameters,
    counter: TokenCounter,
) -> Iterator[tuple[int, Entry, int]]:
    """The results with their placeholders, where that is less than there was, and how much less it is (a weight)."""
    messages = messages_of(entries)
    mark = Cleared(keep=parameters.keep)
    is_fixed = "{" not in parameters.placeholder and not parameters.head_characters + parameters.tail_characters
    for index in old:
        owner = owner_of.get(index)
        call = None if owner is None else called(messages, owner)
        content = parameters.placeholder if is_fixed else _content(text_of(native(messages[index])), call, parameters)
        entry = entries[index].replaced(_with_content(messages[index], content), mark)
        if (gain := counter.weight(entries[index]) - counter.weight(entry)) > 0:
            yield index, entry, gain


def _with_content(message: Message, content: str) -> Message:
    return {**message, "content": content} if is_result(message) else with_result_texts(message, [content])


def _content(text: str, call: ToolCall | None, parameters: ClearParameters) -> str:
    """The placeholder, between what stays of the text."""
    values: dict[str, object] = {"tool": call.name if call else "", "characters": len(text)}
    if "{arguments}" in parameters.placeholder:
        values["arguments"] = one_line(call.arguments, LONGEST_ARGUMENTS) if call else ""
    placeholder = filled(parameters.placeholder, values)
    head_end = boundary_before(text, parameters.head_characters)
    tail_start = boundary_after(text, max(len(text) - parameters.tail_characters, head_end))
    return "\n".join(filter(None, (text[:head_end], placeholder, text[tail_start:])))
