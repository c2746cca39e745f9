"""The program, with a heart that beats in its event loop: `python -m tests.benchmarks.heartbeat FILE ARGUMENT…`.

Without arguments only the heart, until a signal: how far apart the machine itself puts the beats.
"""

from __future__ import annotations

import asyncio
import atexit
import signal
import sys
from array import array
from bisect import bisect_left
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time

BEAT = 0.005


class Beats:
    """When the event loop was free, and how much CPU time the process had taken by then, in seconds."""

    def __init__(self, times: list[float], cpu: list[float]) -> None:
        self._times = times
        self._cpu = cpu

    @classmethod
    def read(cls, file: Path) -> Beats:
        values = array("d", file.read_bytes())
        return cls(list(values[::2]), list(values[1::2]))

    def cpu(self, start: float, seconds: float) -> float:
        """CPU time taken in so many seconds from a moment of `perf_counter`."""
        return self._cpu[self._at(start + seconds)] - self._cpu[self._at(start)]

    def longest_gap(self, start: float, end: float) -> float:
        return max(after - before for before, after in pairwise(self._times[self._at(start) : self._at(end)]))

    def longest_work(self, start: float, end: float) -> float:
        """The most CPU time between two beats: a gap as it is where nothing else runs on the machine."""
        return max(after - before for before, after in pairwise(self._cpu[self._at(start) : self._at(end)]))

    def _at(self, moment: float) -> int:
        return min(bisect_left(self._times, moment), len(self._times) - 1)


class _Policy(asyncio.DefaultEventLoopPolicy):
    """Event loops whose beats are written to `file` at the end."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._beats = array("d")
        atexit.register(lambda: file.write_bytes(self._beats.tobytes()))

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        loop = super().new_event_loop()
        loop.call_soon(self._beat, loop)
        return loop

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._beats.extend((perf_counter(), process_time()))
        loop.call_later(BEAT, self._beat, loop)


async def _until_signal() -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()


if __name__ == "__main__":
    asyncio.set_event_loop_policy(_Policy(Path(sys.argv[1])))
    if sys.argv[2:]:
        from triptych_tui.start import main

        del sys.argv[:2]
        sys.argv.insert(0, "triptych")
        main()
    else:
        asyncio.run(_until_signal())
