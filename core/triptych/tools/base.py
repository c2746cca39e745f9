"""Tools, and the box a turn draws them from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from triptych.messages import ToolCall


class ToolOutput(NamedTuple):
    """What a tool answered, as text for the model. `failed`: it is an error message."""

    text: str
    failed: bool = False


class Tool(Protocol):
    """A function a model may call. `parameters` is a JSON schema (an object)."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...

    async def run(self, arguments: Mapping[str, Any]) -> ToolOutput:
        """Never raises for bad arguments or files: the model gets a failed output that says what was wrong."""
        ...


class Toolbox:
    """The tools of one session by name."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def schemas(self) -> tuple[Mapping[str, Any], ...]:
        """The tools as a request carries them."""
        return tuple(
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
            }
            for tool in self._tools.values()
        )

    async def run(self, call: ToolCall) -> ToolOutput:
        """Run one call. Arguments that are not a JSON object are never run: the model is told so."""
        if not call.name:
            needed = 'a JSON object with "name" and "arguments"'
            return ToolOutput(f"error: a call must be {needed}; nothing was run", failed=True)
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            return ToolOutput(f"error: there is no tool named {call.name!r}; tools: {known}", failed=True)
        try:
            arguments = json.loads(call.arguments or "{}")
        except (ValueError, RecursionError):
            return ToolOutput("error: the arguments are not valid JSON; nothing was run", failed=True)
        if not isinstance(arguments, dict):
            return ToolOutput("error: the arguments must be a JSON object; nothing was run", failed=True)
        return await tool.run(arguments)
