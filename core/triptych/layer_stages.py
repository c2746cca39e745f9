"""The stages at which the program itself changes the list: the layers, the decision before layer 3, repairs.

A turn enters them around its requests, a replay around the requests that were made once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from time import monotonic
from typing import Protocol

from triptych.checks import would_be_refused
from triptych.entries import Entry, messages_of
from triptych.events import Actor
from triptych.layers import clear, prune, summarize, truncate
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummaryPlan
from triptych.models.base import ChatModel, ModelError
from triptych.models.retries import Wait, wait_silently
from triptych.policy import Decision, Policy, decide
from triptych.reasons import Reason
from triptych.repairs import repaired
from triptych.session import Session, SpareSummary
from triptych.stages import Stage
from triptych.summary_writing import WrittenSummary, write_summary
from triptych.tokens import Measured, TokenCounter
from triptych.tools.base import Toolbox


class Enter(Protocol):
    """Awaited where a stage begins, before anything changes. `actor`: None for who usually acts there."""

    async def __call__(
        self, stage: Stage, reason: Reason, plan: Plan | SummaryPlan | None = None, actor: Actor | None = None
    ) -> None: ...


def cut_on_arrival(
    entries: tuple[Entry, ...], policy: Policy, counter: TokenCounter, *, failed: bool = False
) -> Plan | None:
    """What layer 1 makes of the last of `entries`, a result that joins the list; None where the policy leaves it whole.

    In the lesson's flavour the message of a tool that `failed` is cut like any other.
    """
    parameters = policy.truncate if policy.runs("truncate") else None
    if parameters is None:
        return None
    plan = truncate.plan(entries, parameters, counter, (len(entries) - 1,), failed=failed)
    if failed and plan.edits and parameters.flavour == "lesson":
        return replace(plan, reason=Reason("truncate.cut_error", plan.reason.values, plan.reason.variables))
    return plan


class LayerStages:
    """The stages of one turn of `session`, whose steps belong to `action`.

    `model` is what the next request goes to, and writes summaries; `tools` are sent along with that request.
    summary: the one that was applied in this turn.
    """

    def __init__(
        self,
        session: Session,
        action: int,
        model: ChatModel,
        tools: Toolbox,
        enter: Enter,
        wait: Wait = wait_silently,
    ) -> None:
        self.summary: SpareSummary | None = None
        self._session = session
        self._action = action
        self._model = model
        self._tools = tools
        self._enter = enter
        self._wait = wait
        self._summary_due = False
        self._summary_refused = False  # once in this turn, which would be so again

    async def run(self, stages: Iterable[Stage]) -> None:
        """Enter these stages, those that the policy has something to do at."""
        for stage in stages:
            if not self._session.policy.runs(stage):
                continue
            if stage == "save":
                await self._enter("save", Reason("turn.saving"))
                await self._session.save()
            elif stage == "decide":
                await self._decide()
            elif stage == "summarize":
                await self._summarize()
            else:
                await self._run_layer_2(stage)

    async def repair(self) -> None:
        """Bring a list that an API would refuse in order, as a step of its own."""
        session = self._session
        if would_be_refused(messages_of(session.entries)):
            plan = repaired(session.entries, session.counter, session.new_ids)
            await self._enter("repair", plan.reason, plan)
            session.perform(plan, self._action)

    async def make_room(self) -> bool:
        """Summarize a list that was too long for the model, once a turn; whether that came about."""
        if not self._can_summarize():
            return False
        self._summary_due = True
        await self._enter("decide", Reason("decide.too_long"))
        await self._summarize(however_little=True)
        return self.summary is not None

    async def _run_layer_2(self, stage: Stage) -> None:
        plan = self._layer_2_plan(stage, self._session.entries)
        if plan is None:
            return
        await self._enter(stage, plan.reason, plan)
        if plan.edits:
            self._session.perform(plan, self._action)

    def _layer_2_plan(self, stage: Stage, entries: tuple[Entry, ...]) -> Plan | None:
        counter, policy = self._session.counter, self._session.policy
        if stage == "clear" and policy.clear:
            overflows = not policy.clear.on_overflow_only or self._overflows()
            return clear.plan(entries, policy.clear, counter, overflows=overflows)
        if stage == "prune" and policy.prune:
            return prune.plan(entries, policy.prune, counter)
        return None

    async def _decide(self) -> None:
        decision = self._decision()
        if decision.due and self._summary_refused:
            decision = Decision(False, Reason("decide.refused_before"))
        self._summary_due = decision.due
        await self._enter("decide", decision.reason)

    def _decision(self) -> Decision:
        session = self._session
        return decide(session.policy, session.entries, self._size(), self._model.window)

    def _size(self) -> Measured:
        """The size of the next request."""
        counter = self._session.counter
        return self._session.size(counter.total(self._session.entries) + counter.schemas_weight(self._tools.schemas()))

    def _overflows(self) -> bool:
        return self._model.window is not None and self._size().tokens > self._model.window

    async def _summarize(self, *, however_little: bool = False) -> None:
        session, first = self._session, self._planned_summary() if self._summary_due else None
        if first is None:
            return
        if not isinstance(first, SummaryPlan):
            await self._enter("summarize", first.reason, first, actor="program")
            return
        if not however_little and (too_little := first.too_little()) is not None:
            await self._enter("summarize", too_little, actor="program")
            return
        seconds = 0.0
        written = self._spare_summary(first)
        if written is None:
            await self._enter("summarize", first.reason, first)
            started = monotonic()
            try:
                written = await write_summary(session, first, self._model, self._wait)
            except ModelError as error:
                # The question can still be asked with the whole list; if the fault stays, the request will say so.
                self._summary_refused = True
                await self._enter("summarize", Reason("summarize.failed", {"why": error.reason}), actor="program")
                return
            seconds = monotonic() - started
        plan = written.plan
        await self._enter("summarize", plan.reason, plan, actor="program")
        self._summary_refused = not plan.edits
        if plan.edits:
            session.perform(plan, self._action, seconds=seconds, usage=written.usage)
            self.summary = SpareSummary(messages_of(first.old), written.text, written.flaw)

    def _spare_summary(self, first: SummaryPlan) -> WrittenSummary | None:
        """The summary of a turn that was taken back, if it stands for the very messages that are old now.

        Messages, not entries: what the failed turn cleared was taken back with it, and is cleared anew in this one.
        """
        spare, self._session.spare_summary = self._session.spare_summary, None
        if spare is None or spare.old != messages_of(first.old):
            return None
        return WrittenSummary(spare.text, first.with_summary(spare.text, spare.flaw), None, spare.flaw)

    def _can_summarize(self) -> bool:
        """Whether layer 3 runs in turns, has not run in this one, and finds something old."""
        policy = self._session.policy
        runs = "summarize" in policy.stages and "summarize" not in policy.off
        return runs and self.summary is None and isinstance(self._planned_summary(), SummaryPlan)

    def _planned_summary(self) -> SummaryPlan | Plan | None:
        """Layer 3's first act on the list at the head; None where the policy has no such layer."""
        session, parameters, window = self._session, self._session.policy.summarize, self._model.window
        if parameters is None:
            return None
        original_of, ids = session.timeline.original, session.new_ids(2)
        return summarize.plan(session.entries, parameters, session.counter, ids, window=window, original_of=original_of)
