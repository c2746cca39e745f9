"""The other end of the child process: it is asked, waited for, and ended with all that it started."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from json import dumps, loads
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import Any

from triptych.verifying import child

LONGEST_REPLY = 8 << 20
"""Bytes of one line; more is no reply of ours."""

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT")
_NO_KEY = "no-key"
"""Given for a key, since a file that makes its client while it is loaded would fail without any."""


class NoAnswerError(Exception):
    """The process gave no answer: `ended` is whether it is gone, else its time is over."""

    def __init__(self, *, ended: bool) -> None:
        super().__init__()
        self.ended = ended


class ChildProcess:
    """An isolated interpreter in an empty folder of its own, without this user's keys and home.

    `cpu_seconds` bound it even where this process is killed and cannot end it. `close` it in any case.
    """

    def __init__(self, cpu_seconds: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="triptych-verify-", ignore_cleanup_errors=True)
        folder = self._folder.name
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        environment |= {"HOME": folder, "USERPROFILE": folder, "TMPDIR": folder, "OPENAI_API_KEY": _NO_KEY}
        script = (str(Path(child.__file__)), str(os.getpid()), str(cpu_seconds))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-X", "utf8", *script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environment,
            start_new_session=True,  # so that all of it can be ended at once, and none of it reaches the terminal
        )
        self._lines: Queue[bytes | None] = Queue(maxsize=4)
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The reply to a request. Raises NoAnswerError, after which the process is of no use."""
        assert self._process.stdin is not None
        deadline = monotonic() + seconds
        nonce = secrets.token_hex(16)
        try:
            self._process.stdin.write(dumps({**request, "nonce": nonce}).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise NoAnswerError(ended=True) from None
        while (line := self._next_line(deadline)) is not None:
            began, _, rest = line.partition(b" ")
            if began == nonce.encode():
                return _parsed(rest)
        raise NoAnswerError(ended=True)

    def close(self) -> None:
        """End the process and what it has started, and remove its folder."""
        with suppress(ProcessLookupError, PermissionError, AttributeError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        self._reader.join(timeout=1)
        if not self._reader.is_alive():  # else something has left the group and still holds the other end
            assert self._process.stdout is not None
            self._process.stdout.close()
        self._folder.cleanup()

    def _next_line(self, deadline: float) -> bytes | None:
        try:
            return self._lines.get(timeout=max(deadline - monotonic(), 0.001))
        except Empty:
            raise NoAnswerError(ended=False) from None

    def _read(self) -> None:
        """Pass on line after line, and None at the end."""
        assert self._process.stdout is not None
        pending, end = b"", self._process.stdout.fileno()
        while (piece := os.read(end, 1 << 16)) and len(pending) <= LONGEST_REPLY:
            *lines, pending = (pending + piece).split(b"\n")
            for line in lines:
                self._lines.put(line)
        self._lines.put(None)


def _parsed(reply: bytes) -> dict[str, Any]:
    try:
        parsed = loads(reply)
        dumps(parsed)  # the same limits hold for whoever goes through it later
    except (ValueError, RecursionError):
        raise NoAnswerError(ended=True) from None
    if not isinstance(parsed, dict):
        raise NoAnswerError(ended=True)
    return parsed
