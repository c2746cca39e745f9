"""The stages of a replay: they look at the end of its list alone wherever all of it would come to the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triptych.edits import Edit
from triptych.entries import Entry
from triptych.layer_stages import Enter, LayerStages
from triptych.layers.exchanges import Exchanges
from triptych.layers.plan import Plan, make_plan
from triptych.layers.robust_clear import too_early
from triptych.models.retries import Wait
from triptych.policy import Decision, Policy, decide
from triptych.reasons import Reason
from triptych.repairs import repaired
from triptych.replayed_list import ReplayedList
from triptych.stages import Stage
from triptych.tally import Summarizer
from triptych.tokens import Measured
from triptych.tools.base import Toolbox

_COUNTED: dict[Stage, str] = {"clear": "results", "prune": "turns"}
"""What a reason of the robust flavour tells of the whole list."""


def goes_by_rest(policy: Policy, stage: Stage) -> bool:
    """Whether layer 2 plans the same for what is left of a list, without what it will not change any more.

    The lesson's flavour tells places in the whole list.
    """
    parameters = policy.clear if stage == "clear" else policy.prune
    return parameters is not None and parameters.flavour == "robust"


def is_closed(entries: Sequence[Entry]) -> bool:
    """Whether all calls among these are answered there, so that no later result belongs to one of them."""
    exchanges = Exchanges(entries)
    return sum(exchanges.calls.values()) == len(exchanges.owners)


class ReplayedStages(LayerStages):
    """The stages of one turn of a replay.

    for_good: what is settled never comes back, and reasons count what is left. Else they count all there is.
    has_gathered: all of the list has been asked for.
    """

    def __init__(
        self, policy: Policy, listed: ReplayedList, summarizer: Summarizer, enter: Enter, wait: Wait, *, for_good: bool
    ) -> None:
        super().__init__(listed.session, 0, summarizer, Toolbox(), enter, wait)
        self.has_gathered = False
        self._policy, self._list, self._for_good = policy, listed, for_good

    def settle(self, place: int) -> None:
        """Have the list settle what stands before this place, where that parts no call from a result."""
        entries, counted = self._session.entries[: place - self._list.start], dict[Stage, int]()
        if not self._for_good:
            if not is_closed(entries):
                return
            for stage, name in _COUNTED.items():
                plan = super()._layer_2_plan(stage, entries) if goes_by_rest(self._policy, stage) else None
                if plan is not None:
                    counted[stage] = plan.reason.values[name]
        self._list.settle(place, counted)
        self._session = self._list.session

    async def repair(self) -> None:
        """Bring in order what the request before did not hold."""
        self._list.flush()
        session, start = self._session, self._list.first_unsound()
        plan = repaired(session.entries[start:], session.counter, session.new_ids)
        edits = tuple(_moved(edit, start, session.entries) for edit in plan.edits)
        plan = make_plan("repair", session.entries, edits, plan.reason, session.counter)
        await self._enter("repair", plan.reason, plan)
        session.perform(plan, self._action)

    async def _run_layer_2(self, stage: Stage) -> None:
        if stage == "clear" and (reason := self._too_early()) is not None:
            await self._enter(stage, reason)
            return
        if goes_by_rest(self._policy, stage):
            self._list.flush()
        else:
            self._gather()
        await super()._run_layer_2(stage)

    def _too_early(self) -> Reason | None:
        """Why nothing is cleared yet, by the size of the whole list."""
        parameters = self._policy.clear
        if parameters is None or parameters.flavour == "lesson":
            return None
        return too_early(parameters, self._size().tokens, overflows=self._overflows())

    def _layer_2_plan(self, stage: Stage, entries: tuple[Entry, ...]) -> Plan | None:
        plan, settled = super()._layer_2_plan(stage, entries), self._list.counted[stage]
        if plan is None or not plan.edits or not settled:
            return plan
        values = plan.reason.values
        whole = {_COUNTED[stage]: values[_COUNTED[stage]] + settled}
        return replace(plan, reason=replace(plan.reason, values={**values, **whole}))

    def _decision(self) -> Decision:
        return decide(self._policy, self._decided_on(), self._size(), self._model.window)

    def _decided_on(self) -> Sequence[Entry]:
        """What a trigger that does not go by the size counts in."""
        trigger, parameters = self._policy.trigger, self._policy.summarize
        if trigger.messages is not None:
            return self._list.entries
        if trigger.turns is None and (trigger.turns_without_window is None or self._model.window is not None):
            return ()
        if parameters is not None and parameters.flavour == "lesson":  # which tells places
            self._gather()
        return self._list.questions_and_newest()

    def _size(self) -> Measured:
        return self._session.size(self._list.size)

    async def _summarize(self, *, however_little: bool = False) -> None:
        if self._summary_due:
            self._gather()
        await super()._summarize(however_little=however_little)

    def _gather(self) -> None:
        if self._for_good:
            self._list.flush()
        else:
            self._list.gather()
            self._session, self.has_gathered = self._list.session, True


def _moved(edit: Edit, start: int, entries: Sequence[Entry]) -> Edit:
    """An edit that was planned for the part of a list from `start` on."""
    after = entries[start - 1].id if start and not edit.index else edit.after
    return edit._replace(index=edit.index + start, after=after)
