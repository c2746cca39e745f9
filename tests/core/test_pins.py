"""Pinning: the whole exchange, as a step that is undone, kept and heeded; no original comes of it."""

from __future__ import annotations

from pathlib import Path

from tests.support_desk import Desk, tool_turn
from tests.support_session_files import SYSTEM
from triptych import pins
from triptych.entries import Cleared
from triptych.layers import clear
from triptych.messages import Message
from triptych.policy import preset
from triptych.session import Session
from triptych.storage.kept_session import opened
from triptych.storage.session_lock import lock_path

LESSON, ROBUST = preset("lesson"), preset("robust")
BATCH: list[Message] = [
    {"role": "user", "content": "both"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": each, "type": "function", "function": {"name": "read_file", "arguments": "{}"}} for each in "ab"
        ],
    },
    {"role": "tool", "tool_call_id": "a", "content": "x"},
    {"role": "tool", "tool_call_id": "b", "content": "y"},
]


def pin(session: Session, index: int) -> None:
    session.perform(pins.plan(session.entries, index, session.counter), session.begin_action())


def pinned(session: Session) -> list[int]:
    return [index for index, entry in enumerate(session.entries) if entry.pinned]


def test_any_of_an_exchange_pins_all_of_it() -> None:
    for index, together in enumerate([[0], [1], [2, 3, 4], [2, 3, 4], [2, 3, 4]]):
        session = Desk([SYSTEM, *BATCH], LESSON).session
        pin(session, index)
        assert pinned(session) == together


def test_pinning_is_a_step_that_is_undone_and_pressed_again_lets_go() -> None:
    session = Desk([SYSTEM, *BATCH], LESSON).session
    before = session.entries
    pin(session, 3)
    assert pinned(session) == [2, 3, 4]
    assert session.timeline.path()[-1].reason.id == "pin.done"
    session.undo()
    assert session.entries is before
    session.redo()
    pin(session, 2)
    assert pinned(session) == []


def test_a_pin_makes_no_original_and_hides_no_maker() -> None:
    session = Desk([SYSTEM, *(message for n in range(4) for message in tool_turn(n))], LESSON).session
    assert LESSON.clear is not None
    session.perform(clear.plan(session.entries, LESSON.clear, session.counter), session.begin_action())
    made = session.timeline.maker_of(session.entries[3])
    pin(session, 3)
    pin(session, 15)
    assert session.timeline.original(session.entries[15].id) is None
    assert session.entries[3].has_mark(Cleared)
    assert made is not None
    assert session.timeline.maker_of(session.entries[3]) is made
    assert session.timeline.maker_of(session.entries[15]) is None


async def test_pins_are_there_again_and_heeded(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    desk = Desk([SYSTEM, *(message for n in range(6) for message in tool_turn(n))], ROBUST, file=path)
    pin(desk.session, 3)
    await desk.session.save()
    lock_path(path).unlink(missing_ok=True)
    again = Session(opened(path).timeline, ROBUST)
    assert pinned(again) == [2, 3]
    assert ROBUST.clear is not None
    cleared = clear.plan(again.entries, ROBUST.clear, again.counter)
    assert [edit.index for edit in cleared.edits] == [7, 11]
