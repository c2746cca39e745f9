"""The real program in a real terminal, as a class uses it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support_terminal import Terminal

SAMPLE_WORKSPACE = Path(__file__).parents[1] / "assets" / "triptych_assets" / "workspace"
SYSTEM = "你是一个会用工具的助手。"


def workbench(
    home: Path,
    *arguments: str | Path,
    rows: int = 40,
    cols: int = 120,
    env: Mapping[str, str] | None = None,
    policy: str | None = "lesson",
) -> Terminal:
    """`triptych ARGUMENTS` with an empty home of its own; `policy` is None where none is asked for."""
    asked_for = () if policy is None else ("--policy", policy)
    command = [sys.executable, "-m", "triptych_tui", *arguments, *asked_for]
    return Terminal(command, env={"HOME": str(home), **(env or {})}, rows=rows, cols=cols)


def ask(terminal: Terminal, text: str, file: Path, messages: int) -> str:
    """Ask, and wait until the turn is over and the file holds that many messages; returns the screen."""
    terminal.send(text)
    terminal.press("enter")

    def is_over(screen: str) -> bool:
        try:
            saved = json.loads(file.read_bytes())
        except FileNotFoundError:
            return False
        return len(saved) == messages and "last turn" in screen and "✓ saved" in screen

    return terminal.wait_for(is_over)
