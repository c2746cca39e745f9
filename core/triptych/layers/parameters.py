"""Checking the numbers a layer is given."""

from __future__ import annotations

from triptych.reasons import TriptychError

LESSON_ERRORS = {"limit": "limit 不能小于 0", "keep_turns": "keep_turns 必须大于 0"}
"""What the lesson's own functions raise as ValueError for a number out of range."""


class ParameterError(TriptychError):
    """A layer's parameter is out of range."""


def at_least(name: str, value: int, least: int) -> None:
    """Raise ParameterError when `value` is below `least`."""
    if value < least:
        raise ParameterError("parameter.too_small", name=name, value=value, least=least)
