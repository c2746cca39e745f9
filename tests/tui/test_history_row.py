"""The history bar: one tick a step."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support_desk import LESSON, LONG, Desk, questions, read
from tests.support_scripted_model import asks_for, says
from triptych.reasons import Reason
from triptych.stages import Stage
from triptych.timeline import Step
from triptych.tokens import Count
from triptych_tui.glyphs import ASCII, UNICODE, Glyphs
from triptych_tui.history_row import History, history_of, history_row
from triptych_tui.spans import Span, width_of

TURN: tuple[Stage, ...] = ("receive", "clear", "request", "append", "truncate", "answer")


def steps(*stages: Stage) -> list[Step]:
    counts = Count(1, 1), Count(1, 1)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return [Step(n, n - 1 or None, stage, (), Reason("x"), *counts, 1, at) for n, stage in enumerate(stages, 1)]


def row(history: History, width: int = 80, pending: Stage | None = None, glyphs: Glyphs = UNICODE) -> str:
    return text(history_row(history, glyphs, width, caption=" ", pending=pending))


def text(spans: Sequence[Span]) -> str:
    return "".join(span.text for span in spans)


def test_every_step_has_a_tick_and_the_present_one_a_dot() -> None:
    shown = row(History(steps(*TURN), 6))
    assert shown.startswith(" ┬──L2──·──·──L1──●  ")
    assert shown.endswith("  step 6 / 6 ")
    assert len(shown) == 80


def test_what_was_taken_back_lies_ahead() -> None:
    assert row(History(steps(*TURN), 4)).startswith(" ┬──L2──·──●╌╌L1╌╌· ")
    assert row(History(steps(*TURN), 2)).startswith(" ┬──● L2╌╌·╌╌·╌╌L1╌╌· "), "a layer that is the present step"
    assert row(History(steps(*TURN), 0)).startswith(" ●╌╌┬╌╌L2╌╌·╌╌·╌╌L1╌╌· ")
    assert row(History(steps(*TURN), 0)).endswith("step 0 / 6 ")


def test_a_layer_that_is_only_shown_stands_behind_the_present_step() -> None:
    assert row(History(steps("receive", "answer"), 2), pending="clear").startswith(" ┬──●╌╌[L2] ")
    assert row(History([], 0), pending="truncate").startswith(" ●╌╌[L1] ")


def test_ticks_move_together_before_any_is_hidden() -> None:
    assert row(History(steps(*TURN * 4), 24)).startswith(" ┬─L2─·─·─L1─·─┬─")
    assert row(History(steps(*TURN * 7), 42)).startswith(" ┬L2··L1·┬L2··")


def test_of_too_many_the_newest_are_shown() -> None:
    shown = row(History(steps(*TURN * 40), 240))
    assert shown.startswith(" ‹")
    assert shown.split("  ")[0].endswith("·L1●")
    assert shown.endswith("step 240 / 240 ")


def test_far_back_the_present_step_is_still_among_those_shown() -> None:
    shown = row(History(steps(*TURN * 40), 30))
    assert shown.startswith(" ‹●┬L2··L1·┬")
    assert shown.endswith("step 30 / 240 ")


@given(stages=st.lists(st.sampled_from(get_args(Stage)), max_size=150), data=st.data())
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_the_row_fills_its_room_and_shows_where_one_stands(
    glyphs: Glyphs, stages: list[Stage], data: st.DataObject
) -> None:
    here = data.draw(st.integers(0, len(stages)))
    width = data.draw(st.integers(30, 120))
    pending = data.draw(st.sampled_from([None, "clear"]))
    spans = history_row(History(steps(*stages), here), glyphs, width, caption=" ", pending=pending)
    assert width_of(spans) == width
    assert [span for span in spans if span.text.startswith(glyphs.present) and "b" in span.attributes]


async def test_the_history_of_a_session_with_a_step_taken_back() -> None:
    desk = Desk(questions(1), LESSON, outputs=[LONG])
    await desk.ask("read it", asks_for(read("c1")), says("done"))
    history = history_of(desk.session.timeline)
    assert [step.stage for step in history.steps] == ["receive", "request", "append", "truncate", "answer"]
    assert history.here == 5
    await desk.ask("again", says("yes"))
    desk.session.undo()
    history = history_of(desk.session.timeline)
    assert [step.stage for step in history.steps][5:] == ["receive", "answer"]
    assert history.here == 5
    desk.session.seek(2)
    assert history_of(desk.session.timeline).here == 2
    desk.session.undo()
    assert history_of(desk.session.timeline).here == 0
