"""A session at a desk: a model and tools by script, and everything the session tells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support_scripted_model import Answer, Checkpoints, ScriptedModel, ScriptedTool, SummarizingModel
from tests.support_strategies import faults
from triptych.agent import open_gate, run_turn
from triptych.checks import would_be_refused
from triptych.entries import Entry, entries_from, messages_of
from triptych.events import Event, StageEntered
from triptych.messages import Message
from triptych.policy import Policy, preset
from triptych.reasons import Reason
from triptych.session import Session
from triptych.stages import Stage
from triptych.storage.kept_session import begun
from triptych.tools.base import Toolbox, ToolOutput

SYSTEM: Message = {"role": "system", "content": "你是一个会用工具的助手。"}
LONG = "第一行很长的工具结果。" * 30


def questions(count: int) -> list[Message]:
    """Turns without tools."""
    pairs = [
        [{"role": "user", "content": f"问题{n}"}, {"role": "assistant", "content": f"回答{n}"}] for n in range(count)
    ]
    return [SYSTEM, *(message for pair in pairs for message in pair)]


def tool_turn(number: int, output: str = LONG) -> list[Message]:
    """A turn with one call."""
    call = {"id": f"old_{number}", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    return [
        {"role": "user", "content": f"读文件{number}"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"old_{number}", "content": output},
        {"role": "assistant", "content": f"读了{number}"},
    ]


def long_questions(count: int) -> list[Message]:
    """Turns of some length, without tools."""
    return [SYSTEM, *({**message, "content": message["content"] * 30} for message in questions(count)[1:])]


def read(call_id: str, arguments: str = '{"path": "a.txt"}') -> tuple[str, str, str]:
    return (call_id, "read_file", arguments)


class Desk:
    """A session with a model and tools by script, and everything it tells."""

    def __init__(
        self,
        messages: Sequence[Message],
        policy: Policy,
        *,
        outputs: Iterable[str | ToolOutput | Exception] = (),
        store: Any = None,
        file: Path | None = None,
        window: int | None = None,
    ) -> None:
        self.base = entries_from(messages)
        self.session = Session(self.base, policy, begun(file, self.base).store if file is not None else store)
        self.events: list[Event] = []
        self.session.subscribe(self.events.append)
        self.outputs = list(outputs)
        self.window = window
        self.model = ScriptedModel(())
        self.tool = ScriptedTool("read_file", ())

    async def ask(
        self,
        text: str,
        *script: Answer,
        summary: Answer | None = None,
        gate: Any = open_gate,
        checkpoints: Checkpoints | None = None,
    ) -> str:
        """A turn by script; with `summary`, that is the answer to each request for one, and not in the script."""
        if summary is None:
            self.model = ScriptedModel(script, window=self.window, checkpoints=checkpoints)
        else:
            self.model = SummarizingModel(script, summary, window=self.window, checkpoints=checkpoints)
        self.tool = ScriptedTool("read_file", self.outputs, checkpoints)
        return await run_turn(self.session, text, model=self.model, tools=Toolbox([self.tool]), gate=gate)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.session.entries

    @property
    def messages(self) -> list[Message]:
        return messages_of(self.session.entries)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def stages(self) -> list[Stage]:
        return [event.stage for event in self.of(StageEntered)]

    def reasons(self, stage: Stage) -> list[Reason]:
        return [event.reason for event in self.of(StageEntered) if event.stage == stage]

    def assert_sound(self) -> None:
        assert faults(self.messages) == []
        assert not would_be_refused(self.messages)


LESSON = preset("lesson")
QUIET = replace(LESSON, truncate=None, clear=None, summarize=None)
