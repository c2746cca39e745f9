"""Every number on screen is that of the list as it is sent and saved, by the rules written down once more."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from textual.pilot import Pilot

from tests.support_accounts import (
    Message,
    by_letter,
    estimate,
    lines_of,
    message_weight,
    number,
    row_tokens,
    shares,
    shown_rows,
    shown_total,
    tools_estimate,
    weight,
)
from tests.support_lesson import PLACEHOLDER, cut
from tests.support_pilot import app_on, opened, screen_text, until
from tests.support_scripted_model import Answer, ScriptedModel, says
from triptych.models.base import Request
from triptych.policy import preset
from triptych.session import Session
from triptych_tui.app import TriptychApp
from triptych_tui.widgets.prompt import PromptText

WINDOW = 4096
QUIET = replace(preset("lesson"), truncate=None, clear=None, summarize=None)
"""Layers run by hand only, with the lesson's parameters."""


RESULTS = (
    ["潮汐表：" + "高潮、低潮。" * 40],
    ["a" * 333, "灯塔" * 111],
    ["b" * 777 + "修"],
    ["鹭"],
)


def talk() -> list[dict[str, Any]]:
    """Turns with one and two results, in two scripts, each of another length."""
    messages: list[dict[str, Any]] = []
    for turn, results in enumerate(RESULTS):
        calls = [
            {"id": f"c{turn}{n}", "type": "function", "function": {"name": "read_file", "arguments": f'{{"n": {n}}}'}}
            for n in range(len(results))
        ]
        messages.append({"role": "user", "content": f"第{turn}个问题 question"})
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages += [
            {"role": "tool", "tool_call_id": call["id"], "content": text}
            for call, text in zip(calls, results, strict=True)
        ]
        messages.append({"role": "assistant", "content": f"回答{turn} answered."})
    return messages


class Desk(NamedTuple):
    """A workbench at work on a session file, with a model by script."""

    app: TriptychApp
    pilot: Pilot[Any]
    model: ScriptedModel
    file: Path

    @property
    def saved(self) -> list[Message]:
        return list(json.loads(self.file.read_bytes()))

    @property
    def request(self) -> Request:
        """The newest request for an answer as the model received it."""
        return next(request for request in reversed(self.model.requests) if request.tools)

    async def press(self, *keys: str, until_shown: str) -> None:
        await self.pilot.press(*keys)
        await until(self.pilot, lambda: until_shown in screen_text(self.app), until_shown)

    async def ask(self, text: str) -> None:
        """Ask, and be sure that what was asked is what the list held."""
        before = self.saved if self.file.exists() else None
        count = len(self.model.requests)
        self.app.screen.query_one(PromptText).focus()
        self.app.screen.query_one(PromptText).insert(text)
        await self.pilot.pause()
        assert lines_of(self.app, "#prompt")[0].rstrip().endswith(f" +~{int(weight(text)):,}")
        await self.pilot.press("enter")
        await until(self.pilot, lambda: len(self.model.requests) > count, "the request")
        await self.is_saved(lambda saved: saved[:-1] == list(self.request.messages))
        assert before is None or list(self.request.messages) == [*before, {"role": "user", "content": text}]
        await until(self.pilot, lambda: "last turn" in screen_text(self.app), "the end of the turn")

    async def is_saved(self, holds: Callable[[list[Message]], bool]) -> None:
        await until(self.pilot, lambda: self.file.exists() and holds(self.saved) and "✓ saved" in self.head(), "saved")

    def head(self) -> str:
        return lines_of(self.app, "#file-header")[0]


def assert_adds_up(desk: Desk, mark: str = "~", whole: int | None = None, *, appended: bool = False) -> None:
    """Rows, total, strip, what is free and the share are those of the saved list and the tools that are sent.

    whole: the measured size where there is one, the parts being scaled to it. appended: rows were counted as they
    came, so that each may be one token off; they add up all the same.
    """
    messages, tools = desk.saved, tools_of(desk)
    total = estimate(messages)
    tools_row, *rows = shown_rows(desk.app)
    assert tools_row == tools
    assert sum(rows) == total
    assert shown_total(desk.app) == f"~{total:,}"
    if appended:
        assert all(abs(row - message_weight(message)) < 1 for row, message in zip(rows, messages, strict=True))
    else:
        assert rows == row_tokens(messages)

    parts = dict(sorted(by_letter(messages, rows).items(), key=_strip_order))
    if whole is not None:
        *scaled, tools = shares([*parts.values(), tools], whole)
        parts, total = dict(zip(parts, scaled, strict=True)), whole - tools
    assert_strip(desk, parts, tools)
    assert f" {mark}{total:,} + {tools:,} tools / {WINDOW:,} " in context_row(desk)


def _strip_order(part: tuple[str, int]) -> int:
    return "SΣUAT".index(part[0])


def context_row(desk: Desk) -> str:
    return lines_of(desk.app, "#gauges")[1]


def assert_strip(desk: Desk, parts: dict[str, int], tools: int, gone: int = 0) -> None:
    bar = context_row(desk)
    whole = sum(parts.values()) + tools
    assert {letter: number(count) for letter, count in re.findall(r"([SΣUAT]) ([\d,]+)", bar)} == parts
    free = re.search(r"free ([\d,]+)", bar)
    assert free is not None
    assert whole + gone + number(free[1]) == WINDOW
    assert bar.endswith(f" {whole / WINDOW:.0%} ")


def assert_preview(desk: Desk, before: Sequence[Message], after: Sequence[Message], targets: dict[int, int]) -> None:
    """A layer that is shown first tells in all places what it would make of the list.

    targets: for the index of each message that would become another, its index then.
    """
    was, will = estimate(before), estimate(after)
    rows_before, rows_after = row_tokens(before), row_tokens(after)
    tools = tools_of(desk)
    panel = "\n".join(lines_of(desk.app, "#panel-box"))
    assert re.search(rf"before +[━─]+ +~{was:,} *$", panel, re.MULTILINE)
    assert re.search(rf"after +[━─]+ +~{will:,} *$", panel, re.MULTILINE)
    assert f"{will - was:+,} tok  {(will - was) / was:+.0%}" in panel
    assert f"~{was:,} → ~{will:,} / {WINDOW:,}" in lines_of(desk.app, "#panel-header")[0]
    kept = min(targets, default=1)
    assert f"entries 0–{kept - 1} stay the same: ~{estimate(before[:kept]):,} tok can be reused" in panel
    for old, new in targets.items():
        assert re.search(rf"◉ +{old} T .*~{rows_before[old]:,} → ~{rows_after[new]:,} *$", panel, re.MULTILINE)
        row = next(line for line in lines_of(desk.app, "#messages") if re.match(rf".? *{old} T", line))
        assert re.search(rf" {rows_before[old]:,}  [⋯∅] → ~{rows_after[new]:,} *$", row)
    assert f" ~{was:,} → ~{will:,} + {tools} tools / {WINDOW:,} " in context_row(desk)
    assert_strip(desk, by_letter(after, rows_after), tools, was - will)
    letter = "T " if targets else ""
    assert f" {letter}-{was - will:,} " in context_row(desk)


def with_results(
    messages: Sequence[Message], change: Callable[[str, int], str | None]
) -> tuple[list[Message], dict[int, int]]:
    """The list with its results changed, and which were; `change` gets a text and how many results begin with it."""
    after, targets = [dict(message) for message in messages], {}
    results = [index for index, message in enumerate(messages) if message["role"] == "tool"]
    for place, index in enumerate(results):
        content = change(messages[index]["content"], len(results) - place)
        if content is not None:
            after[index]["content"] = content
            targets[index] = index
    return list(after), targets


@asynccontextmanager
async def desk_of(folder: Path, *script: Answer) -> AsyncIterator[Desk]:
    model, file = ScriptedModel(script, window=WINDOW), folder / "s.json"
    session = opened(file, talk(), model)
    app = app_on(session._replace(session=Session(session.session.entries, QUIET, session.kept)))
    async with app.run_test(size=(240, 64)) as pilot:
        yield Desk(app, pilot, model, file)


async def test_estimates_after_each_layer_by_hand_and_after_undo(tmp_path: Path) -> None:
    async with desk_of(tmp_path, says("好的 yes."), says("They spoke of 灯塔 and 潮汐.")) as desk:
        await desk.ask("还有 anything else?")
        assert_adds_up(desk, appended=True)

        # Layer 1
        before = desk.saved
        after, targets = with_results(before, lambda text, _left: cut(text) if len(text) > 80 else None)
        await desk.press("f2", until_shown="apply as one step")
        assert_preview(desk, before, after, targets)
        await desk.press(
            "enter", until_shown=f"L1 truncate {len(targets)} ({estimate(after) - estimate(before):+,} tok)"
        )
        await desk.is_saved(lambda saved: saved == after)
        assert_adds_up(desk)

        # Layer 2
        before = after
        after, targets = with_results(before, lambda _text, left: PLACEHOLDER if left > 2 else None)
        await desk.press("f3", until_shown="Clear old tool results")
        assert_preview(desk, before, after, targets)
        await desk.press("enter", until_shown=f"L2 clear {len(targets)} ({estimate(after) - estimate(before):+,} tok)")
        await desk.is_saved(lambda saved: saved == after)
        assert_adds_up(desk)

        # Layer 3, and back
        before = after
        await desk.press("f4", until_shown="ask the model for the summary")
        told = re.search(r"exactly as sent · ~([\d,]+) tok", screen_text(desk.app))
        await desk.press("enter", until_shown="apply as one step")
        assert told is not None
        assert number(told[1]) == estimate(desk.model.requests[-1].messages)
        await desk.press("enter", until_shown="done by hand  L3")
        await desk.is_saved(lambda saved: len(saved) < len(before))
        assert_adds_up(desk)
        old = before[1 : len(before) - len(desk.saved) + 3]
        sizes = f"~{estimate(old):,} → ~{shown_rows(desk.app)[2]:,}"
        assert re.search(f"{len(old)} entries → 1 summary ─+ +{sizes} ", "\n".join(lines_of(desk.app, "#chat")))
        assert f"L3 summarize {len(old)} ({estimate(desk.saved) - estimate(before):+,} tok)" in screen_text(desk.app)
        await desk.press("escape", "u", until_shown="undone")
        await desk.is_saved(lambda saved: saved == before)
        assert_adds_up(desk)


async def test_measured_sizes_carried_over_and_bare(tmp_path: Path) -> None:
    script = [says("Yes.", prompt_tokens=2999), says("用户问了四个问题。"), says("1", prompt_tokens=1234)]
    async with desk_of(tmp_path, *script) as desk:
        await desk.ask("And now 如何?")
        sent = measured_estimate(desk)
        assert_adds_up(desk, "≈", 2999 * (estimate(desk.saved) + tools_of(desk)) // sent, appended=True)

        before = desk.saved
        await desk.press("f4", until_shown="ask the model for the summary")
        await desk.press("enter", until_shown="apply as one step")
        await desk.press("enter", until_shown="done by hand  L3")
        await desk.is_saved(lambda saved: len(saved) < len(before))
        assert_adds_up(desk, "≈", 2999 * (estimate(desk.saved) + tools_of(desk)) // sent)

        question = "How many?"
        while (sum(map(message_weight, desk.saved)) + weight(question)) % 1 > 0.6:  # so that "1" adds no whole token
            question += "?"
        await desk.ask(question)
        assert measured_estimate(desk) == estimate(desk.saved) + tools_of(desk)
        assert_adds_up(desk, "", 1234, appended=True)
        await desk.press("escape", "u", until_shown="undone")
        await desk.is_saved(lambda saved: saved[-1]["content"] != "1")
        assert_adds_up(desk)


def tools_of(desk: Desk) -> int:
    return tools_estimate(desk.request.tools)


def measured_estimate(desk: Desk) -> int:
    """The estimate of the request that was measured last."""
    return estimate(desk.request.messages) + tools_of(desk)
