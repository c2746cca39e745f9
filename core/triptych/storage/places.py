"""Where sessions are kept unless a user says otherwise."""

from __future__ import annotations

from itertools import count
from pathlib import Path

DEFAULT_NAME = "default.json"


def sessions_folder() -> Path:
    """The folder of this user's sessions."""
    from platformdirs import user_data_path

    return user_data_path("triptych") / "sessions"


def default_session_path() -> Path:
    """The session that is opened when none is named."""
    return sessions_folder() / DEFAULT_NAME


def free_path(folder: Path) -> Path:
    """A name for another session in a folder, with which nothing is there yet."""
    numbers = count(2)
    return next(each for number in numbers if not (each := folder / f"session-{number}.json").exists())


def copied_entry_path() -> Path:
    """Where the entry that was copied last stands, for terminals that keep their clipboard to themselves."""
    from platformdirs import user_data_path

    return user_data_path("triptych") / "copied.json"
