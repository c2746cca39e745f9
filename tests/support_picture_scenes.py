"""What the pictures show: how each scene begins and the keys that lead to it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tests.support_incident import CHINESE, ENGLISH, SCRIPT, Incident, write_files
from tests.support_model_server import ModelServer, ollama
from tests.support_openai_server import Received, Reply, Script
from tests.support_terminal import Terminal
from tests.support_workbench import workbench

PORT = 11434
"""Where the pictures' server listens, so that they say the same each time: Ollama's own must not run meanwhile."""
MODELS = ("llama3.2", "qwen3:4b", "qwen3:8b")
WINDOW = 4096
OFFLINE_QUESTIONS = ("讀 harbour/渡輪時刻表.txt", "讀 town/燈塔與海燕.txt", "讀 town/魚湯食譜.txt", "讀 welcome.txt")


Size = tuple[int, int]
"""Columns and rows."""
Options = tuple[str, ...]


class Picture(NamedTuple):
    """`scene` gives the SVG of a screen of this size, in a home of its own; `options` are the command line's."""

    scene: Callable[[Path, Size, Options], str]
    size: Size
    options: Options = ()


@contextmanager
def _serving(script: SCRIPT) -> Iterator[str]:
    """A server in a thread of its own that tells its models as Ollama does, and answers from a script."""
    loop, answers = asyncio.new_event_loop(), Script(script)

    def respond(received: Received) -> Reply:
        """Without usage, so that all numbers are estimates and add up."""
        reply = answers(received)
        return replace(
            reply, pieces=[each for each in reply.pieces if not (isinstance(each, dict) and "usage" in each)]
        )

    server = ModelServer(ollama(MODELS, loaded={MODELS[0]: WINDOW}), respond)
    server.port = PORT
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    try:
        yield f"http://localhost:{PORT}/v1"
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


@contextmanager
def _incident(
    home: Path,
    size: Size,
    options: Options,
    *,
    script: SCRIPT | None = None,
    model: str = MODELS[0],
    keep: int = 1,
    env: Mapping[str, str] | None = None,
) -> Iterator[tuple[Terminal, Incident]]:
    """The workbench with the files of the incident and a model that knows them."""
    incident = CHINESE if "zh-Hans" in options else ENGLISH
    folder = write_files(home / "incident", incident)
    numbers = ("--limit", "2800", "--keep", str(keep), "--window", str(WINDOW))
    cols, rows = size
    with _serving(incident.answers if script is None else script) as base_url:
        endpoint = ("--model", model, "--base-url", base_url, "--workspace", folder, "--system", incident.system)
        with workbench(
            home, *endpoint, *numbers, *options, "--new", home / "incident.json", rows=rows, cols=cols, env=env
        ) as terminal:
            terminal.wait_for(f"{WINDOW:,}")
            terminal.settle()
            yield terminal, incident


def _ask(terminal: Terminal, question: str, file: Path, messages: int) -> None:
    """Ask, and wait until the file holds that many messages."""
    terminal.send(question)
    terminal.press("enter")
    terminal.wait_for(lambda _screen: file.exists() and len(json.loads(file.read_bytes())) == messages)
    terminal.settle()


def _hold_class(terminal: Terminal, home: Path, incident: Incident, turns: int) -> None:
    """Ask the first questions."""
    for question, messages in list(zip(incident.questions, (8, 13, 17, 16), strict=True))[:turns]:
        _ask(terminal, question, home / "incident.json", messages)


def _press(terminal: Terminal, *keys: str) -> None:
    """One key after the other, each when all is drawn that came of the one before."""
    for key in keys:
        terminal.press(key)
        terminal.settle()


def _drawn(terminal: Terminal, script: str = "SC") -> str:
    terminal.settle()
    return terminal.svg(script)


def answering(home: Path, size: Size, options: Options) -> str:
    """The fourth answer streams, all three layers have run; a truncated result is selected in the messages."""
    with _incident(home, size, options) as (terminal, incident):
        _hold_class(terminal, home, incident, 3)
        _begin_fourth(terminal, incident)
        _press(terminal, "tab", "2", *["up"] * 4)
        return _drawn(terminal)


def start(home: Path, size: Size, options: Options) -> str:
    """The first screen."""
    cols, rows = size
    with workbench(home, *options, "--new", home / "class.json", rows=rows, cols=cols) as terminal:
        terminal.wait_for("8,192")
        return _drawn(terminal)


def clear_preview(home: Path, size: Size, options: Options) -> str:
    """Layer 2 by hand, three results to be cleared, before it is applied."""
    with _incident(home, size, options, keep=9, script=_without_end(ENGLISH)) as (terminal, incident):
        _hold_class(terminal, home, incident, 4)
        _press(terminal, "tab", "2", *["up"] * 5, "f3")
        terminal.wait_for("Clear old tool results")
        _press(terminal, "tab", "end", "backspace", "1", "enter")
        return _drawn(terminal)


def summary_panel(home: Path, size: Size, options: Options) -> str:
    """Layer 3 by hand: the request, and a summary that was edited."""
    with _incident(home, size, options, script=_without_end(ENGLISH)) as (terminal, incident):
        _hold_class(terminal, home, incident, 4)
        terminal.press("f4")
        terminal.wait_for("exactly as sent")
        _press(terminal, "tab", "end", "backspace", "1", "enter", "enter")
        terminal.wait_for("as received")
        _press(terminal, "tab")
        terminal.send("Order 7731 must not be charged twice. ")
        terminal.wait_for("edited by you")
        return _drawn(terminal)


def key_rejected(home: Path, size: Size, options: Options) -> str:
    """The question returns to the prompt; what failed, and what to press, stands above it."""
    return _fault(home, size, options, {"status": 401, "message": "Incorrect API key provided."}, "offline model")


def retry(home: Path, size: Size, options: Options) -> str:
    """A request is sent again soon."""
    wait = {"status": 429, "message": "Rate limit reached.", "headers": {"Retry-After": "8"}}
    return _fault(home, size, options, wait, "in 5 s")


def looking_back(home: Path, size: Size, options: Options) -> str:
    """F7: an earlier list, in Traditional Chinese, with the offline model."""
    cols, rows = size
    file = home / "class.json"
    with workbench(home, *options, "--new", file, rows=rows, cols=cols) as terminal:
        terminal.wait_for("8,192")
        terminal.settle()
        for question, messages in zip(OFFLINE_QUESTIONS, (5, 9, 13, 15), strict=True):
            _ask(terminal, question, file, messages)
        _press(terminal, "f7", "f7", "f7")
        return _drawn(terminal, "TC")


def connect(home: Path, size: Size, options: Options) -> str:
    """Where to take a model from, and whether its server is well."""
    cols, rows = size
    with (
        _serving(()),
        workbench(home, *options, "--new", home / "class.json", rows=rows, cols=cols) as terminal,
    ):
        terminal.wait_for("8,192")
        terminal.settle()
        _press(terminal, "escape", "m", "tab")
        terminal.wait_for("qwen3:8b")
        _press(terminal, "down")
        return _drawn(terminal)


def _fault(home: Path, size: Size, options: Options, reply: Mapping[str, Any], seen: str) -> str:
    script = [*ENGLISH.answers[:-2], reply]
    key = {"OPENAI_API_KEY": "sk-no-key-at-all"}
    with _incident(home, size, options, script=script, model="gpt-5-mini", env=key) as (terminal, incident):
        _hold_class(terminal, home, incident, 3)
        terminal.send(incident.questions[3])
        terminal.press("enter")
        terminal.wait_for(seen)
        return _drawn(terminal)


def _begin_fourth(terminal: Terminal, incident: Incident) -> None:
    terminal.send(incident.questions[3])
    terminal.press("enter")
    terminal.wait_for(lambda screen: incident.begun in screen or "2nd request" in screen)
    terminal.settle(1.0)


def _without_end(incident: Incident) -> SCRIPT:
    """The incident's answers, the last one to its end."""
    return [
        *incident.answers[:-1],
        {"text": "Yes, five times between 11:04:09 and 11:04:41, each with the same order number."},
    ]


PICTURES: dict[str, Picture] = {
    "class": Picture(answering, (120, 40)),
    "class-light-zh": Picture(answering, (120, 40), ("--lang", "zh-Hans", "--theme", "light")),
    "class-zh-hant": Picture(answering, (120, 40), ("--lang", "zh-Hant")),
    "small": Picture(answering, (80, 24)),
    "small-light-zh": Picture(answering, (80, 24), ("--lang", "zh-Hans", "--theme", "light")),
    "start": Picture(start, (80, 24)),
    "clear": Picture(clear_preview, (200, 50)),
    "clear-light": Picture(clear_preview, (200, 50), ("--theme", "light")),
    "summarize": Picture(summary_panel, (120, 40)),
    "key-rejected": Picture(key_rejected, (120, 30)),
    "retry": Picture(retry, (120, 30)),
    "high-contrast": Picture(answering, (120, 40), ("--theme", "high-contrast")),
    "monochrome": Picture(answering, (120, 40), ("--theme", "monochrome")),
    "ascii": Picture(answering, (120, 40), ("--theme", "monochrome", "--ascii")),
    "projector": Picture(answering, (100, 30), ("--theme", "light")),
    "wide-zh": Picture(answering, (160, 45), ("--lang", "zh-Hans")),
    "looking-back-zh-hant": Picture(looking_back, (120, 40), ("--lang", "zh-Hant")),
    "connect": Picture(connect, (100, 30)),
}
