"""What was said in a session is known whatever its layers, its repairs and other programs have made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support_desk import LESSON, LONG, SYSTEM, Desk, questions, read, tool_turn
from tests.support_replay import Held, asked, call, log, long_session
from tests.support_scripted_model import asks_for, says
from triptych.entries import Entry, Repaired, Truncated, entries_from, messages_of
from triptych.formats.notices import guess_marks
from triptych.layers import truncate
from triptych.layers.truncate import TruncateParameters
from triptych.messages import Message
from triptych.pins import plan as pin_plan
from triptych.policy import Policy, preset
from triptych.recording import Recording, as_said
from triptych.recovery import adopt
from triptych.storage.kept_session import timeline_on_disk


def said(desk: Desk) -> list[Message]:
    return messages_of(as_said(desk.session.timeline))


@pytest.mark.parametrize(("policy", "window"), [(preset("lesson"), 8192), (preset("robust"), 1500)])
async def test_what_layers_took_away_is_there_in_its_place(policy: Policy, window: int) -> None:
    messages = long_session(20)
    held = Held(messages, policy, window)
    await held.hold()
    assert len(held.messages) < len(messages)
    assert messages_of(as_said(held.session.timeline)) == messages


async def test_what_was_undone_was_not_said() -> None:
    desk = Desk(questions(4), LESSON, outputs=[LONG])
    await desk.ask("read", says("summary"), asks_for(read("a")), says("done"))
    assert desk.messages[1]["content"].endswith("summary")
    whole = said(desk)
    assert whole[:9] == questions(4)
    assert [message["content"] for message in whole[9:]] == ["read", None, LONG, "done"]
    desk.session.undo()
    assert said(desk) == questions(4)


async def test_a_pin_is_no_other_message_but_stays_a_pin() -> None:
    desk = Desk([SYSTEM, *tool_turn(1)], LESSON)
    session = desk.session
    cut = truncate.plan(session.entries, TruncateParameters.lesson(), session.counter)
    session.perform(cut, session.begin_action())
    session.perform(pin_plan(session.entries, 3, session.counter), session.begin_action())
    assert said(desk) == [SYSTEM, *tool_turn(1)]
    assert [entry.pinned for entry in as_said(session.timeline)] == [False, False, True, True, False]


async def test_repairs_are_nobodys_words() -> None:
    calling: Message = {"role": "assistant", "content": None, "tool_calls": [call("a")]}
    desk = Desk([SYSTEM, {"role": "user", "content": "read"}, calling], LESSON)
    await desk.ask("and?", says("well"))
    assert any(entry.has_mark(Repaired) for entry in desk.entries)
    assert [message["role"] for message in said(desk)] == ["system", "user", "assistant", "user", "assistant"]


async def test_what_another_program_changed_is_what_was_said() -> None:
    desk = Desk(questions(3), LESSON)
    await desk.ask("fourth", says("summary"), says("answer"))
    summarized = desk.messages
    assert summarized[1]["content"].endswith("summary")
    other: Message = {"role": "user", "content": "from elsewhere"}
    changed: Message = {"role": "assistant", "content": "changed"}
    adopt(desk.session, [*summarized[:3], other, *summarized[3:-1], changed])
    assert said(desk) == [*questions(3)[:3], other, *questions(3)[3:], {"role": "user", "content": "fourth"}, changed]
    adopt(desk.session, [SYSTEM, other])
    assert said(desk) == [SYSTEM, other]
    adopt(desk.session, [other])
    adopt(desk.session, [SYSTEM, other])
    assert said(desk) == [SYSTEM, other]


async def test_the_list_in_a_file_is_known_by_its_journal_wherever_the_head_has_gone(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    desk = Desk([SYSTEM], LESSON, outputs=[log(1)] * 4, file=path)
    for number in range(4):
        summary = [says("summary")] * (number == 3)
        await desk.ask(f"read {number}", *summary, asks_for(read("a")), says("done"))
    messages = desk.messages
    timeline = timeline_on_disk(path, messages)
    assert timeline is not None
    whole = messages_of(as_said(timeline))
    assert [message["content"] for message in whole if message["role"] == "tool"] == [log(1)] * 4
    assert len(whole) > len(desk.messages)
    desk.session.undo()
    assert messages_of(as_said(timeline_on_disk(path, messages) or desk.session.timeline)) == whole
    path.write_text("[]", "utf-8")
    assert timeline_on_disk(path, []) is None
    assert timeline_on_disk(tmp_path / "none.json", []) is None


def test_a_recording_knows_what_it_has_lost() -> None:
    assert Recording(entries_from([SYSTEM, *asked(1, log(1))]), remembered=True).shortened == 0
    cut = Entry(0, {"role": "tool", "content": "…"}, (Truncated(),))
    assert Recording((cut, *guess_marks([SYSTEM])), remembered=False).shortened == 1
