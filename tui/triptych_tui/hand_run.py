"""A layer run by hand: what is planned, shown and then, by one key, applied."""

from __future__ import annotations

from dataclasses import dataclass

from triptych.layers import clear, prune, summarize, truncate
from triptych.layers.clear import ClearParameters
from triptych.layers.plan import Plan
from triptych.layers.prune import PruneParameters
from triptych.layers.summarize import SummarizeParameters, SummaryPlan
from triptych.layers.truncate import TruncateParameters
from triptych.session import Session
from triptych.stages import Layer

Parameters = TruncateParameters | ClearParameters | PruneParameters | SummarizeParameters


@dataclass(frozen=True, slots=True)
class HandRun:
    """One layer before it is applied.

    preset: the name of the policy its parameters come from.
    planned: for layers 1 and 2 the plan itself; for layer 3 first the request, or a plan that says why there is none.
    summary_plan: layer 3 with its summary in place, once that has been written; `summary` its text while it streams.
    """

    layer: Layer
    parameters: Parameters
    preset: str
    planned: Plan | SummaryPlan
    writing: bool = False
    summary: str = ""
    summary_plan: Plan | None = None

    @property
    def plan(self) -> Plan | None:
        """What Enter would apply now, None while layer 3 has no summary yet."""
        return self.summary_plan if isinstance(self.planned, SummaryPlan) else self.planned

    @property
    def awaits_request(self) -> bool:
        """Layer 3's first act: the request is shown and has not been sent."""
        return isinstance(self.planned, SummaryPlan) and self.summary_plan is None and not self.writing

    @property
    def can_apply(self) -> bool:
        return self.plan is not None and bool(self.plan.edits)


def layer_of_key(session: Session, layer: Layer) -> Layer:
    """Layer 2 is what the policy has: clear, or prune where it prunes."""
    if layer == "clear" and session.policy.clear is None and session.policy.prune is not None:
        return "prune"
    return layer


def plan_by_hand(session: Session, layer: Layer, selected: int | None = None) -> HandRun:
    """Plan a layer on the list at the head with the policy's parameters, or the lesson's where it has none.

    `selected` is the index of a tool result that layer 1 should cut alone.
    """
    policy, entries, counter = session.policy, session.entries, session.counter
    preset = policy.name if getattr(policy, layer) is not None else "lesson"
    parameters: Parameters
    planned: Plan | SummaryPlan
    if layer == "truncate":
        parameters = policy.truncate or TruncateParameters.lesson()
        planned = truncate.plan(entries, parameters, counter, None if selected is None else (selected,))
    elif layer == "clear":
        parameters = policy.clear or ClearParameters.lesson()
        planned = clear.plan(entries, parameters, counter)
    elif layer == "prune":
        parameters = policy.prune or PruneParameters.lesson()
        planned = prune.plan(entries, parameters, counter)
    else:
        parameters = policy.summarize or SummarizeParameters.lesson()
        planned = summarize.plan(entries, parameters, counter, session.new_ids(2))
    return HandRun(layer, parameters, preset, planned)
