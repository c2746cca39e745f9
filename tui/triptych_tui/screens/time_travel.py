"""Going through what was done, and changing it: looking back, undo and redo, taking back one step, branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from triptych.events import Event
from triptych.reasons import Reason
from triptych.session import Session
from triptych_tui.i18n import N_
from triptych_tui.screens.three_panes import ThreePanes
from triptych_tui.stage_rows import after_travel

if TYPE_CHECKING:
    from triptych_tui.screens.looking_back import LookingBack
    from triptych_tui.screens.rewriting import Rewriting

HISTORY_ACTIONS = frozenset({"play", "back", "forward", "compaction", "revert", "branch", "branches"})
"""What a panel, which speaks of the newest list alone, does not go with."""


class TimeTravel(ThreePanes):
    """The keys of the history. What is behind them is loaded when it is first asked for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("u", "undo", N_("undo"), id="undo"),
        Binding("ctrl+r", "redo", N_("redo"), priority=True, id="redo"),
        Binding("p", "pin", N_("pin, or let go of a pin"), id="pin"),
        Binding("b", "branch", N_("branch from here"), id="history.branch"),
        Binding("B", "branches", N_("all branches"), id="history.branches"),
        Binding("f5,space", "play", N_("play"), id="history.play"),
        Binding("f7", "back", N_("step back"), priority=True, id="history.back"),  # text fields have it for themselves
        Binding("left_square_bracket,left_black_lenticular_bracket", "back", N_("step back"), id="history.back.typed"),
        Binding(
            "f8,right_square_bracket,right_black_lenticular_bracket",
            "forward",
            N_("step forward, or go on"),
            id="history.forward",
        ),
        Binding(
            "left_curly_bracket,fullwidth_left_curly_bracket",
            "compaction(-1)",
            N_("previous compaction"),
            id="history.previous",
        ),
        Binding(
            "right_curly_bracket,fullwidth_right_curly_bracket",
            "compaction(1)",
            N_("next compaction"),
            id="history.next",
        ),
    ]

    _history: LookingBack | None = None
    _rewriting: Rewriting | None = None

    # What the workbench knows

    def busy(self) -> bool:
        """Whether something runs that must end first; says so."""
        return False

    def go_on(self) -> bool:
        """Let a stage that waits at the head go on; whether there was one."""
        return False

    def close_panel(self) -> None:
        """Close the panel of a layer run by hand; nothing changes."""

    @property
    def holds_summary(self) -> bool:
        """Whether a panel has a summary that is not applied yet."""
        return False

    def plan_anew(self) -> None:
        """The list has changed under the panel of a layer run by hand, if there is one."""

    def follow_view(self, event: Event) -> None:
        """Show the list that the view has come to."""

    @property
    def session(self) -> Session:
        return self._session

    # Looking back

    @property
    def _past(self) -> LookingBack:
        if self._history is None:
            from triptych_tui.screens.looking_back import LookingBack  # not needed for the first picture

            self._history = LookingBack(self, self._session, self._sheet)
        return self._history

    @property
    def is_looking_back(self) -> bool:
        return self._history is not None and self._history.on

    def to_head(self) -> bool:
        return self._history is not None and self._history.to_head()

    def action_play(self) -> None:
        self._past.play()

    def action_back(self) -> None:
        self._past.step(-1)

    def action_forward(self) -> None:
        """One step forward; at the head, let the stage that waits go on."""
        if self.is_looking_back or not self.go_on():
            self._past.step(1)

    def action_compaction(self, direction: int) -> None:
        self._past.compaction(direction)

    # Changing what was done

    @property
    def rewriting(self) -> Rewriting:
        if self._rewriting is None:
            from triptych_tui.screens.rewriting import Rewriting

            self._rewriting = Rewriting(self, self._session, self._sheet)
        return self._rewriting

    async def action_revert(self) -> None:
        if not self.busy():
            await self.rewriting.revert()

    async def action_branch(self) -> None:
        if not self.busy():
            await self.rewriting.branch()

    def action_branches(self) -> None:
        """Show every branch, to go to one."""
        from triptych_tui.screens.palette import Palette
        from triptych_tui.screens.rewriting import Branches

        if not self.busy():
            self.app.push_screen(Palette(self, Branches))

    async def action_pin(self) -> None:
        """Pin the selected entry with what belongs to it, or let go of it."""
        from triptych_tui.screens.pinning import pin_selected

        if not self.busy():
            await pin_selected(self)

    async def action_undo(self) -> None:
        otherwise = Reason("undo.forgotten" if self._session.forgotten else "undo.nothing")
        await self._travel(self._session.undo, otherwise)

    async def action_redo(self) -> None:
        await self._travel(self._session.redo, Reason("redo.nothing"))

    async def _travel(self, move: Callable[[], bool], otherwise: Reason) -> None:
        if self.busy():
            return
        self.close_panel()
        self.hush()
        self.to_head()
        before = self._session.timeline.path()
        if not move():
            self.say(otherwise)
            return
        after = self._session.timeline.path()
        steps = before[len(after) :] or after[len(before) :]
        self.show_stage(after_travel(self._session.policy, steps, undone=len(after) < len(before)))
        await self._session.save()
