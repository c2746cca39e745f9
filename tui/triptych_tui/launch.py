"""From what was asked on the command line to a session that a workbench can show."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from triptych.entries import Entry, entries_from
from triptych.models.base import ChatModel
from triptych.models.keys import OPENAI_URL, host_of
from triptych.policy import preset
from triptych.reasons import Reason
from triptych.session import Session
from triptych.settings import Settings, chosen_model, default_config_path
from triptych.storage.places import default_session_path, sessions_folder
from triptych.storage.session_file import OnDisk, SessionFile, SessionFileError
from triptych.tools.base import Toolbox
from triptych.tools.files import file_tools
from triptych.tools.workspace import Workspace
from triptych_assets import FOLDER
from triptych_tui.i18n import _

if TYPE_CHECKING:
    from triptych.formats import Reading

SYSTEM_MESSAGE = (
    "You are a helpful assistant with tools for reading the files of one workspace folder. "
    "Answer from what the tools returned."
)
READING_PACE = 0.02
"""Seconds a word of the offline model takes, so that one can follow it."""

FILES_NAMED = 3
"""Files of the workspace that an empty session proposes to read."""


class Launch(NamedTuple):
    """What is to be opened, and with which settings.

    path: the session file; None is this user's own session. is_new: it is to be created.
    data: what standard input held, in place of a file.
    """

    settings: Settings
    path: Path | None = None
    is_new: bool = False
    data: bytes | None = None


class KeptFile:
    """A session's store that remembers how the file stands on disk."""

    def __init__(self, file: SessionFile, on_disk: OnDisk | None) -> None:
        self._file = file
        self.on_disk = on_disk

    def save(self, entries: tuple[Entry, ...]) -> None:
        self.on_disk = self._file.save(entries).on_disk


class OpenedSession(NamedTuple):
    """A session with all that a workbench needs around it.

    name: what the title calls it. host: where requests go, "" for the offline model. files: some that tools can read.
    notice: what the user should know at once. kept: the file it stands in, None where it came from standard input.
    """

    session: Session
    model: ChatModel
    tools: Toolbox
    settings: Settings
    name: str
    host: str
    files: tuple[str, ...]
    notice: Reason | None
    kept: KeptFile | None

    def with_model(self, model: ChatModel, host: str) -> OpenedSession:
        """The same session, with another model to answer."""
        return self._replace(model=model, host=host)

    def on_disk(self) -> OnDisk | None:
        """The file as it stands; None while there is none."""
        return self.kept.on_disk if self.kept is not None else None


@dataclass(frozen=True, slots=True, eq=False)
class _Content:
    """Entries, the file they stand in, whether it may be written, and what to say about it."""

    entries: tuple[Entry, ...]
    kept: KeptFile | None
    writable: bool
    notice: Reason | None = None


def open_session(
    launch: Launch, environment: Mapping[str, str] = os.environ, before_writing: Callable[[], None] = lambda: None
) -> OpenedSession:
    """Check everything that can be wrong, then open the session. Raises TriptychError.

    `before_writing` is called when all is sound, before anything on disk is touched.
    """
    settings = launch.settings
    policy = preset(settings.policy).with_options(
        limit=settings.limit, keep=settings.keep, keep_turns=settings.keep_turns
    )
    path = launch.path or default_session_path()
    workspace = Workspace(
        settings.workspace or FOLDER / "workspace",
        hidden=(sessions_folder(), default_config_path().parent, path),
    )
    model = chosen_model(settings, environment, pace=READING_PACE)
    content = _content(launch, path, before_writing)
    writable = content.writable and not settings.read_only
    return OpenedSession(
        session=Session(content.entries, policy, content.kept if writable else None),
        model=model,
        tools=file_tools(workspace),
        settings=settings,
        name=_("standard input") if launch.data is not None else path.name,
        host="" if model.offline else host_of(settings.base_url or OPENAI_URL),
        files=tuple(file.path for file in workspace.files(limit=FILES_NAMED).files),
        notice=None if settings.read_only else content.notice,
        kept=content.kept,
    )


def _content(launch: Launch, path: Path, before_writing: Callable[[], None]) -> _Content:
    if launch.data is not None:
        from triptych.formats import read
        from triptych.formats.notices import guess_marks

        reading = read(launch.data)
        before_writing()
        return _Content(guess_marks(reading.messages), None, writable=False)
    if launch.is_new:
        return _created(path, launch.settings, before_writing)
    if launch.path is None:
        return _own_session(path, launch.settings, before_writing)
    content = _loaded(SessionFile(path))
    before_writing()
    return content


def _loaded(file: SessionFile) -> _Content:
    from triptych.formats.notices import guess_marks  # readers are loaded where there is a file to read

    loaded = file.load()
    kept = KeptFile(file, loaded.on_disk)
    return _Content(guess_marks(loaded.reading.messages), kept, loaded.ours, _why_read_only(loaded.reading))


def _why_read_only(reading: Reading) -> Reason | None:
    if reading.ours:
        return None
    if reading.unreadable:
        return Reason("open.damaged", {"places": len(reading.unreadable)})
    return Reason("open.foreign", {"format": reading.format})


def _begun(settings: Settings) -> tuple[Entry, ...]:
    """The entries of a session that begins."""
    return entries_from([{"role": "system", "content": settings.system or SYSTEM_MESSAGE}])


def _created(path: Path, settings: Settings, before_writing: Callable[[], None]) -> _Content:
    file, entries = SessionFile(path), _begun(settings)
    if file.path.exists():
        raise SessionFileError("file.exists", path=str(path))
    before_writing()
    kept = KeptFile(file, None)
    if not settings.read_only:
        kept.save(entries)
    return _Content(entries, kept, writable=True)


def _own_session(path: Path, settings: Settings, before_writing: Callable[[], None]) -> _Content:
    """This user's own session. One that is damaged is moved aside whole, and what could be read of it goes on."""
    kept = KeptFile(SessionFile(path), None)
    content = begun = _Content(_begun(settings), kept, writable=True)
    if _is_missing(path):
        before_writing()
        return content
    from triptych.formats import FormatError

    damaged = True
    try:
        loaded = _loaded(SessionFile(path))
    except FormatError:
        pass
    except SessionFileError as error:
        damaged = error.reason.id != "file.missing"
    else:
        if loaded.notice is None or loaded.notice.id != "open.damaged":
            content, damaged = loaded, False
        else:
            content = replace(content, entries=loaded.entries)
    before_writing()
    if not damaged or settings.read_only:
        return content
    try:
        aside = _moved_aside(path)
        if content is not begun:
            _saved_or_put_back(kept, content.entries, aside, path)
    except (OSError, SessionFileError) as error:
        said = Reason("open.unsaved", {"path": str(path), "error": _why(error)})
        return replace(content, kept=None, writable=False, notice=said)
    return replace(content, notice=Reason("open.moved_aside", {"path": str(aside)}))


def _saved_or_put_back(kept: KeptFile, entries: tuple[Entry, ...], aside: Path, path: Path) -> None:
    """Save at once: a session takes what it opens with for saved, and would leave without writing it."""
    try:
        kept.save(entries)
    except SessionFileError:
        aside.rename(path)
        raise


def _why(error: OSError | SessionFileError) -> str:
    """What the system said."""
    if isinstance(error, SessionFileError):
        return str(error.reason.values.get("error", error.reason.id))
    return error.strerror or type(error).__name__


def _is_missing(path: Path) -> bool:
    """Whether there is no such file, and nothing else is in the way."""
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except OSError:
        pass
    return False


def _moved_aside(path: Path) -> Path:
    """Give the file the name `NAME.invalid`, or the next that is free; returns its new path."""
    names = (path.name + ".invalid" + (f".{number}" if number else "") for number in count())
    return path.rename(next(path.with_name(name) for name in names if not path.with_name(name).exists()))
