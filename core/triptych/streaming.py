"""Sending a request and hearing its answer as it comes."""

from __future__ import annotations

from contextlib import aclosing
from time import monotonic

from triptych.events import TextStreamed
from triptych.models.assemble import AnswerBuilder
from triptych.models.base import ChatModel, ReasoningDelta, Request, TextDelta
from triptych.models.retries import Wait, stream_with_retries
from triptych.session import Session

CUT_SHORT = ("length", "content_filter")
"""How an answer ends that is not whole."""

DRAFT_SECONDS = 0.25
"""How often what has streamed is kept, should the program be killed."""


async def stream(
    session: Session, model: ChatModel, request: Request, builder: AnswerBuilder, wait: Wait, *, summary: bool = False
) -> None:
    """Send a request, with retries, and put its answer into `builder`; `summary`: it is no answer to the user.

    Raises ModelError when it fails.
    """
    drafted, drafted_at = 0, monotonic()
    async with aclosing(stream_with_retries(model, request, wait)) as deltas:
        async for delta in deltas:
            builder.add(delta)
            if isinstance(delta, TextDelta | ReasoningDelta):
                session.emit(TextStreamed(delta.text, summary, reasoning=isinstance(delta, ReasoningDelta)))
            if not summary and monotonic() - drafted_at >= DRAFT_SECONDS and len(builder.text) > drafted:
                session.keep_draft(builder.text[drafted:])
                drafted, drafted_at = len(builder.text), monotonic()
