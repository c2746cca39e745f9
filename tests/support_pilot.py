"""A workbench driven without a terminal, on a real session file, with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from tests.support_workbench import SAMPLE_WORKSPACE, SYSTEM
from triptych.entries import entries_from
from triptych.models.base import ChatModel
from triptych.models.offline import OfflineModel
from triptych.policy import preset
from triptych.session import Session
from triptych.settings import Settings
from triptych.storage.kept_session import begun
from triptych.tools.files import file_tools
from triptych.tools.workspace import Workspace
from triptych_tui.app import TriptychApp
from triptych_tui.launch import OpenedSession


def opened(file: Path, messages: list[dict[str, Any]], model: ChatModel | None = None) -> OpenedSession:
    """A session of these messages after the system message, kept in `file`."""
    entries = entries_from([{"role": "system", "content": SYSTEM}, *messages])
    kept = begun(file, entries).store
    return OpenedSession(
        session=Session(entries, preset("lesson"), kept),
        model=model or OfflineModel(),
        tools=file_tools(Workspace(SAMPLE_WORKSPACE)),
        settings=Settings(policy="lesson"),
        name=file.name,
        host="",
        files=("welcome.txt",),
        notice=None,
        kept=kept,
    )


def app_on(session: OpenedSession) -> TriptychApp:
    return TriptychApp(session)


async def until(pilot: Pilot[Any], holds: Callable[[], bool], what: str) -> None:
    """Let the application work until something holds."""
    for _ in range(1000):
        await pilot.pause()
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"never: {what}")


def screen_text(app: TriptychApp) -> str:
    """What is on screen, line by line."""
    width, height = app.size
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip()[:width] for strip in strips[:height])


def tool_talk(turns: int, characters: int = 200) -> list[dict[str, Any]]:
    """Questions with a call, a result of so many characters and an answer each."""
    messages: list[dict[str, Any]] = []
    for number in range(turns):
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
        messages += [
            {"role": "user", "content": f"question {number}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": f"{number}" * characters},
            {"role": "assistant", "content": f"answer {number}"},
        ]
    return messages
