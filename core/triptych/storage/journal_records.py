"""The lines of a journal: entries, steps and moves as JSON objects, and back, value for value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, get_args

from triptych.edits import Edit
from triptych.entries import Entry, Mark
from triptych.reasons import Reason
from triptych.stages import Stage
from triptych.timeline import Move, MoveKind, Step
from triptych.tokens import Count, Usage

Record = dict[str, Any]

_MARKS: Mapping[str, type[Mark]] = {kind.name: kind for kind in Mark.__subclasses__()}
_DEFAULTS: Mapping[type[Mark], Mapping[str, Any]] = {
    kind: {each.name: each.default for each in fields(kind)} for kind in _MARKS.values()
}


class RecordError(ValueError):
    """A line is no record, or speaks of what no line before it holds."""


def entry_record(number: int, entry: Entry) -> Record:
    """One version of an entry, written once; later lines name it by its number."""
    record: Record = {"kind": "entry", "number": number, "id": entry.id, "message": entry.message}
    if entry.marks:
        record["marks"] = [_mark_record(mark) for mark in entry.marks]
    if entry.pinned:
        record["pinned"] = True
    return record


def entry_of(record: Record) -> Entry:
    """The entry of a line. Raises RecordError."""
    message, marks = record.get("message"), record.get("marks", [])
    if not isinstance(message, dict) or not isinstance(marks, list):
        raise RecordError
    return Entry(number_of(record, "id"), message, tuple(map(_mark_of, marks)), bool(record.get("pinned")))


def step_record(step: Step, number_of_entry: Callable[[Entry], int]) -> Record:
    """A step, with its entries by their numbers."""
    record: Record = {"kind": "step", "id": step.id, "parent": step.parent, "action": step.action, "stage": step.stage}
    record["edits"] = [
        {
            "index": edit.index,
            "after": edit.after,
            "removed": [number_of_entry(entry) for entry in edit.removed],
            "inserted": [number_of_entry(entry) for entry in edit.inserted],
        }
        for edit in step.edits
    ]
    record["reason"] = _reason_record(step.reason)
    record["before"] = [step.before.messages, step.before.tokens]
    record["after"] = [step.after.messages, step.after.tokens]
    record["at"] = step.at.isoformat()
    record["seconds"] = step.seconds
    if step.usage is not None:
        record["usage"] = [step.usage.prompt_tokens, step.usage.completion_tokens]
    return record


def step_of(record: Record, entries: Mapping[int, Entry]) -> Step:
    """The step of a line. Raises RecordError, also where `entries` lacks one of its numbers."""
    stage = next((each for each in get_args(Stage) if each == record.get("stage")), None)
    if stage is None:
        raise RecordError
    try:
        edits = tuple(_edit_of(each, entries) for each in record["edits"])
        before, after = (Count(*map(int, record[name])) for name in ("before", "after"))
        usage = Usage(*map(int, record["usage"])) if record.get("usage") else None
        return Step(
            id=number_of(record, "id"),
            parent=number_or_none(record, "parent"),
            stage=stage,
            edits=edits,
            reason=_reason_of(record["reason"]),
            before=before,
            after=after,
            action=number_of(record, "action"),
            at=datetime.fromisoformat(record["at"]),
            seconds=float(record.get("seconds", 0.0)),
            usage=usage,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError from error


def move_record(move: Move) -> Record:
    return {"kind": "move", "move": move.kind, "of": move.of}


def move_of(record: Record) -> Move:
    """The move of a line. Raises RecordError."""
    kind = next((each for each in get_args(MoveKind) if each == record.get("move")), None)
    if kind is None:
        raise RecordError
    return Move(kind, number_or_none(record, "of"))


def _edit_of(record: Record, entries: Mapping[int, Entry]) -> Edit:
    removed, inserted = (tuple(entries[number] for number in record[name]) for name in ("removed", "inserted"))
    return Edit(number_of(record, "index"), number_or_none(record, "after"), removed, inserted)


def _mark_record(mark: Mark) -> Record:
    defaults = _DEFAULTS[type(mark)]
    values = {name: value for name, default in defaults.items() if (value := getattr(mark, name)) != default}
    return {"mark": mark.name, **values}


def _mark_of(record: object) -> Mark:
    if not isinstance(record, dict) or record.get("mark") not in _MARKS:
        raise RecordError
    kind = _MARKS[record["mark"]]
    known = _DEFAULTS[kind]
    values: dict[str, Any] = {name: _value_of(value) for name, value in record.items() if name in known}
    return kind(**values)


def _reason_record(reason: Reason) -> Record:
    record: Record = {"id": reason.id}
    if reason.values:
        record["values"] = {name: _value_record(value) for name, value in reason.values.items()}
    if reason.variables:
        record["variables"] = {name: _value_record(value) for name, value in reason.variables.items()}
    if reason.printed:
        record["printed"] = reason.printed
    return record


def _value_record(value: Any) -> Any:
    return {"reason": _reason_record(value)} if isinstance(value, Reason) else value


def _reason_of(record: Record) -> Reason:
    values, variables = (
        {name: _value_of(value) for name, value in record.get(part, {}).items()} for part in ("values", "variables")
    )
    return Reason(str(record["id"]), values, variables, str(record.get("printed", "")))


def _value_of(value: Any) -> Any:
    if isinstance(value, dict):
        return _reason_of(value["reason"])
    return tuple(value) if isinstance(value, list) else value


def number_of(record: Record, name: str) -> int:
    """A number in a line. Raises RecordError."""
    value = record.get(name)
    if type(value) is not int:
        raise RecordError
    return value


def number_or_none(record: Record, name: str) -> int | None:
    """A number in a line, or none. Raises RecordError."""
    return None if record.get(name) is None else number_of(record, name)


def numbers_of(record: Record, name: str) -> Sequence[int]:
    """A list of numbers in a line. Raises RecordError."""
    value = record.get(name)
    if not isinstance(value, list) or not all(type(each) is int for each in value):
        raise RecordError
    return value
