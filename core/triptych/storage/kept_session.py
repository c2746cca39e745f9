"""A session on disk: its file with the list, and the journal beside it with everything else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from triptych.entries import Entry, messages_of
from triptych.restoring import restored
from triptych.storage.atomic import is_there, moved_aside, sweep_leftovers
from triptych.storage.journal import Journal, Written, journal_path, read_journal
from triptych.storage.layout import message_chunk
from triptych.storage.session_file import Loaded, OnDisk, SessionFile, SessionFileError
from triptych.storage.session_lock import SessionLock, lock_path
from triptych.timeline import Change, PolicyTaken, Timeline

if TYPE_CHECKING:
    from triptych.formats import Reading
    from triptych.messages import Message


Outside = Literal["", "changed", "gone"]
"""What other programs have done to a session file: nothing, another list, or it is not there any more."""


class Theirs(NamedTuple):
    """What another program has put into a session file, as it was read."""

    file: SessionFile
    loaded: Loaded


class KeptSession:
    """The store of a session. `on_disk` is its file as it was last read or written here, None while there is none.

    It is written by one program at a time: whoever writes first holds it until `leave`.
    """

    def __init__(self, file: SessionFile, journal: Journal, lock: SessionLock, on_disk: OnDisk | None) -> None:
        self.on_disk = on_disk
        self._file = file
        self._journal = journal
        self._lock = lock
        self._opened = _signs(file.path)

    @property
    def path(self) -> Path:
        return self._file.path

    def claim(self) -> None:
        """Be the one who writes it. Raises SessionFileError while another program does."""
        self._lock.take()
        sweep_leftovers(self.path)
        self._journal.prepare()

    def leave(self) -> None:
        """Let others write it."""
        self._journal.close()
        self._lock.release()

    def is_as_opened(self) -> bool:
        """Whether list and journal are on disk as they were when the session was opened."""
        return _signs(self.path) == self._opened

    def outside(self) -> Outside:
        """What other programs have done to the file since it was read or written here."""
        if self._file.is_gone():
            return "gone"
        with suppress(SessionFileError):  # what cannot be read now is told when it is to be written
            return "changed" if self._file.changed_outside() else ""
        return ""

    def theirs(self) -> Theirs:
        """What another program has put into the file. Raises SessionFileError, and FormatError without messages."""
        file = SessionFile(self.path)
        return Theirs(file, file.load())

    def accept(self, theirs: Theirs) -> None:
        """Take what was read for the file as it is known here: from now on it may be replaced."""
        self._file, self.on_disk = theirs.file, theirs.loaded.on_disk

    def settle(self, head: int | None) -> None:
        """The file holds the list after step `head`, though it was not written here. Raises SessionFileError."""
        if self.on_disk is not None and not self._journal.tells(self.on_disk.sha256, head):
            self._journal.done(self.on_disk.sha256, head)

    def copied(self, path: Path) -> KeptSession:
        """A store of its own at `path` that has the same past; nothing is written yet. It is claimed.

        Raises SessionFileError when something is there, or another program writes it.
        """
        lock = _claimed(path)
        return KeptSession(SessionFile(path), self._journal.copied(journal_path(path), lock.take), lock, None)

    def take_back(self) -> None:
        """Remove what was written of a copy that could not be finished."""
        self._journal.close()
        with suppress(OSError):
            journal_path(self.path).unlink(missing_ok=True)
            lock_path(self.path).unlink(missing_ok=True)
        self._lock.release()

    def rename(self, path: Path) -> None:
        """Give list and journal another name. Raises SessionFileError when that fails; all is as it was then."""
        lock, before = _claimed(path), self.path
        try:
            self._file.rename(path)
            try:
                self._journal.rename(journal_path(path), lock.take)
            except OSError:
                self._file.rename(before)
                raise
        except OSError as error:
            lock.release()
            said = error.strerror or type(error).__name__
            raise SessionFileError("file.not_writable", path=str(path), error=said) from error
        with suppress(OSError):
            lock_path(before).unlink(missing_ok=True)
        self._lock.release()
        self._lock, self.on_disk = lock, self.on_disk and self.on_disk._replace(path=path)

    def save(self, entries: tuple[Entry, ...], head: int | None) -> None:
        """Write the list after step `head`. Raises SessionFileError, and then all is as it was."""
        saved = self._file.save(entries, announce=lambda sha256: self._journal.intend(sha256, head))
        self.on_disk = saved.on_disk
        with suppress(SessionFileError):  # the list is in place, and the journal says that it was meant to be
            self._journal.done(saved.on_disk.sha256, head)

    def forget(self, entries: tuple[Entry, ...]) -> None:
        """Have the journal begin with this list, which the file holds. Raises SessionFileError, forgetting nothing."""
        self._journal.forget(entries)

    def set_aside(self) -> list[Path]:
        """Earlier lists and journals of this session that could not be used and were moved aside."""
        return [*moved_aside(self.path), *moved_aside(journal_path(self.path))]

    def delete_set_aside(self, paths: Iterable[Path]) -> None:
        """Delete these of them for good. Raises SessionFileError with the first one that cannot be."""
        for path in paths:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                said = error.strerror or type(error).__name__
                raise SessionFileError("forget.not_deleted", path=str(path), error=said) from error

    def record(self, change: Change) -> None:
        """Append a change to the journal. Raises SessionFileError: it is written with the next one then."""
        self._journal.record(change)


class Past(NamedTuple):
    """What a session on disk goes on with.

    reading: what the file held, None where there is none, or none that can be read. is_saved: the file holds the list
    at the head. remembered: the journal told all this; without one, marks are guessed.
    draft: what had come of an answer that never became whole. forgotten: what was before the first step is not known.
    outside: the messages of a file that another program has changed since the journal last spoke of it, or that the
        journal cannot tell of any more. in_file: the step whose list the file holds, where that is known.
    policy: the one that was in force, as plain values, wherever they come from; None where the journal tells of none.
    lost: how many of the journal's steps cannot be told or fit nowhere; the others stay, and the journal is moved aside
        whole before anything is written. unusable: nothing of the journal can be read; it is moved aside as well.
    """

    timeline: Timeline
    store: KeptSession
    reading: Reading | None = None
    is_saved: bool = True
    remembered: bool = False
    draft: str = ""
    forgotten: bool = False
    outside: tuple[Message, ...] | None = None
    policy: Any = None
    in_file: int | None = None
    lost: int = 0
    unusable: bool = False


def begun(path: Path, entries: tuple[Entry, ...]) -> Past:
    """A session that begins with this list and has no file yet."""
    return Past(Timeline(entries), _kept(SessionFile(path), entries, None))


def opened(path: Path) -> Past:
    """The session at `path` with all that its journal remembers; without one, marks are guessed from known notices.

    A session whose file was never written, since the program was killed before, is there all the same.
    Raises SessionFileError when the file cannot be read, FormatError when there are no messages in it.
    """
    file, written = SessionFile(path), read_journal(journal_path(path))
    try:
        loaded = file.load()
    except SessionFileError as error:
        past = remembered(path) if error.reason.id == "file.missing" and written and None in written.lists else None
        if past is None:
            raise
        return past
    if written is not None and loaded.ours:
        return _taken_up(file, written, loaded)
    return _without_memory(file, loaded)._replace(unusable=loaded.ours and _holds_something(journal_path(path)))


def list_alone(path: Path) -> Past:
    """The session at `path` without what its journal remembers, as the lesson would reopen it.

    Raises SessionFileError when the file cannot be read, FormatError when there are no messages in it.
    """
    file = SessionFile(path)
    return _without_memory(file, file.load())


def remembered(path: Path) -> Past | None:
    """The session at `path` by its journal alone, whatever stands in its file; None where no journal tells of it."""
    written = read_journal(journal_path(path))
    return _taken_up(SessionFile(path), written, None) if written is not None else None


def timeline_on_disk(path: Path, messages: Sequence[Message]) -> Timeline | None:
    """What the journal tells of the list in the file, which was read as `messages` and is at its head.

    None where no journal tells of that list.
    """
    from hashlib import file_digest

    written = read_journal(journal_path(path))
    if written is None:
        return None
    try:
        with path.open("rb") as file:
            sha256 = file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
    timeline = restored(written.base, written.changes).timeline
    if not _tells_of(written, timeline, sha256, messages):
        return None
    timeline.switch(written.lists[sha256])
    return timeline


def entries_on_disk(path: Path, messages: Sequence[Message]) -> tuple[Entry, ...] | None:
    """The list in the file, read as `messages`, as its journal knows it, with exact marks; None where none tells."""
    timeline = timeline_on_disk(path, messages)
    return timeline.entries(timeline.head) if timeline is not None else None


def _taken_up(file: SessionFile, written: Written, loaded: Loaded | None) -> Past:
    """What the journal leads to."""
    timeline, changes, lost = restored(written.base, written.changes)
    on_disk = loaded.on_disk if loaded is not None else None
    tells = loaded is None or _tells_of(written, timeline, loaded.on_disk.sha256, loaded.reading.messages)
    if on_disk is not None and on_disk.sha256 in written.lists and not tells:
        lost = max(lost, 1)  # the one that led to the list in the file at least
    if lost:
        lists = {sha256: head for sha256, head in written.lists.items() if timeline.knows(head)}
        written = written._replace(changes=changes, lists=lists or {None: None})
    policy = next((each.table for each in reversed(written.changes) if isinstance(each, PolicyTaken)), None)
    past = Past(
        timeline,
        _kept(file, written.base, on_disk, written, anew=lost > 0),
        is_saved=False,
        remembered=True,
        draft=written.draft,
        forgotten=written.forgotten,
        policy=policy,
        lost=lost,
    )
    if loaded is None or on_disk is None:
        return past
    past = past._replace(reading=loaded.reading)
    if not tells:
        return past._replace(outside=tuple(loaded.reading.messages))
    in_file = written.lists[on_disk.sha256]
    return past._replace(is_saved=in_file == timeline.head, in_file=in_file)


def _tells_of(written: Written, timeline: Timeline, sha256: str, messages: Sequence[Message]) -> bool:
    """Whether a journal leads to the list in the file. One that was damaged may remember another by its hash."""
    if sha256 not in written.lists or not timeline.knows(written.lists[sha256]):
        return False
    told = messages_of(timeline.entries(written.lists[sha256]))
    return told == list(messages) or _as_written(told) == _as_written(messages)


def _as_written(messages: Iterable[Message]) -> list[str]:
    """Their texts in a file: half a surrogate pair, or NaN, does not equal what becomes of it there."""
    return [message_chunk(each)[0] for each in messages]


def _holds_something(path: Path) -> bool:
    with suppress(OSError):
        return path.stat().st_size > 0
    return False


def _without_memory(file: SessionFile, loaded: Loaded) -> Past:
    from triptych.formats.notices import guess_marks  # readers are loaded where there is a file to read

    entries = guess_marks(loaded.reading.messages)
    return Past(Timeline(entries), _kept(file, entries, loaded.on_disk), loaded.reading)


def _kept(
    file: SessionFile,
    base: tuple[Entry, ...],
    on_disk: OnDisk | None,
    written: Written | None = None,
    *,
    anew: bool = False,
) -> KeptSession:
    lock, sha256 = SessionLock(file.path), on_disk.sha256 if on_disk is not None else None
    journal = Journal(journal_path(file.path), base, sha256, written, lock.take, anew=anew)
    return KeptSession(file, journal, lock, on_disk)


def put_away(path: Path) -> Path:
    """Take a session out of the way, its journal too; returns what its file is called now. Nothing is lost.

    Raises SessionFileError, and then all is as it was.
    """
    lock = SessionLock(path)
    lock.take()
    names = (f"{path.stem}.removed{f'-{number}' if number else ''}{path.suffix}" for number in count())
    free = next(each for each in map(path.with_name, names) if not (is_there(each) or is_there(journal_path(each))))
    file = SessionFile(path)
    try:
        file.rename(free)
        try:
            with suppress(FileNotFoundError):
                journal_path(path).rename(journal_path(free))
        except OSError:
            file.rename(path)
            raise
        with suppress(OSError):
            lock_path(path).unlink(missing_ok=True)
    except OSError as error:
        said = error.strerror or type(error).__name__
        raise SessionFileError("file.not_writable", path=str(path), error=said) from error
    finally:
        lock.release()
    return free


def _claimed(path: Path) -> SessionLock:
    """The lock of a session that is about to be where nothing is yet."""
    lock = SessionLock(path)
    lock.take()
    if is_there(path) or is_there(journal_path(path)):
        lock.release()
        raise SessionFileError("file.exists", path=str(path))
    return lock


def _signs(path: Path) -> list[tuple[int, int, int] | None]:
    """Cheap signs of what stands in list and journal."""
    signs: list[tuple[int, int, int] | None] = []
    for each in (path, journal_path(path)):
        try:
            status = each.stat()
        except OSError:
            signs.append(None)
        else:
            signs.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return signs
