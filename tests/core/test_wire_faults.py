"""Faults of the wire, one by one: how the turn ends, what is kept on disk, that nothing is left, that it goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support_desk import QUIET
from tests.support_openai_server import OpenAIServer, answer
from tests.support_wire_faults import FAULTS, PATIENCE, QUESTION, TALK, Fault, free_port, told
from tests.support_workbench import SAMPLE_WORKSPACE
from triptych.agent import run_turn
from triptych.checks import would_be_refused
from triptych.entries import Entry, entries_from, messages_of
from triptych.models.base import ModelError
from triptych.models.openai import OpenAIModel
from triptych.models.retries import Retry
from triptych.session import Session
from triptych.storage.kept_session import begun, opened
from triptych.tools.files import file_tools
from triptych.tools.workspace import Workspace

NEXT = answer("And here is the next.")


class Asking:
    """A session on disk and a model at a server; waits take no time and are written down."""

    def __init__(self, file: Path, port: int, fault: Fault) -> None:
        base = entries_from(TALK)
        self.file = file
        self.session = Session(base, QUIET, begun(file, base).store)
        self.waits: list[float] = []
        self._model = OpenAIModel(
            name="m",
            base_url=f"http://127.0.0.1:{port}/v1",
            api_key="sk-secret",
            timeout=PATIENCE if fault.is_impatient else 30,
        )

    async def ask(self, text: str) -> str:
        """How the turn ended, or the id of the reason it failed with."""
        tools = file_tools(Workspace(SAMPLE_WORKSPACE))
        try:
            return await run_turn(self.session, text, model=self._model, tools=tools, wait=self._wait)
        except ModelError as failed:
            return failed.reason.id

    async def _wait(self, retry: Retry) -> None:
        self.waits.append(retry.seconds)

    def assert_kept(self) -> None:
        """The next program would find this very list, marks and all, and an API would accept it."""
        found = opened(self.file)
        assert everything(found.timeline.entries(found.timeline.head)) == everything(self.session.entries)
        assert found.is_saved == self.file.exists()
        assert not found.draft
        assert not would_be_refused(messages_of(self.session.entries))


def everything(entries: tuple[Entry, ...]) -> list[object]:
    return [(entry.id, entry.message, entry.marks, entry.pinned) for entry in entries]


async def nothing_runs() -> None:
    """Wait until what was left to the event loop is done, such as the closing of what nobody reads to its end."""
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others)


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_of_the_wire(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    server = OpenAIServer([*fault.replies, NEXT], port=free_port())
    desk = Asking(tmp_path / "s.json", server.port, fault)
    if fault.no_server:
        assert await desk.ask(QUESTION) == fault.outcome
    async with server:
        if not fault.no_server:
            assert await desk.ask(QUESTION) == fault.outcome
        assert desk.waits == list(fault.waits)
        assert len(server.requests) == len(fault.replies)
        assert [told(entry) for entry in desk.session.entries[len(TALK) :]] == list(fault.added)
        desk.assert_kept()
        assert desk.file.exists() == bool(fault.added)

        async with asyncio.timeout(10):
            await server.quiet()
            await nothing_runs()

        assert await desk.ask("and now?") == "answered"
        assert [told(entry) for entry in desk.session.entries[-2:]] == [
            "user and now?",
            "assistant And here is the next.",
        ]
        desk.assert_kept()
        assert server.requests[-1].messages == messages_of(desk.session.entries[:-1])
