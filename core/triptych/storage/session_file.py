"""A session file on disk: the list as the model sees it, in the lesson's own format."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from triptych.entries import Entry
from triptych.reasons import TriptychError
from triptych.storage.atomic import replace_file_with, sweep_leftovers
from triptych.storage.layout import file_pieces, message_chunk, split_chunks

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

if TYPE_CHECKING:
    from hashlib import _Hash

    from triptych import formats


class SessionFileError(TriptychError):
    """A session file cannot be read or written, or must not be; what is on disk is as it was."""


class OnDisk(NamedTuple):
    """A session file as it stands.

    size: in bytes. modified: UTC. sha256: of its bytes, in hexadecimal digits.
    chunks: the text of message i exactly as it stands, indented, without the comma that follows it; empty where the
        file is laid out in another way than ours.
    other_text: the whole text where there are no chunks.
    """

    path: Path
    size: int
    modified: datetime
    sha256: str
    chunks: tuple[str, ...]
    other_text: str = ""

    def lines(self) -> Iterator[str]:
        """The file's lines, without their ends."""
        if not self.chunks:
            yield from self.other_text.split("\n")
            return
        yield "["
        for chunk in self.chunks[:-1]:
            yield from f"{chunk},".split("\n")
        yield from self.chunks[-1].split("\n")
        yield "]"


class Loaded(NamedTuple):
    """What loading a file gave."""

    reading: formats.Reading
    on_disk: OnDisk

    @property
    def ours(self) -> bool:
        """Whether this session may be saved under its own name."""
        return self.reading.ours


class Saved(NamedTuple):
    """What saving has written. `replaced_characters`: lone surrogates of new messages that became U+FFFD."""

    on_disk: OnDisk
    replaced_characters: int


class _Known(NamedTuple):
    """The file as it was last read or written here: cheap signs first, then its content."""

    size: int
    modified_ns: int
    inode: int
    sha256: str

    @classmethod
    def of(cls, status: os.stat_result, sha256: str) -> _Known:
        return cls(status.st_size, status.st_mtime_ns, status.st_ino, sha256)


class SessionFile:
    """The session file at `path`. All methods block; they may be called from any thread.

    A message is made into text once: saving costs what is new, and the writing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: _Known | None = None
        self._foreign_format: str | None = None
        self._chunks: dict[Entry, str] = {}
        self._lock = threading.Lock()

    def load(self) -> Loaded:
        """Read the file, whatever program wrote it; leftovers of crashes beside it are swept.

        Raises SessionFileError when it cannot be read, FormatError when there are no messages in it.
        """
        with self._lock:
            sweep_leftovers(self.path)
            data, status = self._read()
            import hashlib  # a session that begins has nothing to read

            from triptych import formats
            from triptych.formats.source import decode

            known = _Known.of(status, hashlib.sha256(data).hexdigest())
            decoded = decode(data)
            del data  # a large file need not be in memory thrice
            reading = formats.read_decoded(decoded)
            self._known, self._foreign_format = known, None if reading.ours else reading.format
            chunks = split_chunks(decoded.text) if reading.ours else ()
            if len(chunks) != len(reading.messages):
                chunks = ()
            return Loaded(reading, self._on_disk(known, chunks, "" if chunks else decoded.text))

    def save(
        self,
        entries: Sequence[Entry],
        *,
        overwrite: bool = False,
        announce: Callable[[str], None] = lambda sha256: None,
    ) -> Saved:
        """Write the list, whole or not at all; `announce` is told its hash before it takes the place of the old one.

        Raises SessionFileError when that fails, and, unless `overwrite`, where it would replace what was not read
        from here without loss: another program's changes, another format, a file that was never loaded.
        """
        with self._lock:
            self._refuse_unusual("file.not_writable")
            if not overwrite:
                self._refuse_to_lose()
            chunks, replaced = self._chunks_of(entries)
            from hashlib import sha256

            digest = sha256()
            try:
                pieces = _hashed(file_pieces(tuple(chunks.values())), digest)
                status = replace_file_with(self.path, pieces, lambda: announce(digest.hexdigest()))
            except OSError as error:
                raise self._error("file.not_writable", error) from error
            self._chunks = chunks
            self._known = _Known.of(status, digest.hexdigest())
            self._foreign_format = None
            return Saved(self._on_disk(self._known, tuple(chunks.values()), "" if chunks else "[]"), replaced)

    def changed_outside(self) -> bool:
        """Whether the file is not the one last read or written here; False where there is no file.

        Raises SessionFileError when that cannot be found out.
        """
        with self._lock:
            return self._is_changed("file.unreadable")

    def is_gone(self) -> bool:
        """Whether the file that was read or written here is not there any more."""
        with self._lock:
            return self._known is not None and not self.path.exists()

    def rename(self, path: Path) -> None:
        """Give it another name, where it exists. Raises OSError."""
        with self._lock:
            with suppress(FileNotFoundError):
                self.path.rename(path)
            self.path = path

    def _read(self) -> tuple[bytes, os.stat_result]:
        self._refuse_unusual("file.unreadable")
        try:
            with self.path.open("rb") as file:
                return file.read(), os.fstat(file.fileno())
        except FileNotFoundError as error:
            raise SessionFileError("file.missing", path=str(self.path)) from error
        except OSError as error:
            raise self._error("file.unreadable", error) from error

    def _refuse_unusual(self, reason_id: str) -> None:
        """Folders are no files, and reading a pipe or a device may never end."""
        try:
            mode = self.path.stat().st_mode
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._error(reason_id, error) from error
        if stat.S_ISDIR(mode):
            raise SessionFileError("file.is_folder", path=str(self.path))
        if not stat.S_ISREG(mode):
            raise SessionFileError("file.not_regular", path=str(self.path))

    def _refuse_to_lose(self) -> None:
        if self._is_changed("file.not_writable"):
            reason = "file.exists" if self._known is None else "file.changed_outside"
            raise SessionFileError(reason, path=str(self.path))
        if self._foreign_format is not None and self.path.exists():
            raise SessionFileError("file.not_ours", path=str(self.path), format=self._foreign_format)

    def _is_changed(self, reason_id: str) -> bool:
        known = self._known
        try:
            if known is None:
                return self.path.exists()
            if _Known.of(self.path.stat(), known.sha256) == known:
                return False
            from hashlib import file_digest

            with self.path.open("rb") as file:
                status, sha256 = os.fstat(file.fileno()), file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._error(reason_id, error) from error
        if sha256 != known.sha256:
            return True
        self._known = _Known.of(status, sha256)  # touched only: it need not be read again
        return False

    def _chunks_of(self, entries: Sequence[Entry]) -> tuple[dict[Entry, str], int]:
        """The text of every entry, and how many characters were replaced in those that were not saved before."""
        known, chunks, replaced = self._chunks, {}, 0
        for entry in entries:
            chunk = known.get(entry)
            if chunk is None:
                chunk, count = message_chunk(entry.message)
                replaced += count
            chunks[entry] = chunk
        return chunks, replaced

    def _on_disk(self, known: _Known, chunks: tuple[str, ...], other_text: str) -> OnDisk:
        modified = _EPOCH + timedelta(microseconds=known.modified_ns // 1000)
        return OnDisk(self.path, known.size, modified, known.sha256, chunks, other_text)

    def _error(self, reason_id: str, error: OSError) -> SessionFileError:
        return SessionFileError(reason_id, path=str(self.path), error=error.strerror or type(error).__name__)


def _hashed(pieces: Iterable[bytes], digest: _Hash) -> Iterator[bytes]:
    for piece in pieces:
        digest.update(piece)
        yield piece
