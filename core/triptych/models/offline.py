"""The embedded model: no key, no network, and nothing known but the messages of the request.

It is honest machinery. Whatever a layer took out of the messages it cannot say, and equal requests get equal answers,
so that a class sees what each layer costs.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from triptych.layers.summarize import SUMMARY_PROMPT
from triptych.messages import Message, answered_id, is_result, role_of, text_of, tool_calls
from triptych.models.base import Delta, Finish, ModelError, Request, TextDelta, ToolCallDelta, UsageReport
from triptych.models.offline_answers import Answer, answer_to
from triptych.models.offline_language import CJK
from triptych.models.offline_summary import summary_of
from triptych.tokens import MeowgentEstimator, TokenCounter

_WORD = re.compile(rf"[{CJK}]|\s*[^\s{CJK}]+|\s+")
_COUNTER = TokenCounter(MeowgentEstimator())


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
        tokens = _request_tokens(request)
        if tokens > self.window:
            raise ModelError("model.context_length", tokens=tokens, window=self.window)
        answer = _answer(request)
        for word in _WORD.findall(answer.text):
            yield TextDelta(word)
            if self.pace > 0:
                await asyncio.sleep(self.pace)
        for index, (call, call_id) in enumerate(zip(answer.calls, _new_call_ids(request.messages), strict=False)):
            yield ToolCallDelta(index, call_id, call.name)
            yield ToolCallDelta(index, arguments=call.arguments_text)
        yield UsageReport(tokens, _answer_tokens(answer))
        yield Finish("tool_calls" if answer.calls else "stop")


def _answer(request: Request) -> Answer:
    first, *rest = request.messages or ({},)
    if role_of(first) == "system" and text_of(first).startswith(SUMMARY_PROMPT):
        return Answer(summary_of("\n".join(map(text_of, rest))))
    return answer_to(request)


def _request_tokens(request: Request) -> int:
    weight = sum(_COUNTER.message_weight(message) for message in request.messages)
    return _COUNTER.tokens(weight + _COUNTER.schemas_weight(request.tools))


def _answer_tokens(answer: Answer) -> int:
    texts = [answer.text, *(call.name + call.arguments_text for call in answer.calls)]
    return _COUNTER.tokens(sum(map(_COUNTER.estimator.weight, texts)))


def _new_call_ids(messages: Sequence[Message]) -> Iterator[str]:
    """Ids that no call or result of the list has, counted from the number of calls in it."""
    taken = {call.id for message in messages for call in tool_calls(message)}
    taken |= {answered_id(message) for message in messages if is_result(message)}
    ids = (f"call_{number}" for number in count(sum(len(tool_calls(message)) for message in messages)))
    return (call_id for call_id in ids if call_id not in taken)
