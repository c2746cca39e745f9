"""What a model thinks before it answers: folded in the chat, whole in the raw list and in the file."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support_openai_server import OpenAIServer, Reply, answer, call_chunks, chunk, finish_chunk, text_chunks
from tests.support_pilot import app_on, opened, screen_text, until
from triptych.models.openai import OpenAIModel
from triptych_tui.app import TriptychApp
from triptych_tui.launch import OpenedSession
from triptych_tui.widgets.chat_pane import ChatPane

THOUGHT = "The user greets me. " * 20
TOKENS = int(len(THOUGHT) / 3.5)
THOUGHT_PIECES = [chunk({"reasoning_content": THOUGHT[start : start + 50]}) for start in range(0, len(THOUGHT), 50)]


def said(**message: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "hello"}, {"role": "assistant", **message}]


def chat(app: TriptychApp) -> list[str]:
    pane = app.workbench.query_one(ChatPane)
    return [pane.render_line(y).text.rstrip() for y in range(pane.size.height)]


def session_at(server: OpenAIServer, tmp_path: Path) -> OpenedSession:
    return opened(tmp_path / "s.json", [], OpenAIModel(name="m", base_url=server.base_url))


@pytest.mark.parametrize(
    "message",
    [
        {"content": "Hello!", "reasoning_content": THOUGHT},
        {"content": f"<think>{THOUGHT}</think>\n\nHello!"},
        {"content": f"\n<think>\n{THOUGHT}\n</think>Hello!"},
    ],
)
async def test_a_thought_is_one_row_that_enter_unfolds_and_folds(message: dict[str, Any], tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", said(**message)))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "Hello!" in screen_text(app), "the answer")
        first, second = chat(app)[1:3]
        assert first.split(" A  ")[1].startswith(f"thought · ~{TOKENS} tok")
        assert second.endswith("       Hello!")
        assert "greets" not in "\n".join(chat(app))
        await pilot.press("escape")
        await until(pilot, lambda: "tok   Enter unfold" in screen_text(app), "the key")
        await pilot.press("enter")
        await until(pilot, lambda: "│ The user greets me. The user" in "\n".join(chat(app)), "the thought")
        assert "tok   Enter fold" in screen_text(app)
        assert any(line.endswith("       Hello!") for line in chat(app))
        await pilot.press("enter")
        await until(pilot, lambda: "greets" not in "\n".join(chat(app)), "folded")
        assert chat(app)[2].endswith("       Hello!")


@pytest.mark.parametrize("content", ["Hello!", "<think>\n\n</think>\n\nHello!", "2 <think> 3"])
async def test_without_a_thought_there_is_no_row_for_it(content: str, tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", said(content=content)))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: content[-6:] in screen_text(app), "the answer")
        assert "thought" not in "\n".join(chat(app))
        await pilot.press("escape", "enter")
        await pilot.pause()
        assert chat(app)[1].endswith(content.rpartition("\n")[2])


async def test_what_a_user_writes_in_tags_is_no_thought(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", [{"role": "user", "content": "<think>like a fish</think> what now?"}]))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "<think>like a fish</think> what now?" in screen_text(app), "the question")


@pytest.mark.parametrize("tagged", [False, True])
async def test_while_it_thinks_one_row_counts_and_nothing_jumps_at_the_end(tagged: bool, tmp_path: Path) -> None:
    think, speak, end = asyncio.Event(), asyncio.Event(), asyncio.Event()
    begun = text_chunks("<think>" + THOUGHT, 50) if tagged else THOUGHT_PIECES
    closed = text_chunks("</think>\n\n", 20) if tagged else []
    pieces = [begun[0], think, *begun[1:], speak, *closed, *text_chunks("Hello!"), end, finish_chunk()]
    async with OpenAIServer([Reply(pieces)]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press(*"hi", "enter")
            await until(pilot, lambda: "A  thinking … ~1" in screen_text(app), "the row")
            think.set()
            await until(pilot, lambda: f"A  thinking … ~{TOKENS}▏" in screen_text(app), "it counts")
            assert "greets" not in "\n".join(chat(app))
            speak.set()
            await until(pilot, lambda: "Hello!▏" in screen_text(app), "the answer begins")
            before = chat(app)
            assert f"thought · ~{TOKENS} tok" in before[1]
            end.set()
            await until(pilot, lambda: "last turn" in screen_text(app), "the end")
            after = chat(app)
            assert [line[8:].replace("▏", "") for line in before] == [line[8:].replace("▏", "") for line in after]
    saved = json.loads((tmp_path / "s.json").read_bytes())[-1]
    if tagged:
        assert saved == {"role": "assistant", "content": f"<think>{THOUGHT}</think>\n\nHello!"}
    else:
        assert saved == {"role": "assistant", "content": "Hello!", "reasoning_content": THOUGHT}


async def test_a_thought_before_a_call_is_folded_and_goes_back_with_the_result(tmp_path: Path) -> None:
    call = call_chunks(0, "c1", "read_file", '{"path": "welcome.txt"}')
    async with OpenAIServer([Reply([*THOUGHT_PIECES, *call, finish_chunk("tool_calls")]), answer("Read.")]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press(*"read", "enter")
            await until(pilot, lambda: "last turn" in screen_text(app), "the answer")
            lines = chat(app)
            assert f"A  thought · ~{TOKENS} tok" in lines[1]
            assert lines[2].split() == ["→", "read_file", "welcome.txt"]
        assert server.requests[1].messages[-2]["reasoning_content"] == THOUGHT


async def test_the_raw_list_shows_it_as_it_is_sent(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", said(content="<think>Hm.</think>Hello!", reasoning_content="Well.")))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "2", "enter")
        await until(pilot, lambda: '"reasoning_content": "Well."' in screen_text(app), "the JSON")
        assert "<think>Hm.</think>Hello!" in screen_text(app)


async def test_a_hostile_thought_is_shown_not_obeyed(tmp_path: Path) -> None:
    thought = "\x1b[2J\x1b]0;gone\x07 \u202egnp"
    app = app_on(opened(tmp_path / "s.json", said(content="Hello!", reasoning_content=thought)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "enter")
        await until(pilot, lambda: "␛[2J␛]0;gone␇" in screen_text(app), "the thought")
        assert not {"\x1b", "\x07", "\u202e"} & set("".join(chat(app)))
