"""Changing what was done before, on a workbench: taking back one earlier step, and going another way from there."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from triptych.messages import text_of
from triptych.reasons import Reason
from triptych.session import Session, SessionError
from triptych.timeline import Step
from triptych_tui.i18n import _
from triptych_tui.messages_rows import one_line
from triptych_tui.sheet import Sheet
from triptych_tui.stage_rows import after_revert
from triptych_tui.stage_words import LAYER_NUMBERS
from triptych_tui.untrusted import clean, fit

if TYPE_CHECKING:
    from triptych_tui.screens.time_travel import TimeTravel

WORDS_CELLS = 30


class Rewriting:
    """What the keys `r` and `b` do. Nothing is lost by it: each is a step, or leaves a branch."""

    def __init__(self, screen: TimeTravel, session: Session, sheet: Sheet) -> None:
        self._screen = screen
        self._session = session
        self._sheet = sheet

    async def revert(self) -> None:
        """Take back the layer that made the selected entry, or, looking back, the step on screen."""
        step = self._step_to_revert()
        if step is None or step.stage not in LAYER_NUMBERS or not step.edits:
            self._screen.say(Reason("revert.nothing"), fault=False)
            return
        try:
            plan = self._session.reverted(step.id)
        except SessionError as error:
            self._screen.say(error.reason)
            return
        self._screen.to_head()
        done = self._session.perform(plan, self._session.begin_action())
        self._screen.show_stage(after_revert(self._session.policy, step, done))
        await self._session.save()

    async def branch(self) -> None:
        """Go on from the earlier list on screen; what came after it stays as a branch."""
        timeline = self._session.timeline
        if timeline.view == timeline.head:
            self._screen.say(Reason("branch.look_back_first"), fault=False)
        else:
            await self.go_to(timeline.view)

    async def go_to(self, step_id: int | None) -> None:
        """Make a step of any branch the newest."""
        try:
            moved = self._session.switch(step_id)
        except SessionError as error:
            self._screen.say(error.reason)
            return
        if moved:
            self._screen.say(Reason("branch.begun"), fault=False)
            await self._session.save()

    def _step_to_revert(self) -> Step | None:
        timeline = self._session.timeline
        if timeline.view != timeline.head:
            return None if timeline.view is None else timeline.step(timeline.view)
        index = self._screen.reader.selected()
        return None if index is None else timeline.maker_of(self._sheet.entries[index])


class Branches(Provider):
    """The last step of every branch, newest first, to go to."""

    async def discover(self) -> Hits:
        for step, words in self._branches():
            yield DiscoveryHit(Content(words), partial(self._go_to, step.id), words)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for step, words in self._branches():
            if (score := matcher.match(words)) > 0:
                yield Hit(score, matcher.highlight(words), partial(self._go_to, step.id), words)

    def _branches(self) -> Iterable[tuple[Step, str]]:
        timeline = self._workbench.session.timeline
        for step in reversed(timeline.branches()):
            entries = timeline.entries(step.id)
            last = fit(one_line(clean(text_of(entries[-1].message), newlines=False)), WORDS_CELLS) if entries else ""
            words = _("step {step} · {messages} messages · {time} UTC · {last}").format(
                step=step.id, messages=len(entries), time=f"{step.at:%H:%M}", last=last
            )
            here = " " + _("(here)") if step.id == timeline.head else ""
            yield step, words + here

    async def _go_to(self, step_id: int) -> None:
        await self._workbench.rewriting.go_to(step_id)

    @property
    def _workbench(self) -> TimeTravel:
        from triptych_tui.screens.time_travel import TimeTravel

        assert isinstance(self.screen, TimeTravel)
        return self.screen
