"""Killed with signal 9 at random moments, the program opens with all that was seen of it."""

from __future__ import annotations

from pathlib import Path

from tests.kill_nine import lives


def test_a_few_kills_lose_nothing(tmp_path: Path) -> None:
    seen = [rows for life in lives(tmp_path, seed=1745, kills=3) for rows in life.shown]
    assert any(len(rows) > 3 for rows in seen), "a question, a call and its result at least"
