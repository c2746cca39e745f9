"""What a request holds, role by role, in whole tokens that add up: now, and as a layer would leave it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from triptych.edits import EditConflict, apply
from triptych.entries import Entry
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummaryPlan
from triptych.tokens import apportion
from triptych_tui.sheet import Sheet, part_of, role_letter

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

    letter: the one role it is about, "" for several. ink: the layer's.
    awaits_summary: the old messages are gone from `after`, and the summary that would replace them is not written yet.
    """

    before: Load
    after: Load
    letter: str
    ink: str
    awaits_summary: bool = False


def load_of(sheet: Sheet) -> Load:
    """The list on screen. Under a measured size the parts are the estimates scaled to it."""
    estimated = _estimated(sheet, sheet.parts())
    size = sheet.size()
    if size.kind == "estimated":
        return estimated
    shares = apportion({**estimated.parts, _TOOLS: estimated.tools}, size.tokens)
    return Load({letter: shares[letter] for letter in estimated.parts}, shares[_TOOLS], size.kind)


def change_of(plan: Plan | SummaryPlan, sheet: Sheet, ink: str) -> Change | None:
    """What a plan would change at the head; None where it does nothing, or is not about that list any more."""
    entries, counter = sheet.session.entries, sheet.session.counter
    edits = (plan.removal,) if isinstance(plan, SummaryPlan) else plan.edits
    if not edits:
        return None
    try:
        after = apply(entries, edits)
    except EditConflict:
        return None
    before, then = (_estimated(sheet, _parts(each, counter.entry_tokens(each))) for each in (entries, after))
    letters = {role_letter(entry) for edit in edits for entry in (*edit.removed, *edit.inserted)}
    letter = letters.pop() if len(letters) == 1 else ""
    return Change(before, then, letter, ink, awaits_summary=isinstance(plan, SummaryPlan))


def _parts(entries: Iterable[Entry], tokens: Iterable[int]) -> Mapping[str, int]:
    parts: Counter[str] = Counter()
    for entry, count in zip(entries, tokens, strict=True):
        parts[part_of(entry)] += count
    return parts


def _estimated(sheet: Sheet, parts: Mapping[str, int]) -> Load:
    shown = {letter: parts[letter] for letter in SHOWN_LETTERS if parts.get(letter)}
    return Load(shown, sheet.schemas_tokens, "estimated")
