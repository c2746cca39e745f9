"""Going through the history on a workbench: only the view moves, what is sent and saved stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.timer import Timer

from triptych.events import ViewMoved
from triptych.reasons import Reason
from triptych.session import Session
from triptych.timeline import Step
from triptych_tui.history_row import step_words
from triptych_tui.sheet import Sheet
from triptych_tui.spans import Span
from triptych_tui.stage_rows import Moment, looking_back
from triptych_tui.stage_words import LAYER_NUMBERS
from triptych_tui.widgets.chat_pane import ChatPane
from triptych_tui.widgets.messages_pane import MessagesPane

if TYPE_CHECKING:
    from triptych_tui.screens.time_travel import TimeTravel

PLAY_SECONDS = 0.8
"""How long each step is shown while the history plays."""


class LookingBack:
    """Moves the view along the steps that lead to the head: one by one, from compaction to compaction, or playing."""

    def __init__(self, screen: TimeTravel, session: Session, sheet: Sheet) -> None:
        self._screen = screen
        self._session = session
        self._sheet = sheet
        self._player: Timer | None = None
        self._followed = True  # whether the chat followed its end before the view left the head

    @property
    def on(self) -> bool:
        """Whether the list on screen is an earlier one."""
        return self._session.timeline.view != self._session.timeline.head

    def moment(self) -> Moment | None:
        """What the stage bar says of the step on screen; None at the head."""
        timeline = self._session.timeline
        if not self.on:
            return None
        return looking_back(self._session.policy, None if timeline.view is None else timeline.step(timeline.view))

    def fact(self) -> list[Span]:
        """Where among the steps the list on screen stands; nothing at the head."""
        here, steps = self._place()
        return [Span(step_words(here, len(steps)), "accent")] if self.on else []

    def step(self, direction: int) -> None:
        """One step back (-1) or forward (1); says so where there is none."""
        self._pause()
        here, steps = self._place()
        if not 0 <= here + direction <= len(steps):
            self._screen.say(Reason("history.oldest" if direction < 0 else "history.newest"), fault=False)
            return
        self._show(here + direction, steps)

    def compaction(self, direction: int) -> None:
        """To the previous (-1) or next (1) step in which a layer changed something; says so where there is none."""
        self._pause()
        here, steps = self._place()
        places = [number for number, step in enumerate(steps, 1) if step.stage in LAYER_NUMBERS and step.edits]
        ahead = [number for number in places if (number - here) * direction > 0]
        if not ahead:
            self._screen.say(self._no_compaction(direction), fault=False)
            return
        self._show(min(ahead, key=lambda number: abs(number - here)), steps)

    def _no_compaction(self, direction: int) -> Reason:
        if direction < 0:
            return Reason("history.no_compaction_before")
        is_left = any(step.stage in LAYER_NUMBERS and step.edits for step in self._session.timeline.ahead())
        return Reason("history.compaction_left") if is_left else Reason("history.no_compaction_after")

    def play(self) -> None:
        """Show step after step until the head, from the first one where the head is on screen; again: stop there."""
        here, steps = self._place()
        if self._player is not None:
            self._pause()
        elif not steps:
            self._screen.say(Reason("history.oldest"), fault=False)
        else:
            self._player = self._screen.set_interval(PLAY_SECONDS, self._play_on)
            self._show(here if self.on else 0, steps)
        self._screen.refresh_facts()

    def to_head(self) -> bool:
        """Show what is sent and saved again; whether something else was shown."""
        self._pause()
        if not self.on:
            return False
        self._seek(self._session.timeline.head)
        return True

    def _play_on(self) -> None:
        here, steps = self._place()
        if here < len(steps):
            self._show(here + 1, steps)
        if not self.on:
            self._pause()
            self._screen.refresh_facts()

    def _pause(self) -> None:
        if self._player is not None:
            self._player.stop()
            self._player = None

    def _place(self) -> tuple[int, list[Step]]:
        """How many steps the list on screen has seen, of those that lead to the head."""
        timeline = self._session.timeline
        steps = timeline.path()
        return next((number for number, step in enumerate(steps, 1) if step.id == timeline.view), 0), steps

    def _show(self, here: int, steps: list[Step]) -> None:
        self._screen.hush()
        if not self.on:
            self._followed = self._screen.query_one(ChatPane).following
        self._seek(steps[here - 1].id if here else None)
        if here and self.on:
            self._point_at(steps[here - 1])

    def _seek(self, step_id: int | None) -> None:
        self._session.seek(step_id)
        self._screen.follow_view(ViewMoved(step_id))
        if not self.on and self._followed:
            self._screen.select(len(self._sheet.entries) - 1)
            self._screen.query_one(ChatPane).follow_end()
            self._screen.query_one(MessagesPane).follow_end()

    def _point_at(self, step: Step) -> None:
        """Select the first entry that the step brought, in all panes."""
        inserted = next((edit.inserted[0] for edit in step.edits if edit.inserted), None)
        index = None if inserted is None else self._sheet.index_of(inserted.id)
        if index is not None:
            self._screen.select(index)
