"""A long session at full speed: 2,000 turns, then 100,000 entries, with layers, undo and seeks in between.

What the memory of a session costs: the journal against the bytes of its messages, opening a session with its journal
against `json.loads` of its list, and the memory a process needs for it against what its journal holds.
"""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path
from time import perf_counter

from tests.benchmarks.table import Finding, compare
from tests.support_desk import Desk, read
from tests.support_scripted_model import asks_for, says
from triptych.edits import append_edit
from triptych.entries import Entry, entries_from
from triptych.layers import clear, truncate
from triptych.layers.clear import ClearParameters
from triptych.layers.plan import make_plan
from triptych.layers.truncate import TruncateParameters
from triptych.messages import Message
from triptych.policy import preset
from triptych.reasons import Reason
from triptych.session import Session
from triptych.storage.journal import journal_path
from triptych.storage.kept_session import begun, opened

TURNS, ENTRIES = 2000, 100_000
TURNS_A_STEP = 50
OPENINGS = 5
SYSTEM: Message = {"role": "system", "content": "You are a helpful assistant."}
OUTPUT = "a line of the log, with nothing special in it\n" * 6


def run() -> list[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        return [
            *asyncio.run(_turns(Path(folder) / "turns.json")),
            *asyncio.run(_entries(Path(folder) / "entries.json")),
        ]


async def _turns(file: Path) -> list[Finding]:
    """Turns of the lesson's policy, each saved: all three layers run, and every tenth turn is undone and done again."""
    desk = Desk([SYSTEM], preset("lesson"), outputs=[OUTPUT], file=file)
    started = perf_counter()
    tracemalloc.start()
    for number in range(TURNS):
        texts = (f"Question {number}: what does the log say?", f"Answer {number}: nothing special. " * 4)
        summaries = [says(f"Summary {number}: so far {number} questions.")] if number > 2 else []
        await desk.ask(texts[0], *summaries, asks_for(read(f"call_{number}")), says(texts[1]))
        desk.events.clear()
        if number % 10 == 9:
            desk.session.undo()
            desk.session.redo()
        if number % 100 == 99:
            desk.session.seek(desk.session.timeline.path()[number // 2].id)
            desk.session.seek(desk.session.timeline.head)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    seconds = perf_counter() - started
    said = sum(len(json.dumps(entry.message)) for entry in set(desk.session.timeline.known_entries()))
    tasks = len(asyncio.all_tasks()) - 1
    assert not tasks, f"{tasks} tasks are still running"
    print(f"  {TURNS:,} turns in {seconds:.1f} s ({seconds / TURNS * 1000:.1f} ms each, traced), no task left running")
    return [
        _size(f"journal of {TURNS:,} turns, against its messages", said, journal_path(file).stat().st_size, 6),
        _size(f"memory of {TURNS:,} turns, against their journal", journal_path(file).stat().st_size, peak, 4),
    ]


async def _entries(file: Path) -> list[Finding]:
    base = (Entry(0, SYSTEM),)
    past = begun(file, base)
    session = Session(past.timeline, preset("lesson"), past.store)
    started = perf_counter()
    for number in range(0, ENTRIES // 4, TURNS_A_STEP):
        added = [message for each in range(number, number + TURNS_A_STEP) for message in _turn(each)]
        entries = entries_from(added, session.new_ids(len(added)))
        edit = append_edit(session.entries, *entries)
        plan = make_plan("append", session.entries, (edit,), Reason("turn.result"), session.counter)
        session.perform(plan, session.begin_action())
    await session.save()
    print(f"  {ENTRIES:,} entries appended in {perf_counter() - started:.1f} s")
    session.perform(
        truncate.plan(session.entries, TruncateParameters(limit=80), session.counter), session.begin_action()
    )
    session.undo()
    session.redo()
    session.perform(clear.plan(session.entries, ClearParameters(keep=1000), session.counter), session.begin_action())
    for step in session.timeline.path()[::100]:
        session.seek(step.id)
    await session.save()
    past.store.leave()
    return _openings(file)


def _turn(number: int) -> list[Message]:
    call = {"id": f"call_{number}", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    return [
        {"role": "user", "content": f"Question {number}: what does the log say? 日志里说了什么？"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": OUTPUT},
        {"role": "assistant", "content": f"Answer {number}: nothing special. " * 4},
    ]


def _openings(file: Path) -> list[Finding]:
    """Opening with its journal, against `json.loads` of the list and of the journal's lines; no gc, as at a start."""
    gc.disable()
    loads: list[float] = []
    lines: list[float] = []
    ours: list[float] = []
    for _ in range(OPENINGS):
        started = perf_counter()
        json.loads(file.read_bytes())
        loads.append(perf_counter() - started)
        started = perf_counter()
        for line in journal_path(file).read_bytes().split(b"\n")[:-1]:
            json.loads(line)
        lines.append(perf_counter() - started)
        started = perf_counter()
        assert opened(file).remembered
        ours.append(perf_counter() - started)
    gc.enable()
    journal = journal_path(file).stat().st_size
    resident = _resident(file)
    return [
        compare(f"opening {ENTRIES:,} entries, against their list", loads, ours, 20),
        compare("the same, against json.loads of the journal", lines, ours, 3),
        _size("memory to open it, against its journal", journal, resident, 8),
    ]


def _resident(file: Path) -> int:
    """The most memory, in bytes, of a process that opens it."""
    script = (
        "import gc, sys; gc.disable(); from pathlib import Path; from triptych.storage.kept_session import opened;"
        "past = opened(Path(sys.argv[1])); print(Path('/proc/self/status').read_text())"
    )
    told = subprocess.run([sys.executable, "-c", script, file], capture_output=True, text=True, check=True).stdout
    return int(told.partition("VmHWM:")[2].split()[0]) * 1024


def _size(what: str, baseline: float, subject: float, goal: float) -> Finding:
    return Finding(what, baseline / 1e6, subject / 1e6, [subject / baseline], goal, "MB")
