"""What the offline model replies to a whole request: an answer, its call ids, and what both cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from triptych.layers.summarize import ROBUST_PROMPT, SUMMARY_PROMPT
from triptych.messages import Message, answered_id, is_result, role_of, text_of, tool_calls
from triptych.models.base import ModelError, Request
from triptych.models.offline_answers import Answer, answer_to
from triptych.models.offline_language import CJK
from triptych.models.offline_summary import summary_of, summary_of_fenced
from triptych.tokens import MeowgentEstimator, TokenCounter

_WORD = re.compile(rf"[{CJK}]|\s*[^\s{CJK}]+|\s+")
_COUNTER = TokenCounter(MeowgentEstimator())


@dataclass(frozen=True, slots=True)
class Reply:
    """The pieces of text in order, the calls as `(id, name, arguments)`, and tokens by the `meowgent` estimate."""

    words: tuple[str, ...]
    calls: tuple[tuple[str, str, str], ...]
    prompt_tokens: int
    completion_tokens: int


def reply_to(request: Request, window: int) -> Reply:
    """Raises ModelError `model.context_length` for a request larger than the window."""
    tokens = _request_tokens(request)
    if tokens > window:
        raise ModelError("model.context_length", tokens=tokens, window=window)
    answer = _answer(request)
    ids = _new_call_ids(request.messages)
    calls = tuple((call_id, call.name, call.arguments_text) for call, call_id in zip(answer.calls, ids, strict=False))
    return Reply(tuple(_WORD.findall(answer.text)), calls, tokens, _answer_tokens(answer))


def _answer(request: Request) -> Answer:
    first, *rest = request.messages or ({},)
    if role_of(first) == "system" and text_of(first).startswith(SUMMARY_PROMPT):
        return Answer(summary_of("\n".join(map(text_of, rest))))
    if role_of(first) == "system" and text_of(first).startswith(ROBUST_PROMPT):
        return Answer(summary_of_fenced("\n".join(map(text_of, rest))))
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
