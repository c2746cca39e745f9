"""Layer 3's second act: the model writes the summary."""

from __future__ import annotations

from typing import NamedTuple

from triptych.events import StreamEnded, SummaryPieceSent
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummaryPlan
from triptych.messages import tool_calls
from triptych.models.assemble import AnswerBuilder
from triptych.models.base import ChatModel, Request
from triptych.models.retries import Wait, wait_silently
from triptych.reasons import Reason
from triptych.session import Session
from triptych.streaming import CUT_SHORT, stream
from triptych.tokens import Usage


class WrittenSummary(NamedTuple):
    """A summary as the model wrote it, the plan that puts it in place, and what its requests cost, if that is known.

    flaw: what went wrong while it was written, None where nothing did.
    """

    text: str
    plan: Plan
    usage: Usage | None
    flaw: Reason | None


async def write_summary(
    session: Session, plan: SummaryPlan, model: ChatModel, wait: Wait = wait_silently
) -> WrittenSummary:
    """Layer 3's second act: send the plan's requests and put the summary into the plan. Nothing is applied yet.

    Where an answer is no summary, no further request is sent. Raises ModelError when a request fails.
    """
    answers: list[str] = []
    usage: Usage | None = None
    flaw: Reason | None = None
    while flaw is None and (request := plan.next_request(answers)) is not None:
        if plan.request_count > 1:
            session.emit(SummaryPieceSent(len(answers) + 1, plan.request_count))
        builder = AnswerBuilder()
        try:
            await stream(session, model, Request(request), builder, wait, summary=True)
        finally:
            session.emit(StreamEnded())
        answers.append(builder.text)
        usage = _sum(usage, builder.usage)
        flaw = _flaw_of(builder, plan) or plan.flaw_of(answers)
        if not builder.text.strip():
            break
    return WrittenSummary(answers[-1], plan.with_summary(answers[-1], flaw), usage, flaw)


def _sum(usage: Usage | None, more: Usage | None) -> Usage | None:
    if usage is None or more is None:
        return usage or more
    return Usage(usage.prompt_tokens + more.prompt_tokens, usage.completion_tokens + more.completion_tokens)


def _flaw_of(summary: AnswerBuilder, plan: SummaryPlan) -> Reason | None:
    """Why an answer is no whole summary. What is said beside a call is one in the lesson's flavour alone."""
    calls = tool_calls(summary.message())
    if calls and (plan.parameters.flavour == "robust" or not summary.text.strip()):
        return Reason("summary.called_tool", {"tool": calls[0].name})
    if summary.finish in CUT_SHORT:
        return Reason("summary.cut_off" if summary.finish == "length" else "summary.filtered")
    return None
