"""What is typed, sent or signalled at a bad moment is neither lost nor silent."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from textual.command import CommandList
from textual.events import Click

from tests.support_command_line import CommandLine, fault_of
from tests.support_openai_server import DROP, OpenAIServer, Received, Reply, answer, serve, stalled
from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, SummarizingModel, says
from tests.support_terminal import KEYS, Terminal
from tests.support_workbench import workbench
from triptych.models.base import Delta, Request
from triptych.models.openai import OpenAIModel
from triptych_tui.screens.palette import Palette
from triptych_tui.widgets.parameter_form import ParameterInput
from triptych_tui.widgets.prompt import PromptText


async def test_what_is_typed_right_behind_enter_stays_in_the_prompt(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", [], ScriptedModel([says("Yes.")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        prompt = app.screen.query_one(PromptText)
        prompt.text = "one"
        await prompt.action_send()
        prompt.text = "one and the next"  # keys that come before the sending is heard of
        await until(pilot, lambda: "Yes." in screen_text(app), "the answer")
        assert prompt.text == " and the next"
    assert session.session.entries[1].message["content"] == "one"


async def test_a_question_that_fails_returns_before_what_was_typed_meanwhile(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with OpenAIServer([Reply([hold, DROP]), *[Reply([DROP])] * 4]) as server:
        session = opened(tmp_path / "s.json", [], OpenAIModel(name="m", base_url=server.base_url))
        app = app_on(session)
        async with app.run_test(size=(120, 40)) as pilot:
            app.workbench.failing.sleep = _at_once
            await pilot.press(*"lost", "enter")
            await server.request()
            await pilot.press(*"next")
            hold.set()
            await until(pilot, lambda: "Esc dismiss" in screen_text(app), "the sentence")
            await until(pilot, lambda: app.screen.query_one(PromptText).text == "lost\nnext", "both texts")


class WaitingForTheSummary(SummarizingModel):
    """Writes a summary when it is told to."""

    def __init__(self) -> None:
        super().__init__([says("Yes.")], says("They talked about numbers."))
        self.go_on = asyncio.Event()

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        async for delta in super().stream(request):
            if not request.tools:
                await self.go_on.wait()
            yield delta


async def test_the_list_is_summarized_while_the_next_question_is_typed(tmp_path: Path) -> None:
    model = WaitingForTheSummary()
    session = opened(tmp_path / "s.json", tool_talk(3), model)
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"fourth", "enter")
        await until(pilot, lambda: len(model.requests) == 1, "the request for a summary")
        await pilot.press(*"and ")
        model.go_on.set()
        await pilot.press(*"then")
        await until(pilot, lambda: "Yes." in screen_text(app), "the answer")
        prompt = app.screen.query_one(PromptText)
        assert (prompt.text, prompt.has_focus) == ("and then", True)
    contents = [entry.message["content"] for entry in session.session.entries]
    assert contents[1] == "[以下是此前对话的摘要]\nThey talked about numbers."
    assert contents[-2:] == ["fourth", "Yes."]


async def _at_once(seconds: float) -> None:
    """Waits between tries take no time here."""


async def test_one_panel_follows_another_as_fast_as_keys_are_pressed(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(5), ScriptedModel([]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f4", "f3", "f2", "f3", "f4", "f2")
        await until(pilot, lambda: "Truncate tool results" in screen_text(app), "the panel of the last key")
        fields = [field.id for field in app.screen.query(ParameterInput)]
        assert fields == ["parameter-limit", "parameter-head_share", "tried"]


async def test_the_palette_takes_what_comes_too_late(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", [], ScriptedModel([])))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: "Next pane" in screen_text(app), "its commands")
        palette = app.screen
        assert isinstance(palette, Palette)
        found = palette.query_one(CommandList)
        palette.post_message(Click(palette, 0, 0, 0, 0, 1, False, False, False, screen_x=500, screen_y=500))
        await pilot.pause()
        assert app.screen is palette
        await pilot.press("escape")
        await until(pilot, lambda: not found.is_attached, "the end of the palette")
        palette._refresh_command_list(found, [], True)
        assert app.screen is app.workbench


async def test_an_undo_while_a_panel_is_put_together_leaves_both_sound(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", tool_talk(5), ScriptedModel([]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f2", "enter")
        await until(pilot, lambda: session.session.is_saved and "TRUNC" in screen_text(app), "cut")
        opening = asyncio.create_task(app.workbench.action_layer("clear"))
        await asyncio.sleep(0)
        session.session.undo()
        await opening
        await until(pilot, lambda: "TRUNC" not in screen_text(app), "the undo")
        await pilot.press("escape", "f2")
        await until(pilot, lambda: "Truncate tool results" in screen_text(app), "the next panel")


@pytest.mark.parametrize(
    "keys",
    [
        "\x10" + KEYS["pageup"] + KEYS["pagedown"],
        "\x10]" + KEYS["pageup"],
        "\x10" + KEYS["down"] + KEYS["pagedown"],
    ],
    ids=["open", "filtered", "moved"],
)
def test_the_palette_takes_keys_before_it_is_drawn(tmp_path: Path, keys: str) -> None:
    with workbench(tmp_path) as terminal:
        terminal.wait_for("Which files")
        terminal.send(keys)
        terminal.wait_for("No such command" if "]" in keys else "Next pane")
        terminal.send("\x11")
        assert terminal.wait() == 0


@pytest.mark.parametrize("twice", ["\x1b[<0;1;1M\x1b[<0;1;1m", "\r"], ids=["click", "enter"])
def test_what_closes_the_palette_may_come_twice(tmp_path: Path, twice: str) -> None:
    with workbench(tmp_path) as terminal:
        terminal.wait_for("Which files")
        terminal.send("\x10]")
        terminal.wait_for("No such command")
        terminal.send(twice * 4)
        terminal.wait_for(lambda screen: "No such command" not in screen)
        terminal.send("\x11")
        assert terminal.wait() == 0


@pytest.mark.parametrize("keys", ["u\x11u\x12u", "\x11" + KEYS["f3"] + KEYS["f4"]], ids=["undo", "layer"])
def test_keys_behind_the_last_one_do_nothing(tmp_path: Path, keys: str) -> None:
    with workbench(tmp_path) as terminal:
        terminal.wait_for("Which files")
        terminal.press("escape")
        terminal.wait_for("i ask")
        terminal.send(keys)
        assert terminal.wait() == 0
        assert b"Traceback" not in terminal.raw


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_a_signal_gives_the_terminal_back_and_tells_the_shell(tmp_path: Path, number: signal.Signals) -> None:
    def begin(_: Received) -> Reply:
        return stalled(answer("It begins well and"), 4)

    async with OpenAIServer(begin) as server:
        arguments = ("--new", tmp_path / "s.json", "--model", "m", "--base-url", server.base_url)
        with workbench(tmp_path, *arguments) as terminal:
            code = await asyncio.to_thread(_signalled, terminal, number)
    assert code == 128 + number
    assert b"\x1b[?1049l" in terminal.raw[-200:]
    assert "It begins" in (tmp_path / "s.json").read_text("utf-8")


def test_a_window_that_is_closed_in_the_midst_of_an_answer_ends_the_program_with_all_saved(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    with serve([{"text": "word " * 4000, "rate": 200}], tmp_path) as (url, _):
        terminal = workbench(tmp_path, "--new", file, "--model", "m", "--base-url", url, rows=50, cols=200)
        try:
            terminal.wait_for("ready")
            terminal.send("hello\r")
            terminal.wait_for("word word word")
            terminal.hang_up()
            assert terminal.wait() == 128 + signal.SIGHUP
        finally:
            terminal.close()
    assert "word word" in file.read_text("utf-8")


def _signalled(terminal: Terminal, number: signal.Signals) -> int:
    terminal.wait_for("ready")
    terminal.send("hello\r")
    terminal.wait_for("It begins")
    terminal.signal(number)
    return terminal.wait()


def test_ctrl_c_while_the_program_loads_is_no_traceback() -> None:
    script = """
import os, signal, sys
class AtTheCommandLine:
    def find_spec(self, name, path, target=None):
        if name == "triptych_tui.cli":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, AtTheCommandLine())
from triptych_tui.start import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_leaving_a_session_that_could_not_be_saved_says_so(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    with workbench(tmp_path, "--new", file) as terminal:
        terminal.wait_for("ready")
        file.write_text('[{"role": "system", "content": "theirs"}]', "utf-8")
        terminal.send("hello\r")
        terminal.wait_for("changed by another program")
        terminal.send("\x11")
        assert terminal.wait() == 3
        assert "changed by another program" in terminal.screen_text()
    assert "theirs" in file.read_text("utf-8")


def test_a_folder_that_is_gone_is_not_blamed_on_standard_output(tmp_path: Path) -> None:
    line = CommandLine(tmp_path)
    gone = tmp_path / "gone"
    gone.mkdir()
    script = "import os, sys; os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"
    argv = [sys.executable, "-c", script, str(gone), *line.argv("check", "session.json")]
    done = subprocess.run(argv, capture_output=True, check=False, env={**line.environment, "PATH": os.defpath})
    assert "standard output" not in fault_of(done, 3)
