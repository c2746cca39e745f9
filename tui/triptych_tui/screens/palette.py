"""Every command by name: Textual's palette in the workbench's looks."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from textual import on
from textual.command import Command as Offer
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

from triptych_tui.i18n import _
from triptych_tui.keys_in_force import Command, commands

WIDTH = 64
FRAME = 6
"""Cells that border, scrollbar and margins take."""


class Commands(Provider):
    """What the workbench and the application can do now, with the keys that do it."""

    async def discover(self) -> Hits:
        for command in self._commands():
            prompt = self._prompt(command, Content(command.does))
            yield DiscoveryHit(prompt, partial(self._run, command), command.does)

    async def search(self, query: str) -> Hits:
        matcher, is_found = self.matcher(query), False
        for command in self._commands():
            score = max(matcher.match(command.does), matcher.match(command.id))
            if score > 0:
                is_found = True
                prompt = self._prompt(command, matcher.highlight(command.does))
                yield Hit(score, prompt, partial(self._run, command), command.does)

        if not is_found:
            yield Hit(1, Content(_("No such command")), _nothing, _("No such command"))

    def _commands(self) -> list[Command]:
        own = (self.screen, self.app)
        return [each for each in commands(self.screen) if each.node in own and each.action != "palette"]

    def _prompt(self, command: Command, does: Content) -> Content:
        """What a command does, and its keys at the right. Never markup: words and keys may hold brackets."""
        keys = Content(" ".join(command.keys))
        room = min(WIDTH, self.app.size.width) - FRAME - does.cell_length - keys.cell_length
        return Content.assemble(does, " " * max(room, 1), (keys.plain, "$faint"))

    async def _run(self, command: Command) -> None:
        await self.app.run_action(command.action, command.node)


def _nothing() -> None:
    """What is run where nothing was found."""


class Palette(CommandPalette):
    """Plain lines instead of pictures, so that it looks alike on every terminal."""

    DEFAULT_CSS = """
    Palette { background: $bg 0%; }
    Palette > Vertical, Palette:dark > Vertical { width: 64; max-width: 100%; margin-top: 2; background: $surface; }
    Palette SearchIcon { display: none; }
    Palette #--input, Palette #--input.--list-visible {
        border: $line $rule; border-bottom: none; background: $raised; padding: 0 1;
    }
    Palette CommandInput, Palette CommandInput:focus {
        border: none; height: 1; background: $raised; color: $strong; padding: 0;
    }
    Palette CommandInput > .input--placeholder { color: $faint; }
    Palette CommandInput > .input--cursor { background: $accent; color: $on-block; text-style: none; }
    Palette CommandList, Palette CommandList.--populating {
        border: $line $rule; border-top: none; background: $surface; scrollbar-size: 0 1; max-height: 60vh;
    }
    Palette CommandList > .option-list--option { color: $text; text-style: none; padding: 0 1; }
    Palette CommandList > .option-list--option-highlighted { background: $sel; color: $strong; text-style: bold; }
    Palette CommandList > .option-list--option-hover { background: $raised; }
    Palette CommandList > .option-list--option-disabled { color: $faint; }
    Palette LoadingIndicator { display: none; }
    Palette > .command-palette--highlight { text-style: underline; color: $accent; }
    """

    def __init__(self, workbench: Screen[int], offers: type[Provider] = Commands) -> None:
        words = _("Type what you want to do") if offers is Commands else _("Type to find it")
        super().__init__([offers], placeholder=words)

    def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False

    @on(Click)
    @on(Input.Submitted)
    @on(CommandList.OptionSelected)
    def _after_closing(self, event: Message) -> None:
        """The second click or Enter of two finds the palette closed; a window that shrinks leaves a click outside."""
        if not self.is_current or (isinstance(event, Click) and not self.region.contains_point(event.screen_offset)):
            event.prevent_default()

    def _refresh_command_list(self, command_list: CommandList, commands: list[Offer], clear_current: bool) -> None:
        if command_list.is_attached:  # what was still being searched for when the palette was closed
            super()._refresh_command_list(command_list, commands, clear_current)

    def _action_command_list(self, action: str) -> None:
        with suppress(LookupError):  # Textual pages through lines that are not laid out yet
            super()._action_command_list(action)
