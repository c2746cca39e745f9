"""The keys for the file a session stands in. What is behind them is loaded when it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from triptych_tui.i18n import N_
from triptych_tui.launch import OpenedSession
from triptych_tui.screens.time_travel import TimeTravel

if TYPE_CHECKING:
    from triptych_tui.screens.connecting import Connecting
    from triptych_tui.screens.session_files import SessionFiles

KEEPING_ACTIONS = frozenset(
    {
        "save_as",
        "new_session",
        "rename_session",
        "remove_session",
        "forget_originals",
        "lessons_view",
        "open_for_writing",
    }
)


class AnotherSession(Message):
    """The user goes over to another session; the connection in use goes along. `reads`: to look at its messages."""

    def __init__(self, opened: OpenedSession, models: Connecting | None, *, reads: bool = False) -> None:
        super().__init__()
        self.opened = opened
        self.models = models
        self.reads = reads


class Keeping(TimeTravel):
    """Where a session is kept."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "save_as", N_("save as"), id="session.save_as"),
        Binding("ctrl+n", "new_session", N_("new session"), priority=True, id="session.new"),
        Binding("W", "rename_session", N_("rename this session"), id="session.rename"),
        Binding("delete", "remove_session", N_("remove this session"), id="session.remove"),
        Binding("E", "forget_originals", N_("forget the originals"), id="session.forget"),
        Binding("L", "lessons_view", N_("as the lesson reopens it, and back"), id="session.alone"),
        Binding("O", "open_for_writing", N_("open for writing"), id="session.open_for_writing"),
    ]

    _files: SessionFiles | None = None

    # What the workbench knows

    @property
    def opened(self) -> OpenedSession:
        return self._opened

    @property
    def is_occupied(self) -> bool:
        return False

    def show_opened(self, opened: OpenedSession) -> None:
        """Show where the session is kept from now on."""

    async def show_session(self, opened: OpenedSession, *, reads: bool = False) -> None:
        """Leave this session for another one, after what runs is cancelled in order and all is saved."""

    # The file

    @property
    def files(self) -> SessionFiles:
        """Who looks after the file."""
        if self._files is None:
            from triptych_tui.screens.session_files import SessionFiles  # not needed for the first picture

            self._files = SessionFiles(self)
        return self._files

    async def begin_keeping(self) -> None:
        """Be the one who writes the file, and watch what others do to it; called after the first picture."""
        await self.files.begin()
        if self.opened.found is not None and not self.files.in_use:
            from triptych_tui.screens.found_dialog import show_found  # most sessions were closed in order

            show_found(self, self.opened.found)

    def can_keep(self, action: str) -> bool:
        """Whether this key does something now."""
        if action == "open_for_writing":
            return self._files is not None and self._files.in_use
        if action == "lessons_view":
            return self._opened.on_disk() is not None
        needs_store = action in ("rename_session", "remove_session", "forget_originals")
        return not needs_store or self._session.store is not None

    def to_question(self) -> bool:
        """Esc: go to a question about the file, or put it away; whether there was one."""
        return self._files is not None and self._files.to_question()

    async def action_save_as(self) -> None:
        if not self.busy():
            await self.files.places.save_as()

    async def action_new_session(self) -> None:
        if not self.busy():
            await self.files.places.new()

    async def action_rename_session(self) -> None:
        if not self.busy():
            await self.files.places.rename()

    def action_remove_session(self) -> None:
        if not self.busy():
            self.files.places.remove()

    def action_forget_originals(self) -> None:
        if not self.busy():
            self.files.places.forget()

    async def action_lessons_view(self) -> None:
        if not self.busy():
            await self.files.places.lessons_view()

    async def action_open_for_writing(self) -> None:
        if not self.busy():
            await self.files.places.open_for_writing()
