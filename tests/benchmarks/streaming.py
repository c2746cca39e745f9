"""An answer that streams at 100 tokens a second: what it costs, and whether the window answers meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from time import perf_counter, sleep

from tests.benchmarks.heartbeat import Beats
from tests.benchmarks.keys import session
from tests.benchmarks.table import Finding
from tests.support_openai_server import serve
from tests.support_terminal import Terminal

RATE, SIZE = 100, 5  # tokens a second, and characters a token
SHORT, LONG = 10.0, 100.0  # seconds: 5,000 and 50,000 characters
KEYS = "абвгдежзийклмнопрстуфхцчшщъыьэюяАБВГДЕЖЗИ"  # letters that nothing else on the screen has
LEAVE = "\x11"
WHEEL_UP = "\x1b[<64;20;20M"
PROSE = "The harbour of Lisbon was rebuilt after the earthquake, **stone by stone**, and ship {number} came home.{end}"
CHINESE = "里斯本的港口在地震之后一块石头一块石头地重建，“第{number}艘船”终于回家了；城里的人都来看它。{end}"
CODE = "    def berth_{number}(self, ship: Ship) -> Berth | None:\n        return self._berths.get(ship.name)\n\n"


@dataclass(frozen=True, slots=True)
class Case:
    """What streams, and where it is seen. `wide`: in the chat alone, which has room for nearly all of it."""

    name: str
    text: str
    messages: int = 4
    wide: bool = False
    scrolled_up: bool = False


def run() -> list[Finding]:
    return [finding for case in cases() for finding in measure(case)]


def cases() -> list[Case]:
    prose = _lines(PROSE)
    return [
        Case("prose", prose),
        Case("prose, wide", prose, wide=True),
        Case("Chinese, wide", _lines(CHINESE), wide=True),
        Case("one long word, wide", "".join(f"{number:x}" for number in range(100_000))[: len(prose)], wide=True),
        Case("code", "```python\n" + _lines(CODE)),
        Case("scrolled up", prose, scrolled_up=True),
        Case("5,000 messages", prose, messages=5_000),
    ]


def _lines(pattern: str) -> str:
    """Text for the time that is measured and a little more; every fourth sentence ends a paragraph."""
    needed = int((LONG + 15) * RATE * SIZE)
    count = needed // len(pattern) + 200
    text = "".join(pattern.format(number=n, end="\n\n" if n % 4 == 3 else " ") for n in range(count))
    return text[:needed]


@dataclass(frozen=True, slots=True)
class Run:
    """One answer as it was followed; moments by `perf_counter`.

    beats, machine: of the program, and of a loop that does nothing meanwhile. keys: seconds from each to its frame.
    """

    beats: Beats
    machine: Beats
    frames: list[float]
    keys: list[float]
    asked: float
    begun: float
    cancelled: float
    ended: float


def measure(case: Case) -> list[Finding]:
    run = _run(case)
    beats, span = run.beats, (run.begun, run.begun + LONG)
    short, long = (beats.cpu(run.begun, seconds) - run.machine.cpu(run.begun, seconds) for seconds in (SHORT, LONG))
    share = beats.cpu(run.begun, LONG) / LONG
    seen = [moment for moment in run.frames if span[0] <= moment < span[1]]
    busiest = max(bisect_right(seen, moment + 1) - place for place, moment in enumerate(seen))
    print(
        f"  {case.name}: {len(seen) / LONG:.1f} paints a second; keys p50 {_ms(quantiles(run.keys, n=20)[9])}; "
        f"longest gap before the first word {_ms(beats.longest_gap(run.asked, run.begun))}, at the end "
        f"{_ms(beats.longest_gap(run.cancelled, run.ended))}, of a bare loop meanwhile "
        f"{_ms(run.machine.longest_gap(*span))}"
    )
    return [
        Finding(f"{case.name}: CPU, 50,000 against 5,000", short * 1000, long * 1000, [long / short], 12),
        Finding(f"{case.name}: CPU of a core's time", LONG * 1000, share * LONG * 1000, [share], 0.2),
        _limit(f"{case.name}: paints in a second", 20, busiest, "/s"),
        _limit(f"{case.name}: longest gap", 50, beats.longest_gap(*span) * 1000),
        _limit(f"{case.name}: most CPU time in a gap", 50, beats.longest_work(*span) * 1000),
        _limit(f"{case.name}: key to frame, p95", 50, quantiles(run.keys, n=20)[-1] * 1000),
        _limit(f"{case.name}: Esc to the end of the turn", 200, (run.ended - run.cancelled) * 1000),
    ]


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def _run(case: Case) -> Run:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        base_url, _ = stack.enter_context(serve([{"text": case.text, "rate": RATE}], folder))
        with _bare_loop(folder / "machine"), _opened(case, folder, base_url) as terminal:
            asked, begun = _ask(terminal, case)
            _wait_until(begun + LONG)
            keys = _type(terminal)
            cancelled = perf_counter()
            terminal.press("escape")
            ended = terminal.frame_with(b"Cancelled")
            terminal.settle()
            frames = terminal.frame_times()
            terminal.send(LEAVE)
            terminal.wait()
        _check_pace(folder / "session.json", cancelled - begun)
        beats, machine = (Beats.read(folder / name) for name in ("beats", "machine"))
        return Run(beats, machine, frames, keys, asked, begun, cancelled, ended)


def _limit(what: str, most: float, found: float, unit: str = "ms") -> Finding:
    return Finding(what, most, found, [found / most], 1, unit)


@contextmanager
def _bare_loop(file: Path) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-m", "tests.benchmarks.heartbeat", file]) as process:
        try:
            yield
        finally:
            process.terminate()


def _opened(case: Case, folder: Path, base_url: str) -> Terminal:
    file = folder / "session.json"
    file.write_text(json.dumps(session(case.messages), indent=2, ensure_ascii=False), "utf-8")
    arguments = ["--model", "m", "--base-url", base_url, "--policy", "lesson", "--keep", "9999", "--keep-turns", "9999"]
    terminal = Terminal(
        [sys.executable, "-m", "tests.benchmarks.heartbeat", folder / "beats", *arguments, file],
        env={"HOME": str(folder)},
        rows=40,
        cols=200 if case.wide else 120,
        cwd=Path.cwd(),
        models_screen=False,
    )
    terminal.frame_with(b"following", timeout=60)
    terminal.settle(1)
    return terminal


def _ask(terminal: Terminal, case: Case) -> tuple[float, float]:
    """Ask; when that was, and when the first word stood in the chat."""
    if case.wide:
        for key in ("escape", "1", "z", "i"):
            terminal.press(key)
            terminal.settle()
    before, asked = terminal.received, perf_counter()
    terminal.send("Tell me.\r")
    begun = terminal.frame_with(case.text[:8].encode(), after=before)
    if case.scrolled_up:
        _wait_until(begun + SHORT / 2)
        terminal.send(WHEEL_UP * 5)
    return asked, begun


def _type(terminal: Terminal) -> list[float]:
    """Seconds from each typed letter to the end of the frame that shows it."""
    seconds = []
    for key in KEYS:
        before, pressed = terminal.received, perf_counter()
        terminal.send(key)
        seconds.append(terminal.frame_with(key.encode(), after=before) - pressed)
        sleep(0.15)
    return seconds


def _check_pace(file: Path, seconds: float) -> None:
    """What was kept of the answer is as long as the time it streamed: nothing was held up."""
    said = json.loads(file.read_bytes())[-1]["content"]
    assert abs(len(said) / (seconds * RATE * SIZE) - 1) < 0.05, f"{len(said)} characters in {seconds:.1f} s"


def _wait_until(moment: float) -> None:
    sleep(max(0, moment - perf_counter()))
