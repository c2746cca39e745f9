"""Two real windows on one session; for longer, `python -m tests.two_windows`."""

from __future__ import annotations

from pathlib import Path

from tests.two_windows import problems


def test_two_windows_on_one_session_lose_nothing(tmp_path: Path) -> None:
    assert problems(tmp_path, seed=5, seconds=60, actions=3) == []
