"""Layer 3 by hand on long sessions: what is not seen costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel
from triptych.models.base import Finish, TextDelta
from triptych_tui import panel_lines


def record(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> list[int]:
    """From now on, the lengths of what this function of `place` is given."""
    lengths: list[int] = []
    original = getattr(place, name)

    def recording(text: str, *arguments: Any, **options: Any) -> Any:
        lengths.append(len(text))
        return original(text, *arguments, **options)

    monkeypatch.setattr(place, name, recording)
    return lengths


async def test_only_what_is_shown_of_a_request_is_wrapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped = record(monkeypatch, panel_lines, "wrap")
    session = opened(tmp_path / "s.json", tool_talk(40, characters=5000))
    app = app_on(session)
    async with app.run_test(size=(120, 60)) as pilot:
        await pilot.press("f4")
        await until(pilot, lambda: "more characters" in screen_text(app), "the beginning of the request")
        assert "[user] question 0" in screen_text(app)
    assert max(wrapped) < 4000


async def test_while_the_summary_is_written_only_its_own_lines_are_made(tmp_path: Path) -> None:
    weighed: list[int] = []
    model = ScriptedModel([[*(TextDelta(f"word{number} ") for number in range(40)), Finish("stop")]])
    session = opened(tmp_path / "s.json", tool_talk(40, characters=2000), model)
    estimator = session.session.counter.estimator

    class Weighing:
        name, denominator = estimator.name, estimator.denominator

        def weight(self, text: str) -> int:
            weighed.append(len(text))
            return estimator.weight(text)

    session.session.counter.estimator = Weighing()
    app = app_on(session)
    async with app.run_test(size=(120, 60)) as pilot:
        await pilot.press("f4")
        await until(pilot, lambda: "more characters" in screen_text(app), "the request")
        request = max(weighed)
        await pilot.press("enter")
        await until(pilot, lambda: "word39" in screen_text(app), "the summary")
    assert weighed.count(request) == 1, "the request is weighed once"
