"""Reading tools: unfold, original, search, filter, copy, on real sessions and in a real terminal."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, says
from tests.support_workbench import SYSTEM, workbench
from triptych.entries import entries_from
from triptych.policy import preset
from triptych.reasons import Reason
from triptych.session import Session
from triptych_tui.app import TriptychApp
from triptych_tui.launch import OpenedSession
from triptych_tui.row_filter import FilterError, parse_filter
from triptych_tui.search import SearchError, find
from triptych_tui.sheet import Sheet
from triptych_tui.widgets.chat_pane import ChatPane
from triptych_tui.widgets.find_field import FindField
from triptych_tui.widgets.messages_pane import MessagesPane
from triptych_tui.widgets.session_pane import SessionPane

HOSTILE = (
    "begin \x1b]52;c;aG9zdGlsZTQ0MTc=\x07 \x1b[2J\x1b[13;37H [@click=app.quit]x[/] \u202e\u200b\x9b31m nul\x00 end"
)
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u200b]")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this user's data goes."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return tmp_path


def messages_of(app: TriptychApp) -> MessagesPane:
    return app.screen.query_one(MessagesPane)


async def go_to(pilot: Pilot[Any], app: TriptychApp, index: int) -> None:
    """Put the focus into the messages and the cursor on an entry."""
    await pilot.press("escape", "2", "g", *["j"] * (index + 1))
    await until(pilot, lambda: messages_of(app).selected == index, "the cursor is there")


async def seek(pilot: Pilot[Any], app: TriptychApp, text: str, note: str) -> None:
    """Open the search and write `text`, until the field says `note`."""
    await pilot.press("/")
    await until(pilot, lambda: app.screen.focused is not None and app.screen.focused.id == "find-text", "the field")
    app.screen.query_one("#find-text", Input).insert_text_at_cursor(text)
    await until(pilot, lambda: field_row(app).endswith(note), f"the field says {note!r}")


def field_row(app: TriptychApp) -> str:
    region = app.screen.query_one(FindField).region
    return screen_text(app).splitlines()[region.y]


async def write_filter(pilot: Pilot[Any], app: TriptychApp, text: str) -> None:
    await pilot.press("f")
    await until(pilot, lambda: app.screen.focused is not None and app.screen.focused.id == "find-text", "the field")
    app.screen.query_one("#find-text", Input).value = text
    await pilot.press("enter")
    await pilot.pause()


def two_turns() -> list[dict[str, Any]]:
    """Two turns with four calls, so that layer 2 has something to clear and layer 3 has not."""
    return [message for message in tool_talk(4) if message["content"] not in ("question 2", "question 3")]


async def clear_two(pilot: Pilot[Any], session: OpenedSession) -> None:
    """Layer 2 by hand: the two oldest of four results go."""
    await pilot.press("f3")
    await until(pilot, lambda: "leave everything as it was" in screen_text(pilot.app), "the panel")  # type: ignore[arg-type]
    await pilot.press("enter")
    await until(pilot, lambda: session.session.is_saved and session.on_disk() is not None, "applied")


def rows_of(app: TriptychApp) -> list[str]:
    """The rows of the messages pane, without the scroll bar."""
    pane = messages_of(app)
    return [pane.render_line(y).text.rstrip() for y in range(pane.size.height)]


# Unfolding


async def test_enter_unfolds_the_json_beneath_its_row_and_folds_it_again(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4))
    app = app_on(session)
    async with app.run_test(size=(120, 70)) as pilot:
        await go_to(pilot, app, 2)
        folded = rows_of(app)
        await pilot.press("enter")
        await until(pilot, lambda: '"tool_calls"' in "\n".join(rows_of(app)), "the JSON")
        shown = rows_of(app)
        place = next(number for number, row in enumerate(shown) if row.startswith("▌  2 A"))
        body = [row[1:].strip() for row in shown[place + 1 :] if row.startswith("▌")]
        assert json.loads("\n".join(body[body.index("{") :])) == session.session.entries[2].message
        after = place + 1 + len(body)
        assert shown[after].split()[:2] == ["3", "T"], "the next row follows"
        await pilot.press("enter")
        await until(pilot, lambda: rows_of(app) == folded, "folded again")


async def test_what_is_unfolded_stays_so_while_the_list_changes_above_and_below(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", two_turns(), ScriptedModel([says("done")]))
    app = app_on(session)
    async with app.run_test(size=(120, 60)) as pilot:
        await go_to(pilot, app, 5)
        await pilot.press("enter")
        await clear_two(pilot, session)
        assert '"content": "question 1"' in "\n".join(rows_of(app))
        await pilot.press("i", "h", "i", "enter")
        await until(pilot, lambda: "last turn" in screen_text(app), "the turn is over")
        await pilot.press("escape", "2", "g")
        await pilot.pause()
        rows = rows_of(app)
        assert '"content": "question 1"' in "\n".join(rows)
        numbers = [int(row[1:5]) for row in rows if row[1:5].strip().isdigit()]
        assert numbers == list(range(len(numbers))), "every row once"
        await pilot.press("u", "u")
        await until(pilot, lambda: "CLEARED" not in "\n".join(rows_of(app)), "undone")
        assert '"content": "question 1"' in "\n".join(rows_of(app))


async def test_huge_and_deep_messages_unfold_as_far_as_can_be_read(tmp_path: Path) -> None:
    deep: Any = "end"
    for _ in range(150):
        deep = [deep]
    messages = [
        {"role": "user", "content": "x" * 2_000_000},
        {"role": "user", "content": "many", "parts": [{"number": number} for number in range(100_000)]},
        {"role": "user", "content": "deep", "deep": deep},
    ]
    session = opened(tmp_path / "s.json", messages)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        for index, words in ((1, "1,996,000 more characters"), (2, "the rest is not shown"), (3, '"end"')):
            await go_to(pilot, app, index)
            await pilot.press("enter")
            pane = messages_of(app)
            await until(pilot, lambda pane=pane: pane.virtual_size.height > 40, "unfolded")
            lines = [strip.text for strip in pane._block_strips(index + 1)]
            assert len(lines) <= 410
            assert words in "\n".join(lines)
            assert all(len(line) <= pane.size.width for line in lines)
            await pilot.press("enter")


async def test_a_row_at_the_end_that_is_followed_unfolds_from_its_beginning(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", [*tool_talk(8), {"role": "user", "content": "long " * 600}])
    app = app_on(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("escape", "2", "G", "enter")
        await until(pilot, lambda: "33 U" in rows_of(app)[0], "its row is at the top")
        assert rows_of(app)[1][9:].startswith("3,000÷3.5 = 857.14  shown as 857")
        assert '"role": "user"' in "\n".join(rows_of(app)[:6])


# Originals


async def test_v_shows_the_original_under_what_replaced_it_and_hides_it_again(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4, characters=400))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await clear_two(pilot, session)
        await go_to(pilot, app, 3)
        await pilot.press("v")
        await until(pilot, lambda: "original" in "\n".join(rows_of(app)), "the original")
        shown = "\n".join(rows_of(app))
        original, now = shown.split("original")[1].split("now")
        assert "the model does not see it" in original
        assert "0" * 50 in original
        assert re.search(r"~\d+ tok", original)
        assert re.search(r"~\d+ tok", now)
        assert session.session.entries[3].message["content"][:10] in now
        await pilot.press("v")
        await until(pilot, lambda: "original" not in "\n".join(rows_of(app)), "hidden again")


async def test_a_long_original_shows_its_beginning_and_enter_shows_all(tmp_path: Path) -> None:
    messages = tool_talk(4)
    messages[2]["content"] = "\n".join(f"line {number}" for number in range(200))
    session = opened(tmp_path / "s.json", messages)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await clear_two(pilot, session)
        await go_to(pilot, app, 3)
        await pilot.press("v")
        await until(pilot, lambda: "192 more lines  Enter shows all" in "\n".join(rows_of(app)), "the beginning")
        await pilot.press("enter")
        pane = messages_of(app)
        await until(pilot, lambda: pane.virtual_size.height > 200, "all")
        assert "line 199" in "\n".join(strip.text for strip in pane._block_strips(4))


async def test_v_on_a_summary_lists_the_entries_it_stands_for(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(5), ScriptedModel([says("All was read.")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f4")
        await until(pilot, lambda: "exactly as sent" in screen_text(app), "the request")
        await pilot.press("enter")
        await until(pilot, lambda: "All was read." in screen_text(app), "the summary")
        await pilot.press("enter")
        await until(pilot, lambda: "SUMMARY" in "\n".join(rows_of(app)), "applied")
        await go_to(pilot, app, 1)
        await pilot.press("v")
        await until(pilot, lambda: "8 entries" in "\n".join(rows_of(app)), "the entries")
        shown = "\n".join(rows_of(app))
        assert "the model does not see them" in shown
        assert "╎U   question 0" in shown
        assert "question 1" in shown
        assert "3 more, ~" in shown
        assert "All was read." in shown.split("now")[1]
        await pilot.press("enter")
        await until(pilot, lambda: "╎A   answer 1" in "\n".join(rows_of(app)), "all of them")


async def test_v_says_when_there_is_no_other_original(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(2))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await go_to(pilot, app, 1)
        await pilot.press("v")
        await until(pilot, lambda: "No layer changed entry 1" in screen_text(app), "the sentence")


def test_v_says_when_the_file_no_longer_holds_the_original(tmp_path: Path) -> None:
    cleared = preset("lesson").clear
    assert cleared is not None
    messages = [{"role": "system", "content": SYSTEM}, *tool_talk(3)]
    messages[3]["content"] = cleared.placeholder
    file = tmp_path / "s.json"
    file.write_text(json.dumps(messages, indent=2, ensure_ascii=False), "utf-8")
    with workbench(tmp_path, file) as terminal:
        terminal.wait_for("following")
        terminal.press("escape")
        terminal.settle()
        terminal.press("2")
        terminal.settle()
        terminal.press("g", "j", "j", "j", "j", "v")
        terminal.wait_for("is not known any more")


async def test_an_entry_that_was_undone_is_its_own_original_again(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await clear_two(pilot, session)
        await pilot.press("escape", "2", "u")
        await until(pilot, lambda: "CLEARED" not in "\n".join(rows_of(app)), "undone")
        await go_to(pilot, app, 3)
        await pilot.press("v")
        await until(pilot, lambda: "No layer changed entry 3" in screen_text(app), "the sentence")


# Search


async def test_search_goes_to_hits_as_it_is_written_and_n_goes_on_around_the_ends(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await go_to(pilot, app, 6)
        await seek(pilot, app, "QUESTION", "3/4")
        assert messages_of(app).selected == 9, "the next one from here, in any case"
        await pilot.press("enter")
        await until(pilot, lambda: "/QUESTION 3/4" in screen_text(app), "kept")
        assert app.screen.focused is messages_of(app)
        for key, index, count in (("n", 13, "4/4"), ("n", 1, "1/4"), ("N", 13, "4/4"), ("N", 9, "3/4")):
            await pilot.press(key)
            await until(pilot, lambda i=index, c=count: messages_of(app).selected == i and c in screen_text(app), key)
        assert app.screen.query_one(ChatPane).selected == 9, "one selection"


async def test_esc_goes_back_to_where_the_search_began(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(30))
    app = app_on(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen.focused, ChatPane), "the chat")
        chat = app.screen.query_one(ChatPane)
        before = chat.selected, [chat.render_line(y).text for y in range(chat.size.height)]
        await seek(pilot, app, "question 3", "1/1")
        assert chat.selected == 13
        assert not chat.following
        await pilot.press("escape")
        await until(pilot, lambda: chat.following, "the end is followed again")
        assert (chat.selected, [chat.render_line(y).text for y in range(chat.size.height)]) == before
        assert app.screen.focused is chat


async def test_search_looks_into_names_and_arguments_and_the_file_pane_follows(tmp_path: Path) -> None:
    messages = tool_talk(3)
    messages[5]["tool_calls"][0]["function"]["arguments"] = '{"path": "\\u706f\\u5854.txt"}'
    session = opened(tmp_path / "s.json", messages)
    assert session.kept is not None
    session.kept.save(session.session.entries, None)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "3")
        await seek(pilot, app, "灯塔", "1/1")
        assert app.screen.query_one(SessionPane).selected == 6
        await pilot.press("escape")
        await seek(pilot, app, "read_file", "1/3")


async def test_hits_in_what_the_layers_took_away_are_counted_and_v_shows_them(tmp_path: Path) -> None:
    messages = tool_talk(4)
    messages[2]["content"] = "the lamp was lit " * 10
    messages[4]["content"] = "which lamp?"
    session = opened(tmp_path / "s.json", messages)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await clear_two(pilot, session)
        await go_to(pilot, app, 1)
        await seek(pilot, app, "lamp", "1/2 · 1 gone")
        assert messages_of(app).selected == 3
        await pilot.press("enter")
        await until(pilot, lambda: "/lamp 1/2 gone, v shows it" in screen_text(app), "the header says so")
        await pilot.press("v")
        await until(pilot, lambda: "the lamp was lit" in "\n".join(rows_of(app)), "the original")


async def test_the_chat_is_searched_for_what_it_shows(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", [{"role": "system", "content": "hidden word"}, *tool_talk(1)])
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "1")
        await seek(pilot, app, "hidden word", "no hits")
        await pilot.press("enter")
        await until(pilot, lambda: "“hidden word” is nowhere in this pane" in screen_text(app), "the sentence")
        await pilot.press("escape", "2")
        await seek(pilot, app, "hidden word", "1/1")


async def test_regular_expressions(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await go_to(pilot, app, 0)
        await seek(pilot, app, "re:question [12]$", "1/2")
        await pilot.press("escape")
        await seek(pilot, app, "re:(", "no expression yet")
        await pilot.press("enter")
        await until(pilot, lambda: "“(” is no regular expression" in screen_text(app), "the sentence")
        assert messages_of(app).selected == 0
        await pilot.press(")", "backspace", "backspace", "q", "u")
        await until(pilot, lambda: field_row(app).endswith("1/4"), "mended")


async def test_an_expression_that_would_never_end_is_given_up() -> None:
    sheet = Sheet(Session(entries_from([{"role": "user", "content": "a" * 60 + "b"}]), preset("lesson")), 0)
    with pytest.raises(SearchError) as error:
        await find("re:(a+)+$", sheet)
    assert error.value.reason.id == "search.too_slow"
    assert await find("re:a+b", sheet), "the next one is not harmed"


async def test_n_after_the_list_changed_seeks_anew(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(2), ScriptedModel([says("another question 9")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await go_to(pilot, app, 0)
        await seek(pilot, app, "question", "1/2")
        await pilot.press("enter", "i", "h", "i", "enter")
        await until(pilot, lambda: "last turn" in screen_text(app), "the turn is over")
        await pilot.press("escape", "2", "g", "N")
        await until(pilot, lambda: messages_of(app).selected == 10, "the new one, around the beginning")
        assert "/question 3/3" in screen_text(app)


async def test_n_without_a_search_says_how_to_begin_one(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2)))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("escape", "n")
        await until(pilot, lambda: "`/` opens the search" in screen_text(app), "the sentence")


async def test_a_long_search_gives_way_to_other_work() -> None:
    messages = [{"role": "user", "content": f"message {number} " * 20} for number in range(100_000)]
    sheet = Sheet(Session(entries_from(messages), preset("lesson")), 0)
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(beat())
    hits = await find("message 99999 ", sheet)
    other.cancel()
    assert [hit.row for hit in hits] == [99_999]
    assert beats > 3


# Filter


async def test_a_filter_shows_some_rows_with_their_real_numbers_and_esc_shows_all(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(4))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await clear_two(pilot, session)
        await pilot.press("escape", "2")
        everything = rows_of(app)
        await write_filter(pilot, app, "角色：工具 mark:cleared")
        await until(pilot, lambda: "f 2/17 角色：工具 mark:cleared" in screen_text(app), "the header")
        rows = [row[1:] for row in rows_of(app)[1:] if row.strip()]
        assert [row.split()[:2] for row in rows] == [["3", "T"], ["7", "T"]]
        await pilot.press("g", "j", "enter")
        await until(pilot, lambda: '"tool_call_id": "call_0"' in "\n".join(rows_of(app)), "entry 3 unfolds")
        assert app.screen.query_one(SessionPane).selected == 3
        await pilot.press("enter")
        await seek(pilot, app, "cleared", "no hits")
        await pilot.press("escape")
        await seek(pilot, app, "工具", "1/2")
        await pilot.press("enter")
        await until(pilot, lambda: not app.screen.query_one(FindField).is_open, "kept")
        assert "━ f 2/17 角色：工具 mark:cleared" in screen_text(app), "the filter comes first"
        await pilot.press("escape")
        await until(pilot, lambda: sorted(rows_of(app)) != everything and "2/17" not in screen_text(app), "all rows")
        assert len([row for row in rows_of(app) if row[1:5].strip().isdigit()]) > 8


async def test_a_filter_follows_the_list(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(2), ScriptedModel([says("done")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "2")
        await write_filter(pilot, app, "role:user")
        await until(pilot, lambda: "2/9" in screen_text(app), "two questions")
        await pilot.press("i", "n", "e", "w", "enter")
        await until(pilot, lambda: "3/11" in screen_text(app), "three questions")
        assert rows_of(app)[3][1:].split()[:2] == ["9", "U"]
        await until(pilot, lambda: "last turn" in screen_text(app), "the turn is over")
        await pilot.press("escape", "2", "u")
        await until(pilot, lambda: "2/9" in screen_text(app), "two again")


async def test_a_filter_that_is_none_or_shows_none_says_so_and_nothing_changes(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(3)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "2")
        before = rows_of(app)
        await write_filter(pilot, app, "role:wizard")
        await until(pilot, lambda: "“wizard”, which is not known here" in screen_text(app), "unknown")
        await pilot.press("escape")
        await write_filter(pilot, app, "nowhere")
        await until(pilot, lambda: "all rows stay" in screen_text(app), "none")
        await pilot.press("escape")
        await until(pilot, lambda: rows_of(app) == before, "as before")
        await write_filter(pilot, app, "role:user")
        await until(pilot, lambda: "3/13" in screen_text(app), "filtered")
        await write_filter(pilot, app, "")
        await until(pilot, lambda: "3/13" not in screen_text(app), "an empty filter shows all")


@pytest.mark.parametrize(
    ("text", "indices"),
    [
        ("role:system", [0]),
        ("角色:用户", [1, 5]),
        ("role:u", [1, 5]),
        ("role:user role:assistant", [1, 2, 4, 5, 6, 8]),
        ("tool:read_file", [2, 3]),
        ("工具:LIST", [6, 7]),
        ("標記:孤立", [9]),
        ("mark:orphan role:tool", [9]),
        ("Answer 1", [8]),
        ("answer tool:read", []),
        ("http://x", []),
    ],
)
def test_what_filters_show(text: str, indices: list[int]) -> None:
    messages = [{"role": "system", "content": SYSTEM}, *tool_talk(2)]
    messages[6]["tool_calls"][0]["function"]["name"] = "list_files"
    messages.append({"role": "tool", "tool_call_id": "nobody", "content": "lost"})
    sheet = Sheet(Session(entries_from(messages), preset("lesson")), 0)
    assert parse_filter(text).rows(sheet) == indices


@pytest.mark.parametrize("text", ["role:wizard", "mark:", "角色:x"])
def test_words_that_are_no_role_or_mark_are_refused(text: str) -> None:
    with pytest.raises(FilterError):
        parse_filter(text)


# Copy


async def test_y_copies_the_entry_as_json_to_the_clipboard_and_a_private_file(tmp_path: Path, home: Path) -> None:
    session = opened(tmp_path / "s.json", [{"role": "user", "content": f"你好 {HOSTILE}"}])
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await go_to(pilot, app, 1)
        await pilot.press("y")
        await until(pilot, lambda: "Entry 1 is copied as JSON" in screen_text(app), "the sentence")
        file = home / ".local" / "share" / "triptych" / "copied.json"
        assert str(file) in screen_text(app).replace("\n    ", "")
        text = file.read_text("utf-8")
        assert json.loads(text) == session.session.entries[1].message
        assert "你好" in text
        assert not UNSEEN.search(text)
        assert file.stat().st_mode & 0o777 == 0o600
        assert app.clipboard == text


async def test_an_entry_too_long_for_a_clipboard_is_kept_in_the_file_only(tmp_path: Path, home: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", [{"role": "user", "content": "x" * 200_000}]))
    async with app.run_test(size=(120, 40)) as pilot:
        await go_to(pilot, app, 1)
        await pilot.press("y")
        await until(pilot, lambda: "too long for a terminal's clipboard" in screen_text(app), "the sentence")
        assert app.clipboard == ""


async def test_a_file_that_cannot_be_written_is_said(tmp_path: Path, home: Path) -> None:
    (home / ".local").write_text("in the way")
    app = app_on(opened(tmp_path / "s.json", tool_talk(1)))
    async with app.run_test(size=(120, 40)) as pilot:
        await go_to(pilot, app, 1)
        await pilot.press("y")
        await until(pilot, lambda: "was given to the clipboard" in screen_text(app), "the sentence")
        assert "question 0" in app.clipboard


async def test_keys_without_an_entry_say_so(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(1)))
    async with app.run_test(size=(120, 40)) as pilot:
        for key in ("y", "v"):
            await pilot.press("escape", "2", "g", key)
            await until(pilot, lambda: "No entry is selected" in screen_text(app), key)
            await pilot.press("escape")


# Input methods


async def test_the_full_width_comma_opens_the_search_and_chinese_text_is_hinted_at_once(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(1)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "2", "、")
        await until(pilot, lambda: app.screen.query_one(FindField).is_open, "the search")
        await pilot.press("问", "escape")
        assert "input method" not in screen_text(app), "the field takes Chinese text"
        await pilot.press("问")
        await until(pilot, lambda: "input method is on" in screen_text(app), "the hint")
        await pilot.press("escape", "题")
        await pilot.pause()
        assert "input method is on" not in screen_text(app), "once is enough"


# Hostile text


async def test_hostile_text_is_harmless_unfolded_in_originals_and_in_the_field(tmp_path: Path) -> None:
    messages = tool_talk(4)
    messages[2].update({"content": HOSTILE * 3, HOSTILE: {HOSTILE: [HOSTILE]}})
    session = opened(tmp_path / "s.json", messages)
    app = app_on(session)
    async with app.run_test(size=(120, 60)) as pilot:
        await clear_two(pilot, session)
        await go_to(pilot, app, 3)
        await pilot.press("v", "enter")
        await until(pilot, lambda: "[@click=app.quit]" in "\n".join(rows_of(app)), "the original")
        assert not UNSEEN.search(screen_text(app))
        await pilot.press("/")
        await until(pilot, lambda: app.screen.query_one(FindField).is_open, "the field")
        app.post_message(Paste(HOSTILE + "\nsecond line"))
        await until(pilot, lambda: "second line" in field_row(app), "pasted")
        assert not UNSEEN.search(screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "is nowhere in this pane" in screen_text(app), "the sentence")
        assert not UNSEEN.search(screen_text(app))
        await pilot.press("escape")
        await write_filter(pilot, app, "role:" + HOSTILE)
        await until(pilot, lambda: "which is not known" in screen_text(app), "the sentence")
        assert not UNSEEN.search(screen_text(app))


def test_a_terminal_receives_no_byte_of_hostile_text(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": HOSTILE, HOSTILE: HOSTILE}]
    file = tmp_path / "s.json"
    file.write_text(json.dumps(messages, indent=2), "utf-8")
    with workbench(tmp_path, file) as terminal:
        terminal.wait_for("begin")
        terminal.press("escape")
        terminal.settle()
        terminal.press("2")
        terminal.settle()
        terminal.press("G", "enter")
        terminal.wait_for('"role": "user"')
        terminal.press("/")
        terminal.wait_for("Enter go there")
        terminal.send(f"\x1b[200~{HOSTILE}\x1b[201~")
        terminal.wait_for("no hits")
        terminal.press("escape")
        terminal.wait_for(lambda screen: "no hits" not in screen)
        terminal.press("y")
        terminal.wait_for("is copied as JSON")
        raw = terminal.raw
    copied = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", raw)
    assert [json.loads(base64.b64decode(text)) for text in copied] == [messages[1]]
    for forbidden in (
        b"\x1b]52;c;aG9z",
        b"\x1b[13;37H",
        "\u202e".encode(),
        "\u200b".encode(),
        "\x9b".encode(),
        b"\x00",
    ):
        assert forbidden not in raw


async def test_a_chat_that_is_scrolled_up_stays_and_counts_what_is_new(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(8), ScriptedModel([says("S."), says("The newest answer.")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"go", "escape", "1", "home")
        assert "End follows again" in screen_text(app)
        top = screen_text(app).splitlines()[4][:50]
        app.screen.query_one("#prompt-text").focus()
        session.session.append("receive", {"role": "user", "content": "from elsewhere"}, Reason("turn.received"), 1)
        session.session.append("answer", {"role": "assistant", "content": "answered"}, Reason("turn.answer"), 1)
        await until(pilot, lambda: "↓ 2 new" in screen_text(app), "what is new is counted")
        assert screen_text(app).splitlines()[4][:50] == top
        await pilot.press("escape", "1", "end")
        await until(pilot, lambda: "following" in screen_text(app), "the end is followed again")
        assert "answered" in screen_text(app)
