"""One turn of the agent: the stages that the policy names, in its order.

`run_turn` walks from the user's text to the answer. Before each change it awaits the gate with the plan: step mode is
a gate that waits, the automatic mode one that returns at once. Cancelling at any await leaves a session that an API
accepts: what had streamed is kept and marked, open calls are closed with marked results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic

from triptych.edits import append_edit
from triptych.entries import Entry, Interrupted, messages_of
from triptych.events import Actor, Outcome, StageEntered, StreamEnded, TurnEnded
from triptych.layer_stages import LayerStages, cut_on_arrival
from triptych.layers.plan import Plan, make_plan
from triptych.layers.summarize import SummaryPlan
from triptych.messages import Message, ToolCall, native, result_message, text_of, tool_calls
from triptych.models.assemble import AnswerBuilder
from triptych.models.base import ChatModel, ModelError, Request
from triptych.models.retries import Wait, wait_silently
from triptych.pictures import Picture, user_message
from triptych.reasons import Reason, TriptychError
from triptych.session import Session
from triptych.stages import Stage
from triptych.streaming import CUT_SHORT, stream
from triptych.tools.base import Toolbox

Gate = Callable[[Stage, Plan | SummaryPlan | None, Reason], Awaitable[None]]
"""Awaited after planning and before applying; the plan is None where a stage changes nothing that is known yet."""

INTERRUPTED_RESULT = "[interrupted: the turn ended before this tool answered]"

_MODEL_STAGES: frozenset[Stage] = frozenset({"request", "answer", "summarize"})


async def open_gate(stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
    """The gate of the automatic mode."""


async def run_turn(
    session: Session,
    text: str,
    *,
    pictures: Sequence[Picture] = (),
    model: ChatModel,
    tools: Toolbox,
    gate: Gate = open_gate,
    wait: Wait = wait_silently,
) -> Outcome:
    """Ask `text` with its `pictures`, and carry the turn through to its end.

    The session is saved when the turn is over, however it ends. `wait` is awaited before a request is sent once more.
    A turn whose first request fails is taken back whole. Raises ModelError when a request fails, CancelledError when it
    is cancelled, and what a faulty tool raises, all after the session has been brought in order and saved.
    """
    turn = _Turn(session, model, tools, gate, wait)
    try:
        outcome, reason = await turn.run(text, pictures)
    except asyncio.CancelledError:
        cancelled = Reason("turn.cancelled")
        turn.close_open_calls(cancelled)
        session.emit(TurnEnded("cancelled", cancelled))
        await session.save()
        raise
    except Exception as error:
        broken = Reason("turn.broken", {"error": type(error).__name__})
        reason = error.reason if isinstance(error, TriptychError) else broken
        turn.give_up(reason)
        session.emit(TurnEnded("failed", reason))
        await session.save()
        raise
    session.emit(TurnEnded(outcome, reason))
    return outcome


def interrupted_result(calling: Message, call: ToolCall) -> Message:
    """The result that closes a call of the message `calling` which nobody answered."""
    return result_message(calling, call, INTERRUPTED_RESULT)


class _Turn:
    """The state of one turn under way."""

    def __init__(self, session: Session, model: ChatModel, tools: Toolbox, gate: Gate, wait: Wait) -> None:
        self._session = session
        self._model = model
        self._tools = tools
        self._gate = gate
        self._wait = wait
        self._action = session.begin_action()
        self._requests = 0
        self._answered = False  # a request of this turn has succeeded: what it brought is kept
        self._open_calls: list[ToolCall] = []
        self._calling: Message = {}  # the message they are in
        self._layers = LayerStages(session, self._action, model, tools, self._enter, wait)

    async def run(self, text: str, pictures: Sequence[Picture]) -> tuple[Outcome, Reason | None]:
        await self._enter("receive", Reason("turn.received", {"characters": len(text)}))
        self._session.append("receive", user_message(text, pictures), Reason("turn.received"), self._action)
        outcome: Outcome = "too_many_rounds"
        reason: Reason | None = Reason("turn.too_many_rounds", {"rounds": self._session.policy.max_tool_rounds})
        for number in range(self._session.policy.max_tool_rounds):
            if number == 0 or self._session.policy.every_request:
                await self._layers.run(self._session.policy.stages_between("receive", "request"))
            answer = await self._answer()
            if answer.finish in CUT_SHORT:  # calls that were cut off in the middle are not run, nor those before them
                self.close_open_calls(Reason("turn.cut_off" if answer.finish == "length" else "turn.filtered"))
            if not self._open_calls:
                outcome, reason = _outcome_of(answer)
                break
            await self._run_tools()
        await self._layers.run(self._session.policy.stages_between("answer"))
        return outcome, reason

    def give_up(self, reason: Reason) -> None:
        """After a failure: take the turn back if nothing of it was answered, else close what is open."""
        if self._answered:
            self.close_open_calls(reason)
        else:
            self._session.take_back(self._action)
            self._session.spare_summary = self._layers.summary or self._session.spare_summary

    def close_open_calls(self, reason: Reason) -> None:
        """Answer the calls that got no result, so that the list stays one an API accepts."""
        while self._open_calls:
            message = interrupted_result(self._calling, self._open_calls.pop(0))
            self._session.append("append", message, reason, self._action, marks=(Interrupted(),))

    # Stages

    async def _enter(
        self, stage: Stage, reason: Reason, plan: Plan | SummaryPlan | None = None, actor: Actor | None = None
    ) -> None:
        actor = actor or ("model" if stage in _MODEL_STAGES else "program")
        self._session.emit(StageEntered(stage, reason, actor, self._requests))
        await self._gate(stage, plan, reason)

    async def _answer(self) -> AnswerBuilder:
        """One request. Once a turn, a list that is too long for the model is summarized, and it is asked again."""
        try:
            return await self._request()
        except ModelError as error:
            if error.reason.id != "model.context_length":
                raise
            too_long = error
        if not await self._layers.make_room():
            raise too_long
        return await self._request()

    async def _request(self) -> AnswerBuilder:
        """One request; its answer becomes an entry, and its calls are open."""
        await self._layers.repair()
        session = self._session
        self._requests += 1
        entries, schemas = session.entries, self._tools.schemas()
        tokens, tools = map(session.counter.tokens, self._weights())
        values = {"messages": len(entries), "tokens": tokens, "tools": tools or None}
        await self._enter("request", Reason("turn.request", values))
        weight, builder, started = sum(self._weights()), AnswerBuilder(), monotonic()
        try:
            await stream(session, self._model, Request(tuple(messages_of(entries)), schemas), builder, self._wait)
            message = self._message_of(builder)
            calls = self._calls_of(message)
            if not calls:
                await self._enter("answer", Reason("turn.answer"))
            self._keep_answer(builder, message, calls, weight, monotonic() - started)
        except asyncio.CancelledError:
            self._keep_partial(builder)
            raise
        finally:
            session.emit(StreamEnded())  # after the step, so that what streamed becomes the entry in place
        self._answered = True
        self._calling, self._open_calls = message, list(calls)
        return builder

    def _weights(self) -> tuple[int, int]:
        """The weights of the list at the head, and of the tools that are sent along."""
        counter = self._session.counter
        return counter.total(self._session.entries), counter.schemas_weight(self._tools.schemas())

    def _keep_answer(
        self, builder: AnswerBuilder, message: Message, calls: Sequence[ToolCall], weight: int, seconds: float
    ) -> None:
        """Append the answer to a request of this `weight` as one step."""
        session = self._session
        if builder.usage and builder.usage.prompt_tokens:  # a server that counts nothing says 0
            session.record_usage(builder.usage, weight)
        stage: Stage = "request" if calls else "answer"
        reason = Reason("turn.calls" if calls else "turn.answer", {"calls": len(calls)})
        edit = append_edit(session.entries, Entry(session.new_ids(1), message))
        plan = make_plan(stage, session.entries, (edit,), reason, session.counter)
        session.perform(plan, self._action, seconds=seconds, usage=builder.usage)

    def _message_of(self, builder: AnswerBuilder) -> Message:
        """The whole answer in the form that the policy gives calls."""
        if not builder.is_empty:
            if self._session.policy.results_as == "tool":
                return builder.message()
            from triptych.text_protocol import with_calls_as_text  # for those that speak it

            return with_calls_as_text(builder.message())
        if builder.finish == "length":
            raise ModelError("model.empty_cut_off", model=self._model.name)
        if builder.finish == "content_filter":
            raise ModelError("model.empty_filtered", model=self._model.name)
        raise ModelError("model.empty", model=self._model.name)

    def _calls_of(self, message: Message) -> tuple[ToolCall, ...]:
        """Blocks of the text protocol are calls only where the policy speaks it."""
        return tool_calls(message if self._session.policy.results_as == "tool" else native(message))

    def _keep_partial(self, builder: AnswerBuilder) -> None:
        """Keep the text that had streamed when the turn was cancelled; calls that are no part of it are dropped."""
        if builder.text.strip():
            message, marks = builder.message_without_calls(), (Interrupted(),)
            self._session.append("answer", message, Reason("turn.cancelled"), self._action, marks=marks)
            self._calling, self._open_calls = message, list(self._calls_of(message))

    async def _run_tools(self) -> None:
        """Run the open calls one after the other; each result goes through its stages before it is history."""
        while self._open_calls:
            call = self._open_calls[0]
            await self._enter("tool", Reason("turn.tool", {"tool": call.name, "left": len(self._open_calls)}))
            output = await self._tools.run(call)
            result = Entry(self._session.new_ids(1), result_message(self._calling, call, output.text))
            await self._append_result(result, failed=output.failed)

    async def _append_result(self, result: Entry, *, failed: bool) -> None:
        """Append a result and, in the same breath, the cut that layer 1 makes: a request never sees it whole."""
        session = self._session
        edit = append_edit(session.entries, result)
        reason = Reason("turn.result", {"characters": len(text_of(native(result.message)))})
        append_plan = make_plan("append", session.entries, (edit,), reason, session.counter)
        cut_plan: Plan | None = None
        for stage in self._session.policy.stages_between("request", "answer"):
            if stage == "truncate":
                cut_plan = cut_on_arrival((*session.entries, result), session.policy, session.counter, failed=failed)
                if cut_plan is not None:
                    await self._enter("truncate", cut_plan.reason, cut_plan)
            elif stage == "append":
                await self._enter("append", reason, append_plan)
        session.perform(append_plan, self._action)
        if cut_plan is not None and cut_plan.edits:
            session.perform(cut_plan, self._action)
        self._open_calls.pop(0)


def _outcome_of(answer: AnswerBuilder) -> tuple[Outcome, Reason | None]:
    if answer.finish == "length":
        return "cut_off", Reason("turn.cut_off")
    if answer.finish == "content_filter":
        return "filtered", Reason("turn.filtered")
    return "answered", None
