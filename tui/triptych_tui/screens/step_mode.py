"""Step mode: every stage of a turn waits until it is told to go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from triptych.layers.plan import Plan
from triptych.layers.summarize import SummaryPlan
from triptych.reasons import Reason
from triptych.stages import Stage

_SHOWN: frozenset[Stage] = frozenset({"clear", "prune", "summarize"})
"""Stages whose plan is about rows that are on screen; a result that layer 1 cuts is not in the list yet."""

Shown = Plan | SummaryPlan | None


class StepMode:
    """A gate that waits while it is `on`. `show` is told what a stage would do, and that it waits or goes on.

    plan: what the stage that waits would do to the rows on screen; None where none waits, or it does nothing to them.
    """

    def __init__(self, show: Callable[[Shown, bool], None]) -> None:
        self.on = False
        self.plan: Shown = None
        self._show = show
        self._told: asyncio.Event | None = None

    @property
    def is_waiting(self) -> bool:
        return self._told is not None

    def toggle(self) -> None:
        """Begin or end stepping; a stage that waits goes on when it ends."""
        self.on = not self.on
        if not self.on:
            self.go_on()

    def go_on(self) -> None:
        """Let the stage that waits go on."""
        if self._told is not None:
            self._told.set()

    async def gate(self, stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
        """The turn's gate: returns at once unless stepping."""
        if not self.on:
            return
        self._told = asyncio.Event()
        self.plan = plan if stage in _SHOWN else None
        self._show(self.plan, True)
        try:
            await self._told.wait()
        finally:
            self._told = self.plan = None
            self._show(None, False)
