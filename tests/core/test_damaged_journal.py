"""A journal that was damaged: what fits stays, the list in the file stays reachable, its bytes are kept aside."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support_desk import Desk
from tests.support_session_files import SYSTEM
from triptych.entries import messages_of
from triptych.messages import Message
from triptych.policy import preset
from triptych.reasons import Reason
from triptych.recovery import take_up
from triptych.session import Session
from triptych.storage.journal import journal_path
from triptych.storage.kept_session import Past, entries_on_disk, opened

LESSON = preset("lesson")
QUESTIONS = ("one", "two", "three", "four")
GARBLED = b'{"kind": garbled\n'


def question(text: str) -> Message:
    return {"role": "user", "content": text}


def ask(session: Session, text: str) -> None:
    session.append("receive", question(text), Reason("turn.received"), session.begin_action())


async def talk(path: Path) -> Session:
    """Four questions; two are taken back, and another way begins; all is saved."""
    session = Desk([SYSTEM], LESSON, file=path).session
    for text in QUESTIONS:
        ask(session, text)
        await session.save()
    session.undo()
    session.undo()
    ask(session, "another way")
    await session.save()
    session.store.leave()  # else it may hold its lock until it is collected
    return session


def lines_of(path: Path) -> list[bytes]:
    return journal_path(path).read_bytes().splitlines(keepends=True)


def is_kept(path: Path, data: bytes) -> bool:
    """Whether these bytes begin the journal, or one that was set aside."""
    return any(each.read_bytes().startswith(data) for each in path.parent.glob("s.journal.jsonl*"))


def list_on_disk(path: Path) -> list[Message]:
    return list(json.loads(path.read_bytes()))


def taken_up(past: Past) -> Session:
    session = Session(past.timeline, LESSON, past.store, is_saved=past.is_saved, forgotten=past.forgotten)
    take_up(session, past.outside, past.draft)
    return session


def lists_of(session: Session) -> list[list[Message]]:
    """Every list of every branch; each can be gone to and shown."""
    timeline = session.timeline
    lists = [messages_of(timeline.base)]
    for step in list(timeline.steps()):
        session.seek(step.id)
        lists.append(messages_of(session.viewed))
    session.seek(timeline.head)
    return lists


async def damaged(path: Path, word: bytes, instead: bytes) -> bytes:
    """The journal of a talk, in which the first line with this word is another one."""
    await talk(path)
    lines = lines_of(path)
    place = next(at for at, line in enumerate(lines) if word in line)
    data = b"".join([*lines[:place], instead, *lines[place + 1 :]])
    journal_path(path).write_bytes(data)
    return data


async def test_a_step_that_cannot_be_read_costs_itself_and_what_hangs_on_it(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    data = await damaged(path, b'"step","id":3', GARBLED)
    on_disk = list_on_disk(path)
    past = opened(path)
    assert past.lost == 1, "the fourth question followed the third; the other way did not"
    session = taken_up(past)
    one, two = question("one"), question("two")
    assert lists_of(session) == [[SYSTEM], [SYSTEM, one], [SYSTEM, one, two], on_disk]
    ask(session, "and on")
    assert is_kept(path, data)


async def test_a_journal_with_a_gap_is_not_believed_where_it_tells_of_another_list(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    desk = Desk([SYSTEM, question("zero")], LESSON, file=path)
    ask(desk.session, "one")
    await desk.session.save()
    on_disk = list_on_disk(path)
    assert messages_of(entries_on_disk(path, on_disk) or ()) == on_disk
    lines = lines_of(path)
    place = next(at for at, line in enumerate(lines) if b'"system"' in line)
    lines[place] = GARBLED
    journal_path(path).write_bytes(b"".join(lines))
    assert entries_on_disk(path, on_disk) is None


async def test_a_list_of_which_no_step_is_left_is_a_step_again(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    data = await damaged(path, b'"step","id":5', GARBLED)
    on_disk = list_on_disk(path)
    session = taken_up(opened(path))
    assert messages_of(session.entries) == on_disk
    assert session.timeline.path()[-1].stage == "outside"
    assert session.undo()
    assert messages_of(session.entries) == [SYSTEM, question("one"), question("two")]
    assert session.redo()
    await session.save()
    assert is_kept(path, data)
    again = opened(path)
    assert (again.is_saved, again.lost, again.outside) == (True, 0, None)
    assert messages_of(again.timeline.entries(again.timeline.head)) == on_disk


async def test_a_step_that_fits_nowhere_is_counted_and_its_journal_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    await talk(path)
    lines = lines_of(path)
    place = next(at for at, line in enumerate(lines) if b'"step","id":3' in line)
    step = json.loads(lines[place])
    step["edits"][0]["after"] = 999
    lines[place] = json.dumps(step).encode() + b"\n"
    data = b"".join(lines)
    journal_path(path).write_bytes(data)
    past = opened(path)
    assert past.lost == 2, "it and the fourth question"
    assert past.is_saved
    assert journal_path(path).read_bytes() == data, "opening writes nothing"
    session = taken_up(past)
    ask(session, "and on")
    await session.save()
    assert (tmp_path / "s.journal.jsonl.invalid").read_bytes() == data
    past.store.leave()
    again = opened(path)
    assert (again.lost, again.is_saved) == (0, True)
    assert lists_of(taken_up(again)) == lists_of(session)


async def test_where_the_head_went_after_a_step_was_lost(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = await talk(path)
    session.undo()
    session.undo()
    await session.save()
    lines = lines_of(path)
    place = next(at for at, line in enumerate(lines) if b'"step","id":3' in line)
    journal_path(path).write_bytes(b"".join([*lines[:place], *lines[place + 1 :]]))
    past = opened(path)
    assert messages_of(past.timeline.entries(past.timeline.head)) == [SYSTEM, question("one")]
    assert past.is_saved


async def test_a_message_of_the_beginning_that_cannot_be_read_is_there_by_the_file(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps([SYSTEM, question("zero"), {"role": "assistant", "content": "Yes."}], indent=2), "utf-8")
    past = opened(path)
    session = Session(past.timeline, LESSON, past.store)
    ask(session, "one")
    await session.save()
    past.store.leave()
    on_disk, lines = list_on_disk(path), lines_of(path)
    place = next(at for at, line in enumerate(lines) if b"zero" in line)
    journal_path(path).write_bytes(b"".join([*lines[:place], GARBLED, *lines[place + 1 :]]))
    session = taken_up(opened(path))
    assert messages_of(session.entries) == on_disk
    await session.save()
    assert opened(path).outside is None, "it is told once"


@pytest.mark.parametrize(
    ("content", "unusable"), [(b"no journal", True), (b'{"kind":"journal","version":99}\n', True), (b"", False)]
)
async def test_a_journal_of_which_nothing_can_be_read_is_told(tmp_path: Path, content: bytes, unusable: bool) -> None:
    path = tmp_path / "s.json"
    await talk(path)
    journal_path(path).write_bytes(content)
    past = opened(path)
    assert past.unusable == unusable
    assert not past.remembered


DAMAGES = st.lists(st.tuples(st.sampled_from(["gone", "garbled", "twice", "swapped"]), st.integers(1, 99)), min_size=1)


@settings(max_examples=settings().max_examples // 2)
@given(DAMAGES, st.integers(1, 99))
def test_whatever_befalls_its_lines_what_fits_and_the_file_can_be_gone_to(
    damages: list[tuple[str, int]], other: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_damage_and_open(Path(folder) / "s.json", damages, other))


async def _damage_and_open(path: Path, damages: list[tuple[str, int]], other: int) -> None:
    await talk(path)
    on_disk, lines = list_on_disk(path), lines_of(path)
    for kind, number in damages:
        at, to = (1 + each % (len(lines) - 1) for each in (number, number + other))
        match kind:
            case "gone":
                lines[at] = b"\n"
            case "garbled":
                lines[at] = GARBLED
            case "twice":
                lines.insert(to, lines[at])
            case "swapped":
                lines[at], lines[to] = lines[to], lines[at]
    data = b"".join(lines)
    journal_path(path).write_bytes(data)
    past = opened(path)
    session = taken_up(past)
    assert on_disk in lists_of(session)
    ask(session, "and on")
    await session.save()
    past.store.leave()
    assert is_kept(path, data)
    again = opened(path)
    assert again.is_saved
    assert lists_of(taken_up(again)) == lists_of(session)


async def test_a_journal_that_tells_other_words_than_the_file_costs_none_of_the_files(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    (await talk(path)).store.leave()  # type: ignore[union-attr]
    journal_path(path).write_bytes(journal_path(path).read_bytes().replace(b'"two"', b'"a lie"'))

    past = opened(path)

    assert list(past.outside or ()) == list_on_disk(path)
    assert past.lost
    assert entries_on_disk(path, list_on_disk(path)) is None


async def test_half_a_surrogate_pair_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = Desk([SYSTEM], LESSON, file=path).session
    ask(session, "half a pair: \ud800")
    await session.save()
    session.store.leave()  # type: ignore[union-attr]

    past = opened(path)

    assert (past.lost, past.outside, past.is_saved) == (0, None, True)
