"""What the robust layers say of what they did or left, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from triptych_tui.i18n import N_


class Counted(NamedTuple):
    """A sentence with a form for one and a form for many of the value `by`."""

    by: str
    one: str
    many: str


ROBUST_LAYERS: Mapping[str, str | Counted] = {
    "truncate.shortened_characters": N_(
        "{length:,} → {result_length:,} characters, notice included; its limit is {limit:,}"
    ),
    "truncate.shortened_lines": N_("{length:,} → {result_length:,} lines, notice included; its limit is {limit:,}"),
    "truncate.shortened_bytes": N_("{length:,} → {result_length:,} bytes, notice included; its limit is {limit:,}"),
    "truncate.shortened_many": N_("tool results over their limit, and truncated: {results:,}"),
    "truncate.none_to_shorten": Counted(
        "results",
        "{results:,} tool result: not over its limit, or a cut would save no tokens",
        "{results:,} tool results: none is over its limit where a cut would save tokens",
    ),
    "truncate.within_lines": N_("{length:,} lines ≤ {limit:,}: it stays whole"),
    "truncate.within_bytes": N_("{length:,} bytes ≤ {limit:,}: it stays whole"),
    "truncate.saves_nothing": N_("{length:,} > {limit:,}, but a cut would save no tokens: it stays whole"),
    "truncate.pinned": N_("it is pinned: it stays whole"),
    "clear.gained": Counted(
        "results",
        "{results:,} tool result, keep {keep:,}: {cleared:,} cleared, which saves ~{gain:,} tokens",
        "{results:,} tool results, keep {keep:,}: {cleared:,} cleared, which saves ~{gain:,} tokens",
    ),
    "clear.too_little": N_(
        "~{gain:,} tokens to save < {minimum:,}, so {cleared:,} old tool results stay: "
        "every clearing spoils the prompt cache"
    ),
    "clear.nothing_to_gain": Counted(
        "results",
        "{results:,} tool result, keep {keep:,}: no placeholder would be shorter than what is old",
        "{results:,} tool results, keep {keep:,}: no placeholder would be shorter than what is old",
    ),
    "clear.older_stay": Counted(
        "results",
        "{results:,} tool result, keep {keep:,}: it stays too, not answered yet, or protected",
        "{results:,} tool results, keep {keep:,}: older ones stay too, "
        "not answered yet, called with one that stays, or protected",
    ),
    "clear.no_overflow": N_("the list fits the model's window, so nothing is cleared"),
    "clear.list_short": N_("~{tokens:,} tokens < {from_tokens:,}, so nothing is cleared yet"),
    "prune.nothing_to_gain": N_("{turns:,} user turns, keep {keep_turns:,}: no old tool result would get shorter"),
    "summarize.nothing_new": N_("nothing new: all that is old is summarized or pinned already"),
    "summarize.too_little": N_(
        "only ~{old_tokens:,} of ~{tokens:,} tokens are new, less than {percent} %: "
        "no summary yet, it would save next to nothing"
    ),
    "summarize.turns_too_long": N_(
        "{keep_turns:,} turns are too long to stay: {old:,} old messages to summarize[, in {requests:,} requests]"
    ),
    "summarize.inside_turn": N_(
        "the newest turn alone is too long: its question stays, {old:,} old messages to summarize"
        "[, in {requests:,} requests]"
    ),
    "summarize.old_messages": N_(
        "keep the newest {keep:,} messages: {old:,} old messages to summarize[, in {requests:,} requests]"
    ),
    "summarize.old_part": N_(
        "keep the newest {percent} % of the list: {old:,} old messages to summarize[, in {requests:,} requests]"
    ),
    "summarize.questions_stay": N_(
        "no newest part stays, and of the old one some questions: {old:,} messages to summarize"
        "[, in {requests:,} requests]"
    ),
    "summarize.nothing_old": N_("{messages:,} messages: nothing old to summarize"),
    "summarize.refused": N_("this is no summary: {flaw}; so all messages stay; try again or write one yourself"),
    "summarize.not_smaller": N_(
        "the summary is not smaller: ~{old_tokens:,} → ~{new_tokens:,} tokens, "
        "so all messages stay; try again or write one yourself"
    ),
    "summarize.little_progress": N_(
        "the summary saves less than {percent} %, ~{old_tokens:,} → ~{new_tokens:,} tokens, "
        "so all messages stay; try again or write one yourself"
    ),
    "summary.echo": N_("the model repeated what it was given"),
    "summary.error_message": N_("the answer is an error message, “{text}”"),
    "decide.tokens_over": N_("{kind}{tokens:,} tokens ≥ {threshold:,}, so summarize"),
    "decide.tokens_within": N_("{kind}{tokens:,} tokens < {threshold:,}, so nothing to summarize"),
    "decide.messages_over": N_("{messages:,} messages > {limit:,}, so summarize"),
    "decide.messages_within": N_("{messages:,} messages ≤ {limit:,}, so nothing to summarize"),
    "decide.no_overflow": N_("it fits the window: only a longer list is summarized"),
    "decide.refused_before": N_("no summary came about in this turn, so none is asked for again"),
    "repair.done": N_(
        "an endpoint would refuse the list, so it is repaired[; results of no call taken out: {orphans}]"
        "[; calls closed with a result: {calls}][; empty answers given words: {empty}]"
    ),
}
