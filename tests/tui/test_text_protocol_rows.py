"""Calls and results in the text protocol look like those in fields, and the policy that speaks it says so."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support_pilot import app_on, opened, tool_talk, until
from triptych.entries import entries_from
from triptych.messages import Message, is_result, result_message, tool_calls
from triptych.policy import preset
from triptych.session import Session
from triptych.text_protocol import with_calls_as_text
from triptych_tui.app import TriptychApp
from triptych_tui.chat_lines import INDENT, ChatLines
from triptych_tui.glyphs import UNICODE
from triptych_tui.growing_text import GrowingText
from triptych_tui.messages_rows import content_spans, gutter
from triptych_tui.policy_words import policy_facts
from triptych_tui.row_filter import parse_filter
from triptych_tui.sheet import Sheet
from triptych_tui.widgets.chat_pane import ChatPane


def as_text(messages: list[dict[str, Any]]) -> list[Message]:
    """The same talk in the text protocol; each call has one result right after it."""
    text: list[Message] = []
    for message in messages:
        if is_result(message):
            calling = messages[len(text) - 1]
            text.append(result_message(text[-1], tool_calls(calling)[0], message["content"]))
        else:
            text.append(with_calls_as_text(message) if tool_calls(message) else message)
    return text


def sheet_of(messages: list[Message]) -> Sheet:
    return Sheet(Session(entries_from(messages), preset("lesson")), 0)


def chat(app: TriptychApp) -> str:
    pane = app.workbench.query_one(ChatPane)
    return "\n".join(pane.render_line(y).text for y in range(pane.size.height))


def test_rows_brackets_and_inks_are_the_same() -> None:
    talk = tool_talk(3)
    fields, text = sheet_of(talk), sheet_of(as_text(talk))
    assert not any("tool_calls" in entry.message or is_result(entry.message) for entry in text.entries)
    for index in range(len(talk)):
        assert gutter(text, index, UNICODE) == gutter(fields, index, UNICODE)
        assert content_spans(text.entries[index]) == content_spans(fields.entries[index])
        places = [sheet.outline.place(index) for sheet in (text, fields)]
        assert [place and (place.call, place.bracket) for place in places[:1]] == [
            place and (place.call, place.bracket) for place in places[1:]
        ]
        assert text.outline.turn_at(index) == fields.outline.turn_at(index)


def test_the_chat_shows_calls_and_results_without_what_is_around_them() -> None:
    talk = tool_talk(1)
    fields, text = sheet_of(talk), sheet_of(as_text(talk))
    for index in (0, 1, 3):
        assert ChatLines(text, UNICODE).block(index, 80) == ChatLines(fields, UNICODE).block(index, 80)
    shown = "".join(span.text for row in ChatLines(text, UNICODE).block(2, 80) for span in row.spans)
    assert "tool_response" not in shown
    assert talk[2]["content"][:20] in shown


def test_a_call_that_streams_is_from_its_beginning_the_call_it_will_be() -> None:
    asked = {"path": "notes/\u8c46 {a}.md", "from": 3}
    call = {"id": "c", "function": {"name": "read_file", "arguments": json.dumps(asked)}}
    told = {"role": "assistant", "content": "Let me see. a < b", "tool_calls": [call]}
    message = with_calls_as_text(told)
    content = message["content"]
    lines, growing = ChatLines(sheet_of([message]), UNICODE), GrowingText()

    def shown(end: int) -> list[str]:
        so_far = {"role": "assistant", "content": content[:end]}
        rows = lines.streaming(so_far, 80, growing, summary=False)
        return ["".join(span.text for span in row.spans)[INDENT:] for row in rows if not row.aside]

    for end in range(content.index("<tool"), len(content) + 1):
        first, *others = shown(end)
        assert first.rstrip(UNICODE.caret) == "Let me see. a < b"
        assert not re.search(r"[<>\[\]]|tool_call|name|arguments", "".join(others))
        if '"read_file"' in content[:end]:
            assert others[0].startswith("→ read_file")
    whole = ["".join(span.text for span in row.spans)[INDENT:].rstrip() for row in lines.block(0, 80)]
    assert [row.rstrip(UNICODE.caret) for row in shown(len(content))] == whole
    assert shown(content.index(" {a}"))[1] == f"→ read_file  notes/豆{UNICODE.caret}"
    assert shown(len("Let me see. a <"))[0] == f"Let me see. a <{UNICODE.caret}", "no tag that has begun"


def test_what_is_no_call_streams_as_it_is_said() -> None:
    sheet = sheet_of(tool_talk(1))
    for said in ("<b>x", "say `<tool_call>` so", "\n<tools>\n"):
        rows = ChatLines(sheet, UNICODE).streaming(
            {"role": "assistant", "content": said}, 80, GrowingText(), summary=False
        )
        text = "\n".join("".join(span.text for span in row.spans)[INDENT:] for row in rows)
        assert said.strip() in text


async def test_a_long_call_stays_a_call_as_it_streams(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    written = "word " * 13_000
    async with app.run_test(size=(100, 30)) as pilot:
        pane = app.workbench.query_one(ChatPane)
        for length in (100, 64_000):
            said = f'I write it.\n<tool_call>\n{{"name": "write_file", "arguments": {{"text": "{written[:length]}'
            pane.stream({"role": "assistant", "content": said}, summary=False)
            await until(pilot, lambda: "→ write_file" in chat(app), "the call")
            await pilot.pause()
            pane.stream({"role": "assistant", "content": said + "more"}, summary=False)
            await pilot.pause()
            assert "I write it." in chat(app)
            assert chat(app).count("word word") <= 20, "in the row of the call alone"


@pytest.mark.parametrize("words", ["role:tool", "role:user", "tool:read_file", "role:assistant"])
def test_filters_find_the_same(words: str) -> None:
    talk = tool_talk(2)
    assert parse_filter(words).rows(sheet_of(as_text(talk))) == parse_filter(words).rows(sheet_of(talk))


def test_a_result_from_elsewhere_is_no_orphan() -> None:
    alone = {"role": "user", "content": "<tool_response>\n[工具 list-file 執行結果]：\na.txt\n</tool_response>"}
    sheet = sheet_of([alone])
    assert not sheet.outline.is_orphan(0)
    assert content_spans(sheet.entries[0])[0].text == "a.txt"


def test_the_chooser_says_it() -> None:
    assert "result: user" in "".join(span.text for span in policy_facts(preset("meowgent")))
    assert "result: user" not in "".join(span.text for span in policy_facts(preset("lesson")))


async def test_a_live_session_speaks_it(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", [])
    session.session.use_policy(preset("meowgent"))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"Read welcome.txt", "enter")
        entries = session.session
        await until(pilot, lambda: len(entries.entries) == 5 and entries.is_saved, "an answer")
        assert entries.entries[3].message["content"].startswith("<tool_response>\n[工具 read_file 執行結果]：\n")
        await until(pilot, lambda: "read_file" in chat(app), "the call")
        assert "<tool_" not in chat(app)
