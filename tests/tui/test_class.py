"""A whole class, from the first command to the file on disk."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

from tests.support_lesson import LessonAgent, read_file_of
from tests.support_openai_server import serve
from tests.support_workbench import SAMPLE_WORKSPACE, SYSTEM, ask, workbench
from triptych.layers.summarize import SUMMARY_PROMPT
from triptych.messages import Message
from triptych.models.assemble import AnswerBuilder
from triptych.models.base import Request
from triptych.models.offline import OfflineModel
from triptych.tools.files import file_tools
from triptych.tools.workspace import Workspace

QUESTIONS = (
    "Read welcome.txt",
    "Read lighthouse/repair_invoice.txt and town/heron_nest_count.txt",
    "Read harbour/tide_table.csv",
    "Read lighthouse/lamp_settings.toml",
)
"""Four questions that make 1, 2, 1 and 1 tool calls."""


def offline(messages: list[Message], *, tools: bool = True) -> Message:
    """What the offline model answers to these messages."""
    schemas = file_tools(Workspace(SAMPLE_WORKSPACE)).schemas() if tools else ()

    async def answer() -> Message:
        builder = AnswerBuilder()
        async for delta in OfflineModel().stream(Request(tuple(messages), schemas)):
            builder.add(delta)
        return builder.message()

    return asyncio.run(answer())


def offline_summary(rendered: str) -> str:
    request = [{"role": "system", "content": SUMMARY_PROMPT}, {"role": "user", "content": rendered}]
    return str(offline(request, tools=False)["content"])


def test_first_command_shows_the_window_and_a_question_shows_call_cut_result_and_answer(tmp_path: Path) -> None:
    with workbench(tmp_path) as terminal:
        shown = ("OFFLINE", "1 Chat", "2 Messages", "3 File", "No key and no network", "F4 L3 summarize")
        terminal.wait_for(lambda screen: all(words in screen for words in shown))
        terminal.send("Read welcome.txt")
        terminal.press("enter")
        screen = terminal.wait_for("last turn")
        assert "→ read_file  welcome.txt" in screen
        assert "TRUNC" in screen
        assert "characters left out" in screen
        assert "welcome.txt begins" in screen
        terminal.send("\x11")  # ctrl+q
        assert terminal.wait() == 0


def test_four_questions_show_all_three_layers_and_leave_the_lessons_file(tmp_path: Path) -> None:
    lesson = LessonAgent(SYSTEM, offline, offline_summary, read_file_of(SAMPLE_WORKSPACE))
    file = tmp_path / "class.json"
    with workbench(tmp_path, "--new", file, "--system", SYSTEM) as terminal:
        terminal.wait_for("OFFLINE")
        screens = []
        for question in QUESTIONS:
            lesson.ask(question)
            screens.append(ask(terminal, question, file, len(lesson.history)))
            assert file.read_bytes() == lesson.saved()
    assert "CLEARED" not in screens[1]
    assert "CLEARED" in screens[2]
    assert "SUMMARY" not in screens[2]
    assert all(mark in screens[3] for mark in ("TRUNC", "CLEARED", "SUMMARY", "ACK"))


TOO_MANY = {"status": 429, "message": "slow down", "headers": {"Retry-After": "0"}}


def test_the_same_class_at_an_endpoint_that_is_busy_once(tmp_path: Path) -> None:
    script: list[dict[str, Any]] = [{"summary": "The user read welcome.txt."}]
    answers: list[Message] = []
    for number, question in enumerate(QUESTIONS):
        paths = [word for word in question.split() if "." in word]
        arguments = [json.dumps({"path": path}) for path in paths]
        script += [TOO_MANY] if number == 1 else []
        script.append({"tool_calls": [{"name": "read_file", "arguments": text} for text in arguments]})
        script.append({"text": f"That was {question}."})
        answers += _as_messages(arguments, sum(len(message.get("tool_calls", ())) for message in answers))
        answers.append({"role": "assistant", "content": f"That was {question}."})
    sent: list[list[Message]] = []

    def complete(messages: list[Message]) -> Message:
        sent.append(json.loads(json.dumps(messages)))
        return answers.pop(0)

    lesson = LessonAgent(SYSTEM, complete, lambda rendered: script[0]["summary"], read_file_of(SAMPLE_WORKSPACE))
    file = tmp_path / "class.json"
    with serve(script, tmp_path) as (base_url, record):
        env = {"OPENAI_API_KEY": "sk-canary-4417", "OPENAI_BASE_URL": base_url}
        arguments = ["--new", str(file), "--system", SYSTEM, "--model", "class-model"]
        with workbench(tmp_path, *arguments, env=env, cols=200, rows=50) as terminal:
            assert "OFFLINE" not in terminal.wait_for("class-model")
            for question in QUESTIONS:
                lesson.ask(question)
                screen = ask(terminal, question, file, len(lesson.history))
                assert file.read_bytes() == lesson.saved()
            raw = terminal.raw
        requests = [json.loads(line)["messages"] for line in record.read_text("utf-8").splitlines()]
    sent.insert(2, sent[2])  # the second question's, which was refused and sent again
    assert [messages for messages in requests if messages[0]["content"] == SYSTEM] == sent
    assert_all_panes_show(screen, lesson.history)
    assert b"sk-canary" not in raw
    assert b"sk-canary" not in file.read_bytes()


def assert_all_panes_show(screen: str, history: list[Message]) -> None:
    """The last answer and the compaction in the chat, a row with its mark for each message, the end of the file."""
    assert all(mark in screen for mark in ("TRUNC", "CLEARED", "SUMMARY", "ACK"))
    assert "entries → 1 summary" in screen
    assert screen.count(f"That was {QUESTIONS[-1]}"[:30]) == 3
    rows = [int(index) for index in re.findall(r"│[▌ ] *(\d+) [SUATΣ] .* [\d,]+  ", screen)]
    assert rows == list(range(len(history)))
    lines = json.dumps(history, indent=2, ensure_ascii=False).splitlines()
    assert re.search(rf" {len(lines)} +\]", screen)


def _as_messages(arguments: list[str], calls_before: int) -> list[Message]:
    """An assistant message with calls, with the ids that the server gives."""
    calls = [
        {"id": f"call_{number}", "type": "function", "function": {"name": "read_file", "arguments": text}}
        for number, text in enumerate(arguments, calls_before + 1)
    ]
    return [{"role": "assistant", "content": None, "tool_calls": calls}]
