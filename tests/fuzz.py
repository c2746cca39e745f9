"""Random keys at random moments, for as long as one likes: `python -m tests.fuzz [--seconds N] [--seed S]`.

A seed is a session and what is sent to it. Seven of eight run in process, where every error surfaces; the eighth runs
the real program in a pseudo-terminal. Afterwards all must work as ever: Esc leads out of everything, F1 answers, typing
reaches the prompt, undo and redo lead back to the same list, ctrl+q ends the program, and the file is what was saved.
The first seed that fails is printed with the fewest moves that still fail.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from textual import events
from textual._xterm_parser import XTermParser
from textual.geometry import Size
from textual.widgets import Input, TextArea

from tests.support_pilot import app_on, opened, tool_talk
from tests.support_terminal import KEYS, Terminal
from tests.support_workbench import workbench
from triptych.models.offline import OfflineModel
from triptych_tui.app import TriptychApp
from triptych_tui.screens.help import Help
from triptych_tui.widgets.prompt import PromptText

NAMED = KEYS | {f"ctrl+{letter}": chr(ord(letter) - 96) for letter in "acdefjknopruvwxyz"}
NAMED |= {"shift+tab": "\x1b[Z", "delete": "\x1b[3~", "shift+enter": "\x1b[13;2u", "ctrl+home": "\x1b[1;5H"}
OFTEN = ["escape", "escape", "enter", "enter", "f2", "f3", "f4", "f8", "tab", "ctrl+j", "ctrl+p", "ctrl+r"]
LETTERS = "nNvyszt123gGjkuu//ffirmo0PPppKS!@#[]{}:?、？："
TYPED = ["水母灯塔", "e\u0301\u0301", "\u202e\u2066abc", "👨\u200d👩\u200d👧", "\x1b[31m", "\ufeff\u200b", "\x00"]
TYPED += ["[bold]x[/]", "{0}%s", "re:(", "role:tool", "-1", "1e400", "9" * 20, "q" * 300, "@/etc/x.png", "x\n" * 30]
ASKED = ["Read welcome.txt", "Read harbour/tide_table.csv", "My name is 林\U0001f9d1", "What is my name?"]
HANDS = {"file gone": b"", "file theirs": b'[{"role":"system","content":"theirs"}]', "file garbled": b"\x00\xff{"}
SAMPLES = sorted(path for path in (Path(__file__).parent / "data").glob("[mo]*/*"))
COLS, ROWS = (20, 21, 40, 79, 80, 99, 100, 120, 159, 160, 240), (5, 6, 8, 12, 24, 40, 70)
PATIENCE = 20.0  # seconds after which what does not happen never will

Move = str | float | tuple[int, int]
"""A key by its name, a text, what happens to the file; seconds to wait; rows and columns of the terminal."""


class Case(NamedTuple):
    """What a seed stands for. `messages`: how many the session has, or a sample that it is opened on."""

    seed: int
    messages: int | Path
    pace: float
    moves: Sequence[Move]


def case_of(seed: int) -> Case:
    rng = random.Random(seed)
    messages = rng.choice([0, 5, 400, 20_000, *rng.sample(SAMPLES, 3)] if seed % 8 == 0 else [0, 5, 5, 40, 400])
    moves = [move for _ in range(rng.choice([5, 15, 60, 150])) for move in _moves(rng)]
    return Case(seed, messages, rng.choice([0, 0, 0.002, 0.02]), moves)


def _moves(rng: random.Random) -> list[Move]:
    button, place = rng.choice([0, 0, 0, 2, 32, 64, 65]), f"{rng.randrange(130)};{rng.randrange(45)}"
    click = f"\x1b[<{button};{place}M" + f"\x1b[<{button};{place}m" * (button < 32)
    kinds: list[tuple[int, list[Move]]] = [
        (40, [rng.choice([*OFTEN, *OFTEN, *NAMED])]),
        (20, [rng.choice(LETTERS)]),
        (6, [rng.choice(TYPED)]),
        (4, [f"\x1b[200~{rng.choice(TYPED + ASKED)}\x1b[201~"]),
        (2, ["escape", 0.05, "i", 0.05, rng.choice(ASKED), "enter"]),
        (12, [click] * rng.choice([1, 1, 2, 3, 20])),
        (4, [(rng.choice(ROWS), rng.choice(COLS)) for _ in range(rng.choice([1, 1, 5]))]),
        (10, [rng.choice([0.0, 0.0, 0.001, 0.05, 0.3])]),
        (1, [rng.choice([*HANDS])]),
    ]
    return rng.choices([moves for _, moves in kinds], [weight for weight, _ in kinds])[0]


async def play(moves: Sequence[Move], player: InProcess | Terminal, file: Path, over: Callable[[], bool]) -> None:
    for move in moves:
        if over():
            return
        if isinstance(move, tuple):
            player.resize(*move)
        elif isinstance(move, float):
            await asyncio.sleep(move)
        elif move in HANDS:
            await asyncio.to_thread(file.unlink, missing_ok=True)
            if HANDS[move]:
                await asyncio.to_thread(file.write_bytes, HANDS[move])
        else:
            player.send(NAMED.get(move, move))


class InProcess:
    def __init__(self, app: TriptychApp) -> None:
        self._app, self._driver, self._parser = app, app._driver, XTermParser(False)

    def send(self, keys: str) -> None:
        for event in [events.Key("escape", keys)] if keys == KEYS["escape"] else list(self._parser.feed(keys)):
            self._driver.process_message(event)

    def resize(self, rows: int, cols: int) -> None:
        self._driver._size = Size(cols, rows)
        self._app.post_message(events.Resize(Size(cols, rows), Size(cols, rows)))


async def in_process(case: Case, folder: Path) -> None:
    file = folder / "session.json"
    session = opened(file, tool_talk(case.messages // 4 + 1)[: case.messages], OfflineModel(pace=case.pace))
    app, kept = app_on(session), session.session
    app._fatal_error = app._close_messages_no_wait
    async with app.run_test(size=(120, 40)):
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)  # ctrl+c ends this program, not the application
        try:
            await play(case.moves, InProcess(app), file, lambda: app._exit or app._exception is not None)
            await _works_as_ever(app)
            InProcess(app).send("\x11")
            await _until(app, app._task.done, "the end by ctrl+q")
        finally:
            app.exit()
    if kept.is_saved and kept.save_problem is None and file.is_file() and file.read_bytes() not in HANDS.values():
        assert json.loads(file.read_bytes()) == [entry.message for entry in kept.entries], "the file is another"


async def _works_as_ever(app: TriptychApp) -> None:
    player, bench = InProcess(app), app.workbench
    session, prompt, end = bench._session, bench.query_one(PromptText), time.monotonic() + PATIENCE
    player.resize(40, 120)
    await _until(app, lambda: _is_quiet(app), "quiet")
    while app.screen is not bench or bench._is_running or bench._run or isinstance(bench.focused, Input | TextArea):
        assert time.monotonic() < end, f"Esc does not lead out of {app.screen}, {bench.focused}"
        player.send(KEYS["escape"])
        await _until(app, lambda: _is_quiet(app), "quiet")
        if app._exit or app._exception is not None:
            return
    player.send(KEYS["f1"])
    await _until(app, lambda: isinstance(app.screen, Help), "an answer to F1")
    player.send(KEYS["escape"])
    await _until(app, lambda: app.screen is bench and _is_quiet(app), "the end of the help")
    player.send("i")
    await _until(app, lambda: bench._in_prompt() and _is_quiet(app), "the prompt")
    player.send("KQZ")
    await _until(app, lambda: "KQZ" in prompt.text, "what was typed")
    lists = []
    for move in (session.redo, session.undo, session.redo):
        while move():
            pass
        lists.append(session.entries)
    assert lists[0] == lists[2], "undo and redo lead to another list"
    await _until(app, lambda: bench._sheet.entries == session.viewed, "the list on screen")


def _is_quiet(app: TriptychApp) -> bool:
    pumps = [app, *(node for screen in app.screen_stack for node in screen.walk_children(with_self=True))]
    return not any(pump._message_queue.qsize() or pump._next_callbacks for pump in pumps)


async def _until(app: TriptychApp, holds: Callable[[], bool], what: str) -> None:
    end, held = time.monotonic() + PATIENCE, 0
    while held < 2 and app._exception is None and not app._task.done():
        held = held + 1 if holds() else 0
        assert time.monotonic() < end, f"never: {what}"
        await asyncio.sleep(0.005)


async def in_terminal(case: Case, folder: Path) -> None:
    file, is_sample = folder / "session.json", isinstance(case.messages, Path)
    talk = [] if is_sample else [{"role": "system", "content": "s"}, *tool_talk(case.messages // 4 + 1)]
    file.write_bytes(case.messages.read_bytes() if is_sample else json.dumps(talk, indent=2).encode())
    is_foreign = is_sample or any(move in HANDS for move in case.moves)
    with workbench(folder, file, env={"OPENAI_BASE_URL": os.environ["OPENAI_BASE_URL"]}) as terminal:
        try:
            await asyncio.to_thread(terminal.wait_for, "context")
            await play(case.moves, terminal, file, lambda: terminal._process.poll() is not None)
            terminal.resize(40, 120)
            end, before = time.monotonic() + PATIENCE, terminal.received
            while b"layer.truncate" not in terminal.raw[before:]:
                assert time.monotonic() < end
                for key in ("escape", "escape", "escape", "f1"):
                    terminal.press(key)
                    await asyncio.sleep(0.2)
            terminal.send("\x11")
        except (OSError, AssertionError):  # perhaps it has ended; why, its exit code says
            assert terminal._process.poll() is not None, "no answer to F1"
        code, raw = terminal.wait(PATIENCE), terminal.raw.decode("utf-8", "replace")
    assert "Traceback" not in raw, raw[raw.find("Traceback") :]
    assert code == 0 or (code == 3 and is_foreign), f"exit code {code}"
    assert is_foreign or json.loads(file.read_bytes())


def fault_of(case: Case) -> str | None:
    """What goes wrong; None when all is well."""
    run = in_terminal if case.seed % 8 == 0 else in_process
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["HOME"] = folder
        try:
            asyncio.run(asyncio.wait_for(run(case, Path(folder)), 10 * PATIENCE))
        except Exception:
            return traceback.format_exc().strip()
    return None


def fewest_moves(case: Case, fault: str) -> Sequence[Move]:
    """As few of the moves as still end alike."""
    size, place = len(case.moves) // 2, 0
    while size:
        fewer = case._replace(moves=[*case.moves[:place], *case.moves[place + size :]])
        if (fault_of(fewer) or "").split("\n")[-1] == fault.split("\n")[-1]:
            case = fewer
        else:
            place += size
        size, place = (size, place) if place < len(case.moves) else (size // 2, 0)
    return case.moves


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Random keys on the workbench.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1, help="where to begin")
    options = parser.parse_args()
    for name in [name for name in os.environ if name.startswith(("XDG_", "OPENAI_"))]:
        del os.environ[name]
    os.environ["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"  # nothing answers there
    end, sent = time.monotonic() + options.seconds, 0
    for seed in count(options.seed):
        case = case_of(seed)
        if (fault := fault_of(case)) is not None:
            print(f"seed {seed}, {case.messages} messages, pace {case.pace}\n{fault}", flush=True)
            print(f"fewest moves: {fewest_moves(case, fault)}")
            sys.exit(1)
        sent += len(case.moves)
        if time.monotonic() > end:
            print(f"seeds {options.seed} to {seed}, {sent:,} moves: all well")
            return


if __name__ == "__main__":
    main()
