"""Pinning: what a user does not want the robust layers to take away, as a step that can be taken back."""

from __future__ import annotations

from dataclasses import replace

from triptych.edits import replacement_edits
from triptych.entries import Entry
from triptych.layers.exchanges import exchanges_of
from triptych.layers.plan import Plan, make_plan
from triptych.reasons import Reason
from triptych.tokens import TokenCounter


def plan(entries: tuple[Entry, ...], index: int, counter: TokenCounter) -> Plan:
    """Pin the whole exchange of the entry at `index`, or let go of it where any of it is pinned."""
    places = sorted(exchanges_of(entries).belonging([index]))
    pinned = not any(entries[at].pinned for at in places)
    changed = [(at, replace(entries[at], pinned=pinned)) for at in places if entries[at].pinned != pinned]
    done = ("pin.undone", "pin.done") if len(places) > 1 else ("pin.one_undone", "pin.one_done")
    reason = Reason(done[pinned], {"first": places[0], "last": places[-1]})
    return make_plan("pin", entries, replacement_edits(entries, changed), reason, counter)
