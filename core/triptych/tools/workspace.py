"""The one boundary through which tools read: a folder, and nothing outside it.

Closed to tools even inside the folder: the paths given as `hidden` (our own sessions and settings), whatever name
or link leads to them; journals, and the session a journal stands beside; what of either was moved aside or put away;
every name that begins with a dot (version control, settings, keys); /proc and /sys.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from triptych.reasons import TriptychError

LARGEST_FILE = 1024 * 1024
"""Bytes of the largest file that is read."""

LONGEST_PATH = 4096
"""Characters of the longest path that is looked at."""

MOST_FOLDERS = 10_000
DEEPEST_FOLDER = 64
"""How many folders one listing enters, and how far below the workspace."""

JOURNAL_SUFFIX = ".journal.jsonl"
_MOVED_ASIDE = re.compile(r"\.invalid(?:\.[0-9]+)?\Z")
_PUT_AWAY = re.compile(r".\.removed(?:-[0-9]+)?(?:\.[^.]*)?\Z", re.DOTALL)

Refusal = Literal[
    "outside", "closed", "missing", "link", "folder", "special", "huge", "binary", "denied", "name", "unreadable"
]

_ERRNO_REFUSALS: dict[int | None, Refusal] = {
    errno.ENOENT: "missing",
    errno.ENOTDIR: "missing",
    errno.ELOOP: "link",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.ENAMETOOLONG: "name",
}
_KERNEL_FOLDERS = (Path("/proc"), Path("/sys"))

_BY_HANDLE = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
"""Whether folders are entered by handle. Windows cannot: there the resolved path is checked, and opened by name."""
_FILE_FLAGS = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):
    _FILE_FLAGS |= getattr(os, _flag, 0)
_FOLDER_FLAGS = _FILE_FLAGS | getattr(os, "O_DIRECTORY", 0)

_Folder = int | Path
_Identity = tuple[int, int]


class WorkspaceError(TriptychError):
    """The folder cannot be the workspace: it is missing, no folder, unreadable, or closed to tools."""


class Refused(Exception):
    """A path that tools may not or cannot read, and why."""

    def __init__(self, why: Refusal) -> None:
        super().__init__(why)
        self.why: Refusal = why


class FoundFile(NamedTuple):
    """A regular file: its path below the workspace, with forward slashes, and its size in bytes."""

    path: str
    size: int


class Listing(NamedTuple):
    """Files in a fixed order. `more`: a limit was reached before the end. `unread`: folders that could not be read."""

    files: tuple[FoundFile, ...]
    more: bool = False
    unread: int = 0


class Workspace:
    """A folder that tools may read. `hidden`: files and folders in it that they never see.

    Raises WorkspaceError when the folder cannot be listed, or is hidden itself.
    """

    def __init__(self, root: Path, hidden: Collection[Path] = ()) -> None:
        self.root = _validated(root)
        self._closed_paths = frozenset(form for path in (*hidden, *_KERNEL_FOLDERS) for form in _path_forms(path))
        self._closed_parts = frozenset(_parts_below(self.root, self._closed_paths))
        if () in self._closed_parts or _identity(self.root.stat()) in self._closed_identities():
            raise WorkspaceError("workspace.closed", path=str(root))

    def read(self, path: str) -> str:
        """The text of one file, unchanged. Links are followed as long as they stay inside. Raises Refused."""
        parts = self._resolve(path)
        if not parts:
            raise Refused("folder")
        closed = self._closed_identities()
        with _refusing(), self._enter(parts[:-1], closed) as folder:
            data = _read_regular(folder, parts[-1], closed)
        if b"\0" in data:
            raise Refused("binary")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise Refused("binary") from None

    def files(self, path: str = "", limit: int = 1000) -> Listing:
        """The regular files below a folder, at most `limit`, or the one file that `path` names. Raises Refused.

        A folder's own files come first, by name, then its folders. Links are left out: what they point to stands
        in the listing under its own name, if tools may see it.
        """
        parts = self._resolve(path)
        closed = self._closed_identities()
        with _refusing():
            found = self._look(parts, closed)
            if stat.S_ISREG(found.st_mode):
                return Listing((FoundFile("/".join(parts), found.st_size),))
            if not stat.S_ISDIR(found.st_mode):
                raise Refused("link" if stat.S_ISLNK(found.st_mode) else "special")
            with self._enter(parts, closed):
                pass  # a folder asked for by name that cannot be read is refused, one met on the way is counted
        return self._walk(parts, closed, limit)

    def _walk(self, start: tuple[str, ...], closed: Collection[_Identity], limit: int) -> Listing:
        files: list[FoundFile] = []
        waiting, entered, unread = [start], 0, 0
        while waiting and len(files) <= limit and entered < MOST_FOLDERS:
            parts = waiting.pop()
            entered += 1
            if len(parts) > DEEPEST_FOLDER:
                unread += 1
                continue
            try:
                with _refusing():
                    found, folders = self._scan(parts, closed)
            except Refused:
                unread += 1
                continue
            files += found
            waiting += reversed(folders)
        return Listing(tuple(files[:limit]), more=bool(waiting) or len(files) > limit, unread=unread)

    def _scan(
        self, parts: tuple[str, ...], closed: Collection[_Identity]
    ) -> tuple[list[FoundFile], list[tuple[str, ...]]]:
        """One folder's files and folders that tools may see, each by name."""
        files: list[FoundFile] = []
        folders: list[tuple[str, ...]] = []
        with self._enter(parts, closed) as folder, os.scandir(folder) as scan:
            entries = {entry.name: entry for entry in scan}
            for name in sorted(entries):
                inner = (*parts, name)
                if self._is_closed(inner):
                    continue
                try:
                    found = entries[name].stat(follow_symlinks=False)
                except OSError:
                    continue  # gone since the folder was scanned
                if _identity(found) in closed or (_journal_of(name) in entries and not stat.S_ISDIR(found.st_mode)):
                    continue
                if stat.S_ISREG(found.st_mode):
                    files.append(FoundFile("/".join(inner), found.st_size))
                elif stat.S_ISDIR(found.st_mode):
                    folders.append(inner)
        return files, folders

    def _resolve(self, path: str) -> tuple[str, ...]:
        """The names that lead from the root to what `path` means once every link in it is followed."""
        if len(path) > LONGEST_PATH:
            raise Refused("name")
        try:
            resolved = Path(os.path.realpath(os.path.join(self.root, path)))  # noqa: PTH118 - keeps `..` behind links
        except (ValueError, OSError):
            raise Refused("name") from None
        except RecursionError:
            raise Refused("link") from None
        if not resolved.is_relative_to(self.root):
            raise Refused("outside")
        parts = resolved.relative_to(self.root).parts
        if self._is_closed(parts):
            raise Refused("closed")
        return parts

    def _is_closed(self, parts: tuple[str, ...]) -> bool:
        before = tuple(map(_name_before, parts))
        if any(name.startswith(".") or name.casefold().endswith(JOURNAL_SUFFIX) for name in before):
            return True
        if any(map(_PUT_AWAY.search, before)):
            return True
        depths = range(len(parts) + 1)
        return any(names[:depth] in self._closed_parts for names in (parts, before) for depth in depths)

    def _closed_identities(self) -> frozenset[_Identity]:
        """What the closed paths are now: hard links, foreign spellings and mounts of them are the same file."""
        return frozenset(_identities(self._closed_paths))

    def _look(self, parts: tuple[str, ...], closed: Collection[_Identity]) -> os.stat_result:
        if not parts:
            return self.root.stat()
        with self._enter(parts[:-1], closed) as folder:
            return _look_at(folder, parts[-1], closed)

    @contextmanager
    def _enter(self, parts: Sequence[str], closed: Collection[_Identity]) -> Iterator[_Folder]:
        if not _BY_HANDLE:
            yield self.root.joinpath(*parts)
            return
        handle = open_folder(self.root, parts, closed)
        try:
            yield handle
        finally:
            os.close(handle)


def open_folder(root: Path, parts: Sequence[str], closed: Collection[_Identity] = ()) -> int:
    """A handle of the folder that `parts` lead to, entered name by name so that no link swapped in is followed."""
    handle = os.open(root, _FOLDER_FLAGS)
    try:
        _refuse_closed(os.fstat(handle), closed)
        for name in parts:
            outer, handle = handle, os.open(name, _FOLDER_FLAGS, dir_fd=handle)
            os.close(outer)
            _refuse_closed(os.fstat(handle), closed)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _read_regular(folder: _Folder, name: str, closed: Collection[_Identity]) -> bytes:
    # Looked at before it is opened: opening alone wakes whoever writes to a FIFO, and moves some devices.
    _require_regular(_look_at(folder, name, closed))
    handle = _open(folder, name)
    try:
        opened = os.fstat(handle)
        _refuse_closed(opened, closed)
        _require_regular(opened)
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(LARGEST_FILE + 1)
    finally:
        os.close(handle)
    if len(data) > LARGEST_FILE:
        raise Refused("huge")
    return data


def _look_at(folder: _Folder, name: str, closed: Collection[_Identity]) -> os.stat_result:
    """What stands there, links not followed; closed files and sessions with their journal beside them are refused."""
    found = _stat(folder, name)
    _refuse_closed(found, closed)
    if stat.S_ISDIR(found.st_mode):
        return found
    try:
        _stat(folder, _journal_of(name))
    except OSError:
        return found
    raise Refused("closed")


def _stat(folder: _Folder, name: str) -> os.stat_result:
    if isinstance(folder, int):
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    return (folder / name).lstat()


def _open(folder: _Folder, name: str) -> int:
    if isinstance(folder, int):
        return os.open(name, _FILE_FLAGS, dir_fd=folder)
    return os.open(folder / name, _FILE_FLAGS)


def _require_regular(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise Refused("folder")
    if stat.S_ISLNK(found.st_mode):
        raise Refused("link")
    if not stat.S_ISREG(found.st_mode):
        raise Refused("special")
    if found.st_size > LARGEST_FILE:
        raise Refused("huge")


def _refuse_closed(found: os.stat_result, closed: Collection[_Identity]) -> None:
    if _identity(found) in closed:
        raise Refused("closed")


def _name_before(name: str) -> str:
    """What a file was called before it was moved aside."""
    return _MOVED_ASIDE.sub("", name)


def _journal_of(name: str) -> str:
    """The name of the journal if this were one of our sessions, which have their own whatever their ending is."""
    stem, suffix = os.path.splitext(_name_before(name))  # noqa: PTH122 - a name, not a path
    return (stem if suffix.casefold() == ".json" else stem + suffix) + JOURNAL_SUFFIX


def _identity(found: os.stat_result) -> _Identity:
    return found.st_dev, found.st_ino


def _identities(paths: Collection[Path]) -> Iterator[_Identity]:
    for path in paths:
        try:
            yield _identity(path.stat())
        except OSError:
            continue  # not there now, so nothing else is it either


def _path_forms(path: Path) -> tuple[Path, Path]:
    """Where a path stands, and where it leads if it is a link."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - must not follow the last link
    return Path(os.path.realpath(absolute.parent)) / absolute.name, Path(os.path.realpath(absolute))


def _parts_below(root: Path, paths: Collection[Path]) -> Iterator[tuple[str, ...]]:
    """The names that lead from the root to each path; none at all where the root lies in it."""
    for path in paths:
        if root.is_relative_to(path):
            yield ()
        elif path.is_relative_to(root):
            yield path.relative_to(root).parts


def _validated(root: Path) -> Path:
    """The folder with every link followed, once it can be listed."""
    try:
        resolved = Path(os.path.realpath(root, strict=True))
        with os.scandir(resolved):
            return resolved
    except (FileNotFoundError, ValueError):
        raise WorkspaceError("workspace.missing", path=str(root)) from None
    except NotADirectoryError:
        raise WorkspaceError("workspace.not_a_folder", path=str(root)) from None
    except OSError as error:
        raise WorkspaceError("workspace.unreadable", path=str(root), error=error.strerror or str(error)) from None


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn what the system says no to into a refusal."""
    try:
        yield
    except OSError as error:
        raise Refused(_ERRNO_REFUSALS.get(error.errno, "unreadable")) from None
