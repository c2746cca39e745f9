"""Checking the numbers a layer is given."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, get_args

from triptych.reasons import TriptychError

Flavour = Literal["lesson", "robust"]
"""`lesson`: to the letter what the published code answers, faults included. `robust`: what one would ship."""

Unit = Literal["characters", "lines", "bytes"]
UNITS: tuple[Unit, ...] = get_args(Unit)

MOST = 1_000_000_000
"""No number of characters, tokens or turns is larger, nor too large for arithmetic with shares."""

LESSON_ERRORS = {"limit": "limit 不能小于 0", "keep_turns": "keep_turns 必须大于 0"}
"""What the lesson's own functions raise as ValueError for a number out of range."""


class ParameterError(TriptychError):
    """A layer's parameter is out of range."""


def at_least(name: str, value: int | None, least: int) -> None:
    """Raise ParameterError when `value` is below `least` or beyond `MOST`; None stands for no value."""
    if value is not None and value < least:
        raise ParameterError("parameter.too_small", name=name, value=value, least=least)
    if value is not None and value > MOST:
        raise ParameterError("parameter.too_large", name=name, most=MOST)


def one_of(name: str, value: str, known: Collection[str]) -> None:
    """Raise ParameterError when `value` is none of the `known` ones."""
    if value not in known:
        raise ParameterError("parameter.not_one_of", name=name, value=value, known=", ".join(known))


def share(name: str, value: float | None) -> None:
    """Raise ParameterError when `value` is not between 0 and 1; None stands for no value."""
    if value is not None and not 0 <= value <= 1:
        raise ParameterError("parameter.not_a_share", name=name, value=value)
