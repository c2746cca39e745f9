"""Stages and layers in words: always number and name, in the layer's ink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from triptych.events import StageEntered
from triptych.stages import Stage
from triptych.timeline import Step
from triptych_tui.i18n import _
from triptych_tui.spans import Span

if TYPE_CHECKING:
    from triptych_tui.hand_run import HandRun

LAYER_INKS = {"truncate": "l1", "clear": "l2", "prune": "l2", "summarize": "l3"}
LAYER_NUMBERS = {"truncate": "L1", "clear": "L2", "prune": "L2", "summarize": "L3"}


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
    }[stage]


def stage_pill(stage: Stage) -> Span:
    """The present stage, lit in the layer's ink or in the accent."""
    number = LAYER_NUMBERS.get(stage, "")
    ink = LAYER_INKS.get(stage, "accent")
    return Span(f" {number} {stage_name(stage)} " if number else f" {stage_name(stage)} ", "on_block", "b", ink)


def stage_spans(event: StageEntered) -> list[Span]:
    """One line about where a turn is: the stage, who acts, why, and the article's variables."""
    from triptych_tui.wording import say, variables_line  # loaded at the first turn

    actor = _("model") if event.actor == "model" else _("program")
    spans = [stage_pill(event.stage), Span(f"  {actor} · ", "muted"), Span(say(event.reason), "text")]
    if event.request > 1 and event.stage == "request":
        spans.append(Span(" · " + _("request {number} of this turn").format(number=event.request), "muted"))
    if variables := variables_line(event.reason):
        spans.append(Span(" · " + variables, "faint"))
    return spans


def preview_spans(run: HandRun) -> list[Span]:
    """One line while a layer is shown before it is applied."""
    words = _("the model writes the summary") if run.writing else _("preview · nothing has changed yet")
    return [stage_pill(run.layer), Span(f"  {_('by hand')} · ", "muted"), Span(words, "text")]


def turn_spans(steps: Sequence[Step], title: str) -> list[Span]:
    """One line about what the layers did in `steps`."""
    spans = [Span(f" {title}  ", "muted")]
    done = [step for step in steps if step.stage in LAYER_INKS and step.edits]
    if not done:
        return [*spans, Span(_("no layer changed anything"), "muted")]
    for number, step in enumerate(_merged(done)):
        stage, messages, gain = step
        if number:
            spans.append(Span("  ·  ", "faint"))
        spans.append(Span(f"{LAYER_NUMBERS[stage]} {stage_name(stage)}", LAYER_INKS[stage], "b"))
        spans.append(Span(f" {messages:,} ", "text", "b"))
        spans.append(Span(_("({change} tok)").format(change=f"{gain:+,}"), "text"))
    return spans


def _merged(steps: Sequence[Step]) -> list[tuple[Stage, int, int]]:
    """Steps of one layer together: stage, messages changed, tokens more or less."""
    merged: dict[Stage, tuple[int, int]] = {}
    for step in steps:
        messages, change = merged.get(step.stage, (0, 0))
        messages += sum(len(edit.removed) for edit in step.edits)
        merged[step.stage] = (messages, change + step.after.tokens - step.before.tokens)
    return [(stage, *numbers) for stage, numbers in merged.items()]
