"""How a session would have gone, or goes on, under a policy: what was said is said again, and its layers act.

Nothing is asked anew: answers, calls and results are those that were recorded, whatever the layers have taken away by
then. Only summaries are written, by the model that is given for them. Tool schemas, which no list holds, count nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

from triptych.checks import would_be_refused
from triptych.edits import Edit, append_edit, replacement_edits
from triptych.entries import Entry, messages_of
from triptych.events import Actor
from triptych.layer_stages import LayerStages, cut_on_arrival
from triptych.layers import truncate
from triptych.layers.plan import Plan, make_plan
from triptych.layers.summarize import SummaryPlan
from triptych.messages import Message, is_result, is_tool_response, role_of, tool_calls
from triptych.models.retries import Wait, wait_silently
from triptych.policy import Policy
from triptych.reasons import Reason
from triptych.recording import is_made_up
from triptych.session import Session
from triptych.stages import Stage
from triptych.tally import Replayed, Summarizer, Tally
from triptych.tokens import TokenCounter
from triptych.tools.base import Toolbox

IDS_APART = 1 << 20
"""Between two entries of a recording, so that what layers put between them can be numbered there."""

LEAST_SETTLED = 500
"""Messages that are worth a session without them. From then on reasons count what is left to look at."""

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
    return role_of(entry.message) == "user" and not is_tool_response(entry.message) and not is_made_up(entry)


def _number_from(session: Session, first_id: int) -> None:
    """Have the session's new ids begin there, where they do not begin later: ids follow the order of birth."""
    session.new_ids(max(first_id - session.new_ids(0), 0))


class _Replay:
    """A replay under way. The list is what is settled, then the session's, then what waits."""

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
        self._looked_at: dict[Stage, int] = {  # where in the session layer 2 has done all that there was to do
            stage: 0 for stage in stages if stage in ("clear", "prune") and policy.runs(stage)
        }
        self._tally = Tally(counter)
        self._settled: list[Entry] = []  # no layer looks at it again
        self._waiting: list[tuple[Entry, Entry]] = []  # said since layers ran: as it was, and as layer 1 left it
        self._session = self._begun(entries)
        self._layers = self._new_layers()
        self._weight = counter.total(entries)

        self._question = 0
        self._caller: Entry | None = None  # what the next results belong to
        self._due = policy.every_request  # the layers run before the next request
        self._answered = False
        self._asked = False  # a summary is being written
        self._tells = False
        self._made_up_question: Entry | None = None

        self._sent = len(entries)  # messages of the request before
        self._fresh = 0  # weight of what was said since then
        self._changed: int | None = None  # the first place where the list was changed since then
        self._unchanged: tuple[Entry, ...] = ()  # the session's list before that

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
            self._answered = not tool_calls(entry.message)
        else:
            self._append(entry)

    async def end_turn(self) -> None:
        """What the policy does after an answer."""
        if self._answered:
            await self._run(self._policy.stages_between("answer"))
        self._answered = False

    async def cut_what_came_in(self) -> None:
        """Layer 1 on the results that no layer has touched."""
        self._tells = True
        parameters, entries = self._policy.truncate, self._session.entries
        if parameters is None or not self._policy.runs("truncate") or not self._policy.has("truncate"):
            return
        whole = [index for index, entry in enumerate(entries) if is_result(entry.message) and not entry.marks]
        plan = truncate.plan(entries, parameters, self._session.counter, whole)
        await self._enter("truncate", plan.reason, plan)
        if plan.edits:
            self._session.perform(plan, 0)

    async def ask(self, *, pending: bool) -> None:
        """Come by the stages of a question up to its request; `pending`: the list ends with it already."""
        self._begin_turn()
        if not pending:
            self._made_up_question = Entry(self._session.new_ids(1), {"role": "user", "content": ""})
            self._append(self._made_up_question)
        await self._request()

    def outcome(self, before: Sequence[Entry]) -> Replayed:
        entries = [*self._settled, *self._session.entries, *(cut for _, cut in self._waiting)]
        after = [entry for entry in entries if entry is not self._made_up_question]
        return self._tally.outcome(self._policy, self._summarizer, before, after)

    # The list

    def _begun(self, entries: tuple[Entry, ...], first_id: int = 0) -> Session:
        """A session with this list, whose new ids are not below `first_id`."""
        session = Session(entries, self._policy)
        if session.counter.estimator == self._counter.estimator:
            session.counter = self._counter  # what was weighed need not be weighed again
        _number_from(session, first_id)
        return session

    def _append(self, entry: Entry) -> None:
        cut = entry
        if not is_result(entry.message):
            self._caller = entry
        elif not entry.marks and self._policy.has("truncate"):
            belonging = (entry,) if self._caller is None else (self._caller, entry)
            plan = cut_on_arrival(belonging, self._policy, self._session.counter)
            if plan is not None and plan.edits:
                cut = plan.edits[0].inserted[0]
                self._tally.cut(self._question, entry, cut, plan.reason)
        self._waiting.append((entry, cut))
        weight = self._counter.weight(cut)
        self._weight += weight
        self._fresh += weight

    def _flush(self) -> None:
        """Put what waits into the session: whole, so that originals are known, and then cut."""
        start, waiting = len(self._session.entries), self._waiting
        self._waiting = []
        if waiting:
            _number_from(self._session, waiting[-1][0].id + 1)
            self._perform("append", (append_edit(self._session.entries, *(said for said, _ in waiting)),))
        cuts = [(start + number, cut) for number, (said, cut) in enumerate(waiting) if cut is not said]
        if cuts:
            self._perform("truncate", replacement_edits(self._session.entries, cuts))

    def _perform(self, stage: Stage, edits: tuple[Edit, ...]) -> None:
        session = self._session
        session.perform(make_plan(stage, session.entries, edits, Reason("turn.received"), session.counter), 0)

    def _settle(self) -> None:
        """Take out of the session what no layer will change any more: a long list costs no more than a short one then.

        Layer 2 takes results in their order, so what stands before one that it has changed it has seen. Layer 3 may
        come back to all there is, and so may layer 2 where it goes by the size of the whole list.
        """
        clear = self._policy.clear
        by_size = "clear" in self._looked_at and clear and (clear.from_tokens or clear.on_overflow_only)
        if self._may_summarize or by_size or self._waiting:
            return
        entries = self._session.entries
        end = min(self._looked_at.values(), default=len(entries))
        while end < len(entries) and not (is_result(entries[end].message) or is_tool_response(entries[end].message)):
            end += 1
        if end < len(entries):
            end = self._caller_of(end)
        if end >= LEAST_SETTLED:
            self._settled += entries[:end]
            self._session = self._begun(entries[end:], self._session.new_ids(0))
            self._layers = self._new_layers()
            self._looked_at = {stage: max(place - end, 0) for stage, place in self._looked_at.items()}

    def _caller_of(self, index: int) -> int:
        """The place, in the session and what waits, of what the results at `index` belong to."""
        while index > 0 and is_result(self._at(index).message):
            index -= 1
        return index

    def _at(self, index: int) -> Entry:
        waiting = index - len(self._session.entries)
        return self._waiting[waiting][1] if waiting >= 0 else self._session.entries[index]

    # The stages

    def _begin_turn(self) -> None:
        self._question += 1
        self._due = True
        self._layers = self._new_layers()

    def _new_layers(self) -> LayerStages:
        return LayerStages(self._session, 0, self._summarizer, Toolbox(), self._enter, self._wait)

    async def _run(self, stages: Iterable[Stage]) -> None:
        if not (self._may_summarize or self._looked_at or self._tells):
            return
        self._flush()
        await self._layers.run(stage for stage in stages if stage != "save")
        failure = self._summarizer.failure
        if failure is not None and failure.reason.id not in _PASSING:
            raise failure

    async def _enter(
        self, stage: Stage, reason: Reason, plan: Plan | SummaryPlan | None = None, actor: Actor | None = None
    ) -> None:
        changes = isinstance(plan, Plan) and bool(plan.edits)
        if isinstance(plan, SummaryPlan):
            self._asked = True
            return
        self._tally.come_by(stage, reason, applied=changes, tell=self._tells)
        if stage == "summarize":
            self._tally.failed += self._asked and not changes
            self._asked = False
        if plan is not None and plan.edits:
            first, last = plan.edits[0], plan.edits[-1]
            if self._changed is None:
                self._unchanged = self._session.entries
            place = len(self._settled) + first.index
            self._changed = place if self._changed is None else min(self._changed, place)
            if stage in self._looked_at:
                self._looked_at[stage] = last.index + len(last.removed)
            self._weight += self._tally.perform(self._question, plan)

    # Requests

    async def _request(self) -> None:
        if self._due:
            await self._run(self._policy.stages_between("receive", "request"))
            self._due = self._policy.every_request
        if would_be_refused(self._unchecked()):
            self._flush()
            await self._layers.repair()
        self._tally.request(self._weight, self._anew(), self._summarizer.window)
        self._sent = len(self._settled) + len(self._session.entries) + len(self._waiting)
        self._fresh, self._changed, self._unchanged = 0, None, ()
        self._settle()

    def _unchecked(self) -> list[Message]:
        """The messages from the first on that may be refused: the request before was sound."""
        start = self._sent if self._changed is None else min(self._sent, self._changed)
        start = self._caller_of(max(start - len(self._settled) - 1, 0))
        entries = self._session.entries
        waiting = self._waiting[max(start - len(entries), 0) :]
        return [*messages_of(entries[start:]), *(cut.message for _, cut in waiting)]

    def _anew(self) -> int:
        """The weight of what the next request does not have in common with the one before it."""
        if self._changed is None:
            return self._fresh
        settled, before, now = len(self._settled), self._unchanged, self._session.entries
        place = self._changed - settled
        while place < min(len(before), len(now)) and before[place].message == now[place].message:
            place += 1
        common = min(place, self._sent - settled)
        return self._counter.total(now[common:]) + sum(self._counter.weight(cut) for _, cut in self._waiting)
