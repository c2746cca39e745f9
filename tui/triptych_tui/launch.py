"""From what was asked on the command line to a session that a workbench can show."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from triptych.entries import Entry, entries_from
from triptych.models.base import ChatModel
from triptych.models.keys import OPENAI_URL, host_of
from triptych.policy import Policy, policy_from_table, preset, preset_names
from triptych.reasons import Reason, TriptychError
from triptych.session import Session
from triptych.settings import Settings, chosen_model, default_config_path, with_numbers
from triptych.storage.atomic import is_folder, is_there, move_aside
from triptych.storage.journal import journal_path
from triptych.storage.kept_session import KeptSession, Past, begun, list_alone, opened, remembered
from triptych.storage.places import default_session_path, sessions_folder
from triptych.storage.session_file import OnDisk, SessionFileError
from triptych.tools.base import Toolbox
from triptych.tools.files import file_tools
from triptych.tools.workspace import Workspace
from triptych_assets import FOLDER
from triptych_tui.i18n import _

if TYPE_CHECKING:
    from triptych_tui.found import Found

SYSTEM_MESSAGE = (
    "You are a helpful assistant with tools for reading the files of one workspace folder. "
    "Answer from what the tools returned."
)
READING_PACE = 0.02
"""Seconds a word of the offline model takes, so that one can follow it."""

_ASKED_FOR = ("--policy", "TRIPTYCH_POLICY")
"""Where a policy is named that comes before the one a session remembers; the config file's is for new sessions."""

FILES_NAMED = 3
"""Files of the workspace that an empty session proposes to read."""


class Launch(NamedTuple):
    """What is to be opened, and with which settings.

    path: the session file; None is this user's own session. is_new: it is to be created.
    data: what standard input held, in place of a file. alone: from its list alone, without what the journal remembers.
    """

    settings: Settings
    path: Path | None = None
    is_new: bool = False
    data: bytes | None = None
    alone: bool = False


class OpenedSession(NamedTuple):
    """A session with all that a workbench needs around it.

    name: what the title calls it. host: where requests go, "" for the offline model. files: some that tools can read.
    notice: what the user should know at once. kept: the file it stands in, None where it came from standard input.
    writable: the session is to be kept there, once nobody else does. alone: it was opened without its journal.
    found: how it was found, where it was not closed in order.
    """

    session: Session
    model: ChatModel
    tools: Toolbox
    settings: Settings
    name: str
    host: str
    files: tuple[str, ...]
    notice: Reason | None
    kept: KeptSession | None
    writable: bool = True
    alone: bool = False
    found: Found | None = None

    def with_model(self, model: ChatModel, host: str) -> OpenedSession:
        """The same session, with another model to answer."""
        return self._replace(model=model, host=host)

    def on_disk(self) -> OnDisk | None:
        """The file as it stands; None while there is none."""
        return self.kept.on_disk if self.kept is not None else None

    def moved(self, kept: KeptSession) -> OpenedSession:
        """The same session, kept elsewhere from now on."""
        tools = file_tools(_workspace(self.settings, kept.path))
        return self._replace(kept=kept, name=kept.path.name, tools=tools, notice=None, writable=True, found=None)

    def another(self, path: Path | None, *, is_new: bool = False, alone: bool = False) -> OpenedSession:
        """Another session with the same settings and model; None is this user's own. Raises TriptychError."""
        launch = Launch(self.settings, path, is_new=is_new, alone=alone)
        return open_session(launch).with_model(self.model, self.host)


class _Content(NamedTuple):
    """What a session goes on with, the store it is kept in, whether that may be written, and what to say about it.

    moved_aside: its file was damaged, and where that is now.
    """

    past: Past
    kept: KeptSession | None
    writable: bool
    notice: Reason | None = None
    moved_aside: Reason | None = None


def open_session(
    launch: Launch, environment: Mapping[str, str] = os.environ, before_writing: Callable[[], None] = lambda: None
) -> OpenedSession:
    """Check everything that can be wrong, then open the session. Raises TriptychError.

    It has no store yet: whoever shows it claims `kept` first, and lets the session be kept there.
    `before_writing` is called when all is sound, before anything on disk is touched.
    """
    settings = launch.settings
    policy = with_numbers(_policy_named(settings.policy), settings)
    path = launch.path or default_session_path()
    if is_folder(path):  # first, since a workspace in it would seem to be what is wrong
        raise SessionFileError("file.is_folder", path=str(path))
    workspace = _workspace(settings, path)
    model = chosen_model(settings, environment, pace=READING_PACE)
    content = _content(launch, path, before_writing)
    past = content.past
    policy, problem = _policy_of(past, settings, policy)
    session = Session(past.timeline, policy, is_saved=past.is_saved, forgotten=past.forgotten)
    if settings.source("policy") in _ASKED_FOR:
        session.remember_policy()
    is_found = past.remembered or past.unusable or content.moved_aside is not None
    found = _taken_up(session, past, content.moved_aside) if is_found else None
    return OpenedSession(
        session=session,
        model=model,
        tools=file_tools(workspace),
        settings=settings,
        name=_("standard input") if launch.data is not None else path.name,
        host="" if model.offline else host_of(settings.base_url or OPENAI_URL),
        files=tuple(file.path for file in workspace.files(limit=FILES_NAMED).files),
        notice=problem if settings.read_only else content.notice or problem,
        kept=content.kept,
        writable=content.writable and not settings.read_only,
        alone=launch.alone,
        found=None if settings.read_only else found,
    )


def _taken_up(session: Session, past: Past, moved_aside: Reason | None) -> Found | None:
    """Bring a session in order that was found on disk; what there is to say of it, if there is anything."""
    from triptych.recovery import take_up  # nothing of a turn is needed for the first picture

    left = session.timeline.head
    if past.remembered:
        take_up(session, past.outside, past.draft)
    if past.is_saved and session.timeline.head == left and not (past.lost or past.unusable or moved_aside):
        return None
    from triptych_tui.found import found_in  # most sessions were closed in order

    return found_in(session, past, left, moved_aside)


def _policy_named(name: str) -> Policy:
    """The policy of a name; this user's own files are looked at where no preset has it."""
    if name in preset_names():
        return preset(name)
    from triptych.policy_files import find

    return find(name)


def _policy_of(past: Past, settings: Settings, otherwise: Policy) -> tuple[Policy, Reason | None]:
    """The policy that a session goes on with, and what to say where the one that it remembers cannot be read.

    One that is asked for at the start comes first, numbers from there on top of either.
    """
    policy, problem = otherwise, None
    if past.policy is not None and settings.source("policy") not in _ASKED_FOR:
        try:
            policy = policy_from_table(past.policy)
        except TriptychError as error:
            problem = Reason("policy.not_remembered", {"policy": policy.name, "why": error.reason})
    return with_numbers(policy, settings), problem


def _workspace(settings: Settings, path: Path) -> Workspace:
    """The folder that tools may read, closed to the session at `path` and to our settings."""
    return Workspace(
        settings.workspace or FOLDER / "workspace",
        hidden=(sessions_folder(), default_config_path().parent, path, journal_path(path)),
    )


def _content(launch: Launch, path: Path, before_writing: Callable[[], None]) -> _Content:
    if launch.data is not None:
        from triptych.formats import read
        from triptych.formats.notices import guess_marks

        past = begun(path, guess_marks(read(launch.data).messages))
        before_writing()
        return _Content(past, None, writable=False)
    if launch.alone:
        past = list_alone(path)
        return _Content(past, past.store, writable=False, notice=Reason("open.lessons_view"))
    if launch.is_new:
        return _created(path, launch.settings, before_writing)
    if launch.path is None:
        return _own_session(path, launch.settings, before_writing)
    content = _loaded(path)
    before_writing()
    return content


def _loaded(path: Path) -> _Content:
    past = opened(path)
    ours = past.reading is None or past.reading.ours
    return _Content(past, past.store, ours, _notice(past))


def _notice(past: Past) -> Reason | None:
    """What the user should know of a file that is not ours."""
    reading = past.reading
    if reading is not None and not reading.ours:
        if reading.unreadable:
            return Reason("open.damaged", {"places": len(reading.unreadable)})
        return Reason("open.foreign", {"format": reading.format})
    return None


def _begun(settings: Settings) -> tuple[Entry, ...]:
    """The entries of a session that begins."""
    return entries_from([{"role": "system", "content": settings.system or SYSTEM_MESSAGE}])


def _created(path: Path, settings: Settings, before_writing: Callable[[], None]) -> _Content:
    if is_there(path):
        raise SessionFileError("file.exists", path=str(path))
    before_writing()
    past = begun(path, _begun(settings))
    if not settings.read_only:
        past.store.claim()
        past.store.save(past.timeline.base, None)
    return _Content(past, past.store, writable=True)


def _own_session(path: Path, settings: Settings, before_writing: Callable[[], None]) -> _Content:
    """This user's own session. One that is damaged is moved aside whole, and what is known of it goes on."""
    damaged: Past | None = None
    try:
        content = _loaded(path)
    except SessionFileError as error:
        if error.reason.id == "file.missing":
            before_writing()
            past = begun(path, _begun(settings))
            return _Content(past, past.store, writable=True)
    except TriptychError:  # there are no messages in it; by its name it would load every reader
        pass
    else:
        if content.notice is None or content.notice.id != "open.damaged":
            before_writing()
            return content
        damaged = content.past
    before_writing()
    past = remembered(path) or begun(path, damaged.timeline.base if damaged else _begun(settings))
    if settings.read_only:
        return _Content(past, past.store, writable=True)
    try:
        past.store.claim()
    except SessionFileError:
        return _Content(past, past.store, writable=True)  # another program writes it, which is told when it is shown
    try:
        aside = move_aside(path)
        if damaged or past.remembered:
            _saved_or_put_back(past, aside, path)
    except (OSError, SessionFileError) as error:
        past.store.leave()
        said = Reason("open.unsaved", {"path": str(path), "error": _why(error)})
        return _Content(past, None, writable=False, notice=said)
    return _Content(past, past.store, writable=True, moved_aside=Reason("open.moved_aside", {"path": str(aside)}))


def _saved_or_put_back(past: Past, aside: Path | None, path: Path) -> None:
    """Save at once: a session takes what it opens with for saved, and would leave without writing it."""
    try:
        past.store.save(past.timeline.entries(past.timeline.head), past.timeline.head)
    except SessionFileError:
        if aside is not None:
            aside.rename(path)
        raise


def _why(error: OSError | SessionFileError) -> str:
    """What the system said."""
    if isinstance(error, SessionFileError):
        return str(error.reason.values.get("error", error.reason.id))
    return error.strerror or type(error).__name__
