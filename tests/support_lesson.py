"""The published lesson's agent, written down once more on its own: what a class's file must hold in the end.

It shares no code with the product, so that the product can be held against it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Message = dict[str, Any]
Complete = Callable[[list[Message]], Message]
"""The model: a list of messages in, an assistant message out."""

LIMIT, KEEP, KEEP_TURNS = 80, 2, 3
PLACEHOLDER = "[旧工具结果已清理, 如有需要请重新调用工具]"


class LessonAgent:
    """One talk, kept as the lesson keeps it. `run_tool(name, arguments)` gives a tool's whole output."""

    def __init__(
        self, system: str, complete: Complete, summarize: Callable[[str], str], run_tool: Callable[[str, Message], str]
    ) -> None:
        self.history: list[Message] = [{"role": "system", "content": system}]
        self._complete = complete
        self._summarize = summarize
        self._run_tool = run_tool

    def ask(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})
        results = [message for message in self.history if message["role"] == "tool"]
        for message in results[:-KEEP]:
            message["content"] = PLACEHOLDER
        self._compact()
        while True:
            answer = self._complete(self.history)
            self.history.append(answer)
            if not answer.get("tool_calls"):
                return
            for call in answer["tool_calls"]:
                output = self._run_tool(call["function"]["name"], json.loads(call["function"]["arguments"]))
                self.history.append({"role": "tool", "tool_call_id": call["id"], "content": cut(output)})

    def saved(self) -> bytes:
        return json.dumps(self.history, indent=2, ensure_ascii=False).encode()

    def _compact(self) -> None:
        users = [index for index, message in enumerate(self.history) if message["role"] == "user"]
        if len(users) <= KEEP_TURNS:
            return
        cut = users[-KEEP_TURNS]
        lines = []
        for message in self.history[1:cut]:
            if message.get("content"):
                lines.append(f"[{message['role']}] {message['content']}")
            for call in message.get("tool_calls", ()):
                lines.append(f"[assistant 调用工具] {call['function']['name']}({call['function']['arguments']})")
        summary = self._summarize("\n".join(lines))
        if summary.strip():
            head: list[Message] = [
                {"role": "user", "content": f"[以下是此前对话的摘要]\n{summary}"},
                {"role": "assistant", "content": "好的，我已了解之前的进展，继续。"},
            ]
            self.history = [self.history[0], *head, *self.history[cut:]]


def read_file_of(workspace: Path) -> Callable[[str, Message], str]:
    """The lesson's one tool, on a folder."""
    return lambda name, arguments: (workspace / arguments["path"]).read_text("utf-8")


def cut(text: str) -> str:
    """What becomes of a tool's output before it is history."""
    if len(text) <= LIMIT:
        return text
    head = LIMIT // 2
    return text[:head] + f"\n...中间省略{len(text) - LIMIT}个字...\n" + text[-(LIMIT - head) :]
