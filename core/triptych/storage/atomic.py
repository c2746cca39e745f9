"""Replacing a file so that its readers see the whole old one or the whole new one, even after a crash."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path

_LEFTOVER = re.compile(r"\.triptych-([0-9]+)-[0-9a-f]{16}\.tmp")
_OLD_SECONDS = 3600.0


def replace_file(path: Path, data: bytes) -> os.stat_result:
    """Like `replace_file_with`, for data that is at hand."""
    return replace_file_with(path, (data,))


def replace_file_with(
    path: Path, pieces: Iterable[bytes], before_replacing: Callable[[], None] = lambda: None
) -> os.stat_result:
    """Put a new file of these bytes in the place of `path` and return its status.

    `before_replacing` is called when all bytes are safe on disk, yet in a file of another name.

    The file is private (mode 0600), folders that are missing are made (0700), and a symbolic link stays one: its
    target is replaced. Raises OSError, also where something other than a file is in the way; then all is as it was.
    """
    target = Path(os.path.realpath(path))
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(target.stat().st_mode):
            raise FileExistsError(errno.EEXIST, "not a regular file", str(target))
    make_private_folder(target.parent)
    temporary = target.with_name(f".triptych-{os.getpid()}-{os.urandom(8).hex()}.tmp")
    try:
        status = _write(temporary, pieces)
        before_replacing()
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _make_durable(target.parent)
    return status


def move_aside(path: Path) -> Path | None:
    """Give a file the name `NAME.invalid`, or the next that is free; returns its new path, None if there is no file.

    Raises OSError.
    """
    with suppress(FileNotFoundError):
        return path.rename(aside_path(path))
    return None


def aside_path(path: Path) -> Path:
    """What a file at `path` would be called if it were moved aside now."""
    names = (path.name + ".invalid" + (f".{number}" if number else "") for number in count())
    return next(path.with_name(name) for name in names if not path.with_name(name).exists())


def moved_aside(path: Path) -> list[Path]:
    """The files that were at `path` and were moved aside, by name."""
    name = re.compile(re.escape(path.name) + r"\.invalid(?:\.[0-9]+)?")
    with suppress(OSError):
        return sorted(each for each in path.parent.iterdir() if name.fullmatch(each.name))
    return []


def is_folder(path: Path) -> bool:
    """Whether a folder has this name; a name that no file can have is none."""
    with suppress(OSError):
        return path.is_dir()
    return False


def is_there(path: Path) -> bool:
    """Whether there is something at `path`; where that cannot be told, writing there will say why."""
    with suppress(OSError, ValueError):
        return path.exists()
    return False


def make_private_folder(folder: Path) -> None:
    """Make a folder and its missing parents, all of mode 0700."""
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def sweep_leftovers(path: Path) -> None:
    """Remove what crashes while `path` was written have left beside it."""
    folder = Path(os.path.realpath(path)).parent
    with suppress(OSError):
        for entry in os.scandir(folder):
            name = _LEFTOVER.fullmatch(entry.name)
            with suppress(OSError):
                if name and (not _is_running(int(name[1])) or time.time() - entry.stat().st_mtime > _OLD_SECONDS):
                    Path(entry.path).unlink()


def _write(path: Path, pieces: Iterable[bytes]) -> os.stat_result:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(pieces)
        file.flush()
        os.fsync(descriptor)
        return os.fstat(descriptor)


def _make_durable(folder: Path) -> None:
    # The new file is in place already; some systems cannot open or sync folders.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _is_running(process: int) -> bool:
    if os.name == "nt":  # there, asking with signal 0 ends the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
