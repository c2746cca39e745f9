"""Stages and layers in words: always number and name, in the layer's ink."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.policy import Policy
from triptych.stages import Stage
from triptych.timeline import Step
from triptych_tui.i18n import _
from triptych_tui.plain import plain
from triptych_tui.spans import Span
from triptych_tui.untrusted import clean

LAYER_INKS = {"truncate": "l1", "clear": "l2", "prune": "l2", "summarize": "l3"}
LONGEST_NAME = 100
LAYER_NUMBERS = {"truncate": "L1", "clear": "L2", "prune": "L2", "summarize": "L3"}


def logo() -> list[Span]:
    """Three panes, three layers."""
    return [Span(" "), *(Span(plain("▌"), ink) for ink in ("l1", "l2", "l3"))]


def policy_title(policy: Policy) -> str:
    """What a policy is called; one whose numbers were changed in a session is told from what it was."""
    name = clean(policy.name[:LONGEST_NAME], newlines=False)
    return _("{name}, edited").format(name=name) if policy.edited else name


def stage_name(stage: Stage) -> str:
    """The stage's word."""
    return {
        "receive": _("receive"),
        "clear": _("clear"),
        "prune": _("prune"),
        "decide": _("decide"),
        "summarize": _("summarize"),
        "request": _("request"),
        "tool": _("tool"),
        "truncate": _("truncate"),
        "append": _("append"),
        "answer": _("answer"),
        "save": _("save"),
        "repair": _("repair"),
        "outside": _("outside"),
        "revert": _("revert"),
        "pin": _("pin"),
    }[stage]


def layer_in_words(stage: Stage) -> str:
    """The stage's word, with its layer's number."""
    return " ".join(filter(None, (LAYER_NUMBERS.get(stage), stage_name(stage))))


def turn_spans(steps: Sequence[Step], title: str, *, short: bool = False) -> list[Span]:
    """One line about what layers and repairs did in `steps`; short, the layers are numbers only."""
    spans = [Span(f"{title}  ", "muted")]
    done = [step for step in steps if step.stage in (*LAYER_INKS, "repair") and step.edits]
    if not done:
        return [*spans, Span(_("no layer changed anything"), "muted")]
    for index, (stage, messages, gain) in enumerate(_merged(done)):
        if index:
            spans.append(Span(plain(" · ") if short else plain("  ·  "), "faint"))
        name = LAYER_NUMBERS.get(stage) if short else None
        spans.append(Span(name or layer_in_words(stage), LAYER_INKS.get(stage, "text"), "b"))
        spans.append(Span(f" {messages:,} ", "text", "b"))
        change = f"{gain:+,}"
        spans.append(Span(f"({change})" if short else _("({change} tok)").format(change=change), "text"))
    return spans


def _merged(steps: Sequence[Step]) -> list[tuple[Stage, int, int]]:
    """Steps of one stage together: which, messages changed or supplied, tokens more or less."""
    merged: dict[Stage, tuple[int, int]] = {}
    for step in steps:
        messages, change = merged.get(step.stage, (0, 0))
        messages += sum(len(edit.removed) or len(edit.inserted) for edit in step.edits)
        merged[step.stage] = (messages, change + step.after.tokens - step.before.tokens)
    return [(stage, *numbers) for stage, numbers in merged.items()]
