"""The command line as a shell sees it: run in this process or in one of its own, with an environment of its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from triptych_tui.cli import main

Message = dict[str, Any]
Done = subprocess.CompletedProcess[bytes]


def turn(number: int) -> list[Message]:
    """A turn whose tool result is 200 times the same digit."""
    function = {"name": "read_file", "arguments": json.dumps({"path": f"{number}.txt"})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "user", "content": f"Read file {number}"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"{number}" * 200},
        {"role": "assistant", "content": f"File {number} is long."},
    ]


MESSAGES: list[Message] = [{"role": "system", "content": "Be brief."}, *turn(1), *turn(2), *turn(3), *turn(4)]
"""A session with a result at 3, 7, 11 and 15."""


def saved(messages: list[Message]) -> str:
    """A session file's text, as the lesson writes it."""
    return json.dumps(messages, indent=2, ensure_ascii=False)


class CommandLine:
    """Runs `triptych` with folders below `folder` and no other settings; `environment` may be added to."""

    def __init__(self, folder: Path) -> None:
        own = {"XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache", "HOME": "home"}
        self.environment = {name: str(folder / path) for name, path in own.items()} | {"LC_ALL": "C.UTF-8"}
        self.config = folder / "config" / "triptych" / "config.toml"
        self.default_session = folder / "data" / "triptych" / "sessions" / "default.json"
        self.file = folder / "session.json"
        self.file.write_text(saved(MESSAGES), "utf-8")

    def run(self, *args: object, stdin: str | bytes | None = None) -> Result:
        """Run it in this process."""
        foreign = {name: None for name in os.environ if name.startswith(("TRIPTYCH_", "OPENAI_", "OLLAMA_"))}
        return CliRunner(env={**foreign, **self.environment}).invoke(main, list(map(str, args)), input=stdin)

    def shell(self, *args: object, stdin: bytes = b"") -> Done:
        """Run it in a process of its own."""
        return subprocess.run(self.argv(*args), input=stdin, capture_output=True, check=False, env=self.environment)

    async def beside(self, *args: object) -> Done:
        """Run it in a process of its own beside servers of this event loop."""
        process = await self.started(*args)
        out, said = await process.communicate()
        assert process.returncode is not None
        return Done(args, process.returncode, out, said)

    async def started(self, *args: object) -> asyncio.subprocess.Process:
        pipe = subprocess.PIPE
        return await asyncio.create_subprocess_exec(*self.argv(*args), stdout=pipe, stderr=pipe, env=self.environment)

    @staticmethod
    def argv(*args: object) -> list[str]:
        return [sys.executable, "-m", "triptych_tui", *map(str, args)]


def answer_of(result: Result, code: int = 0) -> dict[str, Any]:
    """The object on standard output, with nothing on standard error."""
    assert (result.exit_code, result.stderr) == (code, "")
    told = json.loads(result.stdout)
    assert told["version"] == 1
    return dict(told)


def fault_of(result: Result | Done, code: int) -> str:
    """The one line on standard error, with nothing on standard output."""
    if isinstance(result, Result):
        exit_code, out, said = result.exit_code, result.stdout, result.stderr
    else:
        exit_code, out, said = result.returncode, result.stdout.decode(), result.stderr.decode()
    assert "Traceback" not in said
    assert (exit_code, out) == (code, ""), said
    assert said.startswith("triptych: ")
    assert said.count("\n") == 1
    return said
