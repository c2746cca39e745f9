"""The pseudo-terminal that end-to-end tests stand on, and what a real one shows of the list."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support_terminal import Terminal

PROGRAM = """
from textual.binding import Binding
from textual.strip import Strip
from textual.widget import Widget
from rich.segment import Segment
from rich.style import Style

from triptych_tui.themes import ThemedApp, tokens_of
from triptych_tui.untrusted import clean
from triptych_tui.widgets.line_view import Line, LineView


class Careless(Widget):
    DEFAULT_CSS = "Careless { height: 1; }"

    def render_line(self, y):
        return Strip([Segment("careless \\x1b]52;c;Y2FuYXJ5\\x07", Style(link="http://canary"))])


class Texts(LineView):
    def on_mount(self):
        self.texts = ["中文，消息"] * 50
        self.set_blocks(50)

    def tied_blocks(self, index):
        return [index - 2]

    def render_block(self, index, width, look):
        style = tokens_of(self).style("text")
        note = " tied" if look.tied else ""
        lines = clean(self.texts[index]).split("\\n")
        return [Line([(f"{index} {line}{note}", style)]) for line in lines]


class Program(ThemedApp):
    BINDINGS = [
        Binding("q", "leave"), Binding("a", "append"), Binding("s", "stream"), Binding("b", "block"),
        Binding("f2", "hello"),
    ]

    def compose(self):
        yield Careless()
        yield Texts()

    def action_append(self):
        view = self.query_one(Texts)
        view.texts.append("new \\x1b[2J\\u202e")
        view.append_blocks()

    def action_stream(self):
        view = self.query_one(Texts)
        view.texts[-1] += "\\nmore"
        view.refresh_block(view.block_count - 1)

    def action_hello(self):
        self.query_one(Texts).texts[-1] = f"size {self.size.width}x{self.size.height}"
        self.query_one(Texts).refresh_block(self.query_one(Texts).block_count - 1)

    def action_leave(self):
        self.exit(0, return_code=7)


app = Program()
app.run(mouse=False)
raise SystemExit(app.return_code)
"""


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return [sys.executable, str(path)]


def rows(text: str) -> list[str]:
    """The rows below the title, without the scrollbar at their right."""
    return [row.rstrip(" ▐") for row in text.split("\n")[1:]]


def test_keys_reach_the_program_and_its_screen_is_read(program: list[str]) -> None:
    with Terminal(program, rows=6, cols=40) as terminal:
        assert rows(terminal.wait_for("▌49"))[-3:] == [" 47 中文，消息 tied", " 48 中文，消息", "▌49 中文，消息"]
        terminal.press("up")
        assert rows(terminal.wait_for("▌48"))[-4:] == [
            " 46 中文，消息 tied",
            " 47 中文，消息",
            "▌48 中文，消息",
            " 49 中文，消息",
        ]
        terminal.press("home")
        terminal.wait_for("▌0 中文")
        terminal.press("end", "a")
        assert rows(terminal.wait_for("▌50"))[-1] == "▌50 new ␛[2J‹U+202E›"
        terminal.press("s", "s")
        assert rows(terminal.wait_for("more\n▌50 more"))[-3:] == ["▌50 new ␛[2J‹U+202E›", "▌50 more", "▌50 more"]
        terminal.press("f2")
        terminal.wait_for("▌50 size 40x6")
        terminal.send("q")
        assert terminal.wait() == 7


def test_a_new_size_reaches_the_program(program: list[str]) -> None:
    with Terminal(program, rows=6, cols=40) as terminal:
        terminal.wait_for("▌49")
        terminal.resize(rows=12, cols=50)
        terminal.press("f2")
        text = terminal.wait_for("size 50x12")
        assert len(text.split("\n")) == 12


def test_no_byte_of_a_careless_widget_reaches_the_terminal(program: list[str]) -> None:
    with Terminal(program, rows=6, cols=60) as terminal:
        assert terminal.wait_for("▌49").split("\n")[0] == "careless ␛]52;c;Y2FuYXJ5␇"
        assert b"\x1b]52" not in terminal.raw
        assert b"\x1b]8;" not in terminal.raw
        assert "\u202e".encode() not in terminal.raw


@pytest.mark.parametrize("stubborn", [False, True])
def test_nothing_is_left_of_a_program_that_hangs(stubborn: bool) -> None:
    lines = ["import signal, time"]
    lines += ["signal.signal(signal.SIGTERM, signal.SIG_IGN)"] if stubborn else []
    lines += ["print('ready', flush=True)", "time.sleep(600)"]
    with Terminal([sys.executable, "-c", "\n".join(lines)]) as terminal:
        terminal.patience = 0.2
        terminal.wait_for("ready")
        pid = terminal.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert terminal.wait() == -(signal.SIGKILL if stubborn else signal.SIGTERM)


def test_waiting_for_what_never_comes_shows_the_screen() -> None:
    with (
        Terminal([sys.executable, "-c", "print('something else')"]) as terminal,
        pytest.raises(AssertionError, match="something else"),
    ):
        terminal.wait_for("this")
