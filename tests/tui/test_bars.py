"""The bars around the panes, in a workbench at work."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, fails, says
from triptych.models.base import Delta, Request
from triptych.models.offline import OfflineModel
from triptych_tui.app import TriptychApp
from triptych_tui.widgets.prompt import PromptText
from triptych_tui.widgets.stage_bar import StageBar


class Held:
    """The offline model, which keeps its second answer back."""

    name = "held"
    offline = True
    window = 8192

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.go_on = asyncio.Event()

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        if len(self.requests) == 2:
            await self.go_on.wait()
        async for delta in OfflineModel().stream(request):
            yield delta


def line(app: TriptychApp, words: str) -> str:
    """The first line of the screen with these words, "" where there is none."""
    return next((line for line in screen_text(app).splitlines() if words in line), "")


def numbers(text: str) -> dict[str, int]:
    return {letter: int(number.replace(",", "")) for letter, number in re.findall(r"([SΣUAT]) (\d[\d,]*)", text)}


def number_after(words: str, text: str) -> int:
    found = re.search(re.escape(words) + r"\s*[~≈]?([\d,]+)", text)
    assert found, (words, text)
    return int(found[1].replace(",", ""))


def lessons_estimate(texts: Sequence[str]) -> int:
    joined = "".join(texts)
    cjk = len(re.findall("[\u4e00-\u9fff\u3000-\u303f\uff00-\uffef]", joined))
    return int(cjk * 1.3 + (len(joined) - cjk) / 3.5 + 1e-9)


def texts_of(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    texts = [message["content"] or "" for message in messages]
    calls = [call["function"] for message in messages for call in message.get("tool_calls", ())]
    return texts + [call["name"] + call["arguments"] for call in calls]


async def test_every_number_is_that_of_the_request_as_it_is_sent(tmp_path: Path) -> None:
    model = Held()
    session = opened(tmp_path / "s.json", tool_talk(1), model)
    app = app_on(session)
    async with app.run_test(size=(220, 50)) as pilot:
        await pilot.press(*"Read welcome.txt", "enter")
        await until(pilot, lambda: "2nd request this turn" in screen_text(app), "the request after the tool's result")
        reason, bar, header = line(app, "2nd request"), line(app, "context "), line(app, "2 Messages")
        tools_row = line(app, "sent along")
        model.go_on.set()
        await until(pilot, lambda: "last turn" in screen_text(app), "the end of the turn")
    request = model.requests[1]
    total = lessons_estimate(texts_of(request.messages))
    tools = lessons_estimate([json.dumps(list(request.tools), ensure_ascii=False)])
    assert (
        f"model · 2nd request this turn · {len(request.messages)} messages, ~{total:,} tokens + {tools} for tools"
        in reason
    )
    assert f"≈{total:,} + {tools} tools / 8,192" in bar
    assert number_after("total ", header) == total
    assert number_after("sent along", tools_row) == tools
    parts = numbers(bar)
    assert sum(parts.values()) == total
    assert set(parts) == {"S", "U", "A", "T"}
    assert number_after("free ", bar) == 8192 - total - tools
    assert f"{(total + tools) / 8192:.0%}" in bar


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (200, 50)])
async def test_the_bars_before_in_and_after_a_turn(tmp_path: Path, size: tuple[int, int]) -> None:
    model = Held()
    session = opened(tmp_path / "s.json", [], model)
    app = app_on(session)
    async with app.run_test(size=size) as pilot:
        assert "ready" in screen_text(app)
        assert "step 0 / 0" in screen_text(app)
        await pilot.press(*"Read welcome.txt", "enter")
        await until(pilot, lambda: "2nd request" in screen_text(app), "the second request")
        assert " request " in line(app, "L2")
        assert "step 4 / 4" in line(app, "┬")
        model.go_on.set()
        await until(pilot, lambda: "last turn" in screen_text(app), "the end of the turn")
        assert re.search(r"┬─+·─+·─+L1─+● +step 5 / 5", screen_text(app))
        assert re.search(r"last turn +L1( truncate)? 1 \(-\d+", screen_text(app))
        await pilot.press("escape", "u")
        await until(pilot, lambda: "step 0 / 5" in screen_text(app), "the turn is taken back")
        assert re.search(r"●╌+┬╌+·╌+·╌+L1╌+·", screen_text(app))


async def test_in_eighty_columns_seventeen_rows_are_left_for_the_list(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(6)))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("escape", "2")
        await pilot.pause()
        lines = screen_text(app).splitlines()
        assert lines[1].startswith(" 1 Chat   2 Messages   3 File ")
        assert "s.json" in lines[1]
        assert "OFFLINE" in lines[1]
        heavy = [column for column, sign in enumerate(lines[2]) if sign == "━"]
        assert lines[1][heavy[0] : heavy[-1] + 1] == " 2 Messages "
        assert app.screen.query_one("#messages").size.height == 17


async def test_a_layer_that_is_shown_first_is_seen_in_all_bars_and_gone_without_a_trace(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(6, characters=2000), OfflineModel(window=4096))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        before = line(app, "context ")
        await pilot.press("f3")
        await until(pilot, lambda: "leave everything as it was" in screen_text(app), "the panel")
        stages, words = screen_text(app).splitlines()[1:3]
        assert words.index("╰") == stages.index(" L2 clear ")
        assert "by hand · preview · nothing has changed yet" in words
        assert "●╌╌[L2]" in line(app, "history ")
        bar, panel = line(app, "context "), screen_text(app)
        gone, would_be = number_after("░ T -", bar), number_after("→ ", bar)
        assert re.search(rf"before +━+ +~{gone + would_be:,}\b", panel)
        assert f"~{gone + would_be:,} → ~{would_be:,} + " in bar
        await pilot.press("escape")
        await until(pilot, lambda: "leave everything" not in screen_text(app), "the panel is gone")
        assert line(app, "context ") == before
        await pilot.press("f3", "enter")
        await until(pilot, lambda: "done by hand  L2 clear 4" in screen_text(app), "what was done")
        assert number_after("total ", line(app, "2 Messages")) == would_be


async def test_a_failed_request_stays_lit_as_a_fault(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", [], ScriptedModel([fails("model.empty"), says("Now it works.")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: " ! request " in screen_text(app), "the fault")
        assert "╰ stopped · the list and the file are as before" in screen_text(app).splitlines()[2]
        await pilot.press("enter")
        await until(pilot, lambda: "last turn" in screen_text(app), "the next try")
        assert "!" not in screen_text(app).splitlines()[1]


async def test_a_session_that_cannot_be_saved_shows_where_it_failed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", "utf-8")
    session = opened(tmp_path / "file" / "s.json", [], ScriptedModel([says("Yes.")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "last turn" in screen_text(app), "the end of the turn")
        assert screen_text(app).splitlines()[1].endswith("  ! save")
        assert app.screen.query_one(StageBar).moment.present == "save"


async def test_what_is_typed_is_estimated_at_the_end_of_the_row(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    text = "Read welcome.txt 请读"
    async with app.run_test(size=(80, 24)) as pilot:
        assert "+~" not in screen_text(app)
        app.screen.query_one(PromptText).insert(text)
        await pilot.pause()
        row = line(app, "Read welcome.txt 请读")
        assert row.endswith(f" +~{lessons_estimate([text])}")
        await pilot.press("ctrl+j", *"more")
        await pilot.pause()
        assert line(app, "Read welcome.txt 请读").endswith(f" +~{lessons_estimate([text, chr(10), 'more'])}")
        app.screen.query_one(PromptText).clear()
        await pilot.pause()
        assert "+~" not in screen_text(app)


async def test_a_stage_that_waits_shows_what_it_would_do_in_the_bars(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4, characters=2000), ScriptedModel([says("Yes.")], window=4096))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "s", "i", *"hello", "enter")
        await until(pilot, lambda: "❚❚ receive" in screen_text(app), "the first stage")
        assert "[L2]" not in screen_text(app)
        await pilot.press("f8")
        await until(pilot, lambda: "❚❚ L2 clear" in screen_text(app), "layer 2")
        assert "╰ waiting here · program · 4 tool results > keep 2" in screen_text(app)
        assert "T -" in line(app, "context ")
        assert "●╌╌[L2]" in line(app, "history ")
        would_be = number_after("→ ", line(app, "context "))
        await pilot.press("f8")
        await until(pilot, lambda: "❚❚ decide" in screen_text(app), "the next stage")
        assert "→" not in line(app, "context ")
        assert number_after("total ", line(app, "2 Messages")) == would_be
        await pilot.press("escape")
        await until(pilot, lambda: "last turn  L2 clear 2" in screen_text(app), "the end of the turn")
