"""Layer 1 as one would ship it: within the limit in all, no grapheme parted, and only where it saves tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from triptych.edits import replacement_edits
from triptych.entries import Entry, Truncated, messages_of
from triptych.layers.cutting import clip_lines, filled, shortened, size
from triptych.layers.plan import Plan, make_plan, tool_names
from triptych.layers.truncate import TruncateParameters
from triptych.messages import Message, is_failed_result, text_of, texts_of, with_texts
from triptych.reasons import Reason
from triptych.tokens import TokenCounter


class _Seen(NamedTuple):
    """What was found about one candidate. `message` is the shorter one, None where it stays; `why` tells why."""

    place: int
    limit: int
    message: Message | None
    why: str


def plan(
    entries: tuple[Entry, ...],
    candidates: Sequence[int],
    parameters: TruncateParameters,
    counter: TokenCounter,
    *,
    failed: bool,
) -> Plan:
    """Cut those of the results at `candidates` that are over their limit; a pinned one stays as it is."""
    names = tool_names(messages_of(entries)) if "{tool}" in parameters.notice and candidates else {}
    seen = [_seen(index, entries, parameters, counter, names.get(index, ""), failed) for index in candidates]
    cuts = [each for each in seen if each.message is not None]
    edits = replacement_edits(entries, [(each.place, _cut_entry(entries[each.place], each)) for each in cuts])
    return make_plan("truncate", entries, edits, _reason(entries, seen, cuts, parameters), counter)


def _seen(
    index: int,
    entries: Sequence[Entry],
    parameters: TruncateParameters,
    counter: TokenCounter,
    tool: str,
    failed: bool,
) -> _Seen:
    entry = entries[index]
    limit = parameters.limit
    if parameters.error_limit is not None and (failed or is_failed_result(entry.message)):
        limit = parameters.error_limit
    if entry.pinned or entry.has_mark(Truncated):
        return _Seen(index, limit, None, "pinned" if entry.pinned else "already_cut")
    texts = texts_of(entry.message)
    cut = cut_texts(texts, limit, parameters, tool)
    if cut == texts:
        return _Seen(index, limit, None, f"within_{parameters.unit}")
    message = with_texts(entry.message, cut)
    if counter.message_weight(message) >= counter.weight(entry):
        return _Seen(index, limit, None, "saves_nothing")
    return _Seen(index, limit, message, "")


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
    omitted = max(len(text_of(entry.message)) - len(text_of(seen.message)), 0)
    return entry.replaced(seen.message, Truncated(limit=seen.limit, omitted=omitted))


def _reason(
    entries: Sequence[Entry], seen: Sequence[_Seen], cuts: Sequence[_Seen], parameters: TruncateParameters
) -> Reason:
    if not seen:
        return Reason("truncate.no_results")
    unit, limit = parameters.unit, parameters.limit
    if len(seen) > 1:
        values = {"results": len(cuts) or len(seen), "limit": limit, "unit": unit}
        return Reason(f"truncate.shortened_many_{unit}" if cuts else "truncate.none_to_shorten", values)
    one, message = seen[0], entries[seen[0].place].message
    length = size(text_of(message), unit)
    values = {"length": length, "limit": one.limit}
    if one.message is None:
        again = {"again": None} if one.why == "already_cut" else {}
        return Reason(f"truncate.{one.why}", {**values, **again})
    return Reason(f"truncate.shortened_{unit}", {**values, "result_length": size(text_of(one.message), unit)})
