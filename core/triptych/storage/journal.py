"""The journal beside a session file: every change as it happened, one JSON object a line, only ever appended to.

The session file holds the list as the model sees it. The journal holds what was said and done: originals once each,
marks, reasons, where the head went, and the hash of every list that was written. It begins with the first change.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from triptych.entries import Entry
from triptych.storage.atomic import make_private_folder, move_aside, replace_file_with
from triptych.storage.journal_records import (
    Record,
    RecordError,
    entry_of,
    entry_record,
    move_of,
    move_record,
    number_of,
    number_or_none,
    numbers_of,
    step_of,
    step_record,
)
from triptych.storage.session_file import SessionFileError
from triptych.timeline import Change, Draft, Move, PolicyTaken

VERSION = 1
_BATCH = 512
"""Lines that are parsed at once."""


def journal_path(session: Path) -> Path:
    """Where the journal of a session file is: `talk.json` and `talk.txt` have each their own."""
    name = session.stem if session.suffix.casefold() == ".json" else session.name
    return session.parent / f"{name}.journal.jsonl"  # a folder's name may be empty


class Journal:
    """Appends to the journal at `path`, which begins with the list `base`.

    written: changes that stand in it already, with the numbers of their entries; with `anew` they stand in one that is
    moved aside before anything is written, and are written once more. `list_sha256` is the hash of the list on disk at
    the beginning, None where there was none. `before_writing` may raise SessionFileError: then nothing is written. Its
    methods may be called from any thread.
    """

    def __init__(
        self,
        path: Path,
        base: tuple[Entry, ...],
        list_sha256: str | None,
        written: Written | None = None,
        before_writing: Callable[[], None] = lambda: None,
        *,
        anew: bool = False,
    ) -> None:
        self.path = path
        self._before_writing = before_writing
        self._base = base
        self._lists: dict[str | None, int | None] = dict(written.lists) if written else {list_sha256: None}
        self._changes: list[Change] = list(written.changes) if written else []
        self._numbers: dict[Entry, int] = dict(written.numbers) if written else {}
        self._next_number = max(self._numbers.values(), default=-1) + 1
        self._descriptor: int | None = None
        self._forgotten = written is not None and written.forgotten
        self._begins = written is None or anew
        self._pending: list[bytes] = []
        self._lock = threading.Lock()
        if anew:
            self._begin_anew()

    def prepare(self) -> None:
        """Have its beginning at hand, so that the first change of a long list is written at once."""
        with self._lock:
            if self._begins and not self._pending:
                self._pending += map(_line, self._beginning())

    def record(self, change: Change) -> None:
        """Append a change. Raises SessionFileError when it cannot be written: it is written with the next one then."""
        with self._lock:
            if not isinstance(change, Draft):
                self._changes.append(change)
            self._append(self._records_of(change))

    def intend(self, sha256: str, head: int | None) -> None:
        """Say which list, the one after step `head`, is about to be put in place, durably. Raises SessionFileError."""
        with self._lock:
            self._lists[sha256] = head
            self._append([{"kind": "intent", "sha256": sha256, "head": head}])
            descriptor = self._descriptor
        if descriptor is not None:
            with suppress(OSError):
                os.fsync(descriptor)

    def done(self, sha256: str, head: int | None) -> None:
        """Say that this list is in place. Raises SessionFileError."""
        with self._lock:
            self._lists = {sha256: head}
            self._append([{"kind": "done", "sha256": sha256, "head": head}])

    def forget(self, base: tuple[Entry, ...]) -> None:
        """Begin anew with this list, which is on disk; whatever came before it is gone for good.

        Raises SessionFileError, and then nothing is forgotten.
        """
        with self._lock:
            self._before_writing()
            before = self._base, self._changes, self._numbers, self._lists, self._forgotten
            policies: list[Change] = [each for each in self._changes if isinstance(each, PolicyTaken)]
            self._base, self._changes, self._numbers, self._forgotten = base, policies[-1:], {}, True
            self._lists = {list(self._lists)[-1]: None}
            try:
                replace_file_with(self.path, self._beginning_and_changes())
            except OSError as error:
                self._base, self._changes, self._numbers, self._lists, self._forgotten = before
                raise self._error(error) from error
            self._close()
            self._begins, self._pending = False, []

    def tells(self, sha256: str, head: int | None) -> bool:
        """Whether it says that this list, the one after step `head`, is on disk."""
        with self._lock:
            return sha256 in self._lists and self._lists[sha256] == head

    def copied(self, path: Path, before_writing: Callable[[], None]) -> Journal:
        """A journal of its own at `path` that will tell the same."""
        with self._lock:
            copy = Journal(path, self._base, None, before_writing=before_writing)
            copy._changes, copy._forgotten = list(self._changes), self._forgotten
            copy._begin_anew()
            return copy

    def rename(self, path: Path, before_writing: Callable[[], None]) -> None:
        """Give it another name, where it exists. Raises OSError."""
        with self._lock:
            with suppress(FileNotFoundError):
                self.path.rename(path)
            self.path, self._before_writing = path, before_writing

    def close(self) -> None:
        with self._lock:
            self._close()

    def _append(self, records: Iterable[Record]) -> None:
        """Write what could not be written before, then these lines; all of it, or nothing."""
        if self._begins and not self._pending:
            self._pending += map(_line, self._beginning())  # first, since it gives the base's entries their numbers
        self._pending += map(_line, records)
        self._before_writing()
        try:
            if self._is_gone():
                move_aside(self.path)
                self._begin_anew()
            if self._descriptor is None:
                self._open()
            self._write(b"".join(self._pending))
        except OSError as error:
            self._close()
            raise self._error(error) from error
        self._pending.clear()

    def _error(self, error: OSError) -> SessionFileError:
        said = error.strerror or type(error).__name__
        return SessionFileError("journal.not_writable", path=str(self.path), error=said)

    def _is_gone(self) -> bool:
        """Whether somebody has removed it, or put something else in its place."""
        if self._descriptor is None:
            return not self._begins and not self.path.exists()
        try:
            return not os.path.samestat(os.fstat(self._descriptor), self.path.stat())
        except FileNotFoundError:
            return True

    def _open(self) -> None:
        make_private_folder(self.path.parent)
        if self._begins:
            move_aside(self.path)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._descriptor = os.open(self.path, flags, 0o600)
        self._begins = False
        if os.lseek(self._descriptor, 0, os.SEEK_END):
            os.lseek(self._descriptor, -1, os.SEEK_END)
            if os.read(self._descriptor, 1) != b"\n":
                self._pending.insert(0, b"\n")

    def _beginning(self) -> Iterator[Record]:
        yield {"kind": "journal", "version": VERSION, "forgotten": self._forgotten}
        yield from self._new_entries(self._base)
        base = [self._numbers[entry] for entry in self._base]
        yield {"kind": "base", "entries": base, "sha256": next(iter(self._lists))}

    def _begin_anew(self) -> None:
        """Write everything once more, into a new file."""
        self._close()
        self._numbers.clear()
        lists = [_line({"kind": "intent", "sha256": sha256, "head": head}) for sha256, head in self._lists.items()]
        self._pending = [*self._beginning_and_changes(), *lists]

    def _beginning_and_changes(self) -> Iterator[bytes]:
        yield from map(_line, self._beginning())
        for change in self._changes:
            yield from map(_line, self._records_of(change))

    def _write(self, data: bytes) -> None:
        assert self._descriptor is not None
        size = os.fstat(self._descriptor).st_size
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            with suppress(OSError):  # half a line would be passed over on reading, but would stay in the way
                os.ftruncate(self._descriptor, size)
            raise

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _records_of(self, change: Change) -> Iterator[Record]:
        if isinstance(change, Draft):
            yield {"kind": "draft", "text": change.text}
        elif isinstance(change, Move):
            yield move_record(change)
        elif isinstance(change, PolicyTaken):
            yield {"kind": "policy", "policy": change.table}
        else:
            yield from self._new_entries(entry for edit in change.edits for entry in (*edit.removed, *edit.inserted))
            yield step_record(change, self._numbers.__getitem__)

    def _new_entries(self, entries: Iterable[Entry]) -> Iterator[Record]:
        """The entries that are not written yet, each given its number."""
        for entry in entries:
            if entry not in self._numbers:
                number = self._numbers[entry] = self._next_number
                self._next_number += 1
                yield entry_record(number, entry)


class Written(NamedTuple):
    """A journal as it stands.

    base: the list that it begins with. changes: in their order. numbers: of the entries.
    lists: the heads whose lists may be on disk, by the hashes of those: the one that was put in place last, and one
        that was about to be put in place.
    draft: what had come of an answer that never became whole.
    passed_over: lines that are no records, or speak of what no line before them holds.
    forgotten: it does not begin where the session began, since a user wanted what was before to be forgotten.
    """

    base: tuple[Entry, ...]
    changes: tuple[Change, ...]
    numbers: dict[Entry, int]
    lists: dict[str | None, int | None]
    draft: str
    passed_over: int
    forgotten: bool


def read_journal(path: Path) -> Written | None:
    """What stands in a journal; None where there is none, or none that this version can read."""
    try:
        if not path.is_file():  # reading a pipe or a device may never end
            return None
        with path.open("rb") as file:
            return _Reader().read(file)
    except OSError:
        return None


class _Reader:
    """Goes through the lines. They are split on the newline byte alone: other line ends may stand in strings."""

    def __init__(self) -> None:
        from triptych.formats.json_reader import is_deep  # readers are loaded where there is a file to read

        self._is_deep = is_deep
        self._entries: dict[int, Entry] = {}
        self._base: tuple[Entry, ...] | None = None
        self._changes: list[Change] = []
        self._lists: dict[str | None, int | None] = {}
        self._draft: list[str] = []
        self._passed_over = 0

    def read(self, lines: Iterator[bytes]) -> Written | None:
        header = _header(next(lines, b""))
        if header is None:
            return None
        while batch := list(islice(lines, _BATCH)):
            for record in _parsed([line for line in batch if line != b"\n"]):
                self._take(record)
        if self._base is None:
            return None
        numbers = {entry: number for number, entry in self._entries.items()}
        return Written(
            self._base,
            tuple(self._changes),
            numbers,
            self._lists,
            "".join(self._draft),
            self._passed_over,
            header.get("forgotten") is True,
        )

    def _take(self, record: Any) -> None:
        try:
            self._take_record(record)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            self._passed_over += 1

    def _take_record(self, record: Record) -> None:
        match record["kind"]:
            case "entry":
                if self._is_deep(record["message"]):  # could be read, but neither written nor shown
                    raise RecordError
                self._entries[number_of(record, "number")] = entry_of(record)
            case "base" if self._base is None:
                numbers = numbers_of(record, "entries")
                self._base = tuple(self._entries[number] for number in numbers if number in self._entries)
                self._lists = {record["sha256"]: None}
            case "step":
                self._changes.append(step_of(record, self._entries))
                self._draft.clear()
            case "move":
                self._changes.append(move_of(record))
                self._draft.clear()
            case "policy" if not self._is_deep(record["policy"]):
                self._changes.append(PolicyTaken(record["policy"]))
            case "draft":
                self._draft.append(str(record["text"]))
            case "intent":  # nothing is saved while an answer is under way
                self._lists[record["sha256"]] = number_or_none(record, "head")
                self._draft.clear()
            case "done":
                self._lists = {record["sha256"]: number_or_none(record, "head")}
            case _:
                raise RecordError


def _header(line: bytes) -> Record | None:
    """The first line of a journal that this version can read."""
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_ours = isinstance(header, dict) and header.get("kind") == "journal" and header.get("version") == VERSION
    return header if is_ours else None


def _parsed(lines: Sequence[bytes]) -> Iterator[Any]:
    """What the lines say, None for one that is no JSON. Many are parsed at once, which takes a third of the time."""
    with suppress(ValueError, RecursionError):
        records = json.loads((b"[" + b",".join(lines) + b"]").decode())
        if len(records) == len(lines):
            yield from records
            return
    for line in lines:
        record = None
        with suppress(ValueError, RecursionError):
            record = json.loads(line)
        yield record


def _line(record: Record) -> bytes:
    """One line; ASCII alone, so that any string survives, half a surrogate pair too."""
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"
