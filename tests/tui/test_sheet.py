"""The list that the panes share, and its structure, however quickly the session goes on."""

from __future__ import annotations

from typing import Any

from triptych.entries import Entry, entries_from
from triptych.events import Event
from triptych.layers import clear, summarize
from triptych.layers.summarize import SummaryPlan
from triptych.policy import preset
from triptych.reasons import Reason
from triptych.session import Session
from triptych_tui.outline import Outline
from triptych_tui.sheet import Sheet

TALK: list[dict[str, Any]] = [
    message
    for number in range(5)
    for message in (
        {"role": "user", "content": f"question {number}"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{number}", "function": {"name": "ls"}}]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": "text " * 50},
        {"role": "assistant", "content": f"answer {number}"},
    )
]


def structure(outline: Outline, entries: tuple[Entry, ...]) -> list[tuple[object, ...]]:
    rows = range(len(entries))
    return [(outline.turn_at(row), outline.is_orphan(row), str(outline.place(row))) for row in rows]


def followed() -> tuple[Session, Sheet, list[Event]]:
    session = Session(entries_from([{"role": "system", "content": "s"}, *TALK]), preset("lesson"))
    events: list[Event] = []
    session.subscribe(events.append)
    return session, Sheet(session, 0), events


def assert_as_if_opened_now(sheet: Sheet) -> None:
    fresh = Sheet(sheet.session, 0)
    assert sheet.entries == fresh.entries
    assert structure(sheet.outline, sheet.entries) == structure(fresh.outline, fresh.entries)
    rows = range(len(sheet.entries))
    assert sheet.total == fresh.total == sum(sheet.tokens_of(row) for row in rows)
    assert all(abs(sheet.tokens_of(row) - fresh.tokens_of(row)) <= 1 for row in rows)
    assert sum(sheet.parts().values()) == sheet.total
    assert set(sheet.parts()) == set(fresh.parts())
    assert [sheet.index_of(entry.id) for entry in sheet.entries] == list(rows)


def summarize_all(session: Session, action: int) -> None:
    parameters = session.policy.summarize
    assert parameters is not None
    planned = summarize.plan(session.entries, parameters, session.counter, session.new_ids(2))
    assert isinstance(planned, SummaryPlan)
    session.perform(planned.with_summary("What was said."), action)


def ask(session: Session, action: int) -> None:
    session.append("receive", {"role": "user", "content": "next"}, Reason("turn.received"), action)


def test_each_step_is_followed_for_what_it_is() -> None:
    session, sheet, events = followed()
    assert_as_if_opened_now(sheet)
    ask(session, session.begin_action())
    assert sheet.follow(events[-1]) == "appended"
    assert_as_if_opened_now(sheet)
    parameters = session.policy.clear
    assert parameters is not None
    session.perform(clear.plan(session.entries, parameters, session.counter), session.begin_action())
    assert sheet.follow(events[-1]) == "replaced"
    assert_as_if_opened_now(sheet)
    summarize_all(session, session.begin_action())
    assert sheet.follow(events[-1]) == "rebuilt"
    assert_as_if_opened_now(sheet)


def test_steps_that_land_before_the_first_is_heard_of_leave_the_right_structure() -> None:
    session, sheet, events = followed()
    action = session.begin_action()
    ask(session, action)
    summarize_all(session, action)
    changes = [sheet.follow(event) for event in events]
    assert changes == ["rebuilt", None]
    assert_as_if_opened_now(sheet)


def test_an_answer_and_what_is_cleared_right_after_it_are_both_counted() -> None:
    session, sheet, events = followed()
    action = session.begin_action()
    parameters = session.policy.clear
    assert parameters is not None
    ask(session, action)
    session.perform(clear.plan(session.entries, parameters, session.counter), action)
    assert [sheet.follow(event) for event in events] == ["rebuilt", None]
    assert_as_if_opened_now(sheet)


def test_two_steps_that_together_leave_as_many_entries_are_no_replacement() -> None:
    session, sheet, events = followed()
    action = session.begin_action()
    parameters = session.policy.clear
    assert parameters is not None
    session.perform(clear.plan(session.entries, parameters, session.counter), action)
    ask(session, action)
    assert sheet.follow(events[0]) == "rebuilt"
    assert_as_if_opened_now(sheet)


def test_a_legacy_call_and_ids_of_null_have_their_results() -> None:
    entries = entries_from(
        [
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}},
            {"role": "function", "name": "ls", "content": "a.txt"},
            {"role": "assistant", "tool_calls": [{"id": None, "function": {"name": "ls", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": None, "content": "b.txt"},
            {"role": "tool", "tool_call_id": "nobody", "content": "c.txt"},
        ]
    )
    outline = Outline(entries)
    assert [row for row in range(6) if outline.is_orphan(row)] == [5]
    groups = [outline.group_at(row) for row in (1, 3)]
    assert [group.results for group in groups if group is not None] == [[2], [4]]
