"""Policies in words: what they are called, what they do, and their three layers as short facts in the layers' inks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from triptych.policy import Policy, Trigger
from triptych.stages import Layer
from triptych_tui.i18n import N_, _, ngettext
from triptych_tui.parameter_fields import choice_word
from triptych_tui.plain import plain
from triptych_tui.spans import Span
from triptych_tui.stage_words import LAYER_INKS, LAYER_NUMBERS
from triptych_tui.untrusted import clean

LONGEST = 1_000
"""Characters of a text from a file that are looked at; more than a row holds."""

_DOES: Mapping[str, str] = {
    "lesson": N_("the first lesson's code to the letter, its faults included"),
    "robust": N_("what one would ship: only where it saves tokens, and before every request"),
    "meowgent": N_("the second lesson: prunes after the answer, summarizes when the window is nearly full"),
    "nami": N_("the first lesson's layers, but a summary only when the measured prompt nears the window"),
}
_OTHERS_DO: Mapping[str, str] = {
    "claude-api": N_("old results go at 100,000 tokens, all before the newest question is summarized at 150,000"),
    "codex": N_("near the end of the window only what the user said stays, with a summary of all the rest behind it"),
    "gemini-cli": N_(
        "long outputs keep a fifth from the beginning, the rest from the end; at half of the window 30 % stay"
    ),
    "goose": N_("over 80 % of the window all gives way to a summary, behind which the user's newest text stands"),
    "kimi-cli": N_("outputs keep their beginning alone; near the end of the window the newest two messages stay"),
    "langchain": N_("over 100,000 tokens the newest 3 results stay; summaries by hand, the newest 20 messages stay"),
    "learn-claude-code": N_(
        "results before the newest 3 become the name of their tool; at 50,000 tokens all becomes a summary"
    ),
    "observation-masking": N_("no summary: the newest ten results stay, and each older one becomes a line"),
    "opencode": N_("old results go only where that saves 20,000 tokens; near the end of the window a short tail stays"),
    "openhands": N_("a list of more than 240 messages is halved: its first two stay, and the newest half"),
    "strands": N_(
        "nothing until the list is too long: then results keep both ends, and the oldest 30 % are summarized"
    ),
}
"""What public agents do, as their presets say it."""


def what_it_does(policy: Policy) -> str:
    """One line: what a policy does, or where its rules come from."""
    own = _DOES.get(policy.name) or _OTHERS_DO.get(policy.name)
    return _(own) if own else clean(policy.source[:LONGEST], newlines=False)


def whose_rules(policy: Policy) -> str:
    """Where a public agent's rules stand, names and addresses as they are; "" for a policy that is none of theirs."""
    return clean(policy.source[:LONGEST], newlines=False) if policy.name in _OTHERS_DO else ""


def policy_facts(policy: Policy) -> list[Span]:
    """`L1 4,000 · L2 keep 3 · L3 75 % · result: user`."""
    spans: list[Span] = []
    for layer, fact in _facts(policy):
        spans.append(Span(plain(" · ") if spans else "", "faint"))
        shown = _("off") if layer in policy.off else fact
        spans += [Span(LAYER_NUMBERS[layer], LAYER_INKS[layer], "b"), Span(" " + shown, LAYER_INKS[layer])]
    spans = spans or [Span(_("no layer runs"), "muted")]
    if policy.results_as == "user":
        spans += [Span(plain(" · "), "faint"), Span(_("result: user"), "muted")]
    return spans


def _facts(policy: Policy) -> Iterator[tuple[Layer, str]]:
    if policy.has("truncate") and policy.truncate is not None:
        limit, unit = f"{policy.truncate.limit:,}", policy.truncate.unit
        yield "truncate", limit if unit == "characters" else f"{limit} {choice_word(unit)}"
    if policy.has("clear") and policy.clear is not None:
        clear = policy.clear
        if clear.on_overflow_only:
            yield "clear", _("on overflow")
        elif clear.protect_tokens:
            yield "clear", _("keep ~{tokens} tok").format(tokens=f"{clear.protect_tokens:,}")
        else:
            yield "clear", _("keep {count}").format(count=f"{max(clear.keep, 0):,}")
    if policy.has("prune") and policy.prune is not None:
        yield "prune", _("prune from turn {count}").format(count=f"{policy.prune.keep_turns + 1:,}")
    if policy.has("summarize"):
        yield "summarize", trigger_fact(policy.trigger)


def trigger_fact(trigger: Trigger) -> str:
    """When layer 3 runs by itself, in few words."""
    if trigger.turns is not None:
        words = ngettext("> {count} turn", "> {count} turns", trigger.turns)
        return words.format(count=f"{trigger.turns:,}")
    if trigger.tokens is not None:
        return _("~{tokens} tok").format(tokens=f"{trigger.tokens:,}")
    if trigger.messages is not None:
        words = ngettext("> {count} message", "> {count} messages", trigger.messages)
        return words.format(count=f"{trigger.messages:,}")
    if trigger.on_overflow_only:
        return _("on overflow")
    return f"{trigger.window_share * 100:g} %" if trigger.window_share is not None else _("by hand")
