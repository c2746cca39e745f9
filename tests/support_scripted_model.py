"""A model and tools that follow a script, record what they are asked, and come by checkpoints.

A script is a sequence of answers, one for each request; an answer is a sequence of deltas, and of exceptions to raise
where they stand. `says`, `asks_for` and `fails` write the usual ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any

from triptych.models.base import (
    Delta,
    Finish,
    FinishReason,
    ModelError,
    Request,
    TextDelta,
    ToolCallDelta,
    UsageReport,
)
from triptych.tools.base import ToolOutput

Answer = Sequence[Delta | Exception]


def says(text: str, *, prompt_tokens: int | None = None, finish: FinishReason = "stop") -> Answer:
    """A plain answer, streamed in two pieces."""
    half = len(text) // 2
    pieces: list[Delta] = [TextDelta(piece) for piece in (text[:half], text[half:]) if piece]
    return [*pieces, *_usage(prompt_tokens), Finish(finish)]


def asks_for(*calls: tuple[str, str, str], text: str | None = None, prompt_tokens: int | None = None) -> Answer:
    """An answer that calls tools, each `(id, name, raw arguments)`; arguments come in two pieces."""
    deltas: list[Delta] = [TextDelta(text)] if text else []
    for index, (call_id, name, arguments) in enumerate(calls):
        half = len(arguments) // 2
        deltas.append(ToolCallDelta(index, call_id, name, arguments[:half]))
        deltas.append(ToolCallDelta(index, arguments=arguments[half:]))
    return [*deltas, *_usage(prompt_tokens), Finish("tool_calls")]


def fails(reason_id: str = "model.unreachable", *, after: Iterable[Delta] = ()) -> Answer:
    """A request that fails, at once or after some deltas."""
    return [*after, ModelError(reason_id, model="scripted")]


def _usage(prompt_tokens: int | None) -> list[Delta]:
    return [] if prompt_tokens is None else [UsageReport(prompt_tokens, 1)]


class Checkpoints:
    """Awaits that a turn comes by, by name; the task that reaches number `cancel_at` (from 1) is cancelled there."""

    def __init__(self, cancel_at: int | None = None) -> None:
        self.passed: list[str] = []
        self._cancel_at = cancel_at

    async def reach(self, name: str) -> None:
        self.passed.append(name)
        if len(self.passed) == self._cancel_at:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        await asyncio.sleep(0)


class ScriptedModel:
    """A ChatModel that answers request after request from its script and records every request."""

    name = "scripted"
    offline = True

    def __init__(
        self, script: Iterable[Answer], *, window: int | None = None, checkpoints: Checkpoints | None = None
    ) -> None:
        self.window = window
        self.requests: list[Request] = []
        self._answers = list(script)
        self._checkpoints = checkpoints or Checkpoints()

    @property
    def unused(self) -> int:
        """How many answers of the script nobody has asked for."""
        return len(self._answers) - len(self.requests)

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        number = len(self.requests)
        assert number <= len(self._answers), f"the script has no answer for request {number}: {request}"
        await self._checkpoints.reach(f"model {number} asked")
        for delta in self._answers[number - 1]:
            if isinstance(delta, Exception):
                raise delta
            yield delta
            await self._checkpoints.reach(f"model {number} said {type(delta).__name__}")


class SummarizingModel(ScriptedModel):
    """As ScriptedModel, the script being for questions alone; each request for a summary is answered by `summary`."""

    def __init__(
        self,
        script: Iterable[Answer],
        summary: Answer,
        *,
        window: int | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        super().__init__(script, window=window, checkpoints=checkpoints)
        self._summary = summary

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        if not request.tools:
            self._answers.insert(len(self.requests), self._summary)
        async for delta in super().stream(request):
            yield delta


class ScriptedTool:
    """A tool that gives its outputs one after the other and records the arguments it was run with."""

    description = "gives what the script says"
    parameters: Mapping[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}

    def __init__(
        self, name: str, outputs: Iterable[str | ToolOutput | Exception], checkpoints: Checkpoints | None = None
    ) -> None:
        self.name = name
        self.runs: list[Mapping[str, Any]] = []
        self._outputs = list(outputs)
        self._checkpoints = checkpoints or Checkpoints()

    async def run(self, arguments: Mapping[str, Any]) -> ToolOutput:
        self.runs.append(arguments)
        await self._checkpoints.reach(f"tool {self.name} run {len(self.runs)}")
        output = self._outputs[len(self.runs) - 1]
        if isinstance(output, Exception):
            raise output
        return ToolOutput(output) if isinstance(output, str) else output
