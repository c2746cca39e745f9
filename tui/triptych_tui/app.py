"""The full-screen application around the workbench."""

from __future__ import annotations

import asyncio
import signal

from textual.screen import Screen

from triptych_tui.launch import OpenedSession
from triptych_tui.screens.workbench import Workbench
from triptych_tui.themes import ThemedApp

_SIGNALS = (signal.SIGTERM, *((signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()))


class TriptychApp(ThemedApp):
    """One workbench on one session."""

    TITLE = "triptych"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, opened: OpenedSession) -> None:
        super().__init__()
        self._opened = opened

    def get_default_screen(self) -> Screen[int]:
        """The workbench itself: a screen pushed over an empty one would be styled twice before it is seen."""
        return Workbench(self._opened, self.console.size.width)

    def on_mount(self) -> None:
        for number in _SIGNALS:
            # Leaving through the loop gives the terminal back; the exit code tells the shell which signal it was.
            asyncio.get_running_loop().add_signal_handler(number, self.exit, 128 + number)

    def _fatal_error(self) -> None:
        """Textual's own shows local variables, which may hold a key."""
        from rich.traceback import Traceback

        self.bell()
        self._exit_renderables.append(Traceback(show_locals=False, width=None, suppress=["textual", "asyncio"]))
        self._close_messages_no_wait()


def run_workbench(opened: OpenedSession) -> int:
    """Run the workbench until the user leaves it; returns the exit code."""
    app = TriptychApp(opened)
    result = app.run(mouse=True)
    return result if result is not None else app.return_code or 0
