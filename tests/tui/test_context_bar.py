"""The context bar: a strip to scale whose numbers add up."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support_desk import LESSON, SYSTEM, tool_turn
from triptych.entries import entries_from
from triptych.layers import clear, summarize
from triptych.layers.clear import ClearParameters
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummaryPlan
from triptych.messages import Message
from triptych.session import Session
from triptych.tokens import Usage
from triptych_tui.context_load import SHOWN_LETTERS, Change, Load, change_of, load_of
from triptych_tui.context_row import context_row
from triptych_tui.context_strip import FILLS, Window
from triptych_tui.glyphs import ASCII, UNICODE, Glyphs
from triptych_tui.sheet import Sheet
from triptych_tui.spans import Span, width_of

CAPTION = " context  "
FULL = Load({"S": 310, "Σ": 240, "U": 34, "A": 414, "T": 1485}, 0, "estimated")
CLEARED = FULL._replace(parts={**FULL.parts, "T": 703})
WINDOW = Window(4096, 0.75)

loads = st.builds(
    Load,
    st.dictionaries(st.sampled_from(SHOWN_LETTERS), st.integers(1, 9000)),
    st.integers(0, 900),
    st.sampled_from(["estimated", "adjusted", "measured"]),
)


def row(load: Load, window: Window = WINDOW, width: int = 120, *, change: Change | None = None) -> str:
    return text(context_row(load, window, UNICODE, width, caption=CAPTION, change=change))


def text(spans: Sequence[Span]) -> str:
    return "".join(span.text for span in spans)


def cells_of(spans: Sequence[Span], ground: str) -> int:
    return width_of([span for span in spans if span.ground == ground])


def sheet_of(*messages: Message, schemas: int = 21_700) -> Sheet:
    return Sheet(Session(entries_from([SYSTEM, *messages]), LESSON), schemas)


def lessons_estimate(messages: Sequence[Mapping[str, Any]]) -> int:
    """The second lesson's rule over all that is sent, written anew."""
    texts = []
    for message in messages:
        texts.append(message["content"] or "")
        texts += [call["function"]["name"] + call["function"]["arguments"] for call in message.get("tool_calls", ())]
    joined = "".join(texts)
    cjk = len(re.findall("[\u4e00-\u9fff\u3000-\u303f\uff00-\uffef]", joined))
    return int(cjk * 1.3 + (len(joined) - cjk) / 3.5 + 1e-9)


def test_letters_and_numbers_stand_in_their_runs_and_the_rest_is_free() -> None:
    assert row(FULL) == (
        " context  ▏S 310 ▏Σ   U▏A 414   ▏T 1,485"
        "                       ············┊L3 free 1,613 ·······  ~2,483 / 4,096   61% "
    )


def test_runs_are_to_scale() -> None:
    spans = context_row(FULL, WINDOW, UNICODE, 120, caption=CAPTION)
    strip = 120 - len(CAPTION) - len("  ~2,483 / 4,096   61% ")
    for letter, tokens in FULL.parts.items():
        assert abs(cells_of(spans, FILLS[letter]) - tokens * strip / 4096) <= 1
    before_trigger = text(spans).index("┊") - len(CAPTION)
    assert before_trigger == 3072 * strip // 4096


def test_what_fits_nowhere_in_its_run_stands_beside_it_with_what_is_free() -> None:
    small = Load({"S": 35, "U": 22, "A": 69, "T": 102}, 311, "estimated")
    assert "· S 35  U 22  A 69  T 102  free 7,653 ·" in row(small, Window(8192))
    assert small.whole + 7653 == 8192


def test_tools_are_counted_apart_and_take_their_room() -> None:
    tooled = FULL._replace(tools=311)
    shown = row(tooled)
    assert "~2,483 + 311 tools / 4,096   68%" in shown
    assert "free 1,302" in shown
    assert "▏tools 311" in row(tooled, Window(None))
    assert "+311 / 4,096" in text(context_row(tooled, WINDOW, UNICODE, 80, caption=" "))


@pytest.mark.parametrize(("kind", "mark"), [("estimated", "~"), ("adjusted", "≈"), ("measured", " ")])
def test_the_total_says_how_it_is_known(kind: str, mark: str) -> None:
    assert f" {mark}2,483 / 4,096".replace("  ", " ") in row(FULL._replace(kind=kind))


def test_without_a_known_window_there_is_no_share_and_nothing_free() -> None:
    shown = row(FULL, Window(None, 0.75))
    assert shown.endswith("  ~2,483 ")
    assert not set("%/┊·") & set(shown)
    assert len(shown) == 120


def test_more_than_the_window_is_a_fault() -> None:
    spans = context_row(FULL, Window(2000), UNICODE, 120, caption=CAPTION)
    assert spans[-2] == Span("  124%", "error", "b")
    assert "free" not in text(spans)


def test_a_trigger_by_turns_has_no_place() -> None:
    assert "┊" not in row(FULL, Window(4096, None))


def test_a_preview_shows_what_would_go_and_where_that_leads() -> None:
    shown = row(FULL, change=Change(FULL, CLEARED, "T", "l2"))
    assert "░ T -782 ░" in shown
    assert "▏T 703" in shown
    assert "free 1,613" in shown
    assert "~2,483 → ~1,701 / 4,096   42%" in shown
    assert 310 + 240 + 34 + 414 + 703 + 782 + 1613 == 4096


def test_a_summary_that_is_not_written_yet_is_a_sign() -> None:
    after = FULL._replace(parts={"S": 310, "U": 34})
    shown = row(FULL, change=Change(FULL, after, "", "l3", awaits_summary=True))
    assert "-2,139 ░" in shown
    assert "~2,483 → ~344 + Σ / 4,096" in shown


def test_what_would_grow_is_a_fault() -> None:
    change = Change(CLEARED, FULL, "T", "l1")
    spans = context_row(CLEARED, WINDOW, UNICODE, 120, change=change)
    assert Span("~2,483", "error", "b") in spans
    assert "░" not in text(spans)


@given(load=loads, after=loads, window=st.none() | st.integers(1, 40_000), share=st.none() | st.floats(0.01, 1))
@pytest.mark.parametrize("width", [1, 30, 80, 120])
def test_the_row_fills_its_room_and_every_number_adds_up(
    load: Load, after: Load, window: int | None, share: float | None, width: int
) -> None:
    for change in (None, Change(load, after, "T", "l2")):
        spans = context_row(load, Window(window, share), UNICODE, width, caption=CAPTION, change=change)
        shown = text(spans)
        now = load if change is None else after
        assert width_of(spans) <= width
        if "▏" in shown:
            assert width_of(spans) == width
        named = {letter: int(n.replace(",", "")) for letter, n in re.findall(r"([SΣUAT?]) (\d[\d,]*)", shown)}
        assert named.items() <= now.parts.items()
        if free := re.search(r"free ([\d,]+)", shown):
            assert int(free[1].replace(",", "")) == (window or 0) - max(now.whole, load.whole if change else 0)


def test_signs_of_one_cell_stand_in_for_the_others() -> None:
    def cells(glyphs: Glyphs) -> int:
        return width_of(context_row(FULL, WINDOW, glyphs, 100, caption=CAPTION))

    assert cells(ASCII) == cells(UNICODE) == 100
    assert text(context_row(FULL, WINDOW, ASCII, 120)).isascii()


def test_the_parts_are_what_the_rows_say_and_add_up_to_the_lessons_estimate() -> None:
    messages = [message for number in range(4) for message in tool_turn(number)]
    sheet = sheet_of(*messages)
    load = load_of(sheet)
    assert load.total == sheet.total == lessons_estimate([SYSTEM, *messages])
    tool_rows = [index for index, message in enumerate([SYSTEM, *messages]) if message["role"] == "tool"]
    assert load.parts["T"] == sum(map(sheet.tokens_of, tool_rows))
    assert load.tools == 310


def test_a_summary_and_its_acknowledgement_are_one_part() -> None:
    sheet = sheet_of(*(message for number in range(4) for message in tool_turn(number)))
    session = sheet.session
    planned = summarize.plan(session.entries, session.policy.summarize, session.counter, 900)  # type: ignore[arg-type]
    assert isinstance(planned, SummaryPlan)
    session.perform(planned.with_summary("what was said"), 1)
    after = Sheet(session, 0)
    assert load_of(after).parts["Σ"] == after.tokens_of(1) + after.tokens_of(2)


def test_under_a_measured_size_the_parts_are_scaled_and_add_up_with_the_tools() -> None:
    sheet = sheet_of(*tool_turn(1))
    estimated = load_of(sheet)
    weight = sheet.session.counter.total(sheet.entries) + 21_700
    sheet.session.record_usage(Usage(1000), weight)
    measured = load_of(sheet)
    assert measured.kind == "measured"
    assert measured.whole == 1000
    for letter, tokens in estimated.parts.items():
        assert abs(measured.parts[letter] - tokens * 1000 / estimated.whole) < 1
    sheet.session.record_usage(Usage(estimated.whole), weight)
    assert load_of(sheet)[:2] == estimated[:2], "a measure that agrees with the estimate changes no number"


def test_a_plan_is_shown_as_the_list_would_be_after_it() -> None:
    sheet = sheet_of(*(message for number in range(4) for message in tool_turn(number)))
    session = sheet.session
    plan = clear.plan(session.entries, ClearParameters(keep=1), session.counter)
    change = change_of(plan, sheet, "l2")
    assert change is not None
    assert (change.before.total, change.after.total) == (plan.before.tokens, plan.after.tokens)
    session.perform(plan, 1)
    assert load_of(Sheet(session, 21_700)).parts == change.after.parts


def test_a_plan_that_does_nothing_or_is_of_another_list_changes_nothing() -> None:
    sheet = sheet_of(*tool_turn(1), *tool_turn(2))
    session = sheet.session
    plan = clear.plan(session.entries, ClearParameters(keep=1), session.counter)
    assert change_of(replace(plan, edits=()), sheet, "l2") is None
    session.perform(plan, 1)
    assert isinstance(plan, Plan)
    assert change_of(plan, sheet, "l2") is None
