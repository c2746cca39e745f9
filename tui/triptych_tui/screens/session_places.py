"""Where the session on a workbench is kept: saving it elsewhere, another name, another session, none any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.reasons import Reason, TriptychError
from triptych.settings import at_home
from triptych.storage.kept_session import KeptSession, begun, put_away
from triptych.storage.places import free_path, sessions_folder
from triptych.storage.session_file import SessionFileError
from triptych.timeline import PolicyTaken, Step
from triptych_tui.i18n import N_
from triptych_tui.widgets.find_field import Purpose
from triptych_tui.widgets.question_row import Answer

if TYPE_CHECKING:
    from triptych_tui.screens.keeping import Keeping
    from triptych_tui.screens.session_files import SessionFiles

ActAt = Callable[[Path], Coroutine[Any, Any, object]]


class SessionPlaces:
    """What the keys `w W O E L`, ctrl+n and delete do. Files are renamed; none is deleted that was not named first."""

    def __init__(self, screen: Keeping, files: SessionFiles) -> None:
        self._screen = screen
        self._session = screen.session
        self._files = files

    async def save_as(self) -> None:
        """Write a path; the session lives there from then on."""
        await self._ask_path("save_as", self._path, self._save_at)

    async def rename(self) -> None:
        """Write another name for the session."""
        await self._ask_path("rename", self._path, self._rename_to)

    async def new(self) -> None:
        """Write a path; a session begins there."""
        await self._ask_path("new", free_path(self._path.parent), self._begin_at)

    def remove(self) -> None:
        """Ask whether the session is to be put away."""
        answer = Answer("y", N_("remove it"), self._files.does(self._remove))
        self._files.ask(Reason("session.remove", {"path": str(self._path)}), [answer], focus=True)

    def forget(self) -> None:
        """Ask whether all that is no longer in the list is to be forgotten."""
        kept = self._files.kept
        aside = kept.set_aside() if kept is not None else []
        if not aside:
            answer = Answer("y", N_("forget it"), self._files.does(self._forget))
            self._files.ask(Reason("forget.sure"), [answer], focus=True)
            return
        deletes = self._files.does(lambda: self._forget(aside, deletes=True))
        keeps = self._files.does(lambda: self._forget(aside))
        also, only = N_("forget it, delete those"), N_("forget it, keep those")
        answers = [Answer("y", also, deletes), Answer("k", only, keeps)]
        self._files.ask(Reason("forget.sure_aside", {"files": _names(aside)}), answers, focus=True)

    async def lessons_view(self) -> None:
        """Show the session from its list alone, as the lesson would reopen it, or with all that is remembered again."""
        await self._session.save()
        opened = self._screen.opened
        try:
            another = opened.another(self._path, alone=not opened.alone)
        except TriptychError as error:
            self._screen.say(error.reason)
        else:
            await self._screen.show_session(another, reads=True)

    async def open_for_writing(self) -> None:
        """Be the one who writes the session, and show what the program that wrote it until now has left."""
        kept = self._files.kept
        if kept is None:
            return
        try:
            await asyncio.to_thread(kept.claim)
            if await asyncio.to_thread(kept.is_as_opened):
                self._screen.show_opened(self._screen.opened._replace(writable=True))
                await self._files.keep_in(kept)
                self._screen.say(Reason("session.writable"), fault=False)
                return
            kept.leave()
            if self._has_own_steps:
                self._screen.say(Reason("session.has_own_steps", {"path": str(kept.path)}))
                return
            another = self._screen.opened.another(kept.path)
        except TriptychError as error:
            self._screen.say(error.reason)
        else:
            await self._screen.show_session(another._replace(notice=another.notice or Reason("session.opened_anew")))

    @property
    def _path(self) -> Path:
        kept = self._files.kept
        return kept.path.absolute() if kept is not None else free_path(sessions_folder())

    @property
    def _has_own_steps(self) -> bool:
        """Whether a session that is kept nowhere has more than opening it has brought."""
        done = [each for each in self._session.unrecorded if not isinstance(each, PolicyTaken)]
        return any(not isinstance(each, Step) or each.stage not in ("outside", "repair") for each in done)

    async def _ask_path(self, purpose: Purpose, path: Path, act: ActAt) -> None:
        def kept(text: str) -> None:
            written = at_home(Path(text.strip()))
            if not written.name or self._screen.busy():
                return
            named = written if written.suffix else written.with_name(written.name + ".json")
            self._screen.run_worker(act(self._path.parent / named), group="files")

        self._screen.hush()
        await self._screen.reader.open_path(purpose, str(path), kept)

    # Saving elsewhere

    async def _save_at(self, path: Path) -> None:
        kept = self._files.kept
        if path == self._path and self._session.store is not None:
            await self._session.save()
            return
        try:
            copy = await asyncio.to_thread(self._copied, kept, path)
        except SessionFileError as error:
            self._refused(error.reason, path)
            return
        session, store, before = self._session, self._session.store, self._session.unrecorded
        entries, head = session.entries, session.timeline.head
        session.store = None  # what happens meanwhile is told to the store that it comes to
        try:
            for change in before:
                copy.record(change)
            await asyncio.to_thread(copy.save, entries, head)
        except SessionFileError as error:
            await asyncio.to_thread(copy.take_back)
            if store is not None:
                session.keep_in(store)
            self._refused(error.reason, path)
            return
        session.keep_in(copy, known=len(before))
        session.take_as_saved(entries)
        if kept is not None:
            kept.leave()
        self._moved(copy, Reason("session.saved_as", {"path": str(path)}))

    def _copied(self, kept: KeptSession | None, path: Path) -> KeptSession:
        """A store at this path that knows what the session's own knows."""
        kept = kept or begun(path, self._session.timeline.base).store
        return kept.copied(path)

    def _refused(self, reason: Reason, path: Path) -> None:
        if reason.id == "file.exists":
            answer = Answer("y", N_("rename that one, save here"), self._files.does(lambda: self._replace(path)))
            self._files.ask(Reason("session.name_taken", {"path": str(path)}), [answer], focus=True)
        else:
            self._files.failed(reason)

    async def _replace(self, path: Path) -> None:
        try:
            await asyncio.to_thread(put_away, path)
        except SessionFileError as error:
            self._files.failed(error.reason)
        else:
            await self._save_at(path)

    async def _rename_to(self, path: Path) -> None:
        kept = self._files.kept
        if kept is None or path == self._path:
            return
        try:
            await asyncio.to_thread(kept.rename, path)
        except SessionFileError as error:
            is_taken = error.reason.id == "file.exists"
            self._screen.say(Reason("session.choose_another", error.reason.values) if is_taken else error.reason)
        else:
            self._moved(kept, Reason("session.renamed", {"path": str(path)}))

    def _moved(self, kept: KeptSession, reason: Reason) -> None:
        self._files.outside, self._files.in_use = "", False
        self._screen.show_opened(self._screen.opened.moved(kept))
        self._screen.say(reason, fault=False)

    # Another session

    async def _begin_at(self, path: Path) -> None:
        await self._session.save()
        if self._session.is_saved if self._session.store is not None else not self._has_own_steps:
            await self._open_at(path)
            return
        leave = Answer("y", N_("leave it unsaved"), self._files.does(lambda: self._open_at(path)))
        save = Answer("w", N_("save elsewhere"), self._files.does(self.save_as))
        self._files.ask(Reason("session.leave_unsaved"), [leave, save], focus=True)

    async def _open_at(self, path: Path) -> None:
        try:
            another = self._screen.opened.another(path, is_new=True)
        except SessionFileError as error:
            is_taken = error.reason.id == "file.exists"
            self._screen.say(Reason("session.choose_another", error.reason.values) if is_taken else error.reason)
        except TriptychError as error:
            self._screen.say(error.reason)
        else:
            await self._screen.show_session(another)

    async def _forget(self, aside: Sequence[Path] = (), *, deletes: bool = False) -> None:
        try:
            await self._session.forget_originals()
            if self._files.kept is not None and deletes:
                await asyncio.to_thread(self._files.kept.delete_set_aside, aside)
        except TriptychError as error:
            if error.reason.id == "forget.not_deleted":
                self._screen.say(error.reason)
            else:
                self._files.failed(error.reason)
            return
        files = {"files": _names(aside)}
        but = Reason("forget.all", files) if deletes else Reason("forget.but", files)
        self._screen.say(but if aside else Reason("forget.done"), fault=False)

    async def _remove(self) -> None:
        kept = self._files.kept
        if kept is None:
            return
        await self._session.save()
        self._session.store = None  # what happens meanwhile is not written where the file was
        kept.leave()
        try:
            aside = await asyncio.to_thread(put_away, kept.path)
            another = self._screen.opened.another(None)
        except TriptychError as error:
            await self._files.hold(kept)
            self._screen.say(error.reason)
        else:
            notice = Reason("session.removed", {"name": kept.path.name, "path": str(aside)})
            await self._screen.show_session(another._replace(notice=another.notice or notice))


def _names(files: Sequence[Path]) -> str:
    return ", ".join(each.name for each in files)
