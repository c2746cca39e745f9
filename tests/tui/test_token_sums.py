"""Enter on a number shows its sum: every formula on screen is computed anew, and gives the number it stands under."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from tests.support_attachments import png
from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_strategies import TEXTS, any_lists
from triptych.messages import Message
from triptych.policy import preset
from triptych.session import Session
from triptych.tokens import ESTIMATORS, TokenCounter
from triptych_tui.app import TriptychApp
from triptych_tui.i18n import set_language
from triptych_tui.launch import OpenedSession
from triptych_tui.token_sums import entry_sum, sum_rows
from triptych_tui.widgets.messages_pane import MessagesPane

TERM = re.compile(r"([\d,]+)([×÷])([\d.]+)")
FORMULA = re.compile(r"((?:[\d,]+[×÷][\d.]+(?: \+ )?)+) = ([\d,.]+)")


def computed(formula: str) -> float:
    """What a formula on screen gives, in floating point."""
    sums = [
        float(number.replace(",", "")) * (float(by) if sign == "×" else 1 / float(by))
        for number, sign, by in TERM.findall(formula)
    ]
    return sum(sums)


def told(text: str) -> float:
    """The value of the one formula in a text; it must be what the formula gives."""
    ((formula, value),) = FORMULA.findall(text)
    number = float(value.replace(",", ""))
    assert number == pytest.approx(computed(formula), abs=0.0051)
    return number


def shown_as(text: str) -> int:
    """The whole number that a text says is shown."""
    (number,) = re.findall(r"shown as ([\d,]+)", text)
    return int(number.replace(",", ""))


def picture_message(text: str, *sizes: tuple[int, int]) -> Message:
    urls = ["data:image/png;base64," + base64.b64encode(png(*size)).decode() for size in sizes]
    pictures = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return {"role": "user", "content": [{"type": "text", "text": text}, *pictures]}


def estimated_by(session: OpenedSession, estimator: str) -> OpenedSession:
    policy = replace(preset("lesson"), estimator=estimator)
    return session._replace(session=Session(session.session.entries, policy, session.session.store))


# Core


@given(TEXTS, st.sampled_from(sorted(ESTIMATORS)))
def test_the_terms_of_an_estimate_add_up_to_its_weight(text: str, name: str) -> None:
    estimator = ESTIMATORS[name]
    terms = estimator.terms(text)
    assert sum(term.weight for term in terms) == estimator.weight(text)
    assert sum(term.number for term in terms) == len(text)


@given(any_lists(), st.sampled_from(sorted(ESTIMATORS)))
def test_the_formula_of_any_message_gives_its_weight(messages: list[Message], name: str) -> None:
    counter = TokenCounter(ESTIMATORS[name])
    for message in messages:
        weight = counter.message_weight(message)
        assert sum(term.weight for term in counter.message_terms(message)) == weight
        first = "".join(span.text for span in next(entry_sum(counter, message, 7)))
        assert told(first) == pytest.approx(weight / counter.estimator.denominator, abs=0.0051)


# On screen


async def unfold(pilot: Pilot[Any], app: TriptychApp, index: int | None) -> str:
    """What is unfolded under a row, None being the tools row."""
    pane = app.screen.query_one(MessagesPane)
    pane.focus()
    if index is None:
        await pilot.press("g")
    else:
        pane.select(index)
    await pilot.press("enter")
    await until(pilot, lambda: "shown as" in screen_text(app), "unfolded")
    block = 0 if index is None else index + 1
    lines = [strip.text for strip in pane._block_strips(block)]
    await pilot.press("enter")
    await until(pilot, lambda: "shown as" not in screen_text(app), "folded")
    return "\n".join(lines)


@pytest.mark.parametrize("estimator", ["meowgent", "chars4"])
async def test_every_row_s_sum_is_right_and_its_number_is_the_sum_s_up_to_rounding(
    estimator: str, tmp_path: Path
) -> None:
    messages = [*tool_talk(1), {"role": "user", "content": "这座灯塔有多高？ How tall is it?"}]
    session = estimated_by(opened(tmp_path / "s.json", messages), estimator)
    app = app_on(session)
    async with app.run_test(size=(120, 50)) as pilot:
        sums = []
        for index in range(len(session.session.entries)):
            text = await unfold(pilot, app, index)
            row = text.splitlines()[0]
            assert int(re.findall(r" ([\d,]+) ", row)[-1].replace(",", "")) == shown_as(text)
            assert abs(told(text) - shown_as(text)) < 1
            assert ("÷4" in text) == (estimator == "chars4")
            sums.append(told(text))
        total = int(re.findall(r"total ~([\d,]+)", screen_text(app))[0])
        assert int(sum(sums) + 0.03) == total


async def test_the_marks_are_explained_there(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(1)))
    async with app.run_test(size=(120, 50)) as pilot:
        text = await unfold(pilot, app, 1)
        assert "~ estimated  ≈ measured, carried over  bare: measured" in text
        assert "the rows' whole numbers add up to the total" in text


async def test_a_picture_s_800_stand_beside_its_patches_and_its_data_is_not_spread_out(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", [picture_message("Which?", (1024, 768), (28, 280))])
    app = app_on(session)
    async with app.run_test(size=(120, 50)) as pilot:
        text = await unfold(pilot, app, 1)
    assert "6÷3.5 + 2×800 = 1,601.71" in text
    assert "[image 1024×768]  800  by patches: 1024×768÷28² = 1,003" in text
    assert "[image 28×280]  800  by patches: 28×280÷28² = 10" in text
    assert text.count("more characters") == 2
    assert len(text.splitlines()) < 40
    assert re.search("1,60[12] ", text.splitlines()[0])


async def test_the_tools_row_unfolds_the_schemas_and_their_sum(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(1))
    schemas = session.tools.schemas()
    app = app_on(session)
    async with app.run_test(size=(120, 90)) as pilot:
        text = await unfold(pilot, app, None)
        assert int(told(text)) == shown_as(text)
        assert f"{shown_as(text):,}" in text.splitlines()[0]
        assert told(text) == pytest.approx(len(json.dumps(schemas, ensure_ascii=False)) / 3.5, abs=0.0051)
        assert '"name": "read_file"' in text
        rows = screen_text(app).splitlines()
        assert any("  0 S" in row for row in rows), "folded again, the list stands below"


async def test_rows_below_keep_their_place_under_the_unfolded_tools_row(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2)))
    async with app.run_test(size=(80, 24)) as pilot:
        pane = app.screen.query_one(MessagesPane)
        await pilot.press("escape", "2", "g", "enter")
        await until(pilot, lambda: "shown as" in screen_text(app), "unfolded")
        height = len(pane._block_strips(0))
        assert pane.virtual_size.height == height + 9
        for _ in range(height):
            if pane.selected is None:
                await pilot.press("j")
        assert pane.selected == 0


@pytest.mark.parametrize("width", [12, 30, 58])
def test_sums_fit_any_width(width: int) -> None:
    counter = TokenCounter(ESTIMATORS["meowgent"])
    rows = sum_rows(entry_sum(counter, picture_message("看" * 9000, (1024, 768)), 12_500), width, 8)
    assert all(sum(len(span.text) for span in row.spans) <= width for row in rows)


@pytest.mark.parametrize(("language", "words"), [("zh_Hans", "显示为 2"), ("zh_Hant", "顯示為 2")])
def test_sums_are_told_in_chinese(language: str, words: str) -> None:
    set_language(language)
    try:
        counter = TokenCounter(ESTIMATORS["meowgent"])
        lines = ["".join(span.text for span in line) for line in entry_sum(counter, {"content": "abcdefg"}, 2)]
    finally:
        set_language("en")
    assert lines[0] == f"7÷3.5 = 2  {words}"
    assert "total" not in lines[1]
