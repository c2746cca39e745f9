"""Three languages: F9 switches all that is on screen, nothing shifts, and a start speaks what was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot

from tests.support_command_line import CommandLine, fault_of
from tests.support_pilot import app_on, opened, screen_text, until
from tests.support_workbench import workbench
from triptych.entries import messages_of
from triptych.session import Session
from triptych_tui.app import TriptychApp
from triptych_tui.i18n import current_language, set_language
from triptych_tui.launch import OpenedSession
from triptych_tui.widgets.messages_pane import MessagesPane
from triptych_tui.widgets.prompt import PromptText


@pytest.fixture(autouse=True)
def in_english_again() -> Iterator[None]:
    yield
    set_language("en")


def chinese_talk() -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for number in range(5):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
        messages += [
            {"role": "user", "content": f"问题{number}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "很长的结果。" * 60},
            {"role": "assistant", "content": f"回答{number}"},
        ]
    return messages


async def test_the_columns_stand_where_they_do_in_english(tmp_path: Path) -> None:
    _session, app = on(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("escape", "2")
        await pilot.pause()
        english = columns(screen_text(app))
        assert columns(await switched(pilot, "zh_Hans")) == english
        assert columns(await switched(pilot, "zh_Hant")) == english


def columns(screen: str) -> list[int]:
    """In which cells the tokens of the list's rows end."""
    rows = [row for row in screen.splitlines() if "很长" in row]
    return [cell_len(row[: row.rindex("468") + 3]) for row in rows]


def state(session: Session) -> list[Any]:
    return list(messages_of(session.entries))


async def switched(pilot: Pilot[Any], language: str) -> str:
    await pilot.press("f9")
    await until(pilot, lambda: current_language() == language, language)
    await pilot.pause()
    return screen_text(pilot.app)  # type: ignore[arg-type]


def on(tmp_path: Path) -> tuple[OpenedSession, TriptychApp]:
    session = opened(tmp_path / "s.json", chinese_talk())
    return session, app_on(session)


async def test_f9_switches_everything_in_place_and_changes_no_message(tmp_path: Path) -> None:
    session, app = on(tmp_path)
    before = state(session.session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "2", "up", "up", "u")
        await until(pilot, lambda: "nothing to undo" in screen_text(app), "a notice")
        english = screen_text(app)
        place = app.screen.query_one(MessagesPane).selected
        hans = await switched(pilot, "zh_Hans")
        for text in (
            "1 对话",
            "2 消息列表",
            "3 会话文件",
            "没有可以撤销的操作",
            "标记",
            "就绪",
            "就工作区里的文件提问",
        ):
            assert text in hans
        hant = await switched(pilot, "zh_Hant")
        for text in ("1 對話", "2 訊息清單", "3 工作階段檔", "沒有可以復原的操作", "標記", "就緒"):
            assert text in hant
        assert await switched(pilot, "en") == english
        assert app.screen.query_one(MessagesPane).selected == place
        assert app.screen.query_one(MessagesPane).has_focus
    assert state(session.session) == before


@pytest.mark.parametrize("layer", ["f2", "f3", "f4"])
async def test_an_open_panel_switches_with_what_was_typed_kept(tmp_path: Path, layer: str) -> None:
    session, app = on(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(layer, "tab", "end", "backspace", "1")
        await pilot.pause()
        english, focus = screen_text(app), app.screen.focused
        hans = await switched(pilot, "zh_Hans")
        for text in ("参数", "已改", "原因"):
            assert text in hans
        assert "已改" in hans
        assert app.screen.focused is focus
        await switched(pilot, "zh_Hant")
        assert await switched(pilot, "en") == english
    assert len(session.session.entries) == 21


async def test_an_open_search_says_its_hits_anew(tmp_path: Path) -> None:
    _session, app = on(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "2", "slash", "z", "z")
        await until(pilot, lambda: "no hits" in screen_text(app), "nothing found")
        assert "没有匹配" in await switched(pilot, "zh_Hans")


async def test_a_palette_without_hits_says_so_in_the_language(tmp_path: Path) -> None:
    set_language("zh_Hant")
    _session, app = on(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+p", *"qqqq")
        await until(pilot, lambda: "沒有這樣的命令" in screen_text(app), "nothing found")


async def test_f9_in_the_prompt_keeps_what_is_typed(tmp_path: Path) -> None:
    __, app = on(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("a", "b")
        shown = await switched(pilot, "zh_Hans")
        assert "ab" in shown
        assert app.screen.query_one(PromptText).has_focus
        await pilot.press("backspace", "backspace")
        await until(pilot, lambda: "就工作区里的文件提问" in screen_text(app), "the invitation")


@pytest.mark.parametrize(
    ("variables", "arguments", "word"),
    [
        ({"LANG": "zh_CN.UTF-8"}, [], "对话"),
        ({"LC_ALL": "zh_TW.UTF-8", "LANG": "en_GB.UTF-8"}, [], "對話"),
        ({"LANG": "zh_CN.UTF-8"}, ["--lang", "en"], "Chat"),
        ({"TRIPTYCH_LANG": "zh-Hant"}, [], "對話"),
        ({"TRIPTYCH_LANG": "zh-Hant"}, ["--lang=zh_CN"], "对话"),
    ],
)
def test_a_start_speaks_what_was_asked_for(
    tmp_path: Path, variables: dict[str, str], arguments: list[str], word: str
) -> None:
    with workbench(tmp_path, *arguments, env=variables) as terminal:
        terminal.wait_for(f"1 {word}")


def test_a_question_asked_in_chinese_surroundings_leaves_the_same_file(tmp_path: Path) -> None:
    files = []
    for language in ("en", "zh-Hans"):
        file = tmp_path / f"{language}.json"
        with workbench(tmp_path, "--lang", language, "--new", file) as terminal:
            terminal.wait_for("F2")
            terminal.send("读取 welcome.txt")
            terminal.press("enter")
            terminal.wait_for(lambda screen: screen.count("welcome.txt 的开头") > 1 and "✓ " in screen)
        files.append(file.read_bytes())
    assert files[0] == files[1]


def test_the_config_file_may_set_the_language(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    cli.config.parent.mkdir(parents=True)
    cli.config.write_text('lang = "zh-Hant"', "utf-8")
    assert "訊息" in cli.shell("context", cli.file).stdout.decode()
    assert "messages" in cli.shell("context", cli.file, "--lang", "en").stdout.decode()


@pytest.mark.parametrize("command", [[], ["apply"], ["apply", "clear"], ["policies"], ["check"], ["context"]])
def test_help_is_in_the_language(tmp_path: Path, command: list[str]) -> None:
    shown = CommandLine(tmp_path).shell("--lang", "zh_CN", *command, "--help").stdout.decode()
    assert "用法：" in shown
    assert not re.search(r"[a-z]{3,} [a-z]+ [a-z]+|OPTIONS", re.sub(r"`.*?`|triptych.*", "", shown))


@pytest.mark.parametrize("given", [["--lang", "fr"], ["--lang=zh-Latn"], ["policies", "list", "--lang", "xx"]])
def test_an_unknown_language_is_refused_and_the_known_ones_named(tmp_path: Path, given: list[str]) -> None:
    said = fault_of(CommandLine(tmp_path).shell(*given), 2)
    assert "en, zh-Hans, zh-Hant" in said


def test_a_wrong_line_is_told_in_the_language(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    assert (
        fault_of(cli.shell("--lang", "zh-Hans", "--nonsense"), 2)
        == "triptych: 没有选项 '--nonsense'；见 triptych --help\n"
    )
    assert "requires an argument" in fault_of(cli.shell("--lang"), 2)
