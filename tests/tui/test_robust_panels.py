"""Layers of the robust flavour by hand: every parameter with a live preview, the focus, and summaries in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, says
from triptych.entries import Summary
from triptych.layers.clear import ClearParameters
from triptych.layers.parameters import ParameterError
from triptych.layers.prune import PruneParameters
from triptych.layers.summarize import SummarizeParameters
from triptych.layers.truncate import TruncateParameters
from triptych.models.base import Delta, Request
from triptych.policy import Policy, Trigger, preset
from triptych_tui.i18n import set_language
from triptych_tui.launch import OpenedSession
from triptych_tui.parameter_fields import fields_of, text_of, with_texts, words_of
from triptych_tui.widgets.parameter_form import LABEL_CELLS

ROBUST = [each.robust() for each in (TruncateParameters, ClearParameters, PruneParameters, SummarizeParameters)]
LESSON = [each.lesson() for each in (TruncateParameters, ClearParameters, PruneParameters, SummarizeParameters)]


def robust(file: Path, turns: int, characters: int = 2000, model: ScriptedModel | None = None) -> OpenedSession:
    session = opened(file, tool_talk(turns, characters), model)
    session.session.policy = preset("robust")
    return session


def in_pieces(policy: Policy) -> Policy:
    assert policy.summarize is not None
    return replace(policy, summarize=replace(policy.summarize, request_tokens=1100, keep_turns=1))


@pytest.mark.parametrize("parameters", [*ROBUST, *LESSON, Trigger.robust()], ids=str)
@pytest.mark.parametrize("language", ["en", "zh_Hans", "zh_Hant"])
def test_every_field_has_words_that_fit_and_shows_its_value_unchanged(parameters: object, language: str) -> None:
    set_language(language)
    try:
        for name in fields_of(parameters):
            label, meaning = words_of(parameters, name)
            assert cell_len(label) < LABEL_CELLS, label
            assert 0 < cell_len(meaning) <= 74, meaning
    finally:
        set_language("en")
    texts = {name: text_of(getattr(parameters, name)) for name in fields_of(parameters)}
    assert with_texts(parameters, texts) is not parameters  # type: ignore[type-var]
    assert with_texts(parameters, texts) == parameters  # type: ignore[type-var]


def test_what_is_typed_becomes_a_value_of_its_kind() -> None:
    clear = with_texts(ClearParameters.robust(), {"exclude_tools": " todo, ,web ", "keep_errors": "yes", "keep": "0"})
    assert (clear.exclude_tools, clear.keep_errors, clear.keep) == (("todo", "web"), True, 0)
    cut = with_texts(
        TruncateParameters.robust(), {"error_limit": " ", "max_line": "90", "unit": "bytes", "notice": r"\n-\n"}
    )
    assert (cut.error_limit, cut.max_line, cut.unit, cut.notice) == (None, 90, "bytes", "\n-\n")
    for name, text in (("limit", "9" * 400), ("limit", "1.5"), ("head_share", "nan"), ("max_line", "0")):
        with pytest.raises(ParameterError):
            with_texts(TruncateParameters.robust(), {name: text})


def test_a_value_that_could_not_be_shown_stays_as_it_is() -> None:
    hostile = replace(ClearParameters.robust(), placeholder="a\x1b[2Jb\nc")
    shown = text_of(hostile.placeholder)
    assert "\x1b" not in shown
    assert with_texts(hostile, {"placeholder": shown, "keep": "9"}) == replace(hostile, keep=9)


async def test_choices_are_cycled_and_lists_typed_with_a_live_preview(tmp_path: Path) -> None:
    app = app_on(robust(tmp_path / "s.json", 5))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f3")
        await until(pilot, lambda: "keep 3: 2 cleared" in screen_text(app), "the plan in force")
        await pilot.press("tab", "down", "down", "down", "down", "down", *"read_file")
        await until(pilot, lambda: "0 tool results" in screen_text(app), "its results are left alone")
        assert "tools left alone" in screen_text(app), "the field is in view"
        await pilot.press("up", "up")
        await until(pilot, lambda: "space changes it" in screen_text(app), "a choice")
        await pilot.press("space")
        await until(pilot, lambda: app.workbench._run is not None and app.workbench._run.edited, "edited")
        run = app.workbench._run
        assert run is not None
        assert isinstance(run.parameters, ClearParameters)
        assert (run.parameters.whole_batches, run.parameters.exclude_tools) == (False, ("read_file",))


async def test_a_text_of_ones_own_is_cut_as_the_robust_layer_cuts(tmp_path: Path) -> None:
    app = app_on(robust(tmp_path / "s.json", 1))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f2", "tab", "end", *["backspace"] * 4, *"12", "shift+tab", "shift+tab")
        app.workbench.set_focus(app.workbench.query_one("#tried"))
        await pilot.press(*("0123456789" * 2))
        await until(pilot, lambda: "20 → 12" in screen_text(app), "within the limit, notice included")


async def test_the_focus_is_in_the_request_and_in_view(tmp_path: Path) -> None:
    model = ScriptedModel([says("Goal: 4417.")])
    app = app_on(robust(tmp_path / "s.json", 5, model=model))
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.press("f4", "tab", "down", *"order 7731")
        await until(pilot, lambda: "Heed above all: order 7731" in screen_text(app), "the last line of the prompt")
        await pilot.press("ctrl+j")
        await until(pilot, lambda: "Goal: 4417." in screen_text(app), "the summary")
    assert "Heed above all: order 7731" in str(model.requests[0].messages[0]["content"])


class Stopping(ScriptedModel):
    """Waits within each answer until it is told to go on."""

    def __init__(self, *answers: str) -> None:
        super().__init__([says(each) for each in answers])
        self.told = asyncio.Semaphore(0)

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        waits = True
        async for delta in super().stream(request):
            yield delta
            if waits:
                await self.told.acquire()
            waits = False


async def test_a_summary_in_pieces_says_how_many_and_which(tmp_path: Path) -> None:
    model = Stopping(*["Goal: 4417."] * 9)
    session = robust(tmp_path / "s.json", 14, 1000, model)
    session.session.policy = in_pieces(session.session.policy)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f4")
        await until(pilot, lambda: "ask the model for the summary, in " in screen_text(app), "how many requests")
        run = app.workbench._run
        assert run is not None
        count = run.planned.request_count  # type: ignore[union-attr]
        assert 1 < count < 9
        assert f"in {count} requests" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: f"piece 1 of {count}" in screen_text(app), "the first")
        model.told.release()
        await until(pilot, lambda: f"piece 2 of {count}" in screen_text(app), "the second")
        await pilot.press("escape")
        await until(pilot, lambda: not app.workbench._is_running, "cancelled within a piece")
        assert f"in {count} requests" in screen_text(app), "it can be asked for again"
        assert session.session.timeline.last_id == 0
        for _ in range(count):
            model.told.release()
        await pilot.press("enter")
        await until(pilot, lambda: "as received" in screen_text(app), "the summary")
        await pilot.press("enter")
        await until(pilot, lambda: session.session.is_saved, "applied")
    assert session.session.entries[1].has_mark(Summary)


async def test_a_turn_says_which_piece_of_its_summary_is_written(tmp_path: Path) -> None:
    model = Stopping(*["Goal: 4417."] * 9)
    session = robust(tmp_path / "s.json", 14, 1000, model)
    session.session.policy = replace(in_pieces(session.session.policy), clear=None, trigger=preset("lesson").trigger)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"next", "enter")
        await until(pilot, lambda: "piece 1 of" in screen_text(app), "the first")
        model.told.release()
        await until(pilot, lambda: "piece 2 of" in screen_text(app), "the second")
        assert "piece 1 of" not in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: not app.workbench._is_running, "cancelled")
    assert not any(entry.has_mark(Summary) for entry in session.session.entries)
