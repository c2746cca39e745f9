"""From the command to the first complete frame with all three panes, against a bare Textual application."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import perf_counter

from tests.benchmarks.table import Finding, compare
from tests.support_terminal import Terminal

BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("bare and ready")
Bare().run()
"""
RUNS = 15
TRIPTYCH = Path(sys.executable).with_name("triptych")


def run() -> list[Finding]:
    bare: list[float] = []
    ours: list[float] = []
    for number in range(RUNS + 1):
        pair = _first_paint([sys.executable, "-c", BARE], b"ready"), _first_paint([TRIPTYCH], b"File")
        if number:  # the first pair warms the caches
            bare.append(pair[0])
            ours.append(pair[1])
    return [compare("first paint, against a bare Textual app", bare, ours, 1.5)]


def _first_paint(command: list[str | Path], word: bytes) -> float:
    """Seconds until a word of the window has been sent and its frame is complete."""
    with tempfile.TemporaryDirectory() as home:
        started = perf_counter()
        with Terminal(command, env={"HOME": home}, rows=40, cols=120, models_screen=False) as terminal:
            return terminal.frame_with(word) - started
