"""What the next save changes in the session file, line for line."""

from __future__ import annotations

from pathlib import Path

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from triptych.entries import Cleared, Entry, Summary, entries_from
from triptych.reasons import Reason
from triptych.storage.layout import message_chunk
from triptych_tui.file_changes import FileChanges, FileLine
from triptych_tui.widgets.messages_pane import MessagesPane
from triptych_tui.widgets.session_pane import SessionPane


def changes(saved: tuple[Entry, ...], coming: tuple[Entry, ...]) -> FileChanges:
    return FileChanges([message_chunk(entry.message)[0] for entry in saved], saved, coming, coming)


def all_lines(file: FileChanges) -> list[FileLine]:
    return [line for place in range(len(file)) for line in file.lines(place)]


def talk(turns: int) -> tuple[Entry, ...]:
    return entries_from([{"role": "system", "content": "s"}, *tool_talk(turns)])


def test_what_stays_and_goes_is_the_file_and_what_stays_and_comes_is_the_next_one() -> None:
    saved = talk(3)
    summary = Entry(90, {"role": "user", "content": "sum"}, (Summary(of=(1, 2, 3, 4)),))
    cleared = saved[7].replaced({**saved[7].message, "content": "gone"}, Cleared(keep=1))
    coming = (saved[0], summary, *saved[5:7], cleared, *saved[8:], Entry(91, {"role": "user", "content": "new"}))
    file = changes(saved, coming)
    lines = all_lines(file)
    for entries, other in ((saved, "+"), (coming, "-")):
        kept = "\n".join(line.text for line in lines if line.sign != other)
        chunks = ",\n".join(message_chunk(entry.message)[0] for entry in entries)
        assert kept.rstrip(",") == chunks.rstrip(","), "but for the comma behind what was the last message"
    replaced = [line for line in file.lines(file.place_of(4)) if line.sign]
    assert [(line.sign, line.offset) for line in replaced] == [("-", 3), ("+", 3)], "one line goes, one comes for it"
    assert [file.index_of(file.place_of(index)) for index in range(len(coming))] == list(range(len(coming)))
    assert file.entry_count == len(coming)


def test_a_list_that_is_on_disk_changes_nothing() -> None:
    saved = talk(2)
    file = changes(saved, saved)
    assert file.changed_lines == 0
    assert {line.sign for line in all_lines(file)} == {""}


async def test_an_unsaved_message_is_shown_where_it_comes_and_selected_as_itself(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(1))
    session.session.take_as_saved(None)
    await session.session.save()
    session.session.append("receive", {"role": "user", "content": "from elsewhere"}, Reason("turn.received"), 1)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "4 lines change on save" in screen_text(app), "what a save changes")
        await pilot.press("escape", "2", "end")
        assert app.screen.query_one(MessagesPane).selected == 5
        file = app.screen.query_one(SessionPane)
        assert file.selected == 5
        assert '+     "content": "from elsewhere"' in screen_text(app)
        await session.session.save()
        await until(pilot, lambda: "✓ saved" in screen_text(app), "saved")
        assert file.changed_lines == 0
        assert file.selected == 5


async def test_a_preview_tells_which_lines_would_change_and_what_a_cache_keeps(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4))
    session.session.take_as_saved(None)
    await session.session.save()
    app = app_on(session)
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.press("f3")
        await until(pilot, lambda: "2 lines would change" in screen_text(app), "the preview")
        assert "prompt cache ends here" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: "would change" not in screen_text(app), "left")
        assert "prompt cache ends here" not in screen_text(app)
