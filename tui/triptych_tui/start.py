"""Where the program begins."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run the command line."""
    gc.disable()  # what a start makes is kept; the workbench collects again once it is seen
    # Frames are written by a thread of their own: at the usual 5 ms it waits that long for each piece of a frame.
    sys.setswitchinterval(0.0005)
    # Esc may begin a longer key, so Textual waits for the rest of it: by itself half of what cancelling may take.
    os.environ.setdefault("ESCDELAY", "25")
    try:
        from triptych_tui.cli import main as command_line
    except KeyboardInterrupt:
        sys.exit(130)

    command_line()
