"""The names of the stages a turn goes through, and of the layers among them."""

from __future__ import annotations

from typing import Literal

Layer = Literal["truncate", "clear", "prune", "summarize"]
Stage = Literal[
    "receive",
    "clear",
    "prune",
    "decide",
    "summarize",
    "request",
    "tool",
    "truncate",
    "append",
    "answer",
    "save",
    "repair",
    "outside",
    "revert",
    "pin",
]
