"""What a plan would do to the rows of the messages pane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from triptych.edits import apply
from triptych.entries import Entry
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummaryPlan
from triptych_tui.sheet import Sheet
from triptych_tui.stage_words import LAYER_INKS


@dataclass(frozen=True, slots=True, eq=False)
class Preview:
    """What a plan would do to the rows on screen, in the layer's ink.

    targets: by id, the entry that would stand there, with its tokens in the list as it would be; None for those that
        would go.
    reused: tokens before the first of them, which a prompt cache keeps.
    cut: for a summary, the index of the first entry that stays behind it.
    """

    targets: Mapping[int, tuple[Entry, int] | None]
    ink: str
    first_index: int | None
    reused: int = 0
    cut: int | None = None

    @property
    def divided_at(self) -> int | None:
        """The index of the row that has a line above it, of what stays behind a summary or in a prompt cache."""
        return self.cut if self.cut is not None else self.first_index if self.reused else None

    @classmethod
    def of(cls, plan: Plan, sheet: Sheet, ink: str) -> Preview:
        after = apply(sheet.session.entries, plan.edits)
        tokens = dict(zip(after, sheet.session.counter.entry_tokens(after), strict=True))
        targets: dict[int, tuple[Entry, int] | None] = {}
        for edit in plan.edits:
            replacements = {entry.id: (entry, tokens[entry]) for entry in edit.inserted}
            targets.update({entry.id: replacements.get(entry.id) for entry in edit.removed})
        first = min((edit.index for edit in plan.edits), default=None)
        last = plan.edits[-1] if plan.edits and plan.stage == "summarize" else None
        cut = None if last is None else last.index + len(last.removed)
        return cls(targets, ink, first, _tokens_before(first, sheet), cut)

    @classmethod
    def of_request(cls, plan: SummaryPlan, sheet: Sheet, ink: str) -> Preview:
        """Before there is a summary: what it would stand for."""
        return cls({entry.id: None for entry in plan.old}, ink, plan.start, _tokens_before(plan.start, sheet), plan.cut)


def _tokens_before(index: int | None, sheet: Sheet) -> int:
    """What the rows above this one add up to."""
    return sum(map(sheet.tokens_of, range(index or 0)))


def preview_of(plan: Plan | SummaryPlan | None, sheet: Sheet) -> Preview | None:
    """What a plan would do to the rows; None where it does nothing to them."""
    if isinstance(plan, SummaryPlan):
        return Preview.of_request(plan, sheet, LAYER_INKS["summarize"])
    if plan is None or not plan.edits:
        return None
    return Preview.of(plan, sheet, LAYER_INKS[plan.stage])
