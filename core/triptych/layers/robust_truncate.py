"""Layer 1 as one would ship it: within the limit in all, no grapheme parted, and only where it saves tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from triptych.edits import replacement_edits
from triptych.entries import Entry, Truncated
from triptych.layers.cutting import clip_lines, filled, shortened, size
from triptych.layers.exchanges import Exchanges, exchanges_of
from triptych.layers.parameters import UNITS
from triptych.layers.plan import Plan, make_plan
from triptych.layers.truncate import TruncateParameters
from triptych.messages import Message, is_failed_result, native, text_of, texts_of, with_result_texts
from triptych.reasons import Reason
from triptych.tokens import TokenCounter

_WITHIN = ("truncate.within_limit", "truncate.within_lines", "truncate.within_bytes")
_SHORTENED = ("truncate.shortened_characters", "truncate.shortened_lines", "truncate.shortened_bytes")
"""Reasons, in the order of the units."""


class _Seen(NamedTuple):
    """What was found about one candidate. `message` is the shorter one, None where it stays; `reason` tells why."""

    place: int
    limit: int
    message: Message | None
    reason: Reason


def plan(
    entries: tuple[Entry, ...],
    candidates: Sequence[int],
    parameters: TruncateParameters,
    counter: TokenCounter,
    *,
    failed: bool,
) -> Plan:
    """Cut those of the results at `candidates` that are over their limit; a pinned one stays as it is."""
    exchanges = exchanges_of(entries) if "{tool}" in parameters.notice and candidates else None
    seen = [_seen(index, entries, exchanges, parameters, counter, failed) for index in candidates]
    cuts = [each for each in seen if each.message is not None]
    edits = replacement_edits(entries, [(each.place, _cut_entry(entries[each.place], each)) for each in cuts])
    return make_plan("truncate", entries, edits, _reason(seen, cuts), counter)


def _seen(
    index: int,
    entries: Sequence[Entry],
    exchanges: Exchanges | None,
    parameters: TruncateParameters,
    counter: TokenCounter,
    failed: bool,
) -> _Seen:
    entry, unit, limit = entries[index], parameters.unit, parameters.limit
    result = native(entry.message)
    if parameters.error_limit is not None and (failed or is_failed_result(result)):
        limit = parameters.error_limit
    length = size(text_of(result), unit)
    values = {"length": length, "limit": limit}
    if entry.pinned:
        return _Seen(index, limit, None, Reason("truncate.pinned"))
    if entry.has_mark(Truncated):
        return _Seen(index, limit, None, Reason("truncate.already_cut", {"length": length, "again": None}))
    within = _Seen(index, limit, None, Reason(_WITHIN[UNITS.index(unit)], values))
    if length <= limit and parameters.max_line is None:
        return within
    texts, tool = texts_of(result), "" if exchanges is None else exchanges.tool_of(index)
    cut = cut_texts(texts, limit, parameters, tool)
    if cut == texts:
        return within
    message = with_result_texts(entry.message, cut)
    if counter.message_weight(message) >= counter.weight(entry):
        return _Seen(index, limit, None, Reason("truncate.saves_nothing", values))
    shorter = {**values, "result_length": size(text_of(native(message)), unit)}
    return _Seen(index, limit, message, Reason(_SHORTENED[UNITS.index(unit)], shorter))


def cut_texts(texts: Sequence[str], limit: int, parameters: TruncateParameters, tool: str) -> list[str]:
    """The texts of one content, as much of them as may stay; the very same when that is all."""
    longest, unit = parameters.max_line, parameters.unit
    clipped = list(texts) if longest is None else [clip_lines(text, longest) for text in texts]

    def notice(omitted: int) -> str:
        return filled(parameters.notice, {"omitted": omitted, "unit": unit, "tool": tool})

    cut = shortened(clipped, limit, unit, parameters.head_share, notice)
    if cut is None:
        return clipped
    # The notice may have made two short lines one long one.
    return cut if longest is None else [clip_lines(text, longest) for text in cut]


def _cut_entry(entry: Entry, seen: _Seen) -> Entry:
    assert seen.message is not None
    omitted = max(len(text_of(native(entry.message))) - len(text_of(native(seen.message))), 0)
    return entry.replaced(seen.message, Truncated(limit=seen.limit, omitted=omitted))


def _reason(seen: Sequence[_Seen], cuts: Sequence[_Seen]) -> Reason:
    if not seen:
        return Reason("truncate.no_results")
    if len(seen) == 1:
        return seen[0].reason
    if not cuts:
        return Reason("truncate.none_to_shorten", {"results": len(seen)})
    return Reason("truncate.shortened_many", {"results": len(cuts)})
