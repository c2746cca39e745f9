"""The real program in a real terminal, as a class uses it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support_terminal import Terminal

SAMPLE_WORKSPACE = Path(__file__).parents[1] / "assets" / "triptych_assets" / "workspace"
SYSTEM = "你是一个会用工具的助手。"


def workbench(
    home: Path, *arguments: str | Path, rows: int = 40, cols: int = 120, env: Mapping[str, str] | None = None
) -> Terminal:
    """`triptych ARGUMENTS` with an empty home of its own."""
    command = [sys.executable, "-m", "triptych_tui", *arguments]
    return Terminal(command, env={"HOME": str(home), **(env or {})}, rows=rows, cols=cols)
