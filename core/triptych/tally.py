"""What is counted while a session is replayed under a policy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import NamedTuple

from triptych.edits import Edit, edits_between
from triptych.entries import Entry
from triptych.layers.plan import Plan, kept_prefix
from triptych.models.base import ChatModel, Delta, ModelError, Request, TextDelta
from triptych.policy import Policy
from triptych.reasons import Reason
from triptych.recording import is_made_up
from triptych.stages import Stage
from triptych.tokens import Count, TokenCounter


class Act(NamedTuple):
    """A stage changed the list at question `question` (from 1; 0: before the first).

    messages: how many it changed or took away. saved: tokens by the estimator that the list is shorter by.
    """

    question: int
    stage: Stage
    messages: int
    saved: int


class StageOutcome(NamedTuple):
    """A stage that was entered, what it found, and whether it changed the list."""

    stage: Stage
    reason: Reason
    applied: bool


class Replayed(NamedTuple):
    """What became of a list under a policy. All tokens are those of one estimator, whole, cut once a number.

    said: the list as it was said, its entries numbered anew; entries: the list at the end. before, after: their sizes.
    edits: the difference between the two, planned against the former, with a reason for each in `reasons`.
    kept: the beginning that the two lists have in common.
    reason: of the stage that changed the list last; where none did, of the last that was entered; None without one.
    stages: those that were entered, with what they found; `next_question` alone tells them.
    acts: what changed the list, in order, what a stage did at one question together.
    requests: how many were made; peak: tokens of the largest; over_window: how many had more tokens than the window,
        where that is known.
    rebilled: tokens of all requests less what each has in common with the one before it: the longest common beginning
        of the two lists in whole, equal messages, which is what a prompt cache can save. Of the first one all counts.
        Requests for summaries are not among them.
    summary_calls, summary_tokens: requests for summaries, and tokens that they read and wrote.
    failed_summaries: summaries that did not come about, so that the list stayed.
    truncated, cleared, pruned: messages that this was done to, each counted once. summarized: messages that a summary
        stands for, other summaries not counted. removed: messages that were taken out otherwise.
    """

    policy: Policy
    said: tuple[Entry, ...]
    entries: tuple[Entry, ...]
    before: Count
    after: Count
    edits: tuple[Edit, ...]
    reasons: tuple[Reason, ...]
    reason: Reason | None
    kept: Count
    stages: tuple[StageOutcome, ...]
    acts: tuple[Act, ...]
    requests: int
    peak: int
    over_window: int
    rebilled: int
    summary_calls: int
    summary_tokens: int
    failed_summaries: int
    truncated: int
    cleared: int
    pruned: int
    summarized: int
    removed: int


class Summarizer:
    """What writes the summaries of one replay, and what that cost. As a model its window, in tokens, is the one to go
    by; None where it is unknown.

    calls: requests that were sent; weight: of what they read and wrote, by `counter`. failure: why the newest failed.
    most_calls: how often `model` is asked at most, None for any number; what is beyond fails.
    """

    def __init__(
        self, model: ChatModel, window: int | None, counter: TokenCounter, most_calls: int | None = None
    ) -> None:
        self.name, self.offline, self.window = model.name, model.offline, window
        self.calls, self.weight = 0, 0
        self.failure: ModelError | None = None
        self.most_calls = most_calls
        self._model, self._counter = model, counter

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        if self.calls == self.most_calls:
            raise ModelError("model.calls_used_up", calls=self.calls)
        self.calls += 1
        self.weight += sum(map(self._counter.message_weight, request.messages))
        try:
            async with aclosing(self._model.stream(request)) as deltas:
                async for delta in deltas:
                    if isinstance(delta, TextDelta):
                        self.weight += self._counter.estimator.weight(delta.text)
                    yield delta
        except ModelError as error:
            self.failure = error
            raise
        self.failure = None


class Tally:
    """Counts what stages do and what requests hold. Weights are by `counter`."""

    def __init__(self, counter: TokenCounter) -> None:
        self.failed = 0
        self.stages: list[StageOutcome] = []
        self._reason: Reason | None = None
        self._reasons: dict[Entry | int, Reason] = {}  # of what stands somewhere now; of what is gone, by its id
        self._counter = counter
        self._acts: dict[tuple[int, Stage], tuple[int, int]] = {}
        self._touched: defaultdict[Stage, set[int]] = defaultdict(set)
        self._summarized: set[int] = set()
        self._removed: set[int] = set()
        self._requests = self._peak = self._over_window = self._rebilled = 0

    def enter(self, stage: Stage, reason: Reason, *, applied: bool, listed: bool) -> None:
        """A stage is entered; `listed` in the outcome or not."""
        if applied or not self._acts:
            self._reason = reason
        if listed:
            self.stages.append(StageOutcome(stage, reason, applied))

    def cut(self, question: int, said: Entry, cut: Entry, reason: Reason) -> None:
        """Layer 1 has cut a result that came in."""
        self._reason = self._reasons[cut] = reason
        self._touched["truncate"].add(said.id)
        self._act(question, "truncate", 1, self._counter.weight(said) - self._counter.weight(cut))

    def perform(self, question: int, plan: Plan) -> int:
        """A plan is carried out; returns how much heavier the list gets by it."""
        changed, growth = 0, 0
        for edit in plan.edits:
            stays, replaced = set(edit.inserted), {entry.id for entry in edit.inserted}
            gone = [entry for entry in edit.removed if entry not in stays]
            growth += self._counter.total(edit.inserted) - self._counter.total(edit.removed)
            changed += len(gone) or len(edit.inserted)
            self._reasons |= dict.fromkeys((*edit.inserted, *(entry.id for entry in gone)), plan.reason)
            for entry in gone:
                if entry.id in replaced:
                    self._touched[plan.stage].add(entry.id)
                elif plan.stage != "summarize":
                    self._removed.add(entry.id)
                elif not is_made_up(entry):
                    self._summarized.add(entry.id)
        self._act(question, plan.stage, changed, -growth)
        return growth

    def request(self, weight: int, anew: int, window: int | None) -> None:
        """A request of this weight; `anew` is the weight of what the one before did not begin with."""
        tokens = self._counter.tokens(weight)
        self._requests += 1
        self._peak = max(self._peak, tokens)
        self._over_window += window is not None and tokens > window
        self._rebilled += anew

    def _act(self, question: int, stage: Stage, messages: int, saved: int) -> None:
        before, saved_before = self._acts.get((question, stage), (0, 0))
        self._acts[question, stage] = before + messages, saved_before + saved

    def _reason_of(self, edit: Edit) -> Reason:
        """Why; what is gone may have been shortened before, and is another entry then."""
        return self._reasons[edit.inserted[0] if edit.inserted else edit.removed[0].id]

    def outcome(
        self, policy: Policy, summarizer: Summarizer, before: Sequence[Entry], after: Sequence[Entry]
    ) -> Replayed:
        """All that was counted, with the lists at either end."""
        count, tokens = self._counter.count, self._counter.tokens
        edits = edits_between(before, after)
        return Replayed(
            policy=policy,
            said=tuple(before),
            entries=tuple(after),
            before=count(before),
            after=count(after),
            edits=edits,
            reasons=tuple(map(self._reason_of, edits)),
            reason=self._reason,
            kept=kept_prefix(before, edits, self._counter),
            stages=tuple(self.stages),
            acts=tuple(
                Act(question, stage, messages, -tokens(-saved) if saved < 0 else tokens(saved))
                for (question, stage), (messages, saved) in self._acts.items()
            ),
            requests=self._requests,
            peak=self._peak,
            over_window=self._over_window,
            rebilled=tokens(self._rebilled),
            summary_calls=summarizer.calls,
            summary_tokens=tokens(summarizer.weight),
            failed_summaries=self.failed,
            truncated=len(self._touched["truncate"]),
            cleared=len(self._touched["clear"]),
            pruned=len(self._touched["prune"]),
            summarized=len(self._summarized),
            removed=len(self._removed),
        )
