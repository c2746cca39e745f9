"""The panel of a layer run by hand."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, Protocol

from textual.binding import Binding, BindingType
from textual.widget import Widget

from triptych_tui.hand_run import HandRun
from triptych_tui.i18n import N_
from triptych_tui.paint import line_of
from triptych_tui.panel_lines import PanelLines
from triptych_tui.previews import Preview
from triptych_tui.sheet import Sheet
from triptych_tui.spans import Row
from triptych_tui.themes import glyphs_of, tokens_of
from triptych_tui.widgets.line_view import Line, LineView, Look

ROOMY_FROM = 36
"""Rows of a screen from which on a panel has headings and blank lines around what always stays in view."""


def is_roomy(widget: Widget) -> bool:
    return widget.screen.size.height >= ROOMY_FROM


class PanelOwner(Protocol):
    """Who does what the panel's keys ask for."""

    async def go_on(self) -> None: ...
    def again(self) -> None: ...
    def as_received(self) -> None: ...
    def switch(self) -> None: ...
    def keep(self) -> None: ...
    def save_policy(self) -> None: ...


class LayerPanel(LineView):
    """Shows a hand-run layer; Enter goes on with it, Esc leaves everything as it was."""

    follows = False
    exact_heights = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,ctrl+j", "go_on", N_("Apply"), show=False, id="panel.apply"),
        Binding("r", "again", N_("Ask again"), show=False, id="panel.again"),
        Binding("o", "switch", N_("Layer off or on in turns"), show=False, id="panel.switch"),
        Binding("K", "keep", N_("The policy keeps these"), show=False, id="panel.keep"),
        Binding("S", "save_policy", N_("Save the policy as your own"), show=False, id="panel.save_policy"),
        Binding("v", "as_received", N_("As received"), show=False, id="panel.as_received"),
    ]

    def __init__(self, sheet: Sheet, owner: PanelOwner, *, id: str) -> None:
        super().__init__(id=id)
        self._owner = owner
        self._sheet = sheet
        self._run: HandRun | None = None
        self._preview: Preview | None = None
        self._rows: list[Row] = []

    def show_run(self, run: HandRun | None, preview: Preview | None = None) -> None:
        """Show this layer; the scroll position stays while the same layer goes on and nothing is said at its top."""
        before = self._run
        is_new = run is None or before is None or run.layer != before.layer
        is_told = run is not None and (run.problem is not None or run.writing)
        self._run, self._preview = run, preview
        self._write()
        if is_new or is_told:
            self.scroll_home(animate=False)

    def show_progress(self, run: HandRun) -> None:
        """Show the same layer a little further on: the preview stays."""
        self._run = run
        self._write()

    def on_resize(self) -> None:
        self._write()

    def render_block(self, index: int, width: int, look: Look) -> Sequence[Line]:
        return [line_of(self._rows[index]._replace(aside=True), tokens_of(self))]

    def block_key(self, index: int) -> Hashable:
        return (index, tuple(self._rows[index].spans))

    async def action_go_on(self) -> None:
        await self._owner.go_on()

    def action_again(self) -> None:
        self._owner.again()

    def action_as_received(self) -> None:
        self._owner.as_received()

    def action_keep(self) -> None:
        self._owner.keep()

    def action_save_policy(self) -> None:
        self._owner.save_policy()

    def action_switch(self) -> None:
        self._owner.switch()

    def _write(self) -> None:
        width = self.size.width - 2
        if self._run is not None and self._preview is not None and width > 0:
            roomy = is_roomy(self)
            self._rows = PanelLines(self._run, self._preview, self._sheet, glyphs_of(self), width, roomy=roomy).lines()
        elif self._run is None:
            self._rows = []
        self.set_blocks(len(self._rows))
