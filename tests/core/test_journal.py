"""The journal: what was left is there again, whatever happened in between."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import ClassVar

import pytest

from tests.support_desk import Desk, read, tool_turn
from tests.support_scripted_model import asks_for, fails, says
from tests.support_session_files import SYSTEM
from triptych import streaming
from triptych.checks import would_be_refused
from triptych.entries import Entry, Interrupted, Truncated, messages_of
from triptych.formats import FormatError
from triptych.layers import clear
from triptych.layers.clear import ClearParameters
from triptych.messages import Message
from triptych.models.base import ModelError, TextDelta
from triptych.policy import preset
from triptych.reasons import Reason
from triptych.recovery import take_up
from triptych.session import Session
from triptych.storage.journal import journal_path
from triptych.storage.kept_session import Past, begun, opened
from triptych.storage.session_file import SessionFileError
from triptych.storage.session_lock import lock_path

LESSON = preset("lesson")
RECEIVED = Reason("turn.received")
QUESTIONS = ("one", "two", "three", "four")


async def class_held(path: Path) -> Desk:
    """Four turns, in which all three layers have run."""
    desk = Desk([SYSTEM], LESSON, outputs=["x" * 500], file=path)
    for number, question in enumerate(QUESTIONS):
        summary = [says("Summary.")] if number == 3 else []
        await desk.ask(question, *summary, asks_for(read(f"c{number}")), says(f"answer {number}"))
    return desk


def again(path: Path) -> Session:
    """The session as the next program finds it; the one before has ended, and its lock with it."""
    lock_path(path).unlink(missing_ok=True)
    past = opened(path)
    session = Session(past.timeline, LESSON, past.store, is_saved=past.is_saved, forgotten=past.forgotten)
    if past.remembered:
        take_up(session, past.outside, past.draft)
    return session


def all_states(session: Session) -> list[tuple[object, ...]]:
    """Every list on the way to the head with marks and ids, and what each step says of itself."""
    timeline = session.timeline
    steps = [None, *timeline.path(), *timeline.ahead()]
    states: list[tuple[object, ...]] = []
    for step in steps:
        entries = timeline.entries(None if step is None else step.id)
        values = [(entry.id, entry.message, entry.marks, entry.pinned) for entry in entries]
        told = None if step is None else (step.id, step.parent, step.stage, str(step.reason), step.usage, step.at)
        states.append((values, told))
    return states


async def test_a_session_is_reopened_as_it_was_left(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    session.undo()
    await session.save()
    reopened = again(path)
    assert all_states(reopened) == all_states(session)
    assert reopened.is_saved
    assert reopened.redo()
    assert session.redo()
    assert all_states(reopened) == all_states(session)
    assert any(entry.has_mark(Truncated) for entry in reopened.entries)
    assert {mark.guessed for entry in reopened.entries for mark in entry.marks} == {False}


async def test_what_happens_after_reopening_is_remembered_as_well(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    await class_held(path)
    session = again(path)
    assert session.undo()
    session.append("receive", {"role": "user", "content": "another way"}, RECEIVED, 99)
    await session.save()
    reopened = again(path)
    assert all_states(reopened) == all_states(session)
    assert len(reopened.timeline.branches()) == 2
    assert reopened.new_ids(1) == session.new_ids(1)
    assert reopened.begin_action() == 100


async def test_what_was_not_saved_when_the_program_was_killed_is_there(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    before = path.read_bytes()
    session.append("receive", {"role": "user", "content": "said, then killed"}, RECEIVED, 50)
    assert path.read_bytes() == before
    reopened = again(path)
    assert messages_of(reopened.entries)[-1]["content"] == "said, then killed"
    assert not reopened.is_saved
    assert reopened.undo()
    assert reopened.entries[-1].message["content"] == "answer 3"


async def test_a_session_that_was_never_saved_is_there(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    past = begun(path, Desk([SYSTEM], LESSON).base)
    session = Session(past.timeline, LESSON, past.store)
    session.append("receive", {"role": "user", "content": "first words"}, RECEIVED, session.begin_action())
    assert not path.exists()
    assert messages_of(again(path).entries) == [SYSTEM, {"role": "user", "content": "first words"}]


async def test_a_kill_between_announcing_a_list_and_replacing_it(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    old = path.read_bytes()
    session.undo()
    await session.save()
    new = path.read_bytes()
    journal = journal_path(path)
    lines = journal.read_bytes().splitlines(keepends=True)
    assert json.loads(lines[-1])["kind"] == "done"
    journal.write_bytes(b"".join(lines[:-1]))
    assert all_states(again(path)) == all_states(session), "the list is in place, and was announced"
    path.write_bytes(old)
    reopened = again(path)
    assert all_states(reopened) == all_states(session), "it was announced, and is not in place"
    assert not reopened.is_saved
    await reopened.save()
    assert path.read_bytes() == new


async def test_what_another_program_made_of_the_list_is_a_step(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    left = messages_of(session.entries)
    messages = json.loads(path.read_text("utf-8"))
    messages[1]["content"] = "changed by hand"
    del messages[-1]
    path.write_text(json.dumps(messages), "utf-8")
    reopened = again(path)
    assert messages_of(reopened.entries) == messages
    assert [step.stage for step in reopened.timeline.path()][-1] == "outside"
    assert reopened.entries[2] is reopened.timeline.entries(reopened.timeline.path()[-2].id)[2], "the same entry"
    assert reopened.undo()
    assert messages_of(reopened.entries) == left
    reopened.redo()
    await reopened.save()
    assert messages_of(again(path).entries) == messages


async def test_what_is_said_after_another_programs_change_is_not_taken_for_its_change(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    await class_held(path)
    path.write_text(json.dumps([SYSTEM, {"role": "user", "content": "theirs"}]), "utf-8")
    session = again(path)
    session.append("receive", {"role": "user", "content": "mine, then killed"}, RECEIVED, 50)
    reopened = again(path)
    assert all_states(reopened) == all_states(session)
    assert not reopened.is_saved


async def test_calls_that_no_result_can_follow_are_not_closed(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    await class_held(path)
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    path.write_text(json.dumps([SYSTEM, legacy]), "utf-8")
    assert messages_of(again(path).entries) == [SYSTEM, legacy]


@pytest.mark.parametrize("cut", [2, 7, 40])
async def test_half_a_line_at_the_end_costs_that_line_alone(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    session.append("receive", {"role": "user", "content": "lost in the middle"}, RECEIVED, 50)
    journal = journal_path(path)
    journal.write_bytes(journal.read_bytes()[:-cut])
    reopened = again(path)
    assert messages_of(reopened.entries) == messages_of(session.entries)[:-1]
    reopened.append("receive", {"role": "user", "content": "and on"}, RECEIVED, 51)
    assert messages_of(again(path).entries) == messages_of(reopened.entries)


ENTRY = {"kind": "entry", "number": 900, "id": 900, "message": {"role": "user", "content": "x"}}
STEP = {
    "kind": "step",
    "id": 900,
    "parent": None,
    "action": 900,
    "stage": "append",
    "edits": [{"index": 1, "after": 0, "removed": [], "inserted": [0]}],
    "reason": {"id": "x"},
    "before": [1, 1],
    "after": [2, 2],
    "at": "2026-01-01T00:00:00+00:00",
}
NESTED = '{"reason":{"id":"x","values":{"a":' * 300 + "1" + "}}}" * 300


@pytest.mark.parametrize(
    "line",
    [
        json.dumps({**ENTRY, "number": float("inf")}),
        json.dumps({**ENTRY, "number": "900"}),
        json.dumps({**STEP, "after": [float("inf"), 1]}),
        json.dumps({**STEP, "seconds": 10**400}),
        json.dumps({**STEP, "reason": {"id": "x", "values": {"a": 0}}}).replace('"a": 0', f'"a": {NESTED}'),
        json.dumps({"kind": "intent", "sha256": "0", "head": [1]}),
        json.dumps({"kind": "intent", "sha256": [], "head": 1}),
    ],
)
async def test_a_line_that_makes_no_sense_costs_that_line_alone(tmp_path: Path, line: str) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    with journal_path(path).open("a") as file:
        file.write(line + "\n")
    assert all_states(again(path)) == all_states(session)


async def test_a_step_that_fits_nowhere_leaves_the_list_as_it_is_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    edit = {"index": -50, "after": 0, "removed": [], "inserted": [0]}
    with journal_path(path).open("a") as file:
        file.write(json.dumps({**STEP, "edits": [{**edit, "after": 999}]}) + "\n")
    assert messages_of(again(path).entries) == messages_of(session.entries)


async def test_a_message_too_deep_to_be_written_is_not_taken_up(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    deep = json.dumps({**ENTRY, "message": {"role": "user", "content": 0}}).replace("0}}", "[" * 480 + "]" * 480 + "}}")
    edit = {"index": 1, "after": 0, "removed": [], "inserted": [900]}
    step = json.dumps({**STEP, "parent": session.timeline.head, "edits": [edit]})
    with journal_path(path).open("a") as file:
        file.write(f"{deep}\n{step}\n")
    reopened = again(path)
    assert all_states(reopened) == all_states(session)
    reopened.append("receive", {"role": "user", "content": "on"}, RECEIVED, 1)
    await reopened.save()
    assert reopened.is_saved


def test_a_pipe_in_the_place_of_a_journal_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps([SYSTEM]), "utf-8")
    os.mkfifo(journal_path(path))
    session = again(path)
    session.append("receive", {"role": "user", "content": "on"}, RECEIVED, 1)
    assert all_states(again(path))[-1] == all_states(session)[-1]


async def test_calls_that_nobody_answered_are_closed_and_marked(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    desk = Desk([SYSTEM], LESSON, outputs=["one", "two"], file=path)
    await desk.ask("go", asks_for(read("a"), read("b")), says("done"))
    calls = desk.session.timeline.path()[1]
    assert calls.stage == "request"
    killed = desk.session.timeline.path()[2]
    lines = journal_path(path).read_bytes().splitlines(keepends=True)
    at_kill = next(at for at, line in enumerate(lines) if b'"kind":"step","id":%d,' % (killed.id + 1) in line)
    journal_path(path).write_bytes(b"".join(lines[:at_kill]))
    path.unlink()
    reopened = again(path)
    assert [entry.message["role"] for entry in reopened.entries] == ["system", "user", "assistant", "tool", "tool"]
    assert not reopened.entries[3].has_mark(Interrupted)
    assert reopened.entries[4].has_mark(Interrupted)
    assert reopened.undo()
    assert messages_of(reopened.entries) == [SYSTEM], "the turn is one action, its closing too"


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
@pytest.mark.parametrize("kept", [1, 2, 3])
async def test_open_calls_are_known_in_whatever_order_the_others_were_answered(
    tmp_path: Path, order: list[int], kept: int
) -> None:
    path = tmp_path / "s.json"
    desk = Desk([SYSTEM], LESSON, outputs=["one", "two", "three"], file=path)
    await desk.ask("go", asks_for(read("a"), read("b"), read("c")), says("done"))
    results = [desk.messages[3 + at] for at in order[:kept]]
    path.write_text(json.dumps([*desk.messages[:3], *results]), "utf-8")
    reopened = again(path)
    assert messages_of(reopened.entries)[3 : 3 + kept] == results
    assert not would_be_refused(messages_of(reopened.entries))


async def test_two_files_of_one_name_and_other_endings_have_each_their_past(tmp_path: Path) -> None:
    one, other = tmp_path / "talk.json", tmp_path / "talk.txt"
    session = (await class_held(one)).session
    other.write_text(json.dumps([SYSTEM, *tool_turn(1)]), "utf-8")
    elsewhere = again(other)
    elsewhere.append("receive", {"role": "user", "content": "on"}, RECEIVED, 1)
    assert all_states(again(one)) == all_states(session)
    assert all_states(again(other)) == all_states(elsewhere)


async def test_without_its_journal_a_list_opens_alone_and_marks_are_guessed(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    journal_path(path).unlink()
    reopened = again(path)
    assert messages_of(reopened.entries) == messages_of(session.entries)
    assert {mark.guessed for entry in reopened.entries for mark in entry.marks} == {True}
    assert any(entry.has_mark(Truncated) for entry in reopened.entries)


@pytest.mark.parametrize(
    "content", [b"", b"no journal", b'{"kind":"journal","version":99}\n', b"\xff\xfe\x00", b"[]\n"]
)
async def test_a_journal_that_cannot_be_used_is_moved_aside_with_the_first_change(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    journal_path(path).write_bytes(content)
    reopened = again(path)
    assert messages_of(reopened.entries) == messages_of(session.entries)
    assert journal_path(path).read_bytes() == content, "opening writes nothing"
    reopened.append("receive", {"role": "user", "content": "on"}, RECEIVED, 1)
    aside = journal_path(path).with_name("s.journal.jsonl.invalid")
    assert aside.read_bytes() == content
    assert messages_of(again(path).entries) == messages_of(reopened.entries)


async def test_a_journal_that_is_removed_meanwhile_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    journal_path(path).unlink()
    session.append("receive", {"role": "user", "content": "on"}, RECEIVED, 50)
    assert all_states(again(path)) == all_states(session)


async def test_a_list_without_a_file_and_with_an_older_journal_is_not_brought_back(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    await class_held(path)
    path.unlink()
    with pytest.raises(SessionFileError):
        opened(path)


async def test_a_damaged_list_is_not_read_from_the_journal_unasked(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    await class_held(path)
    path.write_bytes(b"broken")
    with pytest.raises(FormatError):
        opened(path)
    assert path.read_bytes() == b"broken"


async def test_the_journal_is_private_and_holds_each_message_once(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    for _ in range(20):
        session.undo()
        session.redo()
        await session.save()
    journal = journal_path(path)
    assert journal.stat().st_mode & 0o777 == 0o600
    assert journal.read_bytes().count(b"x" * 500) == 4


def test_a_past_is_not_remembered_without_a_journal(tmp_path: Path) -> None:
    past: Past = begun(tmp_path / "s.json", ())
    assert not past.remembered
    assert not journal_path(tmp_path / "s.json").exists(), "it begins with the first change"


async def test_what_had_come_of_an_answer_when_the_program_was_killed_is_kept_and_marked(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    session.append("receive", {"role": "user", "content": "and then?"}, RECEIVED, 50)
    session.keep_draft("The keeper ")
    session.keep_draft("lit the lamp, ")
    reopened = again(path)
    assert messages_of(reopened.entries)[-1] == {"role": "assistant", "content": "The keeper lit the lamp, "}
    assert reopened.entries[-1].has_mark(Interrupted)


async def test_a_draft_that_became_an_answer_is_not_told_twice(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    session.append("receive", {"role": "user", "content": "and then?"}, RECEIVED, 50)
    session.keep_draft("The keeper ")
    session.append("answer", {"role": "assistant", "content": "The keeper slept."}, RECEIVED, 50)
    assert messages_of(again(path).entries) == messages_of(session.entries)


async def test_forgotten_originals_are_nowhere_any_more_and_the_list_stays(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    entries, saved = session.entries, path.read_bytes()
    await session.forget_originals()
    assert session.entries == entries
    assert path.read_bytes() == saved
    assert b'"one"' not in journal_path(path).read_bytes()
    reopened = again(path)
    assert [(each.id, each.message, each.marks) for each in reopened.entries] == [
        (each.id, each.message, each.marks) for each in entries
    ]
    assert reopened.forgotten
    assert not reopened.undo()
    reopened.append("receive", {"role": "user", "content": "on"}, RECEIVED, 1)
    assert all_states(again(path)) == all_states(reopened)


async def test_what_is_said_while_originals_are_forgotten_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = (await class_held(path)).session
    forgotten = session.entries
    session.store = Slow(session)
    await session.forget_originals()
    assert session.store.undone is False, "the whole list is kept"
    assert session.timeline.base == forgotten
    assert messages_of(session.entries) == [*messages_of(forgotten), Slow.said]
    assert not session.is_saved
    assert session.forgotten
    assert all_states(again(path)) == all_states(session)
    await session.save()
    assert again(path).is_saved
    assert session.undo()
    assert session.entries is session.timeline.base


class Slow:
    """A session's own store, during whose forgetting a user wants something undone, and says something."""

    said: ClassVar[Message] = {"role": "user", "content": "meanwhile"}

    def __init__(self, session: Session) -> None:
        assert session.store is not None
        self.save, self.record, self.settle = session.store.save, session.store.record, session.store.settle
        self._session, self._forget = session, session.store.forget
        self._loop = asyncio.get_running_loop()
        self.undone: bool | None = None

    def forget(self, entries: tuple[Entry, ...]) -> None:
        self._forget(entries)
        asyncio.run_coroutine_threadsafe(self._say(), self._loop).result()

    async def _say(self) -> None:
        self.undone = self._session.undo()
        self._session.append("receive", self.said, RECEIVED, self._session.begin_action())


async def test_a_first_change_that_replaces_what_was_there_is_remembered(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps([SYSTEM, *tool_turn(1), *tool_turn(2)]), "utf-8")
    session = again(path)
    plan = clear.plan(session.entries, ClearParameters(keep=0), session.counter)
    session.perform(plan, session.begin_action())
    reopened = again(path)
    assert all_states(reopened) == all_states(session), "a mark's 0 is not nothing either"
    assert reopened.undo()


async def test_a_draft_of_an_answer_that_failed_is_not_told_after_the_end_of_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "DRAFT_SECONDS", 0.0)
    path = tmp_path / "s.json"
    desk = Desk([SYSTEM], LESSON, outputs=["found"], file=path)
    with pytest.raises(ModelError):
        await desk.ask("go", asks_for(read("a")), fails(after=[TextDelta("It begins and")]))
    assert messages_of(again(path).entries) == desk.messages
