"""Layer 2 as one would ship it: what was answered long ago goes, where that is worth it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from triptych.edits import replacement_edits
from triptych.entries import Cleared, Entry
from triptych.layers.clear import ClearParameters
from triptych.layers.cutting import boundary_after, boundary_before, filled, one_line
from triptych.layers.exchanges import Exchanges, exchanges_of
from triptych.layers.plan import Plan, make_plan
from triptych.messages import Message, is_failed_result, is_result, text_of, with_result_texts
from triptych.reasons import Reason
from triptych.tokens import TokenCounter

LONGEST_ARGUMENTS = 80
"""Characters of a call's arguments that a placeholder repeats."""


def plan(entries: tuple[Entry, ...], parameters: ClearParameters, counter: TokenCounter, *, overflows: bool) -> Plan:
    """Clear the results that are old by every parameter, all together or, where that gains too little, none."""
    tokens = counter.count(entries).tokens
    if (reason := too_early(parameters, tokens, overflows=overflows)) is not None:
        return make_plan("clear", entries, (), reason, counter)
    exchanges = exchanges_of(entries)
    results = list(_counted(exchanges, parameters))
    old = _old(exchanges, results, parameters, counter)
    replacements, gain = _replacements(exchanges, old, parameters, counter)
    values = {"results": len(results), "keep": max(parameters.keep, 0), "cleared": len(replacements)}
    if not replacements:
        reason = Reason("clear.nothing_to_gain", values) if old else _why_none_is_old(entries, results, values)
    elif counter.tokens(gain) < parameters.minimum_gain:
        short = {**values, "gain": counter.tokens(gain), "minimum": parameters.minimum_gain}
        reason, replacements = Reason("clear.too_little", short), []
    else:
        reason = Reason("clear.gained", {**values, "gain": counter.tokens(gain)})
    return make_plan("clear", entries, replacement_edits(entries, replacements), reason, counter)


def _why_none_is_old(entries: Sequence[Entry], results: Sequence[int], values: Mapping[str, int]) -> Reason:
    older = results[: max(len(results) - values["keep"], 0)]
    if not older:
        return Reason("clear.nothing_old", values)
    is_over = all(entries[index].has_mark(Cleared) for index in older)
    return Reason("clear.all_cleared_before" if is_over else "clear.older_stay", values)


def too_early(parameters: ClearParameters, tokens: int, *, overflows: bool) -> Reason | None:
    """Why nothing is cleared yet in a list of so many tokens, None where something may be."""
    if parameters.on_overflow_only and not overflows:
        return Reason("clear.no_overflow")
    if tokens < parameters.from_tokens:
        return Reason("clear.list_short", {"tokens": tokens, "from_tokens": parameters.from_tokens})
    return None


def _counted(exchanges: Exchanges, parameters: ClearParameters) -> Iterable[int]:
    """The results that may be cleared or count among those that stay."""
    results: Iterable[int] = exchanges.results
    if parameters.keep_errors:
        results = (index for index in results if not is_failed_result(exchanges.messages[index]))
    if parameters.exclude_tools:
        results = (index for index in results if not _is_excluded(exchanges, index, parameters))
    return results


def _is_excluded(exchanges: Exchanges, index: int, parameters: ClearParameters) -> bool:
    return index in exchanges.owners and exchanges.tool_of(index) in parameters.exclude_tools


def _old(exchanges: Exchanges, results: Sequence[int], parameters: ClearParameters, counter: TokenCounter) -> list[int]:
    """The results that nothing keeps."""
    entries, pinned = exchanges.entries, exchanges.pinned
    old = results[: _count_of_old(exchanges, results, parameters, counter)]
    end = exchanges.unanswered_start
    if skipped := parameters.skip_turns:
        end = min(end, exchanges.turns[-skipped] if len(exchanges.turns) >= skipped else 0)
    found = [index for index in old if index < end and index not in pinned and not entries[index].has_mark(Cleared)]
    if least := parameters.minimum_characters:
        return [index for index in found if len(text_of(exchanges.messages[index])) >= least]
    return found


def _count_of_old(
    exchanges: Exchanges, results: Sequence[int], parameters: ClearParameters, counter: TokenCounter
) -> int:
    """How many of the results come before those that stay for being the newest."""
    count = max(len(results) - max(parameters.keep, 0), 0)
    protected = parameters.protect_tokens * counter.estimator.denominator
    while count and (protected := protected - counter.weight(exchanges.entries[results[count - 1]])) >= 0:
        count -= 1
    if not parameters.whole_batches or count == len(results):
        return count
    passed = 0
    for batch in exchanges.batches(results):
        if passed + len(batch) > count:
            break
        passed += len(batch)
    return passed


def _replacements(
    exchanges: Exchanges, old: Sequence[int], parameters: ClearParameters, counter: TokenCounter
) -> tuple[list[tuple[int, Entry]], int]:
    """The results with their placeholders, where that is less than there was, and how much less it is (a weight)."""
    replacements, whole = list[tuple[int, Entry]](), 0
    mark = Cleared(keep=parameters.keep)
    for index in old:
        entry = exchanges.entries[index]
        message = _with_content(entry.message, _content(exchanges, index, parameters))
        weight = counter.message_weight(message)
        if (gain := counter.weight(entry) - weight) > 0:
            cleared = entry.replaced(message, mark)
            cleared.remember_weight(counter.estimator, weight)
            replacements.append((index, cleared))
            whole += gain
    return replacements, whole


def _with_content(message: Message, content: str) -> Message:
    return {**message, "content": content} if is_result(message) else with_result_texts(message, [content])


def _content(exchanges: Exchanges, index: int, parameters: ClearParameters) -> str:
    """The placeholder, between what stays of the text."""
    text, template = text_of(exchanges.messages[index]), parameters.placeholder
    values: dict[str, object] = {"tool": exchanges.tool_of(index), "characters": len(text)}
    if "{arguments}" in template:
        call = exchanges.call_of(index)
        values["arguments"] = "" if call is None else one_line(call.arguments, LONGEST_ARGUMENTS)
    placeholder = filled(template, values)
    if not parameters.head_characters + parameters.tail_characters:
        return placeholder
    head_end = boundary_before(text, parameters.head_characters)
    tail_start = boundary_after(text, max(len(text) - parameters.tail_characters, head_end))
    return "\n".join(filter(None, (text[:head_end], placeholder, text[tail_start:])))
