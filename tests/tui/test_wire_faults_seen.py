"""Faults of the wire as a user of the workbench sees them: above the prompt, in the stage bar, in the next answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support_desk import QUIET
from tests.support_openai_server import OpenAIServer, Reply, answer
from tests.support_pilot import app_on, opened, screen_text, until
from tests.support_wire_faults import FAULTS, QUESTION, TALK, Fault, free_port
from triptych.models.openai import OpenAIModel
from triptych_tui.app import TriptychApp
from triptych_tui.widgets.prompt import Prompt, PromptText

ANSWERED = {name: fault for name, fault in FAULTS.items() if not (fault.no_server or fault.is_impatient)}


RETRIES = ("r",)
"""The key that asks again what failed."""


async def no_time(_seconds: float) -> None:
    pass


async def seen(pilot: Pilot[Any], app: TriptychApp, words: str, when: str) -> None:
    """Wait for words, wherever the screen breaks its lines."""
    await until(pilot, lambda: words in " ".join(screen_text(app).split()), f"{words} after {when}")


async def over(pilot: Pilot[Any], app: TriptychApp, name: str) -> None:
    await until(pilot, lambda: not app.workbench.is_occupied, f"the end of the turn after {name}")


async def ask(pilot: Pilot[Any], app: TriptychApp, *keys: str) -> None:
    """Ask the question; or, after these keys, once more."""
    await pilot.press(*keys)
    if keys != RETRIES:
        app.workbench.query_one(Prompt).put(QUESTION)
        await pilot.press("enter")


async def ask_and_see(pilot: Pilot[Any], app: TriptychApp, name: str, fault: Fault) -> tuple[str, ...]:
    """Ask, and see what is said of the fault; the keys that come before the question is asked once more."""
    await ask(pilot, app)
    await over(pilot, app, name)
    for words in (fault.stage, *fault.seen):
        await seen(pilot, app, words, name)
    is_told = "Esc dismiss" in screen_text(app)
    assert is_told == (fault.outcome != "answered"), name
    comes_back = fault.fails and not fault.added
    assert app.workbench.query_one(PromptText).text == (QUESTION if comes_back else ""), name
    return RETRIES if comes_back else ("escape",) if is_told else ()


@pytest.mark.long_walk
async def test_all_faults_of_the_wire_one_after_the_other(tmp_path: Path) -> None:
    replies: list[Reply] = [answer("There I am.")]
    for name, fault in ANSWERED.items():
        replies += [*fault.replies, answer(f"After: {name}.")]
    server = OpenAIServer(replies, port=free_port())
    session = opened(tmp_path / "s.json", TALK[1:], OpenAIModel(name="m", base_url=server.base_url, api_key="sk-1"))
    session.session.policy = QUIET
    app = app_on(session)
    async with app.run_test(size=(120, 30)) as pilot:
        app.workbench.failing.sleep = no_time
        again = await ask_and_see(pilot, app, "nobody listens", FAULTS["connection refused"])
        async with server:
            await ask(pilot, app, *again)
            await seen(pilot, app, "There I am.", "nobody listened")
            await over(pilot, app, "the first")
            for name, fault in ANSWERED.items():
                arrived = len(server.requests)
                again = await ask_and_see(pilot, app, name, fault)
                assert len(server.requests) - arrived == len(fault.replies), name
                await ask(pilot, app, *again)
                await seen(pilot, app, f"After: {name}.", name)
                await over(pilot, app, name)
                assert "Esc dismiss" not in screen_text(app), name
