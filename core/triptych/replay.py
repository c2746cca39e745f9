"""How a session would have gone, or goes on, under a policy: what was said is said again, and its layers act.

Nothing is asked anew: answers, calls and results are those that were recorded, whatever the layers have taken away by
then, in fields or in text as they were. Only summaries are written, by the model that is given for them. Tool schemas,
which no list holds, count nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

from triptych.checks import would_be_refused
from triptych.entries import Entry
from triptych.events import Actor
from triptych.layer_stages import cut_on_arrival
from triptych.layers import truncate
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummaryPlan
from triptych.messages import asks, carries_result, native, role_of, tool_calls
from triptych.models.retries import Wait, wait_silently
from triptych.policy import Policy
from triptych.reasons import Reason
from triptych.recording import is_made_up
from triptych.replayed_list import ReplayedList
from triptych.replayed_stages import ReplayedStages, goes_by_rest
from triptych.stages import Stage
from triptych.tally import Replayed, Summarizer, Tally
from triptych.tokens import TokenCounter

IDS_APART = 1 << 20
"""Between two entries of a recording, so that what layers put between them can be numbered there."""

LEAST_SETTLED = 500
"""Messages that are worth a session without them, for good. From then on reasons count what is left to look at."""

LEAST_PUT_ASIDE = 100
"""Messages that are worth a session without them until a stage asks for the whole list."""

_PASSING = "model.context_length", "model.calls_used_up"
"""Why a summary may fail while the replay goes on, as a turn does."""


async def replayed(
    said: Sequence[Entry],
    policy: Policy,
    summarizer: Summarizer,
    counter: TokenCounter,
    wait: Wait = wait_silently,
) -> Replayed:
    """The session question by question from its start, as if the policy had been in force.

    Each assistant message is the answer to a request. Raises ModelError when the model for summaries cannot be had.
    """
    said = [replace(entry, id=number * IDS_APART) for number, entry in enumerate(said)]
    replay = _Replay(policy, summarizer, counter, wait, ())
    for number, entry in enumerate(said):
        if number % 64 == 0:
            await asyncio.sleep(0)  # or it could not be cancelled
        await replay.say(entry)
    await replay.end_turn()
    return replay.outcome(said)


async def next_question(
    entries: tuple[Entry, ...],
    policy: Policy,
    summarizer: Summarizer,
    counter: TokenCounter,
    wait: Wait = wait_silently,
) -> Replayed:
    """What the policy does with the list as it is before the next request, up to that request.

    A user message at its end is the question; else there comes an empty one, which the outcome is without. Results that
    no layer has touched are cut first, since the policy would have cut them as they came in. What the request has in
    common with the list as it is, is what it has in common with the one before it.
    """
    replay = _Replay(policy, summarizer, counter, wait, entries)
    await replay.cut_what_came_in()
    await replay.ask(pending=bool(entries) and _starts_turn(entries[-1]))
    return replay.outcome(entries)


def most_calls(said: Sequence[Entry], policy: Policy, counter: TokenCounter, window: int | None, *, ahead: bool) -> int:
    """How many requests for summaries to grant a replay, or, `ahead`, the next question alone.

    One wherever a summary may come due; in the robust flavour more, since what is long goes in pieces where a limit is
    known. `window` is the model's, in tokens.
    """
    parameters = policy.summarize
    if parameters is None or not _may_summarize(policy):
        return 0
    if ahead:
        calls = 1
    elif policy.every_request:
        calls = sum(role_of(entry.message) == "assistant" for entry in said)
    else:
        calls = sum(map(_starts_turn, said))
    whole = parameters.request_tokens or window
    if parameters.flavour == "robust" and whole is not None:
        calls += 6 * counter.count(said).tokens // whole  # a piece fills more than a sixth of it
    return calls


def _may_summarize(policy: Policy) -> bool:
    """Whether layer 3 ever runs by itself."""
    before = policy.stages_between("receive", "request")
    is_in_turns = policy.runs("summarize") and "decide" in before and "summarize" in before
    return is_in_turns and not policy.trigger.by_hand_only


def _starts_turn(entry: Entry) -> bool:
    return asks(entry.message) and not is_made_up(entry)


class _Replay:
    """A replay under way: what is said, question by question, and the stages that the policy has in between."""

    def __init__(
        self,
        policy: Policy,
        summarizer: Summarizer,
        counter: TokenCounter,
        wait: Wait,
        entries: tuple[Entry, ...],
    ) -> None:
        """`entries` is the list to begin with, and what the request before held."""
        self._policy, self._summarizer, self._counter, self._wait = policy, summarizer, counter, wait
        self._may_summarize = _may_summarize(policy)
        stages = (*policy.stages_between("receive", "request"), *policy.stages_between("answer"))
        self._looked_at: dict[Stage, int] = {  # up to which place layer 2 has done all that there was to do
            stage: 0 for stage in stages if stage in ("clear", "prune") and policy.runs(stage)
        }
        clear = policy.clear if "clear" in self._looked_at else None
        by_size = clear is not None and (clear.from_tokens > 0 or clear.on_overflow_only)
        self._settles_for_good = not (self._may_summarize or by_size)
        self._tally = Tally(counter)
        self._list = ReplayedList(entries, policy, counter)
        self._layers = self._new_layers()

        self._question = 0
        self._caller: Entry | None = None  # what the next results belong to
        self._due = policy.every_request  # the layers run before the next request
        self._answered = False
        self._summary_asked_for = False
        self._lists_stages = False  # the outcome has every stage
        self._made_up_question: Entry | None = None

    # What happens

    async def say(self, entry: Entry) -> None:
        """The next entry of a recording."""
        if is_made_up(entry):
            self._append(entry)
        elif _starts_turn(entry):
            await self.end_turn()
            self._begin_turn()
            self._append(entry)
        elif role_of(entry.message) == "assistant":
            await self._request()
            self._append(entry)
            self._answered = not tool_calls(native(entry.message))
        else:
            self._append(entry)

    async def end_turn(self) -> None:
        """What the policy does after an answer."""
        if self._answered:
            await self._run(self._policy.stages_between("answer"))
        self._answered = False

    async def cut_what_came_in(self) -> None:
        """Layer 1 on the results that no layer has touched."""
        self._lists_stages = True
        parameters, session = self._policy.truncate, self._list.session
        if parameters is None or not self._policy.runs("truncate") or not self._policy.has("truncate"):
            return
        whole = [index for index, each in enumerate(session.entries) if carries_result(each.message) and not each.marks]
        plan = truncate.plan(session.entries, parameters, session.counter, whole)
        await self._enter("truncate", plan.reason, plan)
        if plan.edits:
            session.perform(plan, 0)

    async def ask(self, *, pending: bool) -> None:
        """Enter the stages of a question up to its request; `pending`: the list ends with it already."""
        self._begin_turn()
        if not pending:
            self._made_up_question = Entry(self._list.session.new_ids(1), {"role": "user", "content": ""})
            self._append(self._made_up_question)
        await self._request()

    def outcome(self, before: Sequence[Entry]) -> Replayed:
        after = [entry for entry in self._list.entries if entry is not self._made_up_question]
        return self._tally.outcome(self._policy, self._summarizer, before, after)

    def _begin_turn(self) -> None:
        self._question += 1
        self._due = True
        self._layers = self._new_layers()

    def _append(self, entry: Entry) -> None:
        cut = entry
        if not carries_result(entry.message):
            self._caller = entry
        elif not entry.marks and self._policy.has("truncate"):
            belonging = (entry,) if self._caller is None else (self._caller, entry)
            plan = cut_on_arrival(belonging, self._policy, self._list.session.counter)
            if plan is not None and plan.edits:
                cut = plan.edits[0].inserted[0]
                self._tally.cut(self._question, entry, cut, plan.reason)
        self._list.append(entry, cut)

    async def _request(self) -> None:
        if self._due:
            await self._run(self._policy.stages_between("receive", "request"))
            self._due = self._policy.every_request
        if would_be_refused(self._list.unsent_messages()):  # the request before was sound
            await self._layers.repair()
        self._tally.request(self._list.weight, self._list.unsent_weight(), self._summarizer.window)
        self._list.send()
        self._settle()

    # The stages

    def _new_layers(self) -> ReplayedStages:
        """For a turn."""
        return ReplayedStages(
            self._policy, self._list, self._summarizer, self._enter, self._wait, for_good=self._settles_for_good
        )

    async def _run(self, stages: Iterable[Stage]) -> None:
        if not (self._may_summarize or self._looked_at or self._lists_stages):
            return
        if self._settles_for_good:
            self._list.flush()
        await self._layers.run(stage for stage in stages if stage != "save")
        failure = self._summarizer.failure
        if failure is not None and failure.reason.id not in _PASSING:
            raise failure

    async def _enter(
        self, stage: Stage, reason: Reason, plan: Plan | SummaryPlan | None = None, actor: Actor | None = None
    ) -> None:
        if isinstance(plan, SummaryPlan):
            self._summary_asked_for = True
            return
        changes = plan is not None and bool(plan.edits)
        self._tally.enter(stage, reason, applied=changes, listed=self._lists_stages)
        if stage == "summarize":
            self._tally.failed += self._summary_asked_for and not changes
            self._summary_asked_for = False
        if plan is not None and plan.edits:
            first, last = plan.edits[0], plan.edits[-1]
            self._list.about_to_change(first.index, self._tally.perform(self._question, plan))
            place = self._list.start + first.index
            if stage in self._looked_at:
                self._looked_at[stage] = self._list.start + last.index + len(last.removed)
            else:  # what stands behind is somewhere else now
                self._looked_at = {each: min(seen, place) for each, seen in self._looked_at.items()}

    def _settle(self) -> None:
        """Take out of the session what no layer will change any more.

        Layer 2 takes results in their order, so what stands before one that it has changed it has seen. Layer 3 may
        come back to all there is, and so may layer 2 where it goes by the size of the whole list, or tells places.
        """
        gathered, self._layers.has_gathered = self._layers.has_gathered, False
        if self._list.has_waiting or gathered:
            return
        seen = [
            place
            for stage, place in self._looked_at.items()
            if self._settles_for_good or goes_by_rest(self._policy, stage)
        ]
        start, entries = self._list.start, self._list.session.entries
        end = max(min(seen, default=start + len(entries)) - start, 0)
        while end < len(entries) and not carries_result(entries[end].message):
            end += 1
        place = start + end if end == len(entries) else self._list.caller_at(start + end)
        if place - start >= (LEAST_SETTLED if self._settles_for_good else LEAST_PUT_ASIDE):
            self._layers.settle(place)
