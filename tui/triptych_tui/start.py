"""Where the program begins."""

from __future__ import annotations

import gc


def main() -> None:
    """Run the command line. What a start makes is kept, so nothing is collected until the window is seen."""
    gc.disable()
    from triptych_tui.cli import main as command_line

    command_line()
