"""What a tool, a file or a server says never reaches the terminal as anything but text."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.support_openai_server import serve
from tests.support_terminal import Terminal
from tests.support_workbench import SYSTEM, workbench

CLIPBOARD = "\x1b]52;c;aG9zdGlsZTQ0MTc=\x07"
CLEAR_AND_JUMP = "\x1b[2J\x1b[13;37H"
MARKUP = "[@click=app.quit]x[/] [/etc/passwd] [x for x in y]"
HOSTILE = (
    f"begin {CLIPBOARD}{CLEAR_AND_JUMP}{MARKUP} bidi\u202e\u2066 nul\x00 c1\x9b31m osc8\x1b]8;;http://evil.test\x1b\\"
    " zero\u200b\u2060 tag\U000e0041 title\x1b]0;owned4417\x07 end"
)
FORBIDDEN = (
    b"\x1b]52;c;aG9z",
    b"\x1b[13;37H",
    b"\x1b]8;;http://evil",
    b"owned4417\x07",
    b"\x00",
    "\x9b".encode(),
    "\u202e".encode(),
    "\u2066".encode(),
    "\u200b".encode(),
    "\u2060".encode(),
    "\U000e0041".encode(),
)


def assert_harmless(terminal: Terminal) -> None:
    raw = terminal.raw
    assert [bytes_ for bytes_ in FORBIDDEN if bytes_ in raw] == []


def look_everywhere(terminal: Terminal) -> None:
    """Walk through all panes and layer panels."""
    for key in ("1", "2", "3"):
        terminal.press("escape")
        terminal.wait_for(lambda screen: "Esc dismiss" not in screen)
        terminal.press(key, "home", "down", "end")
    for key, title in (
        ("f2", "Truncate tool results"),
        ("f3", "Clear old tool results"),
        ("f4", "Summarize old turns"),
    ):
        terminal.press(key)
        terminal.wait_for(title)
        terminal.press("end", "pageup", "home", "escape")
        terminal.wait_for(lambda screen, title=title: title not in screen)


def test_a_hostile_tool_result_is_text_in_every_pane_and_panel_at_every_size(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "evil.txt").write_text(HOSTILE.replace("\x00", "") + "\n" + HOSTILE.replace("\x00", ""), "utf-8")
    script = [
        {
            "tool_calls": [
                {"name": "read_file", "arguments": {"path": "evil.txt"}},
                {"name": HOSTILE, "arguments": HOSTILE},
            ]
        },
        {"text": HOSTILE},
        {"text": HOSTILE},
        {"text": HOSTILE},
        {"text": HOSTILE},
        {"summary": HOSTILE},
        {"summary": HOSTILE},
        {"status": 400, "message": HOSTILE},
    ]
    with serve(script, tmp_path) as (base_url, _record):
        arguments = ("--model", HOSTILE.replace("\x00", ""), "--base-url", base_url, "--workspace", folder)
        with workbench(
            tmp_path,
            "--new",
            tmp_path / "s.json",
            "--system",
            SYSTEM,
            "--limit",
            "60",
            *arguments,
        ) as terminal:
            terminal.wait_for("triptych")
            for number in range(4):
                terminal.send(f"question {number}")
                terminal.press("enter")
                terminal.wait_for(lambda screen, n=number: "last turn" in screen and _asked(tmp_path / "s.json") > n)
            terminal.send("refused please")
            terminal.press("enter")
            terminal.wait_for("Esc dismiss")
            for rows, cols in ((40, 120), (50, 200), (24, 80)):
                terminal.resize(rows, cols)
                terminal.settle()
                look_everywhere(terminal)
                assert_harmless(terminal)
            terminal.press("f4")
            terminal.wait_for(lambda screen: "Summarize old turns" in screen and "Enter ask" in screen)
            terminal.press("enter")
            terminal.wait_for("Enter apply")
            assert_harmless(terminal)
            terminal.send("\x11")
            assert terminal.wait() == 0
            assert_harmless(terminal)
    assert "\x1b]52;c;" in json.loads((tmp_path / "s.json").read_bytes())[-1]["content"], "the session keeps the bytes"


def test_a_hostile_session_file_is_text_in_every_pane(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": HOSTILE},
        {"role": "user", "content": HOSTILE},
        {"role": "assistant", "content": HOSTILE, "tool_calls": [_call(HOSTILE)]},
        {"role": "tool", "tool_call_id": HOSTILE, "content": HOSTILE * 3},
        {"role": HOSTILE, "content": HOSTILE, HOSTILE: HOSTILE},
        {"role": "user", "content": [{"type": "text", "text": HOSTILE}, {"type": HOSTILE}]},
    ]
    file = tmp_path / "evil\x1b]0;owned4417\x07.json"
    file.write_text(json.dumps(messages, indent=2, ensure_ascii=False), "utf-8")
    with workbench(tmp_path, file) as terminal:
        terminal.wait_for("begin")
        look_everywhere(terminal)
        assert_harmless(terminal)


def test_what_an_unforeseen_error_says_is_text_when_the_program_ends(tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from tests.support_pilot import opened
from triptych_tui.app import TriptychApp
class Faulty(TriptychApp):
    def on_ready(self):
        raise ValueError({HOSTILE!r})
Faulty(opened(Path({str(tmp_path / "s.json")!r}), [])).run()
"""
    root = str(Path(__file__).parents[2])
    with Terminal([sys.executable, "-c", script], env={"HOME": str(tmp_path), "PYTHONPATH": root}) as terminal:
        terminal.wait()
        assert_harmless(terminal)
        assert "ValueError" in terminal.raw.decode()
        assert "␛[2J" in terminal.raw.decode()


def _call(text: str) -> dict[str, object]:
    return {"id": text, "type": "function", "function": {"name": text, "arguments": text}}


def _asked(file: Path) -> int:
    saved = json.loads(file.read_bytes()) if file.exists() else []
    return sum(message["role"] == "user" and "question" in message["content"] for message in saved) + (
        2 if any("摘要" in str(message["content"])[:12] for message in saved) else 0
    )
