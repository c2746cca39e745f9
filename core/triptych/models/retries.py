"""Asking again when a request fails in a way that may pass: the one place where anything is repeated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import NamedTuple

from triptych.models.base import ChatModel, Delta, ModelError, Request
from triptych.reasons import Reason

MOST_TRIES = 5
FIRST_WAIT = 2.0
"""Seconds before the second try, where the endpoint does not say; twice as many before each further one."""
LEAST_WAIT, MOST_WAIT = 1.0, 60.0
"""Seconds between which a wait lies, whatever the endpoint asks for."""


class Retry(NamedTuple):
    """A request failed for this reason; after so many seconds comes try number `attempt` of at most `of`."""

    attempt: int
    of: int
    seconds: float
    reason: Reason


Wait = Callable[[Retry], Awaitable[None]]
"""Awaited between two tries; whoever is asked decides how to wait, and what to show meanwhile."""


async def wait_silently(retry: Retry) -> None:
    """The wait of those who show nothing."""
    await asyncio.sleep(retry.seconds)


async def stream_with_retries(model: ChatModel, request: Request, wait: Wait) -> AsyncGenerator[Delta, None]:
    """The model's answer, asked for again while it fails in a way that may pass and nothing of it has come yet.

    Raises the last try's ModelError.
    """
    attempt = 1
    while True:
        begun = False
        try:
            async with aclosing(model.stream(request)) as deltas:
                async for delta in deltas:
                    begun = True
                    yield delta
        except ModelError as error:
            if begun or not error.may_pass or attempt == MOST_TRIES:
                raise
            attempt += 1
            retry = Retry(attempt, MOST_TRIES, _seconds_before(attempt, error.retry_after), error.reason)
        else:
            return
        await wait(retry)  # outside of the except block, so that nothing holds on to the error meanwhile


def _seconds_before(attempt: int, asked: float | None) -> float:
    seconds = FIRST_WAIT * 2 ** (attempt - 2) if asked is None else asked
    return min(max(seconds, LEAST_WAIT), MOST_WAIT)
