"""What befalls a terminal in the midst of an answer: it is suspended, resized, pasted into and clicked all over."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import termios
from pathlib import Path

from tests.support_openai_server import serve
from tests.support_terminal import Terminal
from tests.support_workbench import workbench

PASTED = 5_000_000 if os.environ.get("TRIPTYCH_HYPOTHESIS") == "long" else 500_000
"""Bytes."""

LONG_ANSWER = {"text": "word " * 1500 + "THE END", "rate": 800}
SHOWN_CURSOR, LEFT, ENTERED = b"\x1b[?25h", b"\x1b[?1049l", b"\x1b[?1049h"


def answering(folder: Path, url: str, rows: int = 40, cols: int = 120) -> Terminal:
    """A workbench in which an answer has begun to stream."""
    terminal = workbench(folder, "--new", folder / "s.json", "--model", "m", "--base-url", url, rows=rows, cols=cols)
    terminal.wait_for("ready")
    terminal.send("hello\r")
    terminal.wait_for("word word word")
    return terminal


ASKS_TOO_EARLY = """
import shutil, sys
real, seen = shutil.get_terminal_size, []
def too_early(*otherwise):
    seen.append(real(*otherwise))
    return seen[-2:][0]
shutil.get_terminal_size = too_early
from triptych_tui.start import main
main()
"""
"""The program, told of each new size the old one first, as Linux does now and then."""


def ended(terminal: Terminal, file: Path) -> None:
    """The answer is whole, on disk as well."""
    terminal.wait_for(lambda screen: "last turn" in screen and "✓ saved" in screen, timeout=60)
    assert json.loads(file.read_bytes())[-1]["content"] == LONG_ANSWER["text"]


def is_stopped(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip().startswith("T")


def test_suspended_and_resumed_the_terminal_is_the_shells_meanwhile_and_nothing_is_lost(tmp_path: Path) -> None:
    with serve([LONG_ANSWER], tmp_path) as (url, _), answering(tmp_path, url) as terminal:
        terminal.signal(signal.SIGTSTP)
        terminal.wait_for_raw(LEFT)
        terminal.wait_until(lambda: is_stopped(terminal.pid))
        assert terminal.raw.rindex(SHOWN_CURSOR) > terminal.raw.rindex(ENTERED)
        assert terminal.local_modes() & (termios.ECHO | termios.ICANON) == termios.ECHO | termios.ICANON
        before = terminal.received
        terminal.signal(signal.SIGCONT)
        terminal.wait_for(lambda screen: terminal.received > before and "1 Chat" in screen and "3 File" in screen)
        assert not terminal.local_modes() & (termios.ECHO | termios.ICANON)
        ended(terminal, tmp_path / "s.json")
        terminal.send("\x11")
        assert terminal.wait() == 0


def test_a_terminal_that_tells_its_size_again_is_drawn_anew(tmp_path: Path) -> None:
    with workbench(tmp_path) as terminal:
        terminal.wait_for("Which files")
        terminal.press("f1")
        terminal.wait_for("the keys in force")
        terminal.settle()
        shown = terminal.screen_text()
        terminal.lose_screen()  # it was narrow for a moment that the program has not noticed
        terminal.signal(signal.SIGWINCH)
        terminal.wait_for(lambda screen: screen == shown)


def test_a_storm_of_sizes_while_an_answer_streams(tmp_path: Path) -> None:
    rng = random.Random(7)
    with serve([LONG_ANSWER], tmp_path) as (url, _), answering(tmp_path, url) as terminal:
        for _number in range(100):
            terminal.resize(rng.choice([1, 2, 6, rng.randint(1, 100)]), rng.choice([1, 20, rng.randint(1, 300)]))
            terminal.settle(rng.choice([0.0, 0.0, 0.01]), timeout=0.01)
        terminal.resize(40, 120)
        ended(terminal, tmp_path / "s.json")
        terminal.settle()
        shown = terminal.screen_text()
        terminal.lose_screen()
        terminal.signal(signal.SIGWINCH)
        terminal.wait_for(lambda screen: screen == shown)
        terminal.press("f1")
        terminal.wait_for(lambda screen: any(len(line) > 100 for line in screen.splitlines()[6:]))
        terminal.send("\x11")
        assert terminal.wait() == 0
        assert b"Traceback" not in terminal.raw


def test_a_size_that_was_asked_for_too_early_is_asked_for_again(tmp_path: Path) -> None:
    program = [sys.executable, "-c", ASKS_TOO_EARLY, "--new", tmp_path / "s.json", "--policy", "lesson"]
    with Terminal(program, env={"HOME": str(tmp_path)}, rows=30, cols=100) as terminal:
        terminal.wait_for("ready")
        terminal.resize(40, 150)
        terminal.wait_for(lambda screen: any(len(line) > 140 for line in screen.splitlines()))
        terminal.send("\x11")
        assert terminal.wait() == 0


def test_a_book_pasted_into_the_prompt_is_there_and_is_sent(tmp_path: Path) -> None:
    line = "0123456789 abcdefghij 你好 " * 2 + "\n"
    text = line * (PASTED // len(line.encode()))
    with serve([{"text": "Too long."}], tmp_path) as (url, _):
        arguments = ("--new", tmp_path / "s.json", "--model", "m", "--base-url", url)
        with workbench(tmp_path, *arguments) as terminal:
            terminal.wait_for("ready")
            terminal.send(f"\x1b[200~{text}END\x1b[201~")
            terminal.wait_for("END", timeout=60)
            terminal.press("enter")
            terminal.wait_for("Too long.", timeout=60)
            terminal.send("\x11")
            assert terminal.wait() == 0
    assert json.loads((tmp_path / "s.json").read_bytes())[1]["content"] == f"{text}END"


def test_clicks_all_over_while_an_answer_streams(tmp_path: Path) -> None:
    rng = random.Random(11)
    with serve([LONG_ANSWER], tmp_path) as (url, _), answering(tmp_path, url) as terminal:
        for _number in range(150):
            place = f"{rng.randint(1, 120)};{rng.randint(1, 40)}"
            terminal.send(f"\x1b[<0;{place}M" + f"\x1b[<0;{place}m" * rng.choice([1, 1, 2]))
            terminal.settle(0.005, timeout=0.005)
        ended(terminal, tmp_path / "s.json")
        terminal.send("\x11")
        assert terminal.wait() == 0
        assert b"Traceback" not in terminal.raw
