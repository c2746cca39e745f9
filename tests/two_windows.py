"""Two real windows on one session, each doing at random what users do: `python -m tests.two_windows [SECONDS] [SEED]`.

They ask, undo, redo, open for writing, leave, and are killed. At every moment the file is a whole list; in the end the
session opens, and whatever a window that may write has shown as asked stands in the journal.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.support_terminal import Terminal
from tests.support_workbench import workbench
from triptych.storage.journal import journal_path, read_journal
from triptych.storage.kept_session import opened

_ASKED = "U  {} "
ACTIONS = ("ask", "ask", "ask", "undo", "redo", "open", "leave", "kill")


class Window:
    """One of the two; it is opened again whenever it has ended."""

    def __init__(self, file: Path, home: Path, name: str) -> None:
        self._file, self._home, self._name = file, home, name
        self._asked = 0
        self.shown: list[str] = []
        self._terminal = self._opened()

    def _opened(self) -> Terminal:
        terminal = workbench(self._home, self._file)
        terminal.wait_for("3 File", timeout=120)  # it may start slowly beside others
        terminal.settle(0.1)
        return terminal

    def act(self, action: str) -> None:
        if action in ("leave", "kill"):
            self.end(killed=action == "kill")
            self._terminal = self._opened()
            return
        for _ in range(4):  # out of whatever is open, to the panes
            self._terminal.press("escape")
            self._terminal.settle(0.15)
        if action == "ask":
            self._ask()
        else:
            self._terminal.send({"undo": "u", "redo": "\x12", "open": "O"}[action])

    def _ask(self) -> None:
        self._asked += 1
        question = f"{self._name}-{self._asked:04}"
        self._terminal.send("i")
        self._terminal.settle(0.15)
        self._terminal.send(question)
        self._terminal.press("enter")
        with suppress(AssertionError):
            screen = self._terminal.wait_for(lambda text: _ASKED.format(question) in text, timeout=5)
            if "read only" not in screen and "another window" not in screen:
                self.shown.append(question)

    def end(self, *, killed: bool = False) -> None:
        if killed:
            os.kill(self._terminal.pid, signal.SIGKILL)
        else:
            self._terminal.send("\x11")  # ctrl+q
        with suppress(AssertionError):
            self._terminal.wait_for(lambda _screen: False, timeout=60)  # it ends first
        self._terminal.close()


def problems(folder: Path, seed: int, seconds: float, actions: int) -> list[str]:
    """What went wrong in so many seconds or actions, whichever are over first; nothing, if all is well."""
    rng, file, found = random.Random(seed), folder / "shared.json", []
    file.write_text(json.dumps([{"role": "system", "content": "Two windows."}], indent=2))
    windows = [Window(file, folder / f"home{name}", name) for name in "ab"]
    end = time.monotonic() + seconds
    for _ in range(actions):
        if time.monotonic() > end:
            break
        rng.choice(windows).act(rng.choice(ACTIONS))
        try:
            json.loads(file.read_bytes())
        except ValueError as error:
            found.append(f"the file is no whole list: {error}")
    for window in windows:
        window.end()
    journal = journal_path(file)
    held = b"".join(each.read_bytes() for each in folder.glob(journal.name + "*"))
    asked = [question for window in windows for question in window.shown]
    found += [f"{question} was shown and is nowhere" for question in asked if question.encode() not in held]
    written = read_journal(journal) if journal.exists() else None
    if written is not None and written.passed_over:
        found.append(f"{written.passed_over} lines of the journal cannot be read")
    if asked and (written is None or not opened(file).remembered):
        found.append("the journal is not taken up")
    return found


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10_000)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        found = problems(folder, seed, seconds, actions=1_000_000)
    print(f"seed {seed}:", "; ".join(found) or "all is well")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
