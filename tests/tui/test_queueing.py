"""What is asked for while something runs waits its turn, and is seen to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key
from textual.pilot import Pilot

from tests.support_desk import QUIET
from tests.support_openai_server import OpenAIServer, Received, Reply, answer, error, finish_chunk, text_chunks
from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from triptych.models.openai import OpenAIModel
from triptych_tui.app import TriptychApp
from triptych_tui.i18n import set_language
from triptych_tui.launch import OpenedSession
from triptych_tui.widgets.prompt import PromptText


class Endpoint:
    """A server that answers when it is told to, with what it was asked; `refuses` the first time it may be."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.go_on = asyncio.Event()
        self.asked: list[str] = []
        self._refuses = refuses

    def __call__(self, received: Received) -> Reply:
        self.asked.append(received.messages[-1]["content"])
        if self._refuses and len(self.asked) == 1:
            refusal = error(400, "bad word")
            return Reply([self.go_on, *refusal.pieces], 400, refusal.headers)
        text = text_chunks(f"You asked {self.asked[-1]}.")
        return Reply([*text[:1], self.go_on, *text[1:], finish_chunk()])


def session_at(server: OpenAIServer, tmp_path: Path) -> OpenedSession:
    session = opened(tmp_path / "s.json", tool_talk(1), OpenAIModel(name="m", base_url=server.base_url))
    session.session.policy = QUIET
    return session


def typed(app: TriptychApp) -> str:
    return app.workbench.query_one(PromptText).text


def waiting(app: TriptychApp) -> str:
    """What the row above the prompt says, "" where there is none."""
    rows = [line for line in screen_text(app).splitlines() if "takes it back" in line]
    return rows[0].strip() if rows else ""


def users(session: OpenedSession) -> list[Any]:
    return [entry.message["content"] for entry in session.session.entries if entry.message["role"] == "user"]


async def ask(pilot: Pilot[Any], *questions: str) -> None:
    for question in questions:
        await pilot.press(*question, "enter")


async def asked(pilot: Pilot[Any], endpoint: Endpoint, *texts: str) -> None:
    await until(pilot, lambda: endpoint.asked == list(texts), f"asked: {texts}")


Prepared = tuple[TriptychApp, OpenedSession, Endpoint]


async def with_one_running(
    tmp_path: Path, then: Callable[[Pilot[Any], Prepared], Any], *, refuses: bool = False
) -> None:
    """A workbench in which `one` was asked and is being answered."""
    endpoint = Endpoint(refuses=refuses)
    async with OpenAIServer(endpoint) as server:
        session = session_at(server, tmp_path)
        app = app_on(session)
        async with app.run_test(size=(100, 30)) as pilot:
            await ask(pilot, "one")
            await asked(pilot, endpoint, "one")
            await then(pilot, (app, session, endpoint))


async def test_questions_wait_in_their_order_and_are_asked_one_after_the_other(tmp_path: Path) -> None:
    async def then(pilot: Pilot[Any], prepared: Prepared) -> None:
        app, session, endpoint = prepared
        await ask(pilot, "two", "three")
        await until(pilot, lambda: waiting(app).startswith("next: two  ·  three  "), "both wait")
        assert typed(app) == ""
        assert users(session)[-1] == "one"
        endpoint.go_on.set()
        await asked(pilot, endpoint, "one", "two", "three")
        await until(pilot, lambda: "You asked three." in screen_text(app), "the last answer")
        assert waiting(app) == ""
        assert users(session)[-3:] == ["one", "two", "three"]
        contents = [entry.message["content"] for entry in session.session.entries[-6:]]
        assert contents == ["one", "You asked one.", "two", "You asked two.", "three", "You asked three."]

    await with_one_running(tmp_path, then)


async def test_questions_sent_in_one_burst_are_as_many_questions(tmp_path: Path) -> None:
    async def then(pilot: Pilot[Any], prepared: Prepared) -> None:
        app, _session, endpoint = prepared
        for key in ("t", "w", "o", "enter", "ctrl+j", "t", "o", "o", "enter", "enter", "s", "o"):
            app.post_message(Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: waiting(app).startswith("next: two  ·  too  "), "both wait")
        assert typed(app) == "so"
        endpoint.go_on.set()
        await asked(pilot, endpoint, "one", "two", "too")

    await with_one_running(tmp_path, then)


async def test_esc_cancels_what_runs_and_the_questions_return_to_the_prompt(tmp_path: Path) -> None:
    async def then(pilot: Pilot[Any], prepared: Prepared) -> None:
        app, session, endpoint = prepared
        await ask(pilot, "two", "three")
        await pilot.press("f3", *"and", "escape")
        await until(pilot, lambda: typed(app) == "two\nthree\nand", "all of it is in the prompt")
        await until(pilot, lambda: "Cancelled." in screen_text(app), "the end of the turn")
        assert waiting(app) == ""
        assert "Clear old tool results" not in screen_text(app)
        assert endpoint.asked == ["one"]
        assert users(session)[-1] == "one"

    await with_one_running(tmp_path, then)


async def test_after_a_failure_nothing_more_is_asked_by_itself(tmp_path: Path) -> None:
    async def then(pilot: Pilot[Any], prepared: Prepared) -> None:
        app, _session, endpoint = prepared
        await ask(pilot, "two")
        await until(pilot, lambda: waiting(app) != "", "it waits")
        endpoint.go_on.set()
        await until(pilot, lambda: typed(app) == "one\ntwo", "both are in the prompt")
        await until(pilot, lambda: "bad word" in screen_text(app), "the failure")
        assert waiting(app) == ""
        await pilot.press("escape", "r")
        await asked(pilot, endpoint, "one", "one")
        assert typed(app) == "two"

    await with_one_running(tmp_path, then, refuses=True)


async def test_backspace_takes_back_what_was_sent_last(tmp_path: Path) -> None:
    async def then(pilot: Pilot[Any], prepared: Prepared) -> None:
        app, _session, endpoint = prepared
        await ask(pilot, "two", "three")
        await pilot.press("f4", "backspace")
        await until(pilot, lambda: "L3" not in waiting(app) and "three" in waiting(app), "layer 3 is let go")
        await pilot.press("backspace")
        await until(pilot, lambda: typed(app) == "three" and "three" not in waiting(app), "the last question is back")
        await pilot.press("backspace")
        assert typed(app) == "thre"
        endpoint.go_on.set()
        await asked(pilot, endpoint, "one", "two")
        await until(pilot, lambda: waiting(app) == "", "nothing waits")
        assert typed(app) == "thre"

    await with_one_running(tmp_path, then)


async def test_a_layer_opens_when_the_turn_is_over_and_questions_behind_it_wait_for_its_panel(tmp_path: Path) -> None:
    async def then(pilot: Pilot[Any], prepared: Prepared) -> None:
        app, _session, endpoint = prepared
        await pilot.press("f3", "f3")
        await ask(pilot, "two")
        await until(pilot, lambda: waiting(app).startswith("next: L2 clear  ·  two  "), "both wait")
        endpoint.go_on.set()
        await until(pilot, lambda: "Clear old tool results" in screen_text(app), "the panel")
        assert endpoint.asked == ["one"]
        assert waiting(app).startswith("next: two")
        await pilot.press("escape")
        await asked(pilot, endpoint, "one", "two")
        await until(pilot, lambda: "You asked two." in screen_text(app), "its answer")

    await with_one_running(tmp_path, then)


async def test_a_question_sent_from_a_panel_closes_it_and_goes_behind_what_waits(tmp_path: Path) -> None:
    async def then(pilot: Pilot[Any], prepared: Prepared) -> None:
        app, _session, endpoint = prepared
        await pilot.press("f3")
        await ask(pilot, "two")
        endpoint.go_on.set()
        await until(pilot, lambda: "Clear old tool results" in screen_text(app), "the panel")
        app.workbench.action_prompt()
        await ask(pilot, "three")
        await asked(pilot, endpoint, "one", "two", "three")
        assert "Clear old tool results" not in screen_text(app)

    await with_one_running(tmp_path, then)


async def test_what_was_said_of_a_turn_stays_while_the_next_is_asked(tmp_path: Path) -> None:
    hold = asyncio.Event()
    cut = Reply([*text_chunks("Half of it"), hold, finish_chunk("length")])
    async with OpenAIServer([cut, answer("You asked two.")]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(100, 30)) as pilot:
            await ask(pilot, "one")
            await server.request()
            await ask(pilot, "two")
            hold.set()
            await until(pilot, lambda: "You asked two." in screen_text(app), "the next answer")
            assert "length limit cut it" in screen_text(app)


async def test_leaving_while_something_waits_asks_nothing_more(tmp_path: Path) -> None:
    async def then(pilot: Pilot[Any], prepared: Prepared) -> None:
        app, session, endpoint = prepared
        await ask(pilot, "two")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running, "the end")
        assert endpoint.asked == ["one"]
        assert users(session)[-1] == "one"

    await with_one_running(tmp_path, then)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "next: [x](y)  ·  L3 summarize"),
        ("zh_Hans", "接下来： [x](y)  ·  L3 摘要"),
        ("zh_Hant", "接下來： [x](y)  ·  L3 摘要"),
    ],
)
async def test_three_languages_at_80_columns(language: str, words: str, tmp_path: Path) -> None:
    endpoint = Endpoint()
    async with OpenAIServer(endpoint) as server:
        set_language(language)
        try:
            app = app_on(session_at(server, tmp_path))
            async with app.run_test(size=(80, 24)) as pilot:
                await ask(pilot, "one")
                await asked(pilot, endpoint, "one")
                app.workbench.query_one(PromptText).text = "[x](y)"
                await pilot.press("enter", "f4")
                await until(pilot, lambda: words in screen_text(app), "the row")
        finally:
            set_language("en")
