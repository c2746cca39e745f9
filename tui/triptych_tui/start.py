"""Where the program begins."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line. What a start makes is kept, so nothing is collected until the window is seen."""
    gc.disable()
    try:
        from triptych_tui.cli import main as command_line
    except KeyboardInterrupt:
        sys.exit(130)

    command_line()
