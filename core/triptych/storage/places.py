"""Where sessions are kept unless a user says otherwise."""

from __future__ import annotations

from pathlib import Path

DEFAULT_NAME = "default.json"


def sessions_folder() -> Path:
    """The folder of this user's sessions."""
    from platformdirs import user_data_path

    return user_data_path("triptych") / "sessions"


def default_session_path() -> Path:
    """The session that is opened when none is named."""
    return sessions_folder() / DEFAULT_NAME


def copied_entry_path() -> Path:
    """Where the entry that was copied last stands, for terminals that keep their clipboard to themselves."""
    from platformdirs import user_data_path

    return user_data_path("triptych") / "copied.json"


def lesson_session_path() -> Path:
    """The session of the lesson's own agent."""
    return Path.home() / ".lyrj-agent" / "sessions" / DEFAULT_NAME
