"""Talking to the offline model: one request at a time, or a class with real files to read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triptych.messages import Message, tool_calls
from triptych.models.assemble import AnswerBuilder
from triptych.models.base import Delta, Request
from triptych.models.offline import OfflineModel
from triptych.tools.files import file_tools
from triptych.tools.workspace import Workspace

SCHEMAS = file_tools(Workspace(Path())).schemas()

HARBOUR = """\
Harbour log of the third of May.
Old Zhou repaired the lamp at noon.
The fuel tank holds 40 litres.
"""
TIDES = "High water is at 05:12 and at 17:40.\nThe bar can be crossed two hours before high water.\n"
LIGHTHOUSE = "燈塔的看守人是溫述禾。\n塔高三十一公尺，一共一百四十八級臺階。\n"
FILES = {"harbour.txt": HARBOUR, "tides.txt": TIDES, "notes/燈塔.txt": LIGHTHOUSE}


@dataclass(frozen=True)
class Reply:
    """One answer, put together."""

    deltas: tuple[Delta, ...]
    message: Message

    @property
    def text(self) -> str:
        return self.message.get("content") or ""

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Name and raw arguments of each call."""
        return [(call.name, call.arguments) for call in tool_calls(self.message)]


def reply(messages: Sequence[Message], schemas: Sequence[Any] = SCHEMAS, model: OfflineModel | None = None) -> Reply:
    """The answer to one request, by a model with all the room it needs."""

    async def stream() -> tuple[Delta, ...]:
        request = Request(tuple(messages), tuple(schemas))
        return tuple([delta async for delta in (model or OfflineModel(window=10**9)).stream(request)])

    deltas = asyncio.run(stream())
    builder = AnswerBuilder()
    for delta in deltas:
        builder.add(delta)
    return Reply(deltas, builder.message())


def answer(*said: str, role: str = "user", schemas: Sequence[Any] = SCHEMAS) -> Reply:
    """The answer to messages of one role, the newest of them the user's."""
    older = [{"role": role, "content": text} for text in said[:-1]]
    return reply([*older, {"role": "user", "content": said[-1]}], schemas)


class Class:
    """A conversation about real files. `messages` is the list; a test may do to it what a layer does."""

    def __init__(self, root: Path, files: dict[str, str] | None = None) -> None:
        for path, text in (files or {}).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, "utf-8")
        self._tools = file_tools(Workspace(root))
        self.messages: list[Message] = [{"role": "system", "content": "You help with the papers of a harbour."}]
        self.calls: list[tuple[str, str]] = []

    def ask(self, text: str) -> str:
        """The answer; `calls` are those that led to it."""
        self.messages.append({"role": "user", "content": text})
        self.calls = []
        for _ in range(5):
            said = reply(self.messages)
            self.messages.append(said.message)
            if not said.calls:
                return said.text
            self.calls += said.calls
            for call in tool_calls(said.message):
                output = asyncio.run(self._tools.run(call))
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": output.text})
        raise AssertionError(f"{text!r} was never answered: {self.messages}")

    @property
    def results(self) -> list[Message]:
        return [message for message in self.messages if message["role"] == "tool"]
