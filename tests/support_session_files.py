"""Session files for tests: a few messages, the bytes they are saved as, and what was refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from triptych.messages import Message
from triptych.storage.kept_session import KeptSession, begun
from triptych.storage.session_file import SessionFileError

SYSTEM: Message = {"role": "system", "content": "你是助手"}
USER: Message = {"role": "user", "content": 'line\nline 🙂 "quoted" \\ \u2028 \x7f'}
ANSWER: Message = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "grep", "arguments": "{}"}}],
    "extra": {"empty": {}, "list": [], "numbers": [1, 1.5, 1e-7, -0.0, True, None]},
}
LIST = [SYSTEM, USER, ANSWER]


def dumped(messages: Sequence[Message]) -> bytes:
    return json.dumps(list(messages), indent=2, ensure_ascii=False).encode()


def kept_at(path: Path) -> KeptSession:
    """A store for a session that has no file yet."""
    return begun(path, ()).store


def refusal(error: pytest.ExceptionInfo[SessionFileError]) -> str:
    return error.value.reason.id


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.suffix == ".tmp"]
