"""The list on screen with everything its rows show: one view model that the panes share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from triptych.edits import Edit
from triptych.entries import Acknowledgement, Entry, Summary
from triptych.events import Event, HeadMoved, StepCommitted, ViewMoved
from triptych.messages import is_tool_response, role_of
from triptych.session import Session
from triptych.tokens import Measured, apportion
from triptych_tui.outline import Outline

Change = Literal["appended", "replaced", "rebuilt"]
"""How a list became another: entries at its end, others in place of the same ones, or anything else."""


class Sheet:
    """The viewed entries of a session, their structure and their tokens, followed step by step."""

    def __init__(self, session: Session, schemas_weight: int) -> None:
        self.session = session
        self.schemas_tokens = session.counter.tokens(schemas_weight)
        self._schemas_weight = schemas_weight
        self._index: dict[int, int] | None = None
        self._parts: Counter[str] | None = None
        self.entries = session.viewed
        self.outline = Outline(self.entries)
        self._count_tokens()

    def follow(self, event: Event) -> Change | None:
        """Catch up with the session after an event: how the list on screen changed, None if it did not."""
        if not isinstance(event, StepCommitted | HeadMoved | ViewMoved):
            return None
        before, self.entries = self.entries, self.session.viewed
        if self.entries is before:
            return None
        change: Change = "rebuilt"
        if isinstance(event, StepCommitted) and event.step.id == self.session.timeline.head:
            change = _change(before, event.step.edits)  # else later steps have landed already, of which it says nothing
        if change == "appended":
            self.outline.extend(self.entries)
            self._count_appended(len(before))
            return change
        if change == "rebuilt":
            self.outline = Outline(self.entries)
        self._count_tokens()
        return change

    def count_anew(self, schemas_weight: int) -> None:
        """Count by another estimator, which weighs the tool schemas like this."""
        self._schemas_weight = schemas_weight
        self.schemas_tokens = self.session.counter.tokens(schemas_weight)
        self._count_tokens()

    def tokens_of(self, index: int) -> int:
        """Estimated tokens of a row; the rows add up to `total`."""
        return self._tokens[index]

    def behind(self, entry: Entry) -> tuple[Entry, ...]:
        """What the model no longer sees: the original of a changed entry, or all entries that a summary stands for."""
        summaries = [mark for mark in entry.marks if isinstance(mark, Summary) and mark.of]
        gone = map(self.session.timeline.original, summaries[-1].of if summaries else (entry.id,))
        return tuple(original for original in gone if original is not None and original is not entry)

    def tokens_before(self, entry: Entry) -> int | None:
        """Estimated tokens of what stands behind the entry; None if it is as it was."""
        counter, behind = self.session.counter, self.behind(entry)
        return counter.tokens(counter.total(behind)) if behind else None

    def index_of(self, entry_id: int) -> int | None:
        """Where an entry stands, None when it is not in the list."""
        return self._positions().get(entry_id)

    def index_at_head(self, index: int) -> int | None:
        """Where a row's entry, or the summary that stands for it, is in the list that is sent and saved."""
        entry, entries = self.entries[index], self.session.entries
        if entries is self.entries:
            return index
        places = (
            (place, each) for place, each in enumerate(entries) if each.id == entry.id or _stands_for(each, entry)
        )
        return next((place for place, _each in places), None)

    def index_of_head(self, index: int) -> int | None:
        """Where an entry of the list that is sent and saved stands on screen; None when it is not there."""
        entries = self.session.entries
        if entries is self.entries:
            return index
        return self.index_of(entries[index].id) if index < len(entries) else None

    def parts(self) -> Mapping[str, int]:
        """The tokens of the rows by role letter; an acknowledgement counts with its summary."""
        if self._parts is None:
            self._parts = Counter()
            self._add_parts(0)
        return self._parts

    def size(self) -> Measured:
        """The size of the next request, schemas included, measured where a measure is known."""
        return self.session.size(self._weight + self._schemas_weight)

    def _positions(self) -> dict[int, int]:
        if self._index is None:
            self._index = {entry.id: index for index, entry in enumerate(self.entries)}
        return self._index

    def _count_tokens(self) -> None:
        counter = self.session.counter
        self._weight = counter.total(self.entries)
        self._tokens = counter.entry_tokens(self.entries)
        self.total = counter.tokens(self._weight)
        self._index = None
        self._parts = None

    def _add_parts(self, first: int) -> None:
        if self._parts is not None:
            for index in range(first, len(self.entries)):
                self._parts[part_of(self.entries[index])] += self._tokens[index]

    def _count_appended(self, known: int) -> None:
        """Count what came behind the first `known` entries; the rows before keep their tokens."""
        counter, before = self.session.counter, self.total
        weights = {index: counter.weight(self.entries[index]) for index in range(known, len(self.entries))}
        self._weight += sum(weights.values())
        self.total = counter.tokens(self._weight)
        self._tokens += apportion(weights, self.total - before).values()
        if self._index is not None:
            self._index.update((self.entries[index].id, index) for index in weights)
        self._add_parts(known)


def _change(before: Sequence[Entry], edits: Sequence[Edit]) -> Change:
    """What the edits of a list did to it."""
    if all(_growth(edit) == 0 for edit in edits):
        return "replaced"
    if len(edits) == 1 and not edits[0].removed and edits[0].index == len(before):
        return "appended"
    return "rebuilt"


def _stands_for(summary: Entry, entry: Entry) -> bool:
    return any(isinstance(mark, Summary) and entry.id in mark.of for mark in summary.marks)


def _growth(edit: Edit) -> int:
    return len(edit.inserted) - len(edit.removed)


_LETTERS = {"system": "S", "developer": "S", "user": "U", "assistant": "A", "tool": "T", "function": "T"}


def role_letter(entry: Entry) -> str:
    """The letter of the gutter: S, U, A, T, or Σ for a summary."""
    if entry.marks and entry.has_mark(Summary):
        return "Σ"
    return "T" if is_tool_response(entry.message) else _LETTERS.get(role_of(entry.message), "?")


def part_of(entry: Entry) -> str:
    """The role letter that an entry's tokens are counted under."""
    return "Σ" if entry.marks and entry.has_mark(Acknowledgement) else role_letter(entry)


ROLE_INKS = {"S": "role_s", "U": "accent", "A": "role_a", "T": "role_t", "Σ": "l3", "?": "error"}


def is_spoken(entry: Entry) -> bool:
    """Whether the chat shows this entry: all but system messages and acknowledgements."""
    return role_letter(entry) != "S" and not entry.has_mark(Acknowledgement)
