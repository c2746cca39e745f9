"""Every screen and state of the workbench as a table: how a scene begins, and the keys from one state to the next.

A new state is one line of `SCENES`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from textual.command import CommandList
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support_attachments import png
from tests.support_model_server import ModelServer, ollama
from tests.support_openai_server import DROP, OpenAIServer, Reply, error
from tests.support_pilot import opened, screen_text
from tests.support_scripted_model import ScriptedModel, ScriptedTool, asks_for, says
from tests.support_states import Scene, Stage, State
from triptych.entries import (
    Acknowledgement,
    Cleared,
    Entry,
    Interrupted,
    Pruned,
    Repaired,
    Summary,
    Truncated,
    entries_from,
)
from triptych.entries import Mark as EntryMark
from triptych.layers.summarize import ACKNOWLEDGEMENT, SUMMARY_PREFIX
from triptych.lesson_api import cut_tool_result
from triptych.models.base import ChatModel, Delta, ReasoningDelta, Request, TextDelta
from triptych.models.openai import OpenAIModel
from triptych.policy import preset, preset_names
from triptych.reasons import Reason
from triptych.session import Session
from triptych.tools.base import Toolbox
from triptych_tui.app import TriptychApp
from triptych_tui.found import Found, ListFound
from triptych_tui.i18n import current_language
from triptych_tui.launch import OpenedSession
from triptych_tui.screens.connect_dialog import ConnectDialog
from triptych_tui.widgets.prompt import PromptText
from triptych_tui.widgets.stage_bar import StageBar

# What is talked about


def _word(english: str, chinese: str) -> str:
    """Messages in English surroundings are ASCII, in Chinese ones Chinese, so that words of the interface stand out."""
    return english if current_language() == "en" else chinese


def _call(*ids: str) -> dict[str, Any]:
    argument = _word("{}", "{}")
    calls = [{"id": each, "type": "function", "function": {"name": "read_file", "arguments": argument}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _result(id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


def _question(number: int) -> dict[str, Any]:
    return {"role": "user", "content": _word(f"question {number}", f"问题{number}")}


def _answer(number: int) -> dict[str, Any]:
    return {"role": "assistant", "content": _word(f"answer {number}", f"回答{number}")}


def _system() -> dict[str, Any]:
    return {"role": "system", "content": _word("You answer from files.", "你依据文件回答。")}


def _long() -> str:
    return _word("0123456789", "很长的结果") * 30


def _talk(turns: int, characters: int = 0) -> tuple[Entry, ...]:
    messages = [_system()]
    for number in range(turns):
        result = _result(f"c{number}", _long() + _word("x", "很") * characters)
        messages += [_question(number), _call(f"c{number}"), result, _answer(number)]
    return entries_from(messages)


def _marked() -> tuple[Entry, ...]:
    """A list with every mark there is."""
    messages: list[tuple[dict[str, Any], EntryMark | None]] = [
        (_system(), None),
        ({"role": "user", "content": SUMMARY_PREFIX + _word("They talked.", "他们谈过。")}, Summary(of=(1,))),
        ({"role": "assistant", "content": ACKNOWLEDGEMENT}, Acknowledgement()),
        (_question(1), None),
        (_call("c1", "c2"), None),
        (_result("c1", cut_tool_result(_long(), 80)), Truncated(limit=80, omitted=220)),
        (_result("c2", "[已清理]"), Cleared(keep=2)),
        (_answer(1), Interrupted()),
        (_question(2), None),
        (_call("c3"), Repaired()),
        (_result("c3", _long()), Pruned(keep_turns=2)),
        ({**_answer(2), "reasoning_content": _word("Hm.", "嗯。")}, None),
        (_question(3), None),
        (_call("c4"), None),
        (_result("c4", _long()), Cleared(keep=2, guessed=True)),
        (_answer(3), None),
        (_result("c9", _long()), None),
    ]
    entries = entries_from([message for message, _mark in messages], first_id=2)
    marked = [
        replace(entry, marks=() if mark is None else (mark,))
        for entry, (_, mark) in zip(entries, messages, strict=True)
    ]
    return tuple(replace(entry, pinned=place == 8) for place, entry in enumerate(marked))


# Sessions


LESSON = preset("lesson")
FILES = ("welcome.txt", "town.txt", "lamp.csv")


class Held(ScriptedModel):
    """Waits behind the first piece of every answer until it is let go."""

    def __init__(self, stage: Stage, *answers: Any) -> None:
        super().__init__(answers, window=8192)
        self._stage = stage

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        async for delta in super().stream(request):
            yield delta
            await self._stage.held.wait()


def _tools(stage: Stage) -> Toolbox:
    tool = ScriptedTool("read_file", [_long()] * 9)
    tool.description = _word("Reads.", "读取。")
    stage.outside.append(tool.description)
    return Toolbox([tool])


def _opened(stage: Stage, entries: tuple[Entry, ...], model: ChatModel, host: str = "", **more: Any) -> OpenedSession:
    stage.outside += [model.name, host, stage.file.name, str(stage.folder), *FILES, str(LESSON)]
    begun = opened(stage.file, [], model)
    session = Session(entries, LESSON, begun.kept, is_saved=False)
    return begun._replace(session=session, tools=_tools(stage), host=host, files=FILES, **more)


@asynccontextmanager
async def empty(stage: Stage) -> AsyncIterator[OpenedSession]:
    yield _opened(stage, entries_from([_system()]), ScriptedModel([], window=8192))


@asynccontextmanager
async def after_a_class(stage: Stage) -> AsyncIterator[OpenedSession]:
    begun = _opened(stage, _marked(), Held(stage, says(_word("They had talked.", "他们说过话。"))))
    await begun.session.save()
    yield begun


@asynccontextmanager
async def before_three_layers(stage: Stage) -> AsyncIterator[OpenedSession]:
    stage.held.set()
    script = [
        says(_word("They had talked.", "他们说过话。")),
        asks_for(("n1", "read_file", "{}"), ("n2", "read_file", "{}")),
        asks_for(("n3", "read_file", "{}")),
        says(_word("That is it.", "就是这样。")),
        says(_word("The end.", "完。")),
    ]
    yield _opened(stage, _talk(3), Held(stage, *script))


@asynccontextmanager
async def robust(stage: Stage) -> AsyncIterator[OpenedSession]:
    stage.outside += ["my-robust", *(str(preset(name)) for name in preset_names())]
    begun = _opened(stage, _talk(5, 2000), Held(stage))
    begun.session.policy = preset("robust")
    yield begun


@asynccontextmanager
async def streaming(stage: Stage) -> AsyncIterator[OpenedSession]:
    thought = [ReasoningDelta(_word("Let me see.", "让我看看。")), TextDelta(_word("Well, ", "嗯，")), *says("…")]
    stage.outside.append(_word("Let me see. Well, ", "让我看看。嗯，"))
    yield _opened(stage, _talk(1), Held(stage, thought))


@asynccontextmanager
async def failing(stage: Stage) -> AsyncIterator[OpenedSession]:
    said = _word("slow down", "慢一点")
    replies = [
        error(429, said, headers={"Retry-After": "1"}),
        error(401, "no"),
        error(400, said, code="context_length_exceeded"),
        error(404, said),
        Reply([DROP]),
        *[error(500, said, headers={"Retry-After": "0"})] * 9,
    ]
    async with OpenAIServer(replies) as server:
        model = OpenAIModel(name="m", base_url=server.base_url, api_key="k", key_source="OPENAI_API_KEY", window=8192)
        stage.outside += [said, model.name]
        yield _opened(stage, _talk(2), model, f"127.0.0.1:{server.port}")


@asynccontextmanager
async def only_read(stage: Stage) -> AsyncIterator[OpenedSession]:
    stage.outside.append("claude")
    begun = _opened(stage, _talk(1), ScriptedModel([], window=8192))
    await begun.session.save()
    session = Session(begun.session.entries, LESSON)
    yield begun._replace(session=session, notice=Reason("open.foreign", {"format": "claude"}))


@asynccontextmanager
async def unwritable(stage: Stage) -> AsyncIterator[OpenedSession]:
    (stage.folder / "blocked").write_text("a file in the folder's place", "utf-8")
    stage.file = stage.folder / "blocked" / "s.json"
    stage.outside.append("Not a directory")
    stage.held.set()
    yield _opened(stage, _talk(1), Held(stage, says(_word("Yes.", "是。"))))


@asynccontextmanager
async def with_pictures(stage: Stage) -> AsyncIterator[OpenedSession]:
    stage.held.set()
    for name in ("lamp.png", "town.png"):
        (stage.folder / name).write_bytes(png())
    (stage.folder / "broken.png").write_bytes(png()[:12])
    stage.outside += ["lamp.png", "town.png", "broken.png", "image/png"]
    yield _opened(stage, _talk(1), Held(stage, says(_word("A lamp.", "一盏灯。"))))


@asynccontextmanager
async def connecting(stage: Stage) -> AsyncIterator[OpenedSession]:
    routes = ollama(["llama3.2:latest", "qwen3:4b"], loaded={"llama3.2:latest": 4096})
    async with ModelServer(routes) as server:
        stage.base_url = server.base_url
        stage.outside += ["llama3.2:latest", "qwen3:4b", f"127.0.0.1:{server.port}"]
        yield _opened(stage, _talk(1), ScriptedModel([], window=8192))


@asynccontextmanager
async def found(stage: Stage) -> AsyncIterator[OpenedSession]:
    begun = _opened(stage, _talk(2), ScriptedModel([], window=8192))
    await begun.session.save()
    told = (Reason("recovery.draft"), Reason("recovery.open_calls", {"calls": 2}))
    lists = (ListFound(9, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)), ListFound(1, None))
    what = Reason("found.lost", {"steps": 2})
    aside = stage.file.with_name("s.journal.jsonl.invalid")
    stage.outside.append(aside.name)
    yield begun._replace(
        found=Found("s.json", what, told, *lists, can_go_to_other=True, aside=aside),
    )


# When a state has come, and what no key does


def _says(*messages: str) -> Callable[[TriptychApp], bool]:
    """All of these are on screen, whatever the language."""
    return lambda app: all(message in screen_text(app) for message in messages)


def _notice(app: TriptychApp) -> bool:
    return bool(app.workbench.query("#notice.-shown"))


def _asks(app: TriptychApp) -> bool:
    return bool(app.workbench.query("QuestionRow.-shown"))


def _no_notice(app: TriptychApp) -> bool:
    return not _notice(app)


def _row(app: TriptychApp) -> bool:
    return bool(app.workbench.query("#failure.-shown")) and app.focused is not None and app.focused.id == "failure"


def _panel(app: TriptychApp) -> bool:
    return app.workbench._run is not None


def _over(app: TriptychApp) -> bool:
    return app.screen is not app.workbench


def _no_dialog(app: TriptychApp) -> bool:
    return app.screen is app.workbench


def _not_over(app: TriptychApp) -> bool:
    return app.screen is app.workbench


def _waits(app: TriptychApp) -> bool:
    return app.workbench.is_waiting


async def _pass_second(pilot: Pilot[int], stage: Stage) -> None:
    stage.ticks.release()


async def _let_go(pilot: Pilot[int], stage: Stage) -> None:
    stage.held.set()


def _palette(app: TriptychApp) -> bool:
    return app.screen.has_class("-ready") and len(app.screen.query_one(CommandList).options) > 20


def _nothing_found(app: TriptychApp) -> bool:
    return len(app.screen.query_one(CommandList).options) == 1


def _no_panel(app: TriptychApp) -> bool:
    return not _panel(app)


def _has_summary(app: TriptychApp) -> bool:
    run = app.workbench._run
    return run is not None and run.summary_plan is not None


def _rests(app: TriptychApp) -> bool:
    return not app.workbench._is_running


def _streams(app: TriptychApp) -> bool:
    """A caret stands behind what has come."""
    return any(line.endswith(("▏", "|")) for line in screen_text(app).splitlines())


def _counts_down(app: TriptychApp) -> bool:
    return app.workbench.query_one(StageBar).moment.retry is not None


def _health(fact: str) -> Callable[[TriptychApp], bool]:
    """The connect dialog knows this of the server: `listing`, `window`, or `problem`."""
    return lambda app: isinstance(app.screen, ConnectDialog) and bool(getattr(app.screen._health, fact))


def _fill(**values: str) -> Callable[[Pilot[int], Stage], Any]:
    async def fill(pilot: Pilot[int], stage: Stage) -> None:
        for name, value in values.items():
            pilot.app.screen.query_one(f"#{name}", Input).value = value or stage.base_url
        await pilot.pause()

    return fill


async def _edit_summary(pilot: Pilot[int], stage: Stage) -> None:
    pilot.app.screen.query_one("#summary-text").focus()
    await pilot.press("x")


def _pasting(name: str) -> Callable[[Pilot[int], Stage], Any]:
    async def paste(pilot: Pilot[int], stage: Stage) -> None:
        pilot.app.screen.query_one(PromptText).post_message(Paste(str(stage.folder / name)))
        await pilot.pause()

    return paste


SCENES: tuple[Scene, ...] = (
    Scene(
        "empty",
        empty,
        (
            State("start"),
            State("typed", ("a",), _says("+~")),
            State("nothing to undo", ("backspace", "escape", "u"), _notice),
            State("nothing to redo", ("ctrl+r",), _notice),
            State("how to quit", ("ctrl+c",), _notice),
            State("offline already", ("0",), _notice),
            State("nothing sought", ("n",), _notice),
            State("nothing before", ("{",), _notice),
            State("nothing after", ("}",), _notice),
            State("oldest step", ("f7",), _notice),
            State("newest step", ("f8",), _notice),
            State("its own original", ("3", "v"), _notice),
            State("an input method is on", ("空",), _notice),
            State("the chat", ("escape", "1")),
            State("the messages", ("2",)),
            State("no file yet", ("3",)),
            State("tools unfolded", ("2", "home", "enter")),
            State("nothing to truncate", ("f2",), _panel),
            State("nothing to clear", ("f3",), _panel),
            State("nothing to summarize", ("f4",), _panel),
        ),
    ),
    Scene(
        "class",
        after_a_class,
        (
            State("chat, unfocused", ()),
            State("chat, at its end", ("escape",)),
            State("chat, scrolled up", ("home",)),
            State("thought unfolded", ("end", *["up"] * 5, "enter")),
            State("messages, all marks", ("2", "end")),
            State("messages, the first", ("home", "down")),
            State("entry unfolded", ("down", "enter")),
            State("entry unfolded, further", ("pagedown",)),
            State("original not known", ("home", *["down"] * 7, "v"), _notice),
            State("copied", ("y",), _notice),
            State("file", ("escape", "3"), _no_notice),
            State("search", ("2", "/")),
            State("search, hits", ("c", "4")),
            State("search, kept", ("enter",)),
            State("search, no hits yet", ("/", "q", "q")),
            State("search, no hits", ("enter",), _notice),
            State("search, no expression", ("escape", "/", *"re:", "(")),
            State("search, bad expression", ("enter",), _notice),
            State("filter", ("escape", "escape", "f")),
            State("filter, unknown word", tuple("role:x")),
            State("filter, unknown word said", ("enter",), _notice),
            State("filter, nothing such", ("home", *["delete"] * 6, "q", "q")),
            State("filter, rows", ("backspace", "backspace", "1")),
            State("filter, kept", ("enter",)),
            State("help", ("escape", "escape", "?"), _over),
            State("help, page 2", ("pagedown",)),
            State("help, page 3", ("pagedown",)),
            State("palette", ("escape", ":"), _palette),
            State("palette, page 2", ("pagedown",)),
            State("palette, nothing", tuple("qqqq"), _nothing_found),
            State("truncate all", ("escape", "escape", "1", "f2"), _panel),
            State("truncate all, down", ("end",)),
            State("truncate, edited", ("tab", "end", "1")),
            State("truncate, no number", ("x",)),
            State("truncate, out of range", ("backspace", "backspace", "backspace", "backspace", "0")),
            State("truncate, longer than before", ("backspace", *"198")),
            State("truncate, a text of one's own", ("tab", "tab", *"01234567890")),
            State("truncate off", ("escape", "f2", "o")),
            State("truncate off, resting", ("escape",), _no_panel),
            State("truncate on again", ("f2", "o", "escape"), _no_panel),
            State("truncate one", ("2", "end", "up", "up", "f2"), _panel),
            State("clear", ("f3",), _panel),
            State("clear, down", ("end",)),
            State("clear, edited", ("tab", "end", "backspace", "0")),
            State("clear, no number", ("backspace", "x")),
            State("clear off", ("escape", "f3", "o")),
            State("clear off, resting", ("escape",), _no_panel),
            State("all off", ("f2", "o", "escape", "f4", "o", "escape"), _no_panel),
            State("all on", ("f2", "o", "escape", "f3", "o", "escape", "f4", "o", "escape"), _no_panel),
            State("summarize, nothing old", ("f4", "tab", "end", "backspace", "9"), _panel),
            State("summarize, no number", ("backspace", "x")),
            State("summarize, the request", ("escape", "f4")),
            State("summarize, the request, down", ("end",)),
            State("summarize, writing", ("enter",), running=True),
            State("summarize, written", (), _has_summary, _let_go),
            State("summarize, edited", ("tab", "tab", "tab"), then=_edit_summary),
            State("summarize, applied", ("ctrl+j",), _no_panel),
            State("undone", ("escape", "u")),
            State("redone", ("ctrl+r",)),
            State("cleared by hand", ("f3", "enter"), _no_panel),
            State("looking back", ("f7",)),
            State("looking back, the chat", ("1",)),
            State("looking back, the beginning", ("2", "f7", "f7")),
            State("an earlier search", ("/", "c", "4", "enter")),
            State("a compaction taken back", ("escape", "escape", "escape", "{", "{", "r"), _rests),
            State("no branch from here", ("f7", "b"), _notice),
        ),
    ),
    Scene(
        "steps",
        before_three_layers,
        (
            State("step mode", ("escape", "s")),
            State("first stage", ("i", "x", "enter"), _waits),
            *(State(f"stage {number}", ("f8",), _waits) for number in range(2, 20)),
            State("answered", ("f8",), _rests),
            State("answered, the messages", ("escape", "2")),
            State("looking back, first", ("{",)),
            State("looking back, second", ("{",)),
            State("looking back, third", ("{",)),
            State("while one waits, looking back", ("escape", "i", "y", "enter", "f7"), _waits),
            State("cancelled", ("escape", "escape"), _rests),
        ),
    ),
    Scene(
        "streaming",
        streaming,
        (
            State("thinking", ("y", "enter"), _streams, running=True),
            State("thinking, the messages", ("tab", "tab"), running=True),
            State("cancelled", ("escape",), _rests),
        ),
    ),
    Scene(
        "failing",
        failing,
        (
            State("waits for the next try", ("x", "enter"), _counts_down, running=True),
            State("key rejected", (), _row, _pass_second),
            State("key rejected, typing", ("i",)),
            State("context too long", ("enter",), _row),
            State("not found", ("i", "enter"), _row),
            State("connection lost", ("i", "enter"), _counts_down, running=True),
            State("cancelled while waiting", ("escape",), _rests),
        ),
    ),
    Scene("found", found, (State("what was found", (), _over), State("gone on", ("enter",), _no_dialog))),
    Scene(
        "policies",
        robust,
        (
            State("the policies", ("escape", "P"), _over),
            State("the policies, further", ("pagedown",)),
            State("the policies, the last", ("end",)),
            State("another in force", ("home", "enter"), _not_over),
            State("and the first again", ("P", "down", "enter"), _not_over),
            State("a pin", ("2", "end", "up", "p")),
            State("truncate by robust", ("end", "f2"), _panel),
            State("truncate by robust, a unit", ("tab", "down")),
            State("clear by robust", ("escape", "f3")),
            State("clear by robust, a choice", ("tab", "down", "down", "down")),
            State("clear by robust, edited", ("space",)),
            State("clear by robust, out of range", ("up", "up", "end", "-", "1")),
            State("clear by robust, edited no more", ("backspace", "backspace", "enter")),
            State("clear by robust, kept", ("K",)),
            State("saving as one's own", ("S",)),
            State("summarize by robust", ("escape", "escape", "f4"), _panel),
            State("summarize by robust, a focus", ("tab", "down", *"77")),
            State("no pins in the past", ("escape", "escape", "2", "f7", "p"), _notice),
        ),
    ),
    Scene("read only", only_read, (State("notice"), State("file", ("escape", "escape", "3")))),
    Scene(
        "unwritable",
        unwritable,
        (State("not saved", ("x", "enter"), _asks), State("the file", ("escape", "escape", "3"))),
    ),
    Scene(
        "pictures",
        with_pictures,
        (
            State("attached", (), then=_pasting("lamp.png")),
            State("two attached", (), then=_pasting("town.png")),
            State("broken", (), _notice, _pasting("broken.png")),
            State("sent", ("escape", "i", "x", "enter"), _rests),
            State("the messages", ("escape", "2", "end", "up")),
            State("unfolded", ("enter",)),
            State("branched", ("f7", "f7", "b"), _rests),
            State("all branches", ("B",), _over),
        ),
    ),
    Scene(
        "connect",
        connecting,
        (
            State("servers", ("escape", "m"), _over),
            State("nobody there", (), _health("problem"), _fill(base_url="http://127.0.0.1:9/v1")),
            State("models", (), _health("listing"), _fill(base_url="")),
            State("a model", ("tab", "down"), _health("window")),
            State("window", ("tab", "tab", *"0"), _health("problem")),
        ),
    ),
)
