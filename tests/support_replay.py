"""Sessions to be replayed: what was said in them, the real agent holding them, and numbers worked out apart."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from itertools import pairwise

from triptych.agent import run_turn
from triptych.entries import Entry, entries_from, messages_of
from triptych.messages import Message, is_result, tool_calls
from triptych.models.base import Delta, Finish, Request, TextDelta, ToolCallDelta
from triptych.models.offline import OfflineModel
from triptych.policy import Policy, policy_from_toml
from triptych.replay import replayed
from triptych.session import Session
from triptych.tally import Replayed, Summarizer
from triptych.tokens import ESTIMATORS, TokenCounter
from triptych.tools.base import ToolOutput

SYSTEM: Message = {"role": "system", "content": "Be brief."}
ORDER = 'stages = ["receive", "clear", "request", "tool", "truncate", "append", "answer", "save"]'
MASKING = policy_from_toml(f"{ORDER}\n[clear]\nkeep = 3\nplaceholder = '[omitted]'\n", "masking")
NO_LAYERS = policy_from_toml(ORDER, "no-layers")
UNLIMITED = 1_000_000_000


def call(call_id: str, name: str = "read_file", arguments: str = "{}") -> dict[str, object]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asked(number: int, *results: str) -> list[Message]:
    """A turn: a question, one answer that calls for each of the results together, and the answer to these.

    The ids of the calls restart in each answer.
    """
    turn: list[Message] = [{"role": "user", "content": f"What says page {number} of the lighthouse's log?"}]
    if results:
        ids = [f"call_{place}" for place in range(len(results))]
        turn.append({"role": "assistant", "content": None, "tool_calls": [call(each) for each in ids]})
        turn += [
            {"role": "tool", "tool_call_id": each, "content": text} for each, text in zip(ids, results, strict=True)
        ]
    return [*turn, {"role": "assistant", "content": f"Page {number} says that lamp {number} was lit."}]


def log(number: int, lines: int = 9) -> str:
    return "".join(f"{hour:02}:00 lamp {number} is lit, visibility {hour + number} miles\n" for hour in range(lines))


def long_session(turns: int) -> list[Message]:
    """Questions with none, one, two or three results, short ones and long ones."""
    messages = [SYSTEM]
    for number in range(turns):
        results = [log(number, 1 + (number * 7 + place * 5) % 23) for place in range(number % 4)]
        messages += asked(number, *results)
    return messages


async def replay_of(said: Sequence[Entry] | Sequence[Message], policy: Policy, window: int = 8192) -> Replayed:
    """A replay with summaries by the offline model."""
    entries = [each if isinstance(each, Entry) else Entry(at, each) for at, each in enumerate(said)]
    counter = TokenCounter(ESTIMATORS["meowgent"])
    return await replayed(entries, policy, Summarizer(OfflineModel(UNLIMITED), window, counter), counter)


class Held:
    """A session as the real agent holds it, with answers and results from a recording: a model and a toolbox."""

    name, offline = "recording", True

    def __init__(self, messages: Sequence[Message], policy: Policy, window: int) -> None:
        start = next(at for at, message in enumerate(messages) if message["role"] == "user")
        self.session = Session(entries_from(messages[:start]), policy)
        self.requests: list[list[Message]] = []
        self.summaries = 0
        self.window = window
        self._prompt = policy.summarize.prompt if policy.summarize else None
        self._questions = [message["content"] for message in messages if message["role"] == "user"]
        self._answers = iter([message for message in messages if message["role"] == "assistant"])
        self._results = iter([message["content"] for message in messages if is_result(message)])

    async def hold(self) -> None:
        for question in self._questions:
            await run_turn(self.session, question, model=self, tools=self)  # type: ignore[arg-type]

    @property
    def messages(self) -> list[Message]:
        return messages_of(self.session.entries)

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        messages = list(request.messages)
        if self._prompt is not None and messages[0]["content"] == self._prompt:
            self.summaries += 1
            async for delta in OfflineModel(UNLIMITED).stream(request):
                yield delta
            return
        self.requests.append(messages)
        answer = next(self._answers)
        if answer["content"]:
            yield TextDelta(answer["content"])
        calls = tool_calls(answer)
        for index, each in enumerate(calls):
            yield ToolCallDelta(index, each.id, each.name, each.arguments)
        yield Finish("tool_calls" if calls else "stop")

    def schemas(self) -> tuple[()]:
        return ()

    async def run(self, _call: object) -> ToolOutput:
        return ToolOutput(next(self._results))


def tokens_of(messages: Sequence[Message]) -> int:
    """By the lesson's rule, `int(cjk * 1.3 + others / 3.5)`, worked out from the texts alone."""
    texts = [str(message.get("content") or "") for message in messages]
    texts += [each.name + each.arguments for message in messages for each in tool_calls(message)]
    text = "".join(texts)
    cjk = sum("\u4e00" <= c <= "\u9fff" or "\u3000" <= c <= "\u303f" or "\uff00" <= c <= "\uffef" for c in text)
    return (cjk * 13 * 7 + (len(text) - cjk) * 20) // 70


def billed_again(requests: Sequence[Sequence[Message]]) -> int:
    """Tokens of all requests, each without the beginning that it shares with the one before."""
    anew: list[Message] = list(requests[0]) if requests else []
    for before, now in pairwise(requests):
        common = 0
        while common < min(len(before), len(now)) and before[common] == now[common]:
            common += 1
        anew += now[common:]
    return tokens_of(anew)
