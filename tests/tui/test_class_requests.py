"""A class over HTTP, looked at while each request is on its way: what the server received is what the panes show."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from tests.support_accounts import Message, by_letter, estimate, letter_of, lines_of, row_tokens, shares, tools_estimate
from tests.support_lesson import LessonAgent, read_file_of
from tests.support_openai_server import (
    DONE,
    Call,
    OpenAIServer,
    Piece,
    Reply,
    answer,
    call_chunk,
    call_chunks,
    finish_chunk,
    usage_chunk,
)
from tests.support_pilot import app_on, opened, screen_text, until
from tests.support_workbench import SAMPLE_WORKSPACE, SYSTEM
from triptych.models.openai import OpenAIModel
from triptych_tui.app import TriptychApp

QUESTIONS = (
    ("Read it", ["welcome.txt"]),
    ("Read both", ["lighthouse/repair_invoice.txt", "town/heron_nest_count.txt"]),
    ("And this", ["harbour/tide_table.csv"]),
    ("The last", ["lighthouse/lamp_settings.toml"]),
)
SUMMARY = "The user read welcome.txt."
MEASURED = 3210


def calls_of(paths: Sequence[str]) -> list[Call]:
    return [Call(f"id_{path}", "read_file", json.dumps({"path": path})) for path in paths]


def interleaved(calls: Sequence[Call]) -> Reply:
    """Parallel calls whose arguments come in turns, and the usage in a chunk without choices."""
    streams = [call_chunks(index, call.id, call.name, call.arguments) for index, call in enumerate(calls)]
    pieces: list[Piece] = [piece or call_chunk(0) for turn in zip_longest(*streams) for piece in turn]
    return Reply([*pieces, finish_chunk("tool_calls"), usage_chunk(100), DONE])


def replies() -> Iterator[Reply]:
    """For each question its calls and an answer; for the fourth a summary before them."""
    for number, (question, paths) in enumerate(QUESTIONS):
        if number == 3:
            yield answer(SUMMARY, usage=(50, 5))
        yield interleaved(calls_of(paths))
        yield answer(f"That was: {question}.", usage=(MEASURED, 9))


class Held:
    """Answers in order, each kept back until it is let go."""

    def __init__(self) -> None:
        self._holds = [asyncio.Event() for _ in range(9)]
        held = zip(self._holds, replies(), strict=True)
        self.replies = [Reply([hold, *reply.pieces], reply.status, reply.headers) for hold, reply in held]

    def let_go(self, number: int) -> None:
        self._holds[number].set()

    async def __aenter__(self) -> Held:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let all go, so that a program whose test fails can end."""
        for hold in self._holds:
            hold.set()


def lesson_agent() -> tuple[LessonAgent, list[list[Message]]]:
    """The lesson's own agent, given the same answers, and what it sends."""
    sent: list[list[Message]] = []
    answers: list[Message] = []
    for question, paths in QUESTIONS:
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls_of(paths)
        ]
        answers.append({"role": "assistant", "content": None, "tool_calls": calls})
        answers.append({"role": "assistant", "content": f"That was: {question}."})

    def complete(messages: list[Message]) -> Message:
        sent.append(json.loads(json.dumps(messages)))
        return answers.pop(0)

    def summarize(rendered: str) -> str:
        sent.append([{"role": "user", "content": rendered}])
        return SUMMARY

    return LessonAgent(SYSTEM, complete, summarize, read_file_of(SAMPLE_WORKSPACE)), sent  # type: ignore[arg-type]


def assert_rows_are(app: TriptychApp, messages: Sequence[Message]) -> None:
    """Pane 2 holds these messages: number, role, first words or calls, and that is all it holds."""
    rows = [line for line in lines_of(app, "#messages") if line.strip()][1:]
    assert len(rows) == len(messages)
    for index, (row, message) in enumerate(zip(rows, messages, strict=True)):
        calls = [call["function"] for call in message.get("tool_calls", ())]
        letter = "A" if message["role"] == "assistant" else letter_of(message)
        assert re.match(rf".? *{index} {letter} ", row), row
        for words in [*(call["name"] for call in calls), (message["content"] or "")[:10].replace("\n", "⏎")]:
            assert words in row


async def test_each_request_is_the_list_that_pane_2_shows_at_that_moment(tmp_path: Path) -> None:
    lesson, sent = lesson_agent()
    async with OpenAIServer((held := Held()).replies) as server:
        model = OpenAIModel(name="class-model", base_url=server.base_url, window=8192)
        session = opened(tmp_path / "class.json", [], model)
        app = app_on(session)
        async with app.run_test(size=(220, 60)) as pilot, held:
            number = 0
            for question, _paths in QUESTIONS:
                lesson.ask(question)
                await pilot.press(*question, "enter")
                while number < len(sent):
                    received = await server.request(number + 1)
                    await pilot.pause()
                    if "tools" in received.body:
                        assert received.messages == sent[number]
                        words = f"{len(received.messages)} messages, ~{estimate(received.messages):,} tokens"
                        await until(pilot, lambda words=words: words in screen_text(app), words)
                        assert_rows_are(app, received.messages)
                    else:
                        assert received.messages[1:] == sent[number]
                    held.let_go(number)
                    number += 1
                await until(pilot, lambda: "last turn" in screen_text(app), "the end of the turn")
                await until(pilot, lambda: "✓ saved" in lines_of(app, "#file-header")[0], "saved")
                assert_rows_are(app, lesson.history)
                assert (tmp_path / "class.json").read_bytes() == lesson.saved()
            assert all(mark in "\n".join(lines_of(app, "#messages")) for mark in ("TRUNC", "CLEARED", "SUMMARY", "ACK"))
            assert f"┊ {SUMMARY}" in "\n".join(lines_of(app, "#chat"))
            assert_measured(app, server.requests[-1].body, lesson.history)
    assert len(server.requests) == len(held.replies)


def assert_measured(app: TriptychApp, body: Message, history: Sequence[Message]) -> None:
    """The strip is the last measure carried over to the list with the answer."""
    tools = tools_estimate(body["tools"])
    size = MEASURED * (estimate(history) + tools) // (estimate(body["messages"]) + tools)
    parts = by_letter(history, row_tokens(history))
    total = size - shares([*parts.values(), tools], size)[-1]
    assert f" ≈{total:,} + {size - total:,} tools / 8,192 " in lines_of(app, "#gauges")[1]
