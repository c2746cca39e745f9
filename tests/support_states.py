"""Walking through every state of the workbench that a table names, and seeing what each shows.

The table is `tests/support_scenes.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from rich.segment import Segment
from textual.events import Key
from textual.keys import _character_to_key
from textual.pilot import Pilot

from tests.support_pilot import screen_text
from triptych.layers.plan import Plan
from triptych.settings import Settings
from triptych_tui.app import TriptychApp
from triptych_tui.launch import OpenedSession

SIZE = (80, 24)


class State(NamedTuple):
    """`keys` lead to it from the state before; then `then` does what no key does. `when` it has come is told by this,
    and always by that nothing runs any more, unless something shall (`running`)."""

    name: str
    keys: tuple[str, ...] = ()
    when: Callable[[TriptychApp], bool] = lambda app: True
    then: Callable[[Pilot[int], Stage], Any] | None = None
    running: bool = False


class Stage:
    """What a scene is played with: a folder of its own, a model that can be held, time that can be made to pass."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "s.json"
        self.outside: list[str] = []
        """Texts that come from outside and may be on screen."""
        self.base_url = ""
        """Of a server that lists models."""
        self.held = asyncio.Event()
        self.ticks = asyncio.Semaphore(0)

    async def sleep(self, seconds: float) -> None:
        await self.ticks.acquire()


class Scene(NamedTuple):
    """States that follow each other in one run of the program."""

    name: str
    opened: Callable[[Stage], AbstractAsyncContextManager[OpenedSession]]
    states: tuple[State, ...]


class Shown(NamedTuple):
    """A state as it is on screen."""

    scene: str
    state: str
    lines: list[str]
    segments: list[list[Segment]]
    outside: str

    @property
    def name(self) -> str:
        return f"{self.scene}: {self.state}"

    def __str__(self) -> str:
        return "\n".join([self.name, *self.lines])


async def walk(scenes: Iterable[Scene], folder: Path, look: Settings) -> AsyncIterator[Shown]:
    """All states of all scenes, one after the other, in the language now in force."""
    for scene in scenes:
        stage = Stage(folder / scene.name)
        stage.folder.mkdir()
        async with scene.opened(stage) as session:
            app = TriptychApp(session._replace(settings=look))
            async with app.run_test(size=SIZE) as pilot:
                app.workbench.failing.sleep = stage.sleep
                for state in scene.states:
                    await _go_to(pilot, app, stage, state)
                    yield _shown(scene, state, app, stage)
                stage.held.set()


async def _go_to(pilot: Pilot[int], app: TriptychApp, stage: Stage, state: State) -> None:
    for key in state.keys:
        app.post_message(Key(_character_to_key(key), key) if len(key) == 1 else Key(key, None))
        await _hear(app)
    if state.then is not None:
        await state.then(pilot, stage)
        await _hear(app)
    bench = app.workbench
    for _ in range(500):
        if (state.running or bench.is_waiting or not bench._is_running) and state.when(app):
            await pilot.pause()
            return
        await pilot.pause(0.01)
    raise AssertionError(f"never: {state.name}\n{screen_text(app)}")


async def _hear(app: TriptychApp) -> None:
    """Let a key go from the application to what has the focus, and on to its screen."""
    for node in (lambda: app, lambda: app.focused or app.screen, lambda: app.screen):
        heard = asyncio.Event()
        if node().call_later(heard.set):
            with suppress(TimeoutError):  # what is taken away by the key hears nothing more
                await asyncio.wait_for(heard.wait(), 1)


def _shown(scene: Scene, state: State, app: TriptychApp, stage: Stage) -> Shown:
    strips = app.screen._compositor.render_strips()
    entries = app.workbench._session.entries
    stage.outside += ["".join(state.keys), str([entry.message for entry in entries]), _on_disk(stage.file)]
    stage.outside += [plan.reason.printed for plan in _plans(app)]
    segments = [list(strip) for strip in strips]
    return Shown(scene.name, state.name, [strip.text for strip in strips], segments, "\n".join(stage.outside))


def _plans(app: TriptychApp) -> list[Plan]:
    """What a layer run by hand would do; its reason holds what the lesson's own program prints."""
    run = app.workbench._run
    return [run.plan] if run is not None and run.plan is not None else []


def _on_disk(file: Path) -> str:
    return file.read_text("utf-8") if file.is_file() else ""
