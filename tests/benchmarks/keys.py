"""From a key to the frame that shows it, at 100 and at 100,000 messages."""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import Any

from tests.benchmarks.table import Finding, compare
from tests.support_terminal import Terminal

SMALL, LARGE = 100, 100_000
PRESSES = 40
PANES = {"1": "chat", "2": "messages", "3": "file"}
KEYS = {("k", "j"): "one row", ("pageup", "pagedown"): "one page"}


def run() -> list[Finding]:
    findings: list[Finding] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        terminals = [stack.enter_context(_opened(folder, count)) for count in (SMALL, LARGE)]
        for pane, name in PANES.items():
            for terminal in terminals:
                _press(terminal, "escape", wait=False)
                _press(terminal, pane)
                _press(terminal, "end", wait=False)
            for keys, what in KEYS.items():
                small: list[float] = []
                large: list[float] = []
                for press in range(PRESSES):
                    key = keys[press % 2]
                    small.append(_press(terminals[0], key))
                    large.append(_press(terminals[1], key))
                findings.append(compare(f"{name}, {what}, {LARGE:,} against {SMALL}", small, large, 3))
                print(f"  {name}, {what}: p95 at {LARGE:,} messages {quantiles(large, n=20)[-1] * 1000:.1f} ms")
    return findings


def session(count: int) -> list[dict[str, Any]]:
    """A session of about `count` messages: questions, calls, results, answers."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a helpful assistant."}]
    for number in range(count // 4):
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
        messages += [
            {"role": "user", "content": f"Question {number}: what does the log say? 日志里说了什么？"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": f"line {number} of the log, " * 8},
            {"role": "assistant", "content": f"Answer {number}: nothing special. " * 4},
        ]
    return messages


def _opened(folder: Path, count: int) -> Terminal:
    file = folder / f"{count}.json"
    file.write_text(json.dumps(session(count), indent=2, ensure_ascii=False), "utf-8")
    started = perf_counter()
    terminal = Terminal(
        [sys.executable, "-m", "triptych_tui", file], env={"HOME": str(folder)}, rows=40, cols=120, cwd=Path.cwd()
    )
    terminal.wait_for("following", timeout=120)
    print(f"  {count:,} messages, {file.stat().st_size / 1e6:.1f} MB: open in {perf_counter() - started:.2f} s")
    return terminal


def _press(terminal: Terminal, key: str, *, wait: bool = True) -> float:
    """Seconds from a key to the end of the frame it causes."""
    before, started = terminal.received, perf_counter()
    terminal.press(key)
    if wait:
        terminal.wait_for_frame(before)
    else:
        terminal.settle()
    return perf_counter() - started
