"""How a session was found when it was not closed in order: what is here, what else there is, what was kept where."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from triptych.checks import would_be_refused
from triptych.entries import messages_of
from triptych.reasons import Reason
from triptych.session import Session
from triptych.storage.atomic import aside_path
from triptych.storage.journal import journal_path
from triptych.storage.kept_session import Past


class ListFound(NamedTuple):
    """A list: how many messages, and the time of its newest step or of its file (UTC)."""

    messages: int
    at: datetime | None


class Found(NamedTuple):
    """what: in a sentence. told: what was done about it.

    here: the list that the session goes on with. in_file, left: the lists that the file holds and that the session was
    left with, where that is another one; one can go on with `other` instead, the step after which it was.
    aside: where the journal as it was is kept. has_alone: the file's list can be opened alone.
    """

    name: str
    what: Reason
    told: tuple[Reason, ...]
    here: ListFound
    in_file: ListFound | None = None
    left: ListFound | None = None
    can_go_to_other: bool = False
    other: int | None = None
    aside: Path | None = None
    has_alone: bool = True


def found_in(session: Session, past: Past, left: int | None, moved_aside: Reason | None) -> Found | None:
    """What there is to say of a session that was just taken up; None where it was closed in order.

    left: the head that it was left with. moved_aside: its file was damaged, and is there now.
    """
    path, steps = past.store.path, session.timeline.path()
    done = tuple(step for step in steps if left is None or step.id > left) if past.remembered else ()
    what = moved_aside or _what(past, has_repairs=bool(done))
    if what is None:
        return None
    found = Found(
        path.name,
        what,
        _told(past, tuple(step.reason for step in done)),
        ListFound(len(session.entries), steps[-1].at if steps else None),
        aside=aside_path(journal_path(path)) if past.lost or past.unusable else None,
        has_alone=moved_aside is None and past.reading is not None and past.remembered,
    )
    if moved_aside is not None or past.reading is None or not past.remembered:
        return found
    in_file = ListFound(len(past.reading.messages), past.store.on_disk.modified if past.store.on_disk else None)
    if past.outside is not None:
        return _with_other(found._replace(left=_list_after(session, left)), session, left)
    if past.is_saved:
        return found
    return _with_other(found._replace(in_file=in_file), session, past.in_file)


def _what(past: Past, *, has_repairs: bool) -> Reason | None:
    if past.unusable:
        return Reason("found.unusable")
    if past.lost:
        return Reason("found.lost", {"steps": past.lost})
    if past.outside is not None:
        return Reason("open.changed_outside")
    not_saved = past.remembered and not past.is_saved and past.timeline.last_id > 0
    return Reason("open.recovered") if not_saved or has_repairs else None


def _told(past: Past, reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """What was done, step by step. Where steps were lost, it was no other program that changed the list."""
    instead = Reason("found.not_told")
    return tuple(instead if past.lost and each.id == "outside.changed" else each for each in reasons)


def _list_after(session: Session, step_id: int | None) -> ListFound:
    at = session.timeline.step(step_id).at if step_id is not None else None
    return ListFound(len(session.timeline.entries(step_id)), at)


def _with_other(found: Found, session: Session, step_id: int | None) -> Found:
    """With a way to another list, unless nothing could go on from there."""
    timeline = session.timeline
    can = step_id != timeline.head and not would_be_refused(messages_of(timeline.entries(step_id)))
    return found._replace(can_go_to_other=can, other=step_id if can else None)
