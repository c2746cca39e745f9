"""Take the pictures of the README: `python -m tests.pictures` (needs `rsvg-convert` and a CJK font).

The real program runs in a real terminal; its screen is drawn on a strict cell grid.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.support_terminal import Terminal
from tests.support_workbench import ask, workbench

FOLDER = Path(__file__).parents[1] / "assets" / "pictures"
QUESTIONS = (
    "Read welcome.txt",
    "Read lighthouse/repair_invoice.txt and town/heron_nest_count.txt",
    "Read harbour/tide_table.csv",
    "Read lighthouse/lamp_settings.toml",
)
MESSAGES = (5, 10, 14, 16)
"""Messages in the list after each question."""
Scene = Callable[[Terminal, Path], None]


def begin(terminal: Terminal, file: Path) -> None:
    """The first screen."""
    terminal.wait_for("No key and no network")


def lesson(terminal: Terminal, file: Path) -> None:
    """Four questions: all three layers have run."""
    begin(terminal, file)
    for question, messages in zip(QUESTIONS, MESSAGES, strict=True):
        ask(terminal, question, file, messages)


def clear_preview(terminal: Terminal, file: Path) -> None:
    """Layer 2 by hand, before it is applied."""
    lesson(terminal, file)
    terminal.press("f3")
    terminal.wait_for("Clear old tool results")


def summary_panel(terminal: Terminal, file: Path) -> None:
    """Layer 3 by hand: the request and the summary."""
    lesson(terminal, file)
    terminal.press("f4")
    terminal.wait_for("exactly as sent")
    terminal.press("enter")
    terminal.wait_for("as received")


SCENES: dict[str, tuple[Scene, int, int]] = {
    "start": (begin, 80, 24),
    "class": (lesson, 120, 40),
    "clear": (clear_preview, 120, 40),
    "summarize": (summary_panel, 160, 45),
}


def take(name: str) -> None:
    scene, cols, rows = SCENES[name]
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "class.json"
        with workbench(Path(home), "--new", file, rows=rows, cols=cols) as terminal:
            scene(terminal, file)
            terminal.settle()
            svg = terminal.svg()
    FOLDER.mkdir(exist_ok=True)
    subprocess.run(["rsvg-convert", "-o", FOLDER / f"{name}.png"], input=svg, text=True, check=True)


def main() -> None:
    for name in sys.argv[1:] or SCENES:
        take(name)
        print(FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
