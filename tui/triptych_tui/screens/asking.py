"""Asking on a workbench: a turn at a time, what waits behind it, what to do where it fails, and stepping through it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.worker import Worker

from triptych.events import TurnEnded
from triptych.models.base import ModelError
from triptych.reasons import Reason
from triptych.stages import Layer, Stage
from triptych_tui.i18n import N_
from triptych_tui.screens.keeping import Keeping
from triptych_tui.stage_rows import after_turn
from triptych_tui.widgets.chat_pane import ChatPane
from triptych_tui.widgets.messages_pane import MessagesPane
from triptych_tui.widgets.prompt import Prompt, PromptText
from triptych_tui.widgets.stage_bar import StageBar

if TYPE_CHECKING:
    from triptych.layers.plan import Plan
    from triptych.layers.summarize import SummaryPlan
    from triptych.pictures import Picture
    from triptych_tui.screens.failing import Failing
    from triptych_tui.screens.policies import Policies
    from triptych_tui.screens.queueing import Queueing
    from triptych_tui.screens.step_mode import StepMode


class Asking(Keeping):
    """At most one turn runs. Who deals with all that few turns need is loaded when it is first needed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "step_mode", N_("step mode"), id="step_mode"),
        Binding("P", "policy", N_("choose a policy"), id="policy"),
    ]

    _turn: Worker[None] | None = None
    _turn_from: int | None = None
    _queue: Queueing | None = None
    _failing: Failing | None = None
    _stepping: StepMode | None = None
    _policies: Policies | None = None
    _is_left = False

    # What the workbench knows

    @property
    def _is_running(self) -> bool:
        """Whether a turn runs, or a summary is being written for a panel."""
        return self._turn is not None

    @property
    def is_offline(self) -> bool:
        return self._opened.model.offline

    async def action_layer(self, layer: Layer) -> None:
        """Open the panel of a layer, or have that wait until nothing runs."""

    # A turn

    @on(PromptText.Sent)
    def _on_sent(self, message: PromptText.Sent) -> None:
        if self._is_left:
            return
        if self._is_running or (self._queue is not None and not self._queue.is_empty):
            self.queue.add_question(message.text)
            if not self._is_running:
                self.close_panel()
            return
        self.close_panel()
        self.hush()
        self.to_head()
        pictures = self.query_one(Prompt).take(message.text)
        self.query_one(ChatPane).follow_end()
        self.query_one(MessagesPane).follow_end()
        self.begin(message.text, pictures)

    @on(PromptText.Nudged)
    def _on_nudged(self) -> None:
        """Whoever presses Enter while a request waits to be sent again wants it now."""
        if self._failing is not None and self._failing.is_waiting:
            self._failing.retry_now()

    def begin(self, text: str, pictures: Sequence[Picture]) -> None:
        """Begin a turn."""
        self._turn_from = self._session.timeline.head
        self._turn = self.run_worker(self._ask(text, pictures), group="turn", exit_on_error=True)
        self.refresh_facts()

    async def _ask(self, text: str, pictures: Sequence[Picture]) -> None:
        from triptych.agent import run_turn  # not needed for the first picture

        finished, failure = False, None
        try:
            await run_turn(
                self._session,
                text,
                pictures=pictures,
                model=self._opened.model,
                tools=self._opened.tools,
                gate=self._gate,
                wait=self.failing.wait,
            )
            finished = True
        except ModelError as error:
            failure = error.reason
        finally:
            self._turn = None
            if self.is_attached:
                self._after_turn(finished=finished)
                if failure is not None:
                    taken_back = self._session.timeline.head == self._turn_from
                    self.failing.fail(failure, text if taken_back else None, pictures)
                elif self._failing is not None:
                    self._failing.turn_ended()
                self.refresh_facts()

    def _on_turn_ended(self, event: TurnEnded) -> None:
        before = self._turn_from
        steps = [step for step in self._session.timeline.path() if before is None or step.id > before]
        self.show_stage(after_turn(self.query_one(StageBar).moment, event, steps))
        if event.reason is not None and event.outcome != "failed":
            self.say(event.reason, fault=event.outcome != "cancelled")

    def cancel(self, work: Worker[None]) -> None:
        """Cancel what runs, in its next step: what is cancelled before its first runs nothing, no `finally` either."""
        asyncio.get_running_loop().call_soon(work.cancel)

    # What waits

    @property
    def queue(self) -> Queueing:
        """What was asked for while something ran."""
        if self._queue is None:
            from triptych_tui.screens.queueing import Queueing  # not needed for the first picture

            self._queue = Queueing(self)
        return self._queue

    @on(PromptText.Recalled)
    def _on_recalled(self) -> None:
        if self._queue is not None:
            self._queue.take_back_last()

    def _after_turn(self, *, finished: bool) -> None:
        """Go on with what waits, after all that the turn has still to tell; or, where it failed, with nothing."""
        if self._queue is not None and finished:
            self.call_later(self._queue.go_on)
        elif self._queue is not None:
            self._queue.take_back_all()

    def after_panel(self) -> None:
        """The panel of a layer is closed."""
        if self._failing is not None:
            self._failing.come_back()
        if self._queue is not None:
            self.call_later(self._queue.go_on)

    def busy(self) -> bool:
        """Whether something runs that must end first; says so."""
        if not self._is_running:
            return False
        self.say(Reason("busy"))
        return True

    # Failures

    @property
    def failing(self) -> Failing:
        """Who deals with requests that fail."""
        if self._failing is None:
            from triptych_tui.screens.failing import Failing  # most sessions have none

            self._failing = Failing(self)
        return self._failing

    def hush(self) -> bool:
        failure = self._failing is not None and self._failing.hush()
        question = self._files is not None and self._files.hush()
        return super().hush() or failure or question

    @property
    def is_asking(self) -> bool:
        """Whether a turn is under way."""
        return self._turn is not None

    @property
    def can_retry(self) -> bool:
        """Whether a request waits to be sent again, or a question that failed to be asked again."""
        return self._failing is not None and (self._failing.is_waiting or self._failing.question is not None)

    def gives_up(self, then: Callable[[], object]) -> bool:
        """Send no more the request that waits to be sent again, and do `then`; whether there was one."""
        waits = self._failing is not None and self._failing.is_waiting
        if waits:
            self.failing.give_up(then)
        return waits

    def action_retry(self) -> None:
        if self.failing.is_waiting:
            self.failing.retry_now()
            return
        self.post_message(PromptText.Sent(self.failing.again()))

    def _leaves_row(self) -> bool:
        """Esc: go to a row whose keys can be pressed, or put it away; whether there was one."""
        return (self._failing is not None and self._failing.leave()) or self.to_question()

    # The policy

    @property
    def policies(self) -> Policies:
        """Who knows which policies there are."""
        if self._policies is None:
            from triptych_tui.screens.policies import Policies  # not needed for the first picture

            self._policies = Policies(self)
        return self._policies

    def action_policy(self) -> None:
        """Choose what is done to the list from the next stage on: also of a turn that waits between two."""
        if self.is_waiting or not self.busy():
            self.close_panel()
            self.policies.choose()

    # Step mode

    async def _gate(self, stage: Stage, plan: Plan | SummaryPlan | None, reason: Reason) -> None:
        if self._stepping is not None:
            await self._stepping.gate(stage, plan, reason)

    @property
    def _is_stepping(self) -> bool:
        return self._stepping is not None and self._stepping.on

    @property
    def is_waiting(self) -> bool:
        """Whether a stage waits to be told to go on."""
        return self._stepping is not None and self._stepping.is_waiting

    def action_step_mode(self) -> None:
        """Begin or end stepping through the stages of a turn."""
        if self._stepping is None:
            from triptych_tui.screens.step_mode import StepMode

            self._stepping = StepMode(self._show_waiting)
        self._stepping.toggle()
        self.refresh_facts()

    def go_on(self) -> bool:
        if self._stepping is None or not self.is_waiting:
            return False
        self._stepping.go_on()
        return True

    def _show_waiting(self, plan: Plan | SummaryPlan | None, waiting: bool) -> None:
        """A stage waits, and would do this; or it goes on."""
        if not self.is_attached:
            return
        bar = self.query_one(StageBar)
        bar.show(bar.moment._replace(waiting=waiting))
        if not self.is_looking_back:
            self.show_waiting(plan)
        self.refresh_facts()

    def show_waiting(self, plan: Plan | SummaryPlan | None) -> None:
        """Show in chat and messages what a stage that waits would do to them."""
        from triptych_tui.previews import preview_of  # not needed for the first picture

        self.show_preview(preview_of(plan, self._sheet))
