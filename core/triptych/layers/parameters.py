"""Checking the numbers a layer is given."""

from __future__ import annotations

from triptych.reasons import TriptychError


class ParameterError(TriptychError):
    """A layer's parameter is out of range."""


def at_least(name: str, value: int, least: int) -> None:
    """Raise ParameterError when `value` is below `least`."""
    if value < least:
        raise ParameterError("parameter.too_small", name=name, value=value, least=least)
