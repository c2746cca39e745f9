"""The embedded model: no key, no network, and nothing known but the messages of the request.

It is honest machinery. Whatever a layer took out of the messages it cannot say, and equal requests get equal answers,
so that a class sees what each layer costs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triptych.models.base import Delta, Finish, Request, TextDelta, ToolCallDelta, UsageReport

if TYPE_CHECKING:
    from triptych.models.offline_reply import Reply


@dataclass(frozen=True, slots=True)
class OfflineModel:
    """A chat model without a model.

    window: tokens by the `meowgent` estimate above which a request is refused. pace: seconds for each word (each
    character of Chinese) while streaming, 0 for at once.
    """

    window: int = 8192
    pace: float = 0.0
    name: str = field(default="offline", init=False)
    offline: bool = field(default=True, init=False)

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Answer piece by piece. Raises ModelError `model.context_length` for a request larger than the window."""
        reply = await asyncio.to_thread(_reply, request, self.window)
        for word in reply.words:
            yield TextDelta(word)
            if self.pace > 0:
                await asyncio.sleep(self.pace)
        for index, (call_id, name, arguments) in enumerate(reply.calls):
            yield ToolCallDelta(index, call_id, name)
            yield ToolCallDelta(index, arguments=arguments)
        yield UsageReport(reply.prompt_tokens, reply.completion_tokens)
        yield Finish("tool_calls" if reply.calls else "stop")


def _reply(request: Request, window: int) -> Reply:
    # Its patterns take longer to compile than a window to open, so they wait for the first question.
    from triptych.models.offline_reply import reply_to

    return reply_to(request, window)
