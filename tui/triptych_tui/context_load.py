"""What a request holds, role by role, in whole tokens that add up: now, and as a layer would leave it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from triptych.edits import apply
from triptych.entries import Acknowledgement, Entry
from triptych.layers.summarize import SummaryPlan
from triptych.tokens import apportion
from triptych_tui.sheet import Sheet, role_letter

if TYPE_CHECKING:
    from triptych_tui.hand_run import HandRun

SHOWN_LETTERS = ("S", "Σ", "U", "A", "T", "?")
"""The roles in the order in which a strip shows them; an acknowledgement counts with its summary."""
_TOOLS = "tools"


class Load(NamedTuple):
    """The tokens of a request.

    parts: by role letter; they add up to `total`, the messages. tools: the schemas, counted apart.
    kind: as in Measured.
    """

    parts: Mapping[str, int]
    tools: int
    kind: str

    @property
    def total(self) -> int:
        return sum(self.parts.values())

    @property
    def whole(self) -> int:
        """All that takes room in the window."""
        return self.total + self.tools


class Change(NamedTuple):
    """What a layer shown before it is applied would make of a request, both estimated.

    awaits_summary: the old messages are gone from `after`, and the summary that would replace them is not written yet.
    """

    before: Load
    after: Load
    ink: str
    awaits_summary: bool


def load_of(sheet: Sheet) -> Load:
    """The list on screen. Under a measured size the parts are the estimates scaled to it."""
    estimated = _estimated(sheet, sheet.entries, map(sheet.tokens_of, range(len(sheet.entries))))
    size = sheet.size()
    if size.kind == "estimated":
        return estimated
    shares = apportion({**estimated.parts, _TOOLS: estimated.tools}, size.tokens)
    return Load({letter: shares[letter] for letter in estimated.parts}, shares[_TOOLS], size.kind)


def change_of(run: HandRun, sheet: Sheet, ink: str) -> Change | None:
    """What a layer run by hand would change, None where it has nothing to do."""
    entries = sheet.session.entries
    if run.plan is not None:
        after = apply(entries, run.plan.edits)
    elif isinstance(run.planned, SummaryPlan):
        after = (*entries[:1], *entries[run.planned.cut :])
    else:
        return None
    if after == entries:
        return None
    loads = [_estimated(sheet, each, sheet.session.counter.entry_tokens(each)) for each in (entries, after)]
    return Change(*loads, ink, awaits_summary=run.plan is None)


def _estimated(sheet: Sheet, entries: Iterable[Entry], tokens: Iterable[int]) -> Load:
    parts = dict.fromkeys(SHOWN_LETTERS, 0)
    for entry, count in zip(entries, tokens, strict=True):
        parts["Σ" if entry.marks and entry.has_mark(Acknowledgement) else role_letter(entry)] += count
    return Load({letter: count for letter, count in parts.items() if count}, sheet.schemas_tokens, "estimated")
