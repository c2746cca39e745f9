"""Layer 1: cut the middle out of one tool result, before it enters history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args

from triptych.edits import replacement_edits
from triptych.entries import Entry, Truncated
from triptych.layers.parameters import UNITS, Flavour, Unit, at_least, one_of, share
from triptych.layers.plan import Plan, make_plan
from triptych.messages import Message, carries_result, native, with_result_texts
from triptych.reasons import Reason
from triptych.tokens import TokenCounter

LESSON_NOTICE = "\n...中间省略{omitted}个字...\n"
ROBUST_NOTICE = "\n[... {omitted} {unit} omitted ...]\n"


@dataclass(frozen=True, slots=True)
class TruncateParameters:
    """How a result is cut.

    limit: in the lesson's flavour, original characters (code points) that are kept; the notice comes on top, so that a
        result barely over the limit grows. Robust: the most that stays of a result, the notice included, in `unit`.
    head_share: the part of `limit` kept from the beginning, 0 to 1; the rest is kept from the end.
    notice: stands between the two, `{omitted}` being the number of characters left out. Robust: of `{unit}`, and
        `{tool}` is the tool's name.

    Robust only, which parts no grapheme, cuts lists over their text parts and leaves alone what would save no tokens:
    unit: what is counted; bytes are those of UTF-8.
    max_line: characters that a line may have, None for any number; what is over gives way to "...".
    error_limit: the limit for the message of a tool that failed, None for the same.
    """

    limit: int = 80
    head_share: float = 0.5
    notice: str = LESSON_NOTICE
    unit: Unit = "characters"
    max_line: int | None = None
    error_limit: int | None = None
    flavour: Flavour = "lesson"

    def __post_init__(self) -> None:
        at_least("limit", self.limit, 0)
        at_least("max_line", self.max_line, 1)
        at_least("error_limit", self.error_limit, 0)
        one_of("unit", self.unit, UNITS)
        one_of("flavour", self.flavour, get_args(Flavour))
        share("head_share", self.head_share)

    @classmethod
    def lesson(cls) -> TruncateParameters:
        """The first lesson's: 80 characters, half from each end."""
        return cls()

    @classmethod
    def robust(cls) -> TruncateParameters:
        """4,000 characters in all, half from each end; 8,000 of an error message."""
        return cls(4000, 0.5, ROBUST_NOTICE, error_limit=8000, flavour="robust")

    def with_limit(self, limit: int) -> TruncateParameters:
        """The same with another limit; that of error messages is never less."""
        error_limit = None if self.error_limit is None else max(self.error_limit, limit)
        return replace(self, limit=limit, error_limit=error_limit)


class Cut(NamedTuple):
    """A text cut in two: `head` and `tail` are the original characters kept at either end."""

    text: str
    head: int
    tail: int
    omitted: int


def cut(text: str, parameters: TruncateParameters) -> Cut | None:
    """Cut `text`, or None when it is within the limit."""
    limit = parameters.limit
    if len(text) <= limit:
        return None
    head = int(limit * parameters.head_share)
    tail = limit - head
    omitted = len(text) - limit
    # Not str.format, which would fall over any other brace of a notice from a file.
    notice = parameters.notice.replace("{omitted}", str(omitted))
    # Not text[-tail:], which would be the whole text for 0.
    return Cut(text[:head] + notice + text[len(text) - tail :], head, tail, omitted)


def plan(
    entries: tuple[Entry, ...],
    parameters: TruncateParameters,
    counter: TokenCounter,
    indices: Iterable[int] | None = None,
    *,
    failed: bool = False,
) -> Plan:
    """Cut the tool results at `indices` (default: all) that are over the limit; `failed`: they are error messages.

    Results already marked as truncated are passed over: cut again, they would only lose more. In the lesson's flavour
    contents that are not plain text stay as they are.
    """
    chosen = range(len(entries)) if indices is None else sorted(indices)
    candidates = [index for index in chosen if carries_result(entries[index].message)]
    if parameters.flavour == "robust":
        from triptych.layers import robust_truncate  # on first use: the window opens without it

        return robust_truncate.plan(entries, candidates, parameters, counter, failed=failed)
    replacements, omitted = _replacements(entries, candidates, parameters, counter)
    if len(candidates) == 1:
        reason = _reason_for_one(entries[candidates[0]], parameters)
    elif not replacements:
        values = {"results": len(candidates), "limit": parameters.limit}
        reason = Reason("truncate.none_over_limit", values) if candidates else Reason("truncate.no_results")
    else:
        values = {"results": len(replacements), "limit": parameters.limit, "omitted": omitted}
        reason = Reason("truncate.cut_many", values, {"limit": parameters.limit})
    return make_plan("truncate", entries, replacement_edits(entries, replacements), reason, counter)


def _replacements(
    entries: Sequence[Entry], candidates: Iterable[int], parameters: TruncateParameters, counter: TokenCounter
) -> tuple[list[tuple[int, Entry]], int]:
    """The results that are cut, and how many characters they lose together."""
    replacements, omitted = list[tuple[int, Entry]](), 0
    weight, notice = counter.estimator.weight, parameters.notice
    bare, fields = weight(notice.replace("{omitted}", "")), notice.count("{omitted}")
    for index in candidates:
        entry = entries[index]
        content = _content(entry.message)
        if not isinstance(content, str) or entry.has_mark(Truncated) or (made := cut(content, parameters)) is None:
            continue
        mark = Truncated(limit=parameters.limit, omitted=made.omitted)
        if content is entry.message["content"]:  # most results: what goes and what comes is all there is to weigh
            shorter = entry.replaced({**entry.message, "content": made.text}, mark)
            gone = weight(content[made.head : len(content) - made.tail])
            added = bare + fields * weight(str(made.omitted))
            shorter.remember_weight(counter.estimator, counter.weight(entry) - gone + added)
        else:
            shorter = entry.replaced(with_result_texts(entry.message, [made.text]), mark)
        replacements.append((index, shorter))
        omitted += made.omitted
    return replacements, omitted


def _content(message: Message) -> object:
    """What the tool said, without what the second lesson's text protocol puts around it."""
    return native(message).get("content")


def _reason_for_one(entry: Entry, parameters: TruncateParameters) -> Reason:
    content, limit = _content(entry.message), parameters.limit
    length = len(content) if isinstance(content, str) else 0
    made = cut(content, parameters) if isinstance(content, str) else None
    variables = {"len(text)": length, "limit": limit}
    if entry.has_mark(Truncated):
        values = {"length": length, "again": len(made.text) if made else None}
        return Reason("truncate.already_cut", values, variables)
    if made is None:
        return Reason("truncate.within_limit", {"length": length, "limit": limit}, variables)
    values = {
        "length": length,
        "limit": limit,
        "head": made.head,
        "tail": made.tail,
        "omitted": made.omitted,
        "result_length": len(made.text),
    }
    reason = "truncate.cut_one_longer" if len(made.text) > length else "truncate.cut_one"
    return Reason(reason, values, {**variables, "start_count": made.head})
