"""The real program, killed at any moment and started again: `python -m tests.kill_nine [--kills N] [--seed S]`.

In a pseudo-terminal, with the offline model, a random user asks, runs layers, undoes, redoes, takes back, branches and
looks back, until the program is killed with signal 9: at rest, in the midst of anything, or while it starts. Whatever
list its second pane has ever shown must be a state of the journal then; what was at rest must be the newest one; the
words of an answer that were seen half a second before must be there; the next start must show what the journal tells,
the lesson's loader must read the file, and nothing else may lie beside it.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.support_second_pane import Rows, rows_of, rows_on
from tests.support_terminal import Terminal
from tests.support_workbench import workbench
from triptych.entries import Entry
from triptych.lesson_api import load_session
from triptych.messages import role_of, text_of
from triptych.storage.journal import journal_path, read_journal
from triptych.storage.kept_session import Past, opened

QUESTIONS = ("Read welcome.txt", "Read harbour/tide_table.csv", "Read town/heron_nest_count.txt", "What is my name?")
ANSWER_BEGINS = "welcome.txt begins"
ACTIONS: dict[str, Sequence[str]] = {
    "truncate": ("f2", "enter"),
    "clear": ("f3", "tab", "backspace", "1", "enter", "enter"),
    "summarize": ("f4", "tab", "backspace", "1", "enter", "enter", "enter", "enter"),
    "undo": ("u",),
    "undo twice": ("u", "u"),
    "redo": ("ctrl+r",),
    "take back": ("{", "r"),
    "branch": ("f7", "f7", "f7", "b"),
    "look back": ("f7", "f7", "f8", "escape"),
}
CONTROL = {"ctrl+r": "\x12"}
PATIENCE = 120.0
"""Seconds after which what does not come never will, on a machine that has much else to do."""
PER_SESSION = 25
"""Kills after which a new session is begun: a list that is longer than the screen cannot be read from it."""


class Fault(Exception):
    """Something is not as it must be."""


class Life(NamedTuple):
    """What was seen of the program between its start and its death.

    shown: every whole list of its second pane, the last one at its death. at_rest: nothing was under way then.
    words: of an answer, seen long enough before. how: what it died of.
    """

    shown: list[Rows]
    at_rest: bool
    words: str
    how: str


def started(home: Path, file: Path) -> Terminal:
    return workbench(home, *(() if file.exists() else ("--new",)), file, rows=70, cols=200)


def live(home: Path, file: Path, rng: random.Random) -> Life:
    """Start the program, use it, and kill it."""
    with started(home, file) as terminal:
        if rng.random() < 0.1:
            time.sleep(rng.uniform(0, 1.2))
            return _killed(terminal, [], False, "", "while it started")
        screen = terminal.wait_for("OFFLINE", PATIENCE)
        if file.exists() and not kept(file).is_saved:
            screen = terminal.wait_for("was found", PATIENCE)
            terminal.press("enter")
            terminal.wait_for(lambda screen: "was found" not in screen, PATIENCE)
        if "damaged" in screen:
            raise Fault("it says that something is damaged")
        terminal.settle(0.2)
        user = _User(terminal, rng)
        user.look()
        if (
            file.exists()
            and user.shown
            and user.shown[-1] != rows_of(kept(file).timeline.entries(kept(file).timeline.head))
        ):
            raise Fault(f"the screen shows another list than the journal tells:\n{terminal.screen_text()}")
        for _ in range(rng.choice((0, 1, 2))):
            user.act()
        return user.die()


class _User:
    def __init__(self, terminal: Terminal, rng: random.Random) -> None:
        self.shown: list[Rows] = []
        self._terminal = terminal
        self._rng = rng

    def look(self) -> None:
        rows = rows_on(self._terminal.wait_for(lambda _: True, PATIENCE))  # the first frame that is whole
        if rows is not None:
            self.shown.append(rows)

    def act(self) -> str:
        """Do one thing to its end."""
        name = self._begin()
        self._terminal.settle(0.4)
        self.look()
        return name

    def die(self) -> Life:
        kind = self._rng.random()
        if kind < 0.2:
            name = self.act()
            self._leave_what_is_open()
            self._have_all_keys_heard()
            self._terminal.wait_for(lambda screen: "Esc cancel" not in screen, PATIENCE)
            self._terminal.settle(0.5)
            self.look()
            newest = "looking back" not in self._terminal.screen_text()
            return _killed(self._terminal, self.shown, newest, "", f"at rest, after {name}")
        if kind < 0.4:
            return self._die_streaming()
        name = self._begin()
        time.sleep(self._rng.choice((0.0, 0.05, self._rng.uniform(0, 0.5), self._rng.uniform(0, 1.5))))
        self.look()
        return _killed(self._terminal, self.shown, False, "", f"amidst {name}")

    def _die_streaming(self) -> Life:
        self._leave_what_is_open()
        self._ask(QUESTIONS[0])
        words = ""
        with suppress(AssertionError):  # keys in a burst do not always ask
            seen = self._terminal.wait_for(_answer_has_begun, timeout=8)
            time.sleep(self._rng.uniform(0.5, 0.6))
            self._see_two_frames_more()
            words = "" if "last turn" in seen else ANSWER_BEGINS
        self.look()
        return _killed(self._terminal, self.shown, False, words, "while an answer streamed")

    def _see_two_frames_more(self) -> None:
        """On a slow machine half a second is no time: what was seen is kept when more has come after it."""
        for _ in range(2):
            before = self._terminal.screen_text()
            self._terminal.wait_for(
                lambda screen, before=before: screen != before or "Esc cancel" not in screen, PATIENCE
            )

    def _have_all_keys_heard(self) -> None:
        """Keys are heard in their order: when the last one has shown its effect, no other is on its way."""
        self._terminal.press("f1")
        self._terminal.wait_for("the keys in force", PATIENCE)
        self._terminal.press("escape")
        self._terminal.wait_for(lambda screen: "the keys in force" not in screen, PATIENCE)

    def _begin(self) -> str:
        name = self._rng.choice((*ACTIONS, "ask", "ask", "ask", "ask"))
        self._leave_what_is_open()
        if name == "ask":
            self._ask(self._rng.choice(QUESTIONS))
        else:
            for key in ACTIONS[name]:
                self._terminal.press(CONTROL.get(key, key))
                time.sleep(0.08)
        return name

    def _ask(self, question: str) -> None:
        self._terminal.send("i")
        time.sleep(0.08)
        self._terminal.send(f"\x1b[200~{question}\x1b[201~")
        time.sleep(0.08)
        self._terminal.press("enter")

    def _leave_what_is_open(self) -> None:
        for _ in range(3):
            self._terminal.press("escape")
            time.sleep(0.12)  # keys right behind it would make it another key


def _answer_has_begun(screen: str) -> bool:
    return f" A  {ANSWER_BEGINS}" in screen[screen.rfind(" U  Read") :]


def _killed(terminal: Terminal, shown: list[Rows], at_rest: bool, words: str, how: str) -> Life:
    terminal.signal(signal.SIGKILL)
    terminal.wait()
    if b"Traceback" in terminal.raw:
        raise Fault(f"a traceback:\n{terminal.screen_text()}")
    return Life(shown, at_rest, words, how)


def kept(file: Path) -> Past:
    """What list and journal tell, read from copies."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / file.name
        for source, target in ((file, copy), (journal_path(file), journal_path(copy))):
            if source.exists():
                shutil.copy(source, target)
        return opened(copy)


def newest_of(past: Past) -> tuple[Entry, ...]:
    return past.timeline.entries(past.timeline.head)


def check(file: Path, life: Life) -> None:
    """Whether all that was seen is there."""
    if not life.shown and not file.exists():
        return  # killed before it had begun
    load_session(file)
    written = read_journal(journal_path(file))
    if written is not None and written.passed_over:
        raise Fault(f"{written.passed_over} lines of the journal say nothing")
    past = kept(file)
    timeline = past.timeline
    states = {rows_of(timeline.entries(step.id)) for step in timeline.steps()} | {rows_of(timeline.base)}
    for rows in life.shown:
        if rows not in states:
            raise Fault("a list that was shown is not there:\n" + "\n".join(map(str, rows)))
    newest = newest_of(past)
    if life.at_rest and life.shown and rows_of(newest) != life.shown[-1]:
        raise Fault(f"the newest list is another one:\n{rows_of(newest)}\n{life.shown[-1]}")
    answers = [text_of(entry.message) for entry in newest if role_of(entry.message) == "assistant"]
    answer = past.draft or next(filter(None, reversed(answers)), "")
    if not answer.startswith(life.words):
        raise Fault(f"words that were seen are not there: {life.words!r}, but {answer!r}")
    beside = {each.name for each in file.parent.iterdir()} - {file.name, journal_path(file).name}
    left = [name for name in beside if ".tmp" in name or ".invalid" in name]
    if len(left) > 1:  # of the last kill; the next start sweeps it
        raise Fault(f"beside the file lies {sorted(beside)}")


def lives(folder: Path, seed: int, kills: int) -> Iterator[Life]:
    """Kill after kill, each one checked. Raises Fault."""
    for number in range(kills):
        file = folder / f"{number // PER_SESSION}" / "s.json"
        life = live(folder, file, random.Random(f"{seed} {number}"))
        try:
            check(file, life)
        except Fault as fault:
            raise Fault(f"kill {number} of seed {seed}, {life.how}: {fault}") from fault
        yield life


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    how: Counter[str] = Counter()
    seen = 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            for number, life in enumerate(lives(Path(folder), options.seed, options.kills), 1):
                how[life.how] += 1
                seen += len(life.shown)
                print(f"\r{number} kills, {seen} lists seen, all there", end="", flush=True)
        except (Fault, AssertionError) as fault:
            sys.exit(f"\n{fault}")
    print("".join(f"\n{count:>5}  {name}" for name, count in how.most_common()))


if __name__ == "__main__":
    main()
