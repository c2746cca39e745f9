"""A session on disk: its file with the list, and the journal beside it with everything else."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from triptych.edits import EditConflict
from triptych.entries import Entry
from triptych.storage.journal import Journal, Written, journal_path, read_journal
from triptych.storage.session_file import Loaded, OnDisk, SessionFile, SessionFileError
from triptych.timeline import Change, Timeline

if TYPE_CHECKING:
    from triptych.formats import Reading
    from triptych.messages import Message


class KeptSession:
    """The store of a session. `on_disk` is its file as it was last read or written here, None while there is none."""

    def __init__(self, file: SessionFile, journal: Journal, on_disk: OnDisk | None) -> None:
        self.on_disk = on_disk
        self._file = file
        self._journal = journal

    def save(self, entries: tuple[Entry, ...], head: int | None) -> None:
        """Write the list after step `head`. Raises SessionFileError, and then all is as it was."""
        saved = self._file.save(entries, announce=lambda sha256: self._journal.intend(sha256, head))
        self.on_disk = saved.on_disk
        with suppress(SessionFileError):  # the list is in place, and the journal says that it was meant to be
            self._journal.done(saved.on_disk.sha256, head)

    def forget(self, entries: tuple[Entry, ...]) -> None:
        """Have the journal begin with this list, which the file holds. Raises SessionFileError, forgetting nothing."""
        self._journal.forget(entries)

    def record(self, change: Change) -> None:
        """Append a change to the journal. Raises SessionFileError: it is written with the next one then."""
        self._journal.record(change)


class Past(NamedTuple):
    """What a session on disk goes on with.

    reading: what the file held, None where there is none, or none that can be read. is_saved: the file holds the list
    at the head. remembered: the journal told all this; without one, marks are guessed.
    draft: what had come of an answer that never became whole. forgotten: what was before the first step is not known.
    outside: the messages of a file that another program has changed since the journal last spoke of it.
    """

    timeline: Timeline
    store: KeptSession
    reading: Reading | None = None
    is_saved: bool = True
    remembered: bool = False
    draft: str = ""
    forgotten: bool = False
    outside: tuple[Message, ...] | None = None


def begun(path: Path, entries: tuple[Entry, ...]) -> Past:
    """A session that begins with this list and has no file yet."""
    return Past(Timeline(entries), KeptSession(SessionFile(path), _new_journal(path, entries, None), None))


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
    past = _taken_up(file, written, loaded) if written is not None and loaded.ours else None
    return past or _without_memory(file, loaded)


def remembered(path: Path) -> Past | None:
    """The session at `path` by its journal alone, whatever stands in its file; None where no journal tells of it."""
    written = read_journal(journal_path(path))
    return _taken_up(SessionFile(path), written, None) if written is not None else None


def _taken_up(file: SessionFile, written: Written, loaded: Loaded | None) -> Past | None:
    """What the journal leads to; None where its steps do not fit together."""
    try:
        timeline = Timeline.restored(written.base, written.changes)
    except EditConflict:
        return None
    on_disk = loaded.on_disk if loaded else None
    store = KeptSession(file, Journal(journal_path(file.path), written.base, None, written), on_disk)
    if loaded is None or on_disk is None:
        return Past(timeline, store, is_saved=False, remembered=True, draft=written.draft, forgotten=written.forgotten)
    if on_disk.sha256 not in written.lists:
        outside = tuple(loaded.reading.messages)
        return Past(
            timeline,
            store,
            loaded.reading,
            is_saved=False,
            remembered=True,
            draft=written.draft,
            forgotten=written.forgotten,
            outside=outside,
        )
    is_saved = written.lists[on_disk.sha256] == timeline.head
    return Past(
        timeline, store, loaded.reading, is_saved, remembered=True, draft=written.draft, forgotten=written.forgotten
    )


def _without_memory(file: SessionFile, loaded: Loaded) -> Past:
    from triptych.formats.notices import guess_marks  # readers are loaded where there is a file to read

    entries = guess_marks(loaded.reading.messages)
    store = KeptSession(file, _new_journal(file.path, entries, loaded.on_disk.sha256), loaded.on_disk)
    return Past(Timeline(entries), store, loaded.reading)


def _new_journal(path: Path, entries: tuple[Entry, ...], sha256: str | None) -> Journal:
    return Journal(journal_path(path), entries, sha256)
