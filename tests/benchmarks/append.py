"""From a committed step to the frame that shows it, at 100 and at 100,000 messages, and how long the window is deaf."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from time import perf_counter

from tests.benchmarks.keys import LARGE, SMALL, session
from tests.benchmarks.table import Finding, compare
from tests.support_pilot import app_on, opened
from triptych.reasons import Reason
from triptych_tui.app import TriptychApp
from triptych_tui.launch import OpenedSession

STEPS = 30


def run() -> list[Finding]:
    return asyncio.run(_run())


async def _run() -> list[Finding]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sessions = [opened(folder / f"{count}.json", session(count)[1:]) for count in (SMALL, LARGE)]
        apps = [app_on(each) for each in sessions]
        times: tuple[list[float], list[float]] = ([], [])
        gaps: tuple[list[float], list[float]] = ([], [])
        for app in apps:
            await stack.enter_async_context(app.run_test(size=(120, 40)))
        for step in range(STEPS + 1):
            for place, (each, app) in enumerate(zip(sessions, apps, strict=True)):
                seconds, gap = await _append(each, app, f"Appended {step}")
                if step:  # the first one warms the caches
                    times[place].append(seconds)
                    gaps[place].append(gap)
        print(f"  append: the event loop stood still for {max(gaps[1]) * 1000:.1f} ms at most at {LARGE:,} messages")
        return [compare(f"append, {LARGE:,} against {SMALL}", *times, 3)]


async def _append(opened_session: OpenedSession, app: TriptychApp, text: str) -> tuple[float, float]:
    """Seconds from a step to the end of the frame it causes, and the longest that the event loop stood still."""
    shown = asyncio.Event()
    watching = asyncio.create_task(_longest_gap(shown))
    await asyncio.sleep(0)
    started = perf_counter()
    core = opened_session.session
    core.append("receive", {"role": "user", "content": text}, Reason("turn.received"), core.begin_action())
    app.screen.call_after_refresh(shown.set)
    await shown.wait()
    return perf_counter() - started, await watching


async def _longest_gap(ended: asyncio.Event) -> float:
    longest, before = 0.0, perf_counter()
    while not ended.is_set():
        await asyncio.sleep(0)
        now = perf_counter()
        longest, before = max(longest, now - before), now
    return longest
