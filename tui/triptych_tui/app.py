"""The full-screen application around the workbench."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.events import Resize
from textual.geometry import Size
from textual.screen import Screen

from triptych.reasons import Reason
from triptych.session import Session
from triptych.storage.session_file import SessionFileError
from triptych_tui.i18n import N_
from triptych_tui.launch import OpenedSession
from triptych_tui.screens.keeping import AnotherSession
from triptych_tui.screens.workbench import Workbench
from triptych_tui.terminal_output import lasting
from triptych_tui.themes import ThemedApp
from triptych_tui.untrusted import clean

_SIGNALS = (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()))

SIZE_SETTLES = 0.1
"""Seconds after which a terminal has the size that it told of."""


class TriptychApp(ThemedApp, inherit_bindings=False):
    """One workbench on one session."""

    TITLE = "triptych"
    ENABLE_COMMAND_PALETTE = False

    BINDINGS: ClassVar[list[BindingType]] = [
        # Some terminals and input methods swallow F1 and ctrl+p, so each has a second key.
        Binding("f1,question_mark,fullwidth_question_mark", "help", N_("help"), id="help"),
        Binding("ctrl+p", "palette", N_("all commands"), priority=True, id="palette"),
        Binding("colon,fullwidth_colon", "palette", N_("all commands"), id="palette.typed"),
        Binding("t", "theme", N_("next theme"), id="theme"),
        Binding("ctrl+q", "quit", N_("quit"), priority=True, id="quit"),
        Binding("ctrl+c", "how_to_quit", N_("how to quit"), id="quit.how"),
    ]

    def __init__(self, opened: OpenedSession, keymap: Mapping[str, str] | None = None) -> None:
        super().__init__(opened.settings.theme, in_ascii=opened.settings.ascii)
        self._opened = opened
        if keymap:
            from triptych_tui.keymap import renamed_keys

            self.set_keymap(dict(keymap))
            self.renamed_keys = renamed_keys(keymap)

    def get_driver_class(self) -> type[Driver]:
        return lasting(super().get_driver_class())

    def get_default_screen(self) -> Screen[int]:
        """The workbench itself: a screen pushed over an empty one would be styled twice before it is seen."""
        return Workbench(self._opened, self.console.size.width)

    @on(AnotherSession)
    async def _show_another(self, message: AnotherSession) -> None:
        self._opened = message.opened
        while len(self.screen_stack) > 1:  # help, or a dialog, that was opened while the other session was
            await self.pop_screen()
        if not self.workbench._result_callbacks:  # Textual only takes away what was pushed, which the first was not
            self.workbench._push_result_callback(self, None)
        await self.switch_screen(Workbench(message.opened, self.size.width, message.models))
        if message.reads:
            self.workbench.action_pane("messages")  # the key that leads on is a letter, which the prompt would take

    @property
    def session(self) -> Session:
        """What is shown, or was shown last."""
        return self._opened.session

    @property
    def workbench(self) -> Workbench:
        """The screen below all others."""
        screen = self.screen_stack[0]
        assert isinstance(screen, Workbench)
        return screen

    def on_resize(self) -> None:
        """Draw all anew: a terminal may have been small for a moment, and have lost what did not fit, although it is as
        large as before by the time its size is asked for."""
        if self._size is not None:
            self.call_later(self.refresh)
            self.set_timer(SIZE_SETTLES, self._look_at_size_again)

    def _look_at_size_again(self) -> None:
        """Linux tells of a new size a moment before it has it: who asks at once may hear the old one, and no more."""
        read = getattr(self._driver, "_get_terminal_size", None)
        if read is not None and (size := Size(*read())) != self.size:
            self.post_message(Resize(size, size))

    def action_help(self) -> None:
        """Show the keys in force; they are imported when they are asked for."""
        from triptych_tui.screens.help import Help

        if isinstance(self.screen, Workbench):
            self.push_screen(Help(self.workbench))
        elif isinstance(self.screen, Help):
            self.screen.dismiss(None)

    def action_palette(self) -> None:
        """Show every command by name."""
        from triptych_tui.screens.palette import Palette

        if isinstance(self.screen, Workbench):
            self.push_screen(Palette(self.workbench))

    def action_theme(self) -> None:
        """Show the next theme, in place; NO_COLOR stands until colours are asked for at the start."""
        if self._opened.settings.source("theme") == "NO_COLOR":
            self.workbench.say(Reason("theme.no_color"), fault=False)
        else:
            self.show_next_theme()

    def action_how_to_quit(self) -> None:
        """ctrl+c ends other programs; here it copies."""
        self.workbench.say(Reason("quit.how"), fault=False)

    async def on_failure_row_again(self) -> None:
        """Enter in the row of a failure. Keys are heard here, so it comes behind the one before it."""
        await self.workbench.run_action("retry")

    async def action_quit(self) -> None:
        await self.workbench.action_quit()

    def on_mount(self) -> None:
        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._end, 128 + number)

    def _end(self, code: int) -> None:
        """Leave as ctrl+q does: all is saved and the terminal given back; the code tells the shell the signal."""
        self.run_worker(self.workbench.end(code), group="end")

    def _handle_exception(self, error: Exception) -> None:
        """What is still at work when the user leaves finds its widgets gone; all is saved then."""
        if not self._exit:
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """Textual's own shows local variables, which may hold a key, and what errors say as it is."""
        from traceback import format_exc

        from rich.text import Text

        self.bell()
        self._exit_renderables.append(Text(clean(format_exc())))
        self._close_messages_no_wait()


def run_workbench(opened: OpenedSession, keymap: Mapping[str, str]) -> int:
    """Run the workbench with the user's keys until the user leaves it; returns the exit code.

    Raises SessionFileError when all went well but for saving.
    """
    app = TriptychApp(opened, keymap)
    result = app.run(mouse=True)
    code = result if result is not None else app.return_code or 0
    problem = app.session.save_problem
    if code == 0 and problem is not None and not app.session.is_saved:
        raise SessionFileError(problem.id, **problem.values)
    return code
