"""The file of the session on a workbench: who writes it, and what others do to it. Nothing is overwritten unasked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from textual.events import Event

from triptych.reasons import Reason, TriptychError
from triptych.recovery import adopt
from triptych.storage.atomic import move_aside
from triptych.storage.kept_session import KeptSession, Outside, Theirs
from triptych.storage.session_file import SessionFileError
from triptych_tui.i18n import N_
from triptych_tui.screens.session_places import SessionPlaces
from triptych_tui.widgets.line_view import LineView
from triptych_tui.widgets.prompt import Prompt
from triptych_tui.widgets.question_row import Answer, QuestionRow

if TYPE_CHECKING:
    from triptych_tui.screens.keeping import Keeping

LOOK_SECONDS = 2.0
"""How often the file is looked at while nothing happens."""

Act = Callable[[], Coroutine[Any, Any, object]]


class SessionFiles:
    """`outside` is what others have done to the file, as far as it was seen; `in_use`: another program writes it."""

    def __init__(self, screen: Keeping) -> None:
        self.outside: Outside = ""
        self.in_use = False
        self.places = SessionPlaces(screen, self)
        self._screen = screen
        self._session = screen.session
        self._row: QuestionRow | None = None
        self._asked_in: LineView | None = None
        self._looking = asyncio.Lock()
        self._heeded: Outside = ""

    @property
    def kept(self) -> KeptSession | None:
        return self._screen.opened.kept

    async def begin(self) -> None:
        """Be the one who writes the file, if it may be written and nobody else does; then watch it."""
        kept = self.kept
        if kept is None:
            return
        if self._screen.opened.writable:
            await self.hold(kept)
        self._screen.watch(self._screen.app, "app_focus", self._look_soon, init=False)
        self._screen.set_interval(LOOK_SECONDS, self._look_soon)

    async def hold(self, kept: KeptSession) -> None:
        """Be the one who writes the file; where another program is, it is only read, which is said."""
        try:
            await asyncio.to_thread(kept.claim)
        except SessionFileError as error:
            self._session.store, self.in_use = None, True
            self._screen.show_opened(self._screen.opened._replace(writable=False))
            self._screen.say(error.reason)
        else:
            await self.keep_in(kept)

    async def keep_in(self, kept: KeptSession) -> None:
        """Let the session be kept in a store that is claimed."""
        self.in_use = False
        if self._session.store is None:
            self._session.keep_in(kept)
        if self._session.is_saved:
            await self._settle(kept)

    def leave(self) -> None:
        """Let others write the file."""
        if self.kept is not None:
            self.kept.leave()

    # What others do

    def _look_soon(self) -> None:
        if not self._looking.locked():
            self._screen.run_worker(self.look(), group="files")

    async def look(self) -> None:
        """See what others have done to the file; what can be taken without a question is taken."""
        kept = self.kept
        if kept is None or self._looking.locked():
            return
        async with self._looking:
            self.outside = await asyncio.to_thread(kept.outside)
            if not self._screen.is_attached:
                return
            if not (self._screen.is_occupied or self._session.store is None or self.outside == self._heeded):
                self._heeded = self.outside
                await self._heed(kept)
        self._screen.refresh_facts()

    async def _heed(self, kept: KeptSession) -> None:
        if self.outside == "gone":
            self._session.take_as_saved(None)
        elif self.outside == "changed" and self._session.is_saved:
            await self._take_theirs(kept, unasked=True)
        elif self.outside == "changed":
            await self._ask_whose(kept)

    async def _ask_whose(self, kept: KeptSession) -> None:
        """Both have changed: a user must say which list goes on."""
        if await self._read_theirs(kept) is not None:
            mine = Answer("k", N_("keep mine"), self.does(lambda: self._keep_mine(kept)))
            theirs = Answer("t", N_("take theirs"), self.does(lambda: self._take_theirs(kept)))
            self.ask(Reason("session.conflict", {"path": str(kept.path)}), [mine, theirs])

    async def _read_theirs(self, kept: KeptSession) -> Theirs | None:
        """What stands in the file now; None where that is no session, which is said."""
        try:
            theirs = await asyncio.to_thread(kept.theirs)
            if theirs.loaded.ours:
                return theirs
        except TriptychError:
            pass
        mine = Answer("k", N_("keep mine"), self.does(lambda: self._put_theirs_aside(kept)))
        self.ask(Reason("session.no_longer_one", {"path": str(kept.path)}), [mine])
        return None

    async def _take_theirs(self, kept: KeptSession, *, unasked: bool = False) -> bool:
        """Go on with their list, as a step; whether it is another one. Unasked, it waits for the end of what runs."""
        theirs = await self._read_theirs(kept)
        if unasked and self._screen.is_occupied:
            self._heeded = ""
            return False
        if theirs is None or self._screen.busy():
            return False
        before = self._session.entries
        self._screen.to_head()
        kept.accept(theirs)
        adopt(self._session, theirs.loaded.reading.messages)
        self.outside = self._heeded = ""
        await self._settle(kept)
        is_another = self._session.entries is not before
        if is_another:
            self._screen.say(Reason("outside.taken"), fault=False)
        return is_another

    async def _keep_mine(self, kept: KeptSession) -> None:
        if await self._take_theirs(kept):
            self._session.undo()
            await self._session.save()
            if self._session.is_saved:
                self._screen.say(Reason("outside.kept_mine"), fault=False)

    async def _put_theirs_aside(self, kept: KeptSession) -> None:
        try:
            aside = await asyncio.to_thread(move_aside, kept.path)
        except OSError as error:
            said = error.strerror or type(error).__name__
            self.failed(Reason("file.not_writable", {"path": str(kept.path), "error": said}))
            return
        self.outside = self._heeded = ""
        self._session.take_as_saved(None)
        await self._session.save()
        if self._session.is_saved:
            self._screen.say(Reason("session.put_aside", {"path": str(aside)}), fault=False)

    async def _settle(self, kept: KeptSession) -> None:
        with suppress(SessionFileError):  # then it is found out anew the next time
            await asyncio.to_thread(kept.settle, self._session.timeline.head)

    # Questions

    def failed(self, reason: Reason) -> None:
        """Something could not be written: say so, and what can be done."""
        if reason.id == "file.changed_outside" and self.kept is not None:
            self.outside = self._heeded = "changed"
            self._screen.run_worker(self._ask_whose(self.kept), group="files")
        else:
            self.ask(reason, [Answer("w", N_("save elsewhere"), self.does(self.places.save_as))])

    def ask(self, reason: Reason, answers: Sequence[Answer], *, focus: bool = False) -> None:
        """Put a question above the prompt; with `focus` its keys work at once, else Esc leads to it."""
        if self._row is None:
            self._row = QuestionRow(self._pass_on, id="question")
            self._screen.mount(self._row, before="#prompt")
        self._screen.hush()
        self._row.ask(reason, answers, fault=not focus)
        if focus:
            self._screen.call_after_refresh(self._lead_to, self._row)

    def does(self, act: Act) -> Callable[[], None]:
        """What an answer runs: the question goes, and what was chosen is done."""

        def run() -> None:
            self.hush()
            if not self._screen.busy():
                self._screen.run_worker(act(), group="files")

        return run

    def to_question(self) -> bool:
        """Esc: from elsewhere to the question, from there put it away."""
        if self._row is None or not self._row.is_shown:
            return False
        if self._row.has_focus:
            self.hush()
        else:
            self._lead_to(self._row)
        return True

    def _lead_to(self, row: QuestionRow) -> None:
        focused = self._screen.focused
        if focused is not row:
            self._asked_in = focused if isinstance(focused, LineView) else None
        self._screen.set_focus(row)

    def hush(self) -> bool:
        """Put the question away, and the focus back; whether there was one."""
        if self._row is None:
            return False
        if self._row.has_focus:
            self._screen.set_focus(self._asked_in or self._screen.query_one(Prompt).field)
        return self._row.hush()

    def _pass_on(self, event: Event) -> None:
        field = self._screen.query_one(Prompt).field
        self._screen.set_focus(field)
        field.post_message(event)
