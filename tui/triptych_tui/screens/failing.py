"""What a workbench does about requests that fail: it counts down to the next try, and says what to press at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

from textual.events import Event

from triptych.models.base import ModelError
from triptych.models.retries import Retry
from triptych.reasons import Reason
from triptych_tui.i18n import N_, _
from triptych_tui.plain import plain
from triptych_tui.spans import Span
from triptych_tui.widgets.failure_row import FailureRow, RowKey
from triptych_tui.widgets.prompt import Prompt
from triptych_tui.widgets.stage_bar import StageBar

if TYPE_CHECKING:
    from triptych.pictures import Picture
    from triptych_tui.screens.asking import Asking


class Failing:
    """`question` is the text that came back to the prompt, None where none did.

    `sleep` is awaited between two numbers of the countdown, with their seconds.
    """

    def __init__(self, screen: Asking) -> None:
        self.question: str | None = None
        self.sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
        self._screen = screen
        self._end_of_wait: asyncio.Future[bool] | None = None  # whether it ends with the next try
        self._after_failure: Callable[[], object] | None = None
        self._row = FailureRow(self._pass_on, id="failure")
        screen.mount(self._row, before="#prompt")

    async def wait(self, retry: Retry) -> None:
        """Wait for the next try, counting down once a second. Raises ModelError when there is to be none."""
        self._screen.call_later(self._show_retry, retry)
        ended = self._end_of_wait = asyncio.get_running_loop().create_future()
        left = retry.seconds
        try:
            while left > 0 and not ended.done():
                shown = ceil(left)
                self._row.wait(retry, shown, self._keys_of_wait())
                pause = left - (shown - 1)
                sleeping = asyncio.ensure_future(self.sleep(pause))
                try:
                    await asyncio.wait((sleeping, ended), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    sleeping.cancel()
                left -= pause
            if ended.done() and not ended.result():
                raise ModelError(retry.reason.id, **retry.reason.values)
        finally:
            self._end_of_wait = None
            self._put_row_away()
            self._screen.call_later(self._show_retry, None)

    @property
    def is_waiting(self) -> bool:
        """Whether a request of a turn waits to be sent again."""
        return self._end_of_wait is not None and self._screen.is_asking

    def retry_now(self) -> None:
        """Send the request that waits at once."""
        if self._end_of_wait is not None and not self._end_of_wait.done():
            self._end_of_wait.set_result(True)

    def give_up(self, then: Callable[[], object]) -> None:
        """Let the request that waits have failed; when that has been told, or the turn went on, `then` is called."""
        if self._end_of_wait is not None and not self._end_of_wait.done():
            self._after_failure = then
            self._end_of_wait.set_result(False)

    def fail(self, reason: Reason, question: str | None = None, pictures: Sequence[Picture] = ()) -> None:
        """Say what failed. A question that was taken back returns to the prompt, before what was typed since.

        Where nothing was typed, the row takes the focus, so that its letters work at once.
        """
        then, self._after_failure = self._after_failure, None
        waiting = self.question  # of an earlier failure: layer 3, run by hand because of it, failed now
        self._screen.hush()
        nothing_typed = self._nothing_typed()
        if question is not None:
            self._screen.query_one(Prompt).give_back(question, pictures)
        self.question = waiting if question is None else question
        self._row.fail(reason, self._keys(reason))
        if nothing_typed:
            self._screen.set_focus(self._row)
        if then is not None:
            self._screen.call_later(then)

    def turn_ended(self) -> None:
        """A turn ended without a failure of its own, though a summary in it may have been given up."""
        then, self._after_failure = self._after_failure, None
        if then is not None:
            self._screen.call_later(then)

    def step_aside(self) -> None:
        """Make room for the panel of a layer; what to press comes back when that is closed."""
        question = self.question
        self._screen.hush()
        self.question = question

    def come_back(self) -> None:
        """The panel is closed: the question in the prompt can be asked again, of a shorter list perhaps."""
        if self.question is not None:
            reason = Reason("question.waits")
            self._row.fail(reason, self._keys(reason), fault=False)
            self._screen.set_focus(self._row)

    def hush(self) -> bool:
        """Put the row away and give the focus back to the prompt; whether there was a row."""
        self.question = None
        return self._put_row_away()

    def leave(self) -> bool:
        """Esc: from the prompt to the row, where its letters work; from elsewhere put the row away."""
        if not self._row.is_shown:
            return False
        if self._row.can_focus and self._screen.query_one(Prompt).field.has_focus:
            self._screen.set_focus(self._row)
        else:
            self.hush()
        return True

    def again(self) -> str:
        """What `r` asks: the question that came back, as it stands in the prompt now if it was edited there."""
        question, text = self.question or "", self._screen.query_one(Prompt).text
        return question if text.startswith(question) or not text.strip() else text

    def _put_row_away(self) -> bool:
        had_focus = self._row.has_focus
        if had_focus and self._screen.is_attached:
            self._screen.set_focus(self._screen.query_one(Prompt).field)
        return self._row.hush()

    def _nothing_typed(self) -> bool:
        """Whether the prompt has the focus and nothing in it: then keys of a row can do what they say at once."""
        prompt = self._screen.query_one(Prompt)
        return prompt.field.has_focus and not prompt.text

    def _keys_of_wait(self) -> list[RowKey]:
        """What can be done while a request of a turn waits; in the prompt letters are typed."""
        if not self._screen.is_asking:
            return []
        prompt = self._screen.query_one(Prompt)
        if prompt.field.has_focus:
            return [] if prompt.text else [RowKey("Enter", N_("retry now"))]
        return [RowKey("r", N_("retry now")), RowKey("m", N_("another model"))]

    def _keys(self, reason: Reason) -> list[RowKey]:
        """What can be done about it, as far as the workbench can do it."""
        keys = [RowKey("F4", N_("summarize"), "L3")] if reason.id == "model.context_length" else []
        if self.question is not None and not self._screen.is_occupied:
            keys.append(RowKey("r", N_("retry")))
        keys.append(RowKey("m", N_("another model")))
        if not self._screen.is_offline:
            keys.append(RowKey("0", N_("offline model")))
        return keys

    def _pass_on(self, event: Event) -> None:
        """What is no key of the row goes where questions are typed, and all that follows goes there too."""
        field = self._screen.query_one(Prompt).field
        self._screen.set_focus(field)
        field.post_message(event)

    def _show_retry(self, retry: Retry | None) -> None:
        """Show in the stage that is lit that it waits for another try, or no longer does."""
        if self._screen.is_attached:
            bar = self._screen.query_one(StageBar)
            bar.show(bar.moment._replace(retry=None if retry is None else partial(_retry_words, retry)))
            self._screen.refresh_facts()


def _retry_words(retry: Retry) -> list[Span]:
    status = retry.reason.values.get("status")
    code = [Span(str(status), "strong", "b"), Span(plain(" · "), "muted")] if status else []
    return [*code, Span(_("waits for try {attempt} of {of}").format(attempt=retry.attempt, of=retry.of), "text")]
