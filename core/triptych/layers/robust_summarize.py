"""Layer 3 as one would ship it: what is old is summarized, and a summary that is none is refused with its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from triptych.edits import Edit
from triptych.entries import Acknowledgement, Entry, Summary
from triptych.layers.cut_point import WAYS, CutPoint, cut_point
from triptych.layers.error_texts import is_error_message
from triptych.layers.exchanges import exchanges_of
from triptych.layers.plan import Plan, make_plan
from triptych.layers.rendering import Conversation, request
from triptych.layers.summarize import SummarizeParameters, SummaryPlan
from triptych.messages import Message, text_of
from triptych.reasons import Reason
from triptych.tokens import TokenCounter

REQUEST_SHARE = 0.6
"""The part of a known window that one request fills: estimates differ from the model's own count."""

RESERVED_SHARE = 0.2
"""The part of a request that is left to the summary so far."""

LEAST_ROOM = 100
"""Tokens that a piece has room for in any case."""

_WAYS = (
    "summarize.old_turns",
    "summarize.turns_too_long",
    "summarize.inside_turn",
    "summarize.old_messages",
    "summarize.old_part",
    "summarize.questions_stay",
)
"""Reasons, in the order of the ways to cut."""

LEAST_ECHO = 400
"""Characters of the old part that no summary repeats word for word."""


@dataclass(frozen=True, slots=True, eq=False)
class RobustSummaryPlan(SummaryPlan):
    """As SummaryPlan.

    point: where the list is parted. so_far: the earlier summary, "" where there is none. pieces: the rest of the old
    part as text, one for each request.
    """

    point: CutPoint
    so_far: str
    pieces: Conversation

    @property
    def start(self) -> int:
        return self.point.start

    @property
    def old(self) -> tuple[Entry, ...]:
        return tuple(self.entries[index] for index in range(self.start, self.cut) if index not in self.point.stays)

    @property
    def request_count(self) -> int:
        return len(self.pieces)

    def next_request(self, answers: Sequence[str]) -> tuple[Message, ...] | None:
        if len(answers) == len(self.pieces):
            return None
        so_far = answers[-1] if answers else self.so_far
        return request(_prompt(self.parameters), so_far, self.pieces[len(answers)])

    def flaw_of(self, answers: Sequence[str]) -> Reason | None:
        """An answer that repeats what it was asked to summarize, or that is an error's message."""
        text, piece = answers[-1].strip(), self.pieces[len(answers) - 1]
        if is_error_message(text):
            return Reason("summary.error_message", {"text": text})
        if "</conversation" in text or (len(text) >= LEAST_ECHO and text in piece):
            return Reason("summary.echo")
        return None

    def too_little(self) -> Reason | None:
        """Where what stays is too long by itself, each request would bring a summary that saves next to nothing."""
        total, tokens, least = self.counter.total, self.counter.tokens, self.parameters.minimum_progress
        fresh, whole = total([entry for entry in self.old if not _is_summarized(entry)]), total(self.entries)
        if not self.so_far or fresh >= whole * least:
            return None
        values = {"old_tokens": tokens(fresh), "tokens": tokens(whole), "percent": round(least * 100)}
        return Reason("summarize.too_little", values)

    def with_summary(self, text: str, flaw: Reason | None = None) -> Plan:
        flaws = {"flaw": flaw} if flaw is not None else {}
        if not text.strip():
            return self._refused(Reason("summarize.blank", flaws))
        if flaw is not None:
            return self._refused(Reason("summarize.refused", flaws))
        old, total, tokens = self.old, self.counter.total, self.counter.tokens
        inserted = self._inserted(text)
        before, after = total(old), total(inserted)
        values = {"replaced": len(old), "old_tokens": tokens(before), "new_tokens": tokens(after)}
        if after >= before:
            return self._refused(Reason("summarize.not_smaller", values))
        if after > before * (1 - self.parameters.minimum_progress):
            percent = round(self.parameters.minimum_progress * 100)
            return self._refused(Reason("summarize.little_progress", {**values, "percent": percent}))
        done = Reason("summarize.done", {**values, "flaw": None})
        return make_plan("summarize", self.entries, (self._edit(inserted),), done, self.counter)

    def _refused(self, reason: Reason) -> Plan:
        return make_plan("summarize", self.entries, (), reason, self.counter)

    def _inserted(self, text: str) -> tuple[Entry, ...]:
        parameters, mark = self.parameters, Summary(of=tuple(entry.id for entry in self.old))
        summary = Entry(self.first_id, {"role": "user", "content": parameters.prefix + text}, (mark,))
        if not parameters.acknowledgement:
            return (summary,)
        answer: Message = {"role": "assistant", "content": parameters.acknowledgement}
        return summary, Entry(self.first_id + 1, answer, (Acknowledgement(),))

    def _edit(self, inserted: tuple[Entry, ...]) -> Edit:
        start, cut = self.start, self.cut
        stays = tuple(self.entries[index] for index in range(start, cut) if index in self.point.stays)
        after = self.entries[start - 1].id if start else None
        summary_last = self.parameters.summary_last
        return Edit(start, after, self.entries[start:cut], (*stays, *inserted) if summary_last else (*inserted, *stays))


def plan(
    entries: tuple[Entry, ...],
    parameters: SummarizeParameters,
    counter: TokenCounter,
    first_id: int,
    window: int | None,
    original_of: Callable[[int], Entry | None] | None,
) -> SummaryPlan | Plan:
    """The first act. What is summarized or pinned already is no reason to ask for another summary."""
    exchanges = exchanges_of(entries)
    budget = _kept_tokens(parameters, window) * counter.estimator.denominator
    point = cut_point(exchanges, parameters, budget, counter)
    old = [index for index in range(point.start, point.cut) if index not in point.stays]
    summarized = [index for index in old if _is_summarized(entries[index])]
    earlier = [index for index in summarized if entries[index].has_mark(Summary)]
    passed_over = frozenset(summarized)
    fresh = [index for index in old if index not in passed_over]
    so_far = "\n\n".join(text_of(entries[at].message).removeprefix(parameters.prefix) for at in earlier)
    room = _room(so_far, parameters, counter, window)
    # A character has less than 2 tokens by any estimator here.
    longest = parameters.clip_characters if room is None else min(parameters.clip_characters, room // 2)
    room_weight = None if room is None else room * counter.estimator.denominator
    pieces = Conversation(exchanges, fresh, _originals(entries, fresh, original_of), longest, room_weight, counter)
    values = {
        "messages": len(entries),
        "turns": point.turns,
        "keep_turns": parameters.keep_turns,
        "keep": parameters.keep_messages,
        "percent": None if parameters.keep_part is None else round(parameters.keep_part * 100),
        "old": len(old),
    }
    if not pieces:
        by_turns = point.way not in ("messages", "part", "questions")
        few = Reason("summarize.too_few_turns" if by_turns else "summarize.nothing_old", values)
        nothing = Reason("summarize.nothing_new", values) if old else few
        return make_plan("summarize", entries, (), nothing, counter)
    return RobustSummaryPlan(
        request=request(_prompt(parameters), so_far, pieces[0]),
        reason=Reason(_WAYS[WAYS.index(point.way)], {**values, "requests": len(pieces) if len(pieces) > 1 else None}),
        before=counter.count(entries),
        cut=point.cut,
        entries=entries,
        parameters=parameters,
        first_id=first_id,
        counter=counter,
        point=point,
        so_far=so_far,
        pieces=pieces,
    )


def _originals(
    entries: Sequence[Entry], chosen: Sequence[int], original_of: Callable[[int], Entry | None] | None
) -> Mapping[int, Entry]:
    """What entries were before any layer, by their indices."""
    if original_of is None:
        return {}
    found = ((index, original_of(entries[index].id)) for index in chosen)
    return {index: original for index, original in found if original is not None}


def _kept_tokens(parameters: SummarizeParameters, window: int | None) -> int:
    """The tokens that what stays may have."""
    kept = parameters.kept_tokens if window is None else int(parameters.kept_share * window)
    most = kept if parameters.kept_most is None else min(kept, parameters.kept_most)
    return max(most, parameters.kept_least)


def _is_summarized(entry: Entry) -> bool:
    return entry.has_mark(Summary) or entry.has_mark(Acknowledgement)


def _prompt(parameters: SummarizeParameters) -> str:
    return f"{parameters.prompt}\nHeed above all: {parameters.focus}" if parameters.focus else parameters.prompt


def _room(so_far: str, parameters: SummarizeParameters, counter: TokenCounter, window: int | None) -> int | None:
    """Tokens that a piece may have; None for any number."""
    whole = parameters.request_tokens or (int(REQUEST_SHARE * window) if window is not None else None)
    if whole is None:
        return None
    weight, reserved = counter.estimator.weight, int(whole * RESERVED_SHARE) * counter.estimator.denominator
    frame = sum(weight(text_of(message)) for message in request(_prompt(parameters), so_far or "-", ""))
    return max(whole - counter.tokens(frame + max(reserved - weight(so_far), 0)), LEAST_ROOM)
