"""A layer run by hand: what is planned, shown and then, by one key, applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from triptych.events import SummaryPieceSent
from triptych.layers import clear, prune, summarize, truncate
from triptych.layers.clear import ClearParameters
from triptych.layers.parameters import Flavour
from triptych.layers.plan import Plan
from triptych.layers.prune import PruneParameters
from triptych.layers.summarize import SummarizeParameters, SummaryPlan
from triptych.layers.truncate import TruncateParameters
from triptych.policy import LAYERS, Trigger
from triptych.reasons import Reason
from triptych.session import Session
from triptych.stages import Layer
from triptych.tokens import Usage
from triptych_tui.parameter_fields import fields_of, with_texts
from triptych_tui.stage_words import policy_title

Parameters = TruncateParameters | ClearParameters | PruneParameters | SummarizeParameters

F = TypeVar("F", bound=Parameters | Trigger)


@dataclass(frozen=True, slots=True)
class HandRun:
    """One layer before it is applied.

    preset: the name of the policy its parameters come from.
    planned: for layers 1 and 2 the plan itself; for layer 3 first the request, or a plan that says why there is none.
    summary_plan: layer 3 with its summary in place, once that has been written; `summary` is its text as it stands,
        `received` as the model wrote it, `usage` what that cost, `flaw` what went wrong meanwhile.
    piece: which request is sent of a summary that takes several.
    trigger: for layer 3, when it is to run by itself.
    edited: the parameters, or the trigger, are not the preset's. problem: why what was typed cannot be one.
    """

    layer: Layer
    parameters: Parameters
    preset: str
    planned: Plan | SummaryPlan
    writing: bool = False
    summary: str = ""
    summary_plan: Plan | None = None
    edited: bool = False
    received: str = ""
    usage: Usage | None = None
    flaw: Reason | None = None
    problem: Reason | None = None
    piece: SummaryPieceSent | None = None
    trigger: Trigger | None = None

    @property
    def filled(self) -> tuple[Parameters | Trigger, ...]:
        """What has fields in the panel."""
        return (self.parameters,) if self.trigger is None else (self.parameters, self.trigger)

    @property
    def plan(self) -> Plan | None:
        """What Enter would apply now, None while layer 3 has no summary yet."""
        return self.summary_plan if isinstance(self.planned, SummaryPlan) else self.planned

    @property
    def awaits_request(self) -> bool:
        """Layer 3's first act: the request is shown and has not been sent."""
        is_first_act = isinstance(self.planned, SummaryPlan) and self.summary_plan is None
        return is_first_act and not self.writing and self.problem is None

    @property
    def can_apply(self) -> bool:
        return self.problem is None and self.plan is not None and bool(self.plan.edits)


def layer_of_key(session: Session, layer: Layer) -> Layer:
    """Layer 2 is what the policy has: clear, or prune where it prunes."""
    if layer == "clear" and session.policy.clear is None and session.policy.prune is not None:
        return "prune"
    return layer


def parameters_in_force(session: Session, layer: Layer) -> tuple[Parameters, str]:
    """The policy's parameters of a layer, and the preset they come from.

    Where it has none they are those of the robust preset, if all its other layers are robust, else of the lesson.
    """
    policy = session.policy
    own: Parameters | None = getattr(policy, layer)
    if own is not None:
        return own, policy_title(policy)
    others = {parameters.flavour for each in LAYERS if (parameters := getattr(policy, each)) is not None}
    flavour: Flavour = "robust" if others == {"robust"} else "lesson"
    kinds: dict[Layer, type[Parameters]] = {
        "truncate": TruncateParameters,
        "clear": ClearParameters,
        "prune": PruneParameters,
        "summarize": SummarizeParameters,
    }
    kind = kinds[layer]
    return kind.robust() if flavour == "robust" else kind.lesson(), flavour


def plan_by_hand(
    session: Session,
    layer: Layer,
    selected: int | None = None,
    parameters: Parameters | None = None,
    *,
    window: int | None = None,
    trigger: Trigger | None = None,
) -> HandRun:
    """Plan a layer on the list at the head, with the parameters and the trigger in force unless others are given.

    `selected` is the index of a tool result that layer 1 should cut alone; `window` the model's, in tokens.
    """
    in_force, preset = parameters_in_force(session, layer)
    chosen = parameters or in_force
    planned = _planned(session, chosen, selected, window)
    own = trigger or session.policy.trigger if layer == "summarize" else None
    return HandRun(layer, chosen, preset, planned, edited=is_edited(session, layer, chosen, own), trigger=own)


def is_edited(session: Session, layer: Layer, parameters: Parameters, trigger: Trigger | None) -> bool:
    """Whether these are not what is in force."""
    in_force, _preset = parameters_in_force(session, layer)
    return parameters != in_force or trigger not in (None, session.policy.trigger)


def with_fields(session: Session, run: HandRun, texts: Mapping[str, str]) -> tuple[Parameters, Trigger | None]:
    """The parameters and the trigger as the panel's fields have them. Raises ParameterError for what cannot be one.

    A trigger that goes by the parameters, as the lesson's does, follows them until it is changed itself.
    """
    parameters, trigger = _filled(run.parameters, texts), run.trigger
    if trigger is None:
        return parameters, None
    typed = _filled(trigger, texts)
    policy = session.policy
    follows = trigger == policy.with_parameters(run.layer, run.parameters).trigger
    if typed == trigger and follows:
        return parameters, policy.with_parameters(run.layer, parameters).trigger
    return parameters, typed


def _filled(filled: F, texts: Mapping[str, str]) -> F:
    """Parameters, or a trigger, with what stands in the fields that are theirs."""
    return with_texts(filled, {name: texts[name] for name in fields_of(filled)})


def _planned(session: Session, parameters: Parameters, selected: int | None, window: int | None) -> Plan | SummaryPlan:
    entries, counter = session.entries, session.counter
    match parameters:
        case TruncateParameters():
            return truncate.plan(entries, parameters, counter, None if selected is None else (selected,))
        case ClearParameters():
            return clear.plan(entries, parameters, counter)
        case PruneParameters():
            return prune.plan(entries, parameters, counter)
        case SummarizeParameters():
            ids, original_of = session.new_ids(2), session.timeline.original
            planned = summarize.plan(entries, parameters, counter, ids, window=window, original_of=original_of)
            # The lesson would ask for a summary of nothing; nobody wants that by hand.
            is_empty = isinstance(planned, SummaryPlan) and not planned.old
            return summarize.nothing_old(entries, parameters, counter) if is_empty else planned
