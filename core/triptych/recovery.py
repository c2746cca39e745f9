"""Taking a session up again where it was left, however it was left."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from triptych.agent import interrupted_result
from triptych.edits import Edit, append_edit
from triptych.entries import Entry, Interrupted, messages_of
from triptych.layers.plan import make_plan
from triptych.messages import Message, answered_id, carries_result, native, role_of, tool_calls
from triptych.reasons import Reason
from triptych.session import Session

MOST_COMPARED = 5000
"""Messages that are compared each with each: comparing may take the square of them."""


def take_up(session: Session, outside: Sequence[Message] | None = None, draft: str = "") -> None:
    """Bring a session that was just opened in order, each change a step of its own.

    outside: what another program made of the list. It becomes a step; the list as it was left stays reachable.
    draft: what had come of an answer when the program was killed; it becomes a marked message.
    Calls that nobody answered, since the program was killed, get marked results.
    """
    if outside is not None:
        adopt(session, outside)
    _close_open_calls(session)
    if draft.strip() and (not session.entries or role_of(session.entries[-1].message) != "assistant"):
        message: Message = {"role": "assistant", "content": draft}
        session.append("answer", message, Reason("recovery.draft"), session.begin_action(), marks=(Interrupted(),))
        _close_open_calls(session)


def adopt(session: Session, messages: Sequence[Message]) -> None:
    """Go on with what another program has put into the file, as a step where it says something else."""
    entries = session.entries
    edits = tuple(_differences(session, entries, messages))
    if edits:
        removed, added = (sum(map(len, parts)) for parts in ([e.removed for e in edits], [e.inserted for e in edits]))
        reason = Reason("outside.changed", {"removed": removed, "added": added})
        session.perform(make_plan("outside", entries, edits, reason, session.counter), session.begin_action())
    session.take_as_saved(session.entries)


def _differences(session: Session, entries: Sequence[Entry], messages: Sequence[Message]) -> Iterator[Edit]:
    """What was changed, entry by entry; in a very long list, everything between the first and the last difference."""
    ours, theirs = ([json.dumps(message) for message in each] for each in (messages_of(entries), messages))
    shared = min(len(ours), len(theirs))
    start = next((at for at in range(shared) if ours[at] != theirs[at]), shared)
    end = next((at for at in range(shared - start) if ours[-1 - at] != theirs[-1 - at]), shared - start)
    ours, theirs = ours[start : len(ours) - end], theirs[start : len(theirs) - end]
    if len(ours) + len(theirs) > MOST_COMPARED:
        places: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(ours), 0, len(theirs))]
    else:
        places = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    for kind, first, last, first_new, last_new in places:
        if kind != "equal":
            removed = tuple(entries[start + first : start + last])
            new = messages[start + first_new : start + last_new]
            after = entries[start + first - 1].id if start + first else None
            yield Edit(start + first, after, removed, _entries_for(session, removed, new))


def _entries_for(session: Session, removed: Sequence[Entry], messages: Sequence[Message]) -> tuple[Entry, ...]:
    """Entries in place of others: where there are as many, each stands for its own."""
    first = session.new_ids(len(messages))
    is_one_to_one = len(removed) == len(messages)
    ids = [entry.id for entry in removed] if is_one_to_one else range(first, first + len(messages))
    return tuple(Entry(entry_id, message) for entry_id, message in zip(ids, messages, strict=True))


def _close_open_calls(session: Session) -> None:
    entries = session.entries
    answered = next((at for at in range(len(entries)) if not carries_result(entries[-1 - at].message)), len(entries))
    if answered == len(entries):
        return
    message = entries[-1 - answered].message
    results = Counter(answered_id(entry.message) for entry in entries[len(entries) - answered :])
    calls = []
    speaks = native(message) if session.policy.results_as == "user" else message
    for call in tool_calls(speaks):  # by their ids: results of parallel calls may stand in any order
        results[call.id] -= 1
        if results[call.id] < 0:
            calls.append(call)
    if not calls or role_of(message) != "assistant" or "function_call" in message:  # nothing that a result may follow
        return
    first = session.new_ids(len(calls))
    closing = [Entry(first + at, interrupted_result(message, call), (Interrupted(),)) for at, call in enumerate(calls)]
    reason = Reason("recovery.open_calls", {"calls": len(calls)})
    plan = make_plan("repair", entries, (append_edit(entries, *closing),), reason, session.counter)
    path = session.timeline.path()
    # Undone with what it closes: calls without results cannot be gone on from.
    session.perform(plan, path[-1].action if path else session.begin_action())
