"""A real disk of 64 KiB, and one that can be filled to the last page."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

DISK_BYTES = 64 * 1024
PAGE = 4096


class SmallDisk:
    """A folder on it; `leave` says how many bytes can still be written there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def leave(self, free: int) -> None:
        """Take all the room but this."""
        self._filler.unlink(missing_ok=True)
        with suppress(OSError), self._filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * PAGE)
        with self._filler.open("r+b") as file:
            file.truncate(max(0, self._filler.stat().st_size - free))

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)


class LimitedFiles(SmallDisk):
    """Where nothing can be mounted: no file may be longer than so many bytes, which the system enforces as well."""

    def leave(self, free: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (free, resource.RLIM_INFINITY))

    def free(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    try:
        is_mounted = subprocess.run(mounting, capture_output=True, check=False).returncode == 0
    except OSError:
        is_mounted = False
    disk = SmallDisk(folder) if is_mounted else LimitedFiles(folder)
    try:
        yield disk
    finally:
        disk.free()
        if is_mounted:
            subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=True)
