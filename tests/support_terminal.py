"""A program in a real pseudo-terminal, with a screen to read and keys to press."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Self

import pyte

from tests.support_picture import svg_of

KEYS = {
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "backspace": "\x7f",
    "f1": "\x1bOP",
    "f2": "\x1bOQ",
    "f3": "\x1bOR",
    "f4": "\x1bOS",
    "f5": "\x1b[15~",
    "f6": "\x1b[17~",
    "f7": "\x1b[18~",
    "f8": "\x1b[19~",
    "f9": "\x1b[20~",
}
"""What a terminal sends for keys that are no characters."""

# The child makes the terminal its controlling one, so that size changes and ctrl+c reach it as signals.
_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
)
# Private sequences (keyboard protocols, mode requests) that the screen model would take for text.
_NOT_MODELLED = re.compile(rb"\x1b\[[<=>?][0-9;]*u|\x1b\[\?[0-9;]*\$p")
_SYNC_QUERY, _SYNC_ANSWER = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
_FRAME_BEGINS, _FRAME_ENDS = b"\x1b[?2026h", b"\x1b[?2026l"
_UNFINISHED = re.compile(rb"\x1b(\[[<=>?]?[0-9;]*\$?)?$")


class Terminal:
    """Runs `argv` in a terminal of its own. Close it, or use it as a context manager: then the program is always gone.

    It offers synchronized output, as terminals do, and never shows half a frame to who waits.

    Without `models_screen` bytes are only kept: for measuring, since modelling a frame takes longer than drawing it.

    `env` is added to a minimal environment: a UTF-8 locale, a true-colour xterm, PATH, nothing else of the caller's.
    """

    def __init__(
        self,
        argv: Sequence[str | Path],
        env: Mapping[str, str] | None = None,
        rows: int = 24,
        cols: int = 80,
        cwd: Path | None = None,
        models_screen: bool = True,
    ) -> None:
        self._models_screen = models_screen
        self._screen = pyte.Screen(cols, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._raw = bytearray()
        self._arrivals: list[tuple[int, float]] = []  # how many bytes had come, and when
        self._unfinished = b""
        self._changed = threading.Condition()
        self._ended = False
        self.patience = 5.0
        """How many seconds a program has to end by itself when the terminal is closed."""
        self._master, slave = os.openpty()
        self._set_size(rows, cols)
        basis = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        }
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _TAKE_TERMINAL, *map(str, argv)],
                stdin=slave,
                stdout=slave,
                stderr=slave,
                start_new_session=True,
                env=basis | dict(env or {}),
                cwd=cwd,
            )
        finally:
            os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def raw(self) -> bytes:
        """Every byte the program has sent."""
        with self._changed:
            return bytes(self._raw)

    def screen_text(self) -> str:
        """What the screen shows, one line a row, without the blanks at the ends."""
        with self._changed:
            return self._text()

    def svg(self, script: str = "SC") -> str:
        """A picture of the screen; `script` is how Chinese is written: SC or TC."""
        with self._changed:
            return svg_of(self._screen, script=script)

    def send(self, keys: str) -> None:
        """Type `keys`; `KEYS` has those that are no characters."""
        data = keys.encode()
        while data:
            data = data[os.write(self._master, data) :]

    def press(self, *names: str) -> None:
        """Press keys by their names in `KEYS`, or characters."""
        for name in names:
            self.send(KEYS.get(name, name))

    def wait_for(self, what: str | Callable[[str], bool], timeout: float = 20) -> str:
        """Wait until the screen shows this text, or satisfies this; returns the screen."""
        shown = (lambda text: what in text) if isinstance(what, str) else what
        with self._changed:
            self._changed.wait_for(lambda: self._ended or (not self._in_frame() and shown(self._text())), timeout)
            text = self._text()
        assert shown(text), f"not seen within {timeout} s: {what!r}. The screen:\n{text}"
        return text

    def wait_for_raw(self, what: bytes, timeout: float = 20) -> None:
        """Wait until the program has sent these bytes."""
        with self._changed:
            self._changed.wait_for(lambda: what in self._raw or self._ended, timeout)
            assert what in self._raw, f"not sent within {timeout} s: {what!r}"

    @property
    def received(self) -> int:
        """How many bytes the program has sent."""
        return len(self._raw)

    def wait_for_frame(self, after: int, timeout: float = 20) -> None:
        """Wait until more than `after` bytes have come and a frame is complete."""
        with self._changed:
            done = self._changed.wait_for(
                lambda: self._ended or (len(self._raw) > after and not self._in_frame()), timeout
            )
        assert done, f"no output within {timeout} s"

    def settle(self, quiet: float = 0.3, timeout: float = 20) -> None:
        """Wait until nothing has come for `quiet` seconds."""
        with self._changed:
            while self._changed.wait(quiet) and timeout > 0:
                timeout -= quiet

    def frame_with(self, word: bytes, timeout: float = 20, after: int = 0) -> float:
        """Wait for the end of the first frame that holds this word; returns when that came, by `perf_counter`.

        The first `after` bytes are not looked at.
        """
        frame = re.compile(re.escape(word) + b".*?" + re.escape(_FRAME_ENDS), re.DOTALL)
        with self._changed:
            self._changed.wait_for(lambda: self._ended or frame.search(self._raw, after) is not None, timeout)
            found = frame.search(self._raw, after)
            assert found is not None, f"no frame with {word!r} within {timeout} s"
            return next(arrived for length, arrived in self._arrivals if length >= found.end())

    def frame_times(self) -> list[float]:
        """When each frame was complete, by `perf_counter`."""
        with self._changed:
            lengths = [length for length, _ in self._arrivals]
            ends = [found.end() for found in re.finditer(re.escape(_FRAME_ENDS), self._raw)]
            return [self._arrivals[bisect_left(lengths, end)][1] for end in ends]

    def resize(self, rows: int, cols: int) -> None:
        with self._changed:
            self._screen.resize(rows, cols)
            self._set_size(rows, cols)

    def lose_screen(self) -> None:
        """Show nothing any more, as a terminal does that was made small and large again."""
        with self._changed:
            self._screen.erase_in_display(2)

    def local_modes(self) -> int:
        """What the terminal does by itself: echo, whole lines."""
        return int(termios.tcgetattr(self._master)[3])

    def wait_until(self, holds: Callable[[], bool], timeout: float = 20) -> None:
        """Wait until something holds that no byte tells of."""
        end = perf_counter() + timeout
        while not holds():
            assert perf_counter() < end, f"never within {timeout} s"
            with self._changed:
                self._changed.wait(0.05)

    def hang_up(self) -> None:
        """Close the terminal's window: its programs are told by SIGHUP, and nothing can be read or written any more."""
        master, self._master = self._master, -1
        os.close(master)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self, timeout: float = 20) -> int:
        """Wait for the end of the program and of its output; returns the exit code (negative: a signal's number)."""
        code = self._process.wait(timeout)
        self._reader.join(timeout)
        return code

    def close(self) -> None:
        """End the program and everything it started in this terminal."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is None:
                os.killpg(self._process.pid, number)
                try:
                    self._process.wait(self.patience)
                except subprocess.TimeoutExpired:
                    continue
        self._reader.join(5)
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def _set_size(self, rows: int, cols: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def _in_frame(self) -> bool:
        return self._raw.rfind(_FRAME_BEGINS) > self._raw.rfind(_FRAME_ENDS)

    def _text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # the last user of the terminal is gone
                data = b""
            arrived = perf_counter()
            with self._changed:
                if _SYNC_QUERY in data:
                    os.write(self._master, _SYNC_ANSWER)
                self._raw += data
                self._arrivals.append((len(self._raw), arrived))
                if self._models_screen:
                    self._feed(data)
                self._ended = not data
                self._changed.notify_all()
            if not data:
                return

    def _feed(self, data: bytes) -> None:
        data = _NOT_MODELLED.sub(b"", self._unfinished + data)
        cut = _UNFINISHED.search(data)
        self._unfinished = cut[0] if cut else b""
        self._stream.feed(data[: len(data) - len(self._unfinished)])
