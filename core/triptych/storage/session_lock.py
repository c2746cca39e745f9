"""One writer at a time: the lock beside a session file. It is gone with the process that held it, even if killed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from triptych.storage.atomic import is_folder, make_private_folder
from triptych.storage.session_file import SessionFileError

if TYPE_CHECKING:
    from filelock import BaseFileLock


def lock_path(session: Path) -> Path:
    """Where the lock of a session file is, whatever links lead to it. The file stays behind: only holding it counts."""
    target = Path(os.path.realpath(session))
    return target.with_name(f".{target.name}.lock")


class SessionLock:
    """The right to write the session at `session`. Where a file system knows no locks, everybody has it."""

    def __init__(self, session: Path) -> None:
        self._session = session
        self._held: tuple[BaseFileLock, tuple[int, int]] | None = None

    def take(self) -> None:
        """Hold the lock from now on. Raises SessionFileError when another program holds it, or it is a folder's."""
        if is_folder(self._session):
            raise SessionFileError("file.is_folder", path=str(self._session))
        path = lock_path(self._session)
        if self._held is not None and self._held[1] == _identity(path):
            return
        self.release()  # somebody removed its file, and others may hold the new one
        from filelock import FileLock, Timeout

        lock = FileLock(path, timeout=0, mode=0o600, thread_local=False, fallback_to_soft=False)
        with suppress(OSError):  # where nothing can be written, writing says why
            make_private_folder(path.parent)
            try:
                lock.acquire()
            except Timeout as timeout:
                raise SessionFileError("session.in_use", path=str(self._session)) from timeout
            self._held = (lock, _identity(path))

    def release(self) -> None:
        """Let others write."""
        if self._held is not None:
            self._held[0].release(force=True)
            self._held = None


def _identity(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_dev, status.st_ino)
