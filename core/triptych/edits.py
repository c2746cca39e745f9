"""Edits: every change to the list, in one shape that can be taken back exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from triptych.entries import Entry
from triptych.reasons import TriptychError


class EditConflict(TriptychError):
    """The entries an edit was planned against are not there any more."""


class Edit(NamedTuple):
    """Here, these entries are replaced by those.

    `after` is the id of the entry before the place, None at the start: the truth. `index` is where that was when the
    edit was planned: a hint that makes finding it cheap. An append has nothing in `removed`, a deletion nothing in
    `inserted`, a replacement the same ids on both sides.
    """

    index: int  # type: ignore[assignment]  # tuples have a method of this name, which nobody asks for
    after: int | None
    removed: tuple[Entry, ...]
    inserted: tuple[Entry, ...]


def append_edit(entries: Sequence[Entry], *added: Entry) -> Edit:
    """The edit that appends `added` at the end of `entries`."""
    return Edit(len(entries), entries[-1].id if entries else None, (), added)


def replacement_edits(entries: Sequence[Entry], replacements: Iterable[tuple[int, Entry]]) -> tuple[Edit, ...]:
    """One edit for each contiguous run of one-to-one replacements, given as `(index, new entry)` in rising order."""
    edits: list[Edit] = []
    run: list[Entry] = []
    start = 0
    for index, entry in replacements:
        if run and index != start + len(run):
            edits.append(_run_edit(entries, start, run))
            run = []
        if not run:
            start = index
        run.append(entry)
    if run:
        edits.append(_run_edit(entries, start, run))
    return tuple(edits)


def _run_edit(entries: Sequence[Entry], start: int, run: list[Entry]) -> Edit:
    after = entries[start - 1].id if start else None
    return Edit(start, after, tuple(entries[start : start + len(run)]), tuple(run))


def edits_between(before: Sequence[Entry], after: Sequence[Entry]) -> tuple[Edit, ...]:
    """Edits that lead from one list to the other: the entries that both hold, in the same order, stay.

    Of entries side by side that were replaced one by one, those with the same newest mark are one edit.
    """
    places = {entry: index for index, entry in enumerate(before)}
    edits: list[Edit] = []
    start, new = 0, list[Entry]()
    for entry in after:
        place = places.get(entry, -1)
        if place < start:
            new.append(entry)
            continue
        edits += _gap(before, start, place, new)
        start, new = place + 1, []
    edits += _gap(before, start, len(before), new)
    return tuple(edits)


def _gap(before: Sequence[Entry], start: int, end: int, new: list[Entry]) -> Iterator[Edit]:
    """The edits that put `new` in place of what stands from `start` up to `end`."""
    if [entry.id for entry in before[start:end]] == [entry.id for entry in new]:
        for _mark, run in groupby(new, key=lambda entry: type(entry.newest_mark)):
            replacements = list(run)
            yield _run_edit(before, start, replacements)
            start += len(replacements)
    else:
        yield Edit(start, before[start - 1].id if start else None, tuple(before[start:end]), tuple(new))


def inverse_of(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """The edits that take back `edits`, which were planned together against one list.

    They give back the same entry objects.
    """
    inverses: list[Edit] = []
    shift = 0
    end_before: int | None = None  # where the edit before ended: in the list planned against, and in its outcome
    end_after: int | None = None
    for number, edit in enumerate(edits):
        # Of edits side by side, what the one removed may be what the next named as its place.
        after = end_after if number and edit.after == end_before else edit.after
        inverses.append(Edit(edit.index + shift, after, edit.inserted, edit.removed))
        shift += len(edit.inserted) - len(edit.removed)
        end_before = edit.removed[-1].id if edit.removed else edit.after
        end_after = edit.inserted[-1].id if edit.inserted else after
    return tuple(inverses)


def apply(entries: tuple[Entry, ...], edits: Sequence[Edit]) -> tuple[Entry, ...]:
    """The list after `edits`, which were planned together, in rising order, against one list.

    Raises EditConflict when a place is gone or other entries than `removed` stand there.
    """
    changed = list(entries)
    apply_in_place(changed, edits)
    return tuple(changed)


def apply_in_place(entries: list[Entry], edits: Sequence[Edit]) -> None:
    """Like `apply`, on a list of the caller's own; on EditConflict that list is unchanged."""
    places: list[int] = []
    positions: dict[int, int] = {}
    end = 0
    for edit in edits:
        place = _hinted_place(entries, edit)
        if place is None:
            positions = positions or {entry.id: position for position, entry in enumerate(entries)}
            place = _searched_place(entries, edit, positions)
        if place < end:  # not in rising order, so that they could not be taken back
            raise EditConflict("edit.entries_changed", index=place)
        places.append(place)
        end = place + len(edit.removed)
    # From the end, so that places found beforehand stay right.
    for place, edit in reversed(list(zip(places, edits, strict=True))):
        entries[place : place + len(edit.removed)] = edit.inserted


def _hinted_place(entries: Sequence[Entry], edit: Edit) -> int | None:
    index = edit.index
    if not 0 <= index <= len(entries):
        return None
    before = entries[index - 1].id if index else None
    return index if before == edit.after and _stands_at(entries, index, edit.removed) else None


def _searched_place(entries: Sequence[Entry], edit: Edit, positions: dict[int, int]) -> int:
    place = 0
    if edit.after is not None:
        if edit.after not in positions:
            raise EditConflict("edit.place_gone", after=edit.after)
        place = positions[edit.after] + 1
    if not _stands_at(entries, place, edit.removed):
        raise EditConflict("edit.entries_changed", index=place)
    return place


def _stands_at(entries: Sequence[Entry], index: int, removed: tuple[Entry, ...]) -> bool:
    if index + len(removed) > len(entries):
        return False
    return all(entries[index + offset] is entry for offset, entry in enumerate(removed))
