"""Pinning on a workbench: what the robust layers are to leave as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triptych import pins
from triptych.reasons import Reason
from triptych_tui.stage_rows import after_pin

if TYPE_CHECKING:
    from triptych_tui.screens.time_travel import TimeTravel


async def pin_selected(screen: TimeTravel) -> None:
    """Pin the whole exchange of the selected entry, or let go of it, as a step; what cannot be is said."""
    session = screen.session
    if screen.is_looking_back:
        screen.say(Reason("pin.looking_back"), fault=False)
        return
    if screen.holds_summary:
        screen.say(Reason("pin.summary_waits"), fault=False)
        return
    index = screen.reader.selected()
    if index is None:
        return
    step = session.perform(pins.plan(session.entries, index, session.counter), session.begin_action())
    screen.hush()
    screen.show_stage(after_pin(session.policy, step))
    screen.plan_anew()
    await session.save()
