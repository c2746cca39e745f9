"""The first lesson taught with the workbench: its numbers, strings and caveats as a learner reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from textual.widgets import Input, TextArea

from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from tests.support_scripted_model import ScriptedModel, asks_for, says
from triptych.events import StageEntered
from triptych.lesson_api import cut_tool_result
from triptych.models.base import ChatModel
from triptych.policy import decide, preset
from triptych.reasons import Reason
from triptych.session import Session
from triptych.tokens import Measured
from triptych_tui.app import TriptychApp
from triptych_tui.glyphs import UNICODE
from triptych_tui.i18n import set_language
from triptych_tui.launch import OpenedSession
from triptych_tui.stage_rows import in_turn, stage_rows
from triptych_tui.widgets.prompt import Prompt
from triptych_tui.wording import say

Messages = list[dict[str, Any]]
ONE_COLUMN = (80, 70)
"""A screen in which a panel stands alone, with room for all of it."""
LANGUAGES = ("en", "zh_Hans", "zh_Hant")


@pytest.fixture(autouse=True)
def in_english_again() -> Iterator[None]:
    yield
    set_language("en")


def result(text: str) -> Messages:
    return [*tool_talk(1)[:2], {"role": "tool", "tool_call_id": "call_0", "content": text}, *tool_talk(1)[3:]]


def block(tool: str, body: str, behind: str = "") -> Messages:
    """A turn in the second lesson's text protocol."""
    told = f"<tool_response>\n[工具 {tool} 執行結果]：\n{body}\n</tool_response>{behind}"
    return [{"role": "user", "content": "q"}, {"role": "user", "content": told}, {"role": "assistant", "content": "a"}]


def turns(count: int) -> Messages:
    return [{"role": role, "content": f"{role} {number}"} for number in range(count) for role in ("user", "assistant")]


SECOND_BLOCK = "\n<tool_response>\n[工具 b 執行結果]：\nmore\n</tool_response>"
SUMMARIZED: Messages = [
    {"role": "user", "content": "[以下是此前对话的摘要]\nThey met."},
    {"role": "assistant", "content": "好的，我已了解之前的进展，继续。"},
    *turns(3),
]
LONG_LOOP = [tool_talk(1)[0], *(message for _round in range(12) for message in tool_talk(1)[1:3])]


class Case(NamedTuple):
    """What a panel says, in the three languages; `fields` are typed into it."""

    key: str
    messages: Messages
    fields: Mapping[str, str]
    words: tuple[str, str, str]
    policy: str = "lesson"


def same(words: str) -> tuple[str, str, str]:
    """What no language translates: the article's variables and what its code says."""
    return words, words, words


CASES = {
    "80 characters stay, 40 + 40": Case(
        "f2",
        result("甲" * 240),
        {},
        (
            "240 characters > 80: 40 + 40 stay; 97 with the notice",
            "240 个字符 > 80：留下 40 + 40；连提示共 97",
            "240 個字元 > 80：留下 40 + 40；連提示共 97",
        ),
    ),
    "the variables of layer 1": Case("f2", result("甲" * 240), {}, same("len(text)=240 limit=80 start_count=40")),
    "85 become 95": Case(
        "f2",
        result("甲" * 85),
        {},
        ("95 with the notice, longer than before", "连提示共 95，比原来更长", "連提示共 95，比原來更長"),
    ),
    "the limit counts only what is kept": Case(
        "f2",
        result("甲" * 85),
        {},
        (
            "the limit counts only what is kept of the original, the notice comes on top",
            "limit 只数留下的原文，省略提示另算",
            "limit 只數留下的原文，省略提示另算",
        ),
    ),
    "limit 0": Case(
        "f2",
        result("甲" * 240),
        {"limit": "0"},
        ("limit 0 keeps nothing of the text", "limit 为 0 时原文一字不留", "limit 為 0 時原文一字不留"),
    ),
    "limit 0, both ends": Case(
        "f2", result("甲" * 240), {"limit": "0"}, ("0 + 0 stay; 17", "0 + 0；连提示共 17", "0 + 0；連提示共 17")
    ),
    "an odd limit": Case(
        "f2",
        result("甲" * 240),
        {"limit": "5"},
        ("the end gets the extra character", "多出的一个字符归结尾", "多出的一個字元歸結尾"),
    ),
    "an odd limit, both ends": Case("f2", result("甲" * 240), {"limit": "5"}, same("2 + 3")),
    "what is marked is passed over": Case(
        "f2",
        result(cut_tool_result("甲" * 240)),
        {},
        (
            "cut again it would only lose more: 97 → 96 characters",
            "再截断只会丢得更多：97 → 96 个字符",
            "再截斷只會丟得更多：97 → 96 個字元",
        ),
    ),
    "a limit below 0": Case("f2", result("甲" * 240), {"limit": "-1"}, same("ValueError: limit 不能小于 0")),
    "the variables of layer 2": Case("f3", tool_talk(4), {}, same("tool_msgs=[3, 7, 11, 15] old_tool_msgs=[3, 7]")),
    "keep 0": Case(
        "f3",
        tool_talk(4),
        {"keep": "0"},
        ("none stays, so clear 4", "一条不留，所以清理 4 条", "一筆不留，所以清理 4 筆"),
    ),
    "keep below 0, and why it is asked for": Case("f3", tool_talk(4), {"keep": "-1"}, same("[:-0]")),
    "Iron Man": Case(
        "f3",
        tool_talk(4),
        {"placeholder": "I am Iron Man"},
        (
            "a model may take this placeholder for what the tool really said",
            "模型可能把这个占位符当成工具真正的输出",
            "模型可能把這個佔位符當成工具真正的輸出",
        ),
    ),
    "the variables of layer 3": Case("f4", tool_talk(4), {}, same("user_idx=[1, 5, 9, 13] cut=5")),
    "the cut moves with keep_turns": Case("f4", tool_talk(4), {"keep_turns": "2"}, same("cut=9")),
    "the lines that are summarized": Case("f4", tool_talk(4), {}, same("[assistant 调用工具] read_file({})")),
    "keep_turns 0": Case("f4", tool_talk(4), {"keep_turns": "0"}, same("ValueError: keep_turns 必须大于 0")),
    "nothing old": Case(
        "f4",
        turns(3),
        {},
        ("3 user turns, keep 3: nothing old", "3 个用户轮，保留 3 轮", "3 個使用者輪，保留 3 輪"),
    ),
    "a summary is a turn": Case(
        "f4",
        SUMMARIZED,
        {},
        (
            "a summary counts as a user turn, so every question from now on makes another: one request more each",
            "摘要也算一个用户轮，所以从现在起每一问都要再摘要一次：每问多一次请求",
            "摘要也算一個使用者輪，所以從現在起每一問都要再摘要一次：每問多一次請求",
        ),
    ),
    "a long tool loop": Case(
        "f4",
        LONG_LOOP,
        {},
        (
            "the newest question has 12 tool results, and a question is never parted",
            "最新一问有 12 条工具结果，而一问从不拆开",
            "最新一問有 12 筆工具執行結果，而一問從不拆開",
        ),
    ),
    "prune after the answer": Case(
        "f3",
        tool_talk(4),
        {},
        ("this policy prunes after the answer", "这个策略在回答之后裁剪", "這個策略在回答之後裁剪"),
        "meowgent",
    ),
    "prune keeps 0 turns": Case(
        "f3",
        tool_talk(4, 400),
        {"keep_turns": "0"},
        ("keep 0 prunes nothing", "保留 0 轮时什么也不裁剪", "保留 0 輪時什麼也不裁剪"),
        "meowgent",
    ),
    "seven short lines grow": Case(
        "f3",
        [*block("a", "\n".join("abcdefg")), *turns(2)],
        {},
        ("2: longer than before", "2: 比原来更长", "2: 比原來更長"),
        "meowgent",
    ),
    "lines win over characters": Case(
        "f3",
        [*block("a", "\n".join(["z" * 500] * 8)), *turns(2)],
        {},
        ("2: lines win over characters", "2: 先看行数，再看字符数", "2: 先看行數，再看字元數"),
        "meowgent",
    ),
    "list-file is not seen": Case(
        "f3",
        [*block("list-file", "y" * 400), *turns(2)],
        {},
        ("2: not seen: the lesson's pattern", "2: 没有被识别", "2: 沒有被識別"),
        "meowgent",
    ),
    "what follows the first block": Case(
        "f3",
        [*block("a", "y" * 400, SECOND_BLOCK), *turns(2)],
        {},
        ("2: everything after its first block is dropped", "2: 第一个块之后", "2: 第一個區塊之後"),
        "meowgent",
    ),
}


def session_of(file: Path, messages: Messages, policy: str = "lesson", model: ChatModel | None = None) -> OpenedSession:
    from triptych.entries import messages_of
    from triptych.formats.notices import guess_marks

    session = opened(file, messages, model)
    return session._replace(
        session=Session(guess_marks(messages_of(session.session.entries)), preset(policy), session.kept)
    )


def joined(text: str) -> str:
    """Text without its white space: where lines are broken does not matter."""
    return "".join(text.split())


def reads(app: TriptychApp, words: str) -> bool:
    return joined(words) in joined(screen_text(app))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_a_panel_says_what_a_learner_should_know(tmp_path: Path, case: Case) -> None:
    app = app_on(session_of(tmp_path / "s.json", case.messages, case.policy))
    async with app.run_test(size=ONE_COLUMN) as pilot:
        await pilot.press(case.key)
        for name, value in case.fields.items():
            app.screen.query_one(f"#parameter-{name}", Input).value = value
        for language, words in zip(LANGUAGES, case.words, strict=True):
            await until(pilot, lambda words=words: reads(app, words), f"{language}: {words}")
            await pilot.press("f9")


@pytest.mark.parametrize(
    ("text", "limit", "words"),
    [
        ("0123456789", 4, ["10 → 19 → 20", "01⏎...中间省略6个字...⏎89", "longer than before, 10 → 19 characters"]),
        ("0123456789", 5, ["01⏎...中间省略5个字...⏎789", "an odd limit cannot be halved"]),
        ("0123456789", 0, ["⏎...中间省略10个字...⏎", "limit 0 keeps nothing of the text"]),
        ("甲" * 82 + "乙乙乙", 80, ["85 → 95 → 96", "中间省略5个字", "甲乙乙乙"]),
        ("甲" * 240, 80, ["240 → 97 → 96"]),
    ],
)
async def test_a_text_of_ones_own_is_cut_and_cut_again_and_seen_to_its_end(
    tmp_path: Path, text: str, limit: int, words: list[str]
) -> None:
    """Where nothing is left to cut, as after a class, this is the only place that tells of odd limits and of 0."""
    talk = tool_talk(1)
    talk[-2]["content"] = "short"
    app = app_on(session_of(tmp_path / "s.json", talk))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("f2")
        app.screen.query_one("#parameter-limit", Input).value = str(limit)
        app.screen.query_one("#tried", Input).value = text
        await until(pilot, lambda: all(reads(app, each) for each in words), str(words))


async def test_a_summary_larger_than_what_it_replaces_says_so_and_the_row_keeps_saying_what_it_costs(
    tmp_path: Path,
) -> None:
    talk = [
        {"role": "user", "content": "我叫小林"},
        {"role": "assistant", "content": "你好, 小林"},
        {"role": "user", "content": "我叫什么?"},
        {"role": "assistant", "content": "小林"},
    ]
    session = session_of(tmp_path / "s.json", talk, model=ScriptedModel([says("用户叫小林")]))
    app = app_on(session)
    async with app.run_test(size=ONE_COLUMN) as pilot:
        await pilot.press("f4")
        app.screen.query_one("#parameter-keep_turns", Input).value = "1"
        await until(pilot, lambda: reads(app, "cut=3"), "the cut")
        await pilot.press("enter")
        await until(pilot, lambda: reads(app, "larger than they: ~10 → ~41 tokens"), "the sizes")
        assert reads(app, "[上下文压缩] 已将 2 条旧消息整理为摘要.")
        assert reads(app, "summary, prefix and fixed answer weigh more than what they replace")
        text = app.screen.query_one("#summary-text", TextArea)
        text.load_text("  ")
        await until(pilot, lambda: reads(app, "摘要为空, 保留原对话."), "what the lesson prints")
        assert reads(app, "the summary is blank, so all messages stay")
        text.load_text("用户叫小林")
        await until(pilot, lambda: reads(app, "~10 → ~41"), "the sizes again")
        app.screen.query_one("#panel").focus()
        await pilot.press("enter")
        await until(pilot, lambda: session.session.is_saved and len(session.session.entries) == 5, "applied")
        await pilot.press("escape", "2", "home", "down", "down", "v")
        await until(pilot, lambda: reads(app, "so every question from now on"), "what it costs")
        assert reads(app, "[上下文压缩] 已将 2 条旧消息整理为摘要.")


@pytest.mark.parametrize(
    ("key", "messages", "policy", "words"),
    [
        ("f2", result("甲" * 85), "lesson", "longer than before, 85 → 95 characters"),
        (
            "f3",
            block("a", "y" * 400, SECOND_BLOCK) + turns(2),
            "meowgent",
            "everything after its first block is dropped",
        ),
    ],
)
async def test_the_original_of_a_row_tells_the_caveat_too(
    tmp_path: Path, key: str, messages: Messages, policy: str, words: str
) -> None:
    session = session_of(tmp_path / "s.json", messages, policy)
    app, before = app_on(session), session.session.entries
    place = next(index for index, entry in enumerate(before) if len(str(entry.message["content"])) > 80)
    async with app.run_test(size=ONE_COLUMN) as pilot:
        await pilot.press(key)
        await until(pilot, lambda: reads(app, "apply as one step"), "the panel")
        await pilot.press("enter")
        await until(pilot, lambda: session.session.entries is not before, "applied")
        await pilot.press("escape", "2", "home", "down", *["down"] * place, "v")
        await until(pilot, lambda: reads(app, words), words)


async def test_several_results_that_get_longer_are_counted(tmp_path: Path) -> None:
    app = app_on(session_of(tmp_path / "s.json", tool_talk(3, 85)))
    async with app.run_test(size=ONE_COLUMN) as pilot:
        await pilot.press("f2")
        await until(pilot, lambda: reads(app, "3 results get longer"), "the caveat")


async def test_iron_man_is_taken_for_a_result(tmp_path: Path) -> None:
    app = app_on(session_of(tmp_path / "s.json", []))
    async with app.run_test(size=ONE_COLUMN) as pilot:
        app.screen.query_one(Prompt).put("Read welcome.txt")
        await pilot.press("enter")
        await until(pilot, lambda: reads(app, "last turn"), "the answer")
        await pilot.press("f3")
        app.screen.query_one("#parameter-keep", Input).value = "0"
        app.screen.query_one("#parameter-placeholder", Input).value = "I am Iron Man"
        await until(pilot, lambda: reads(app, "edited"), "the plan")
        await pilot.press("enter")
        await until(pilot, lambda: reads(app, "done by hand"), "applied")
        await pilot.press("escape", "2", "home", "down", "down", "down", "down", "v")
        await until(pilot, lambda: reads(app, "a model may take this placeholder"), "the caveat at the row")
        await pilot.press("1", "i")
        app.screen.query_one(Prompt).put("What does welcome.txt say?")
        await pilot.press("enter")
        await until(pilot, lambda: reads(app, "welcome.txt has one line: “I am Iron Man”"), "the model believes it")


async def stepped_to(pilot: Any, app: TriptychApp, *words: str) -> None:
    """Let stage after stage go on until one says all this."""
    for _stage in range(12):
        await until(pilot, lambda: app.screen.is_waiting, "a stage waits")  # type: ignore[attr-defined]
        await pilot.pause()
        if all(reads(app, each) for each in words):
            return
        await pilot.press("f8")
        await pilot.pause()
    raise AssertionError(f"no stage says {words}\n{screen_text(app)}")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_stepping_shows_who_acts_and_the_variables_whole(tmp_path: Path, size: tuple[int, int]) -> None:
    app = app_on(session_of(tmp_path / "s.json", tool_talk(3), model=ScriptedModel([])))
    async with app.run_test(size=size) as pilot:
        await pilot.press("escape", "s", "i", *"read", "enter")
        await stepped_to(pilot, app, "program", "3 tool results > keep 2", "tool_msgs=[3, 7, 11] old_tool_msgs=[3]")
        await stepped_to(pilot, app, "program", "4 user turns > 3", "user_idx=[1, 5, 9, 13] cut=5")
        await pilot.press("escape")


async def test_a_blank_summary_in_a_turn_keeps_all_and_says_what_the_lesson_prints(tmp_path: Path) -> None:
    session = session_of(tmp_path / "s.json", turns(3), model=ScriptedModel([says("  "), says("Well.")]))
    app, before = app_on(session), session.session.entries
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "s", "i", *"more", "enter")
        await stepped_to(pilot, app, "the summary is blank, so all messages stay", "摘要为空, 保留原对话.")
        await pilot.press("tab", "s")
        await until(pilot, lambda: reads(app, "Well."), "the answer")
    assert session.session.entries[: len(before)] == before


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_errors_are_cut_too(tmp_path: Path, size: tuple[int, int]) -> None:
    path = "no_such_folder_anywhere_at_all/no_such_file_that_anybody_has_ever_written.txt"
    model = ScriptedModel([asks_for(("c1", "read_file", f'{{"path": "{path}"}}')), says("None.")])
    app = app_on(session_of(tmp_path / "s.json", [], model=model))
    async with app.run_test(size=size) as pilot:
        await pilot.press("escape", "s", "i", *"read", "enter")
        await stepped_to(pilot, app, "errors are cut too", "96 with the notice", "limit=80 start_count=40")
        await pilot.press("escape")


def test_from_the_first_summary_on_every_question_says_that_it_makes_another() -> None:
    messages = [{"role": "system", "content": "s"}, *SUMMARIZED]
    from triptych.formats.notices import guess_marks

    decision = decide(preset("lesson"), guess_marks(messages), Measured(0, "estimated"), None)
    assert say(decision.reason) == "4 user turns > 3: a summary counts as one, so each question makes another"


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (Measured(6143, "measured"), "6,143 tokens < 6,144 (window 8,192), so nothing to summarize"),
        (Measured(6144, "measured"), "6,144 tokens ≥ 6,144 (window 8,192), so summarize"),
        (Measured(7000, "adjusted"), "≈7,000 tokens ≥ 6,144 (window 8,192), so summarize"),
        (Measured(7000, "estimated"), "~7,000 tokens ≥ 6,144 (window 8,192), so summarize"),
    ],
)
def test_nami_decides_by_the_endpoints_count_and_says_whether_it_is_one(size: Measured, words: str) -> None:
    assert say(decide(preset("nami"), (), size, 8192).reason) == words


def test_in_a_long_tool_loop_the_request_says_that_layers_2_and_3_do_not_run_again() -> None:
    reason = Reason("turn.request", {"messages": 15, "tokens": 2425, "tools": 311})

    def under(request: int) -> str:
        row = stage_rows(in_turn(preset("lesson"), StageEntered("request", reason, "model", request)), 120, UNICODE)[1]
        return "".join(span.text for span in row)

    assert "layers 2 and 3 run once a question" not in under(4)
    assert under(5).endswith(" · layers 2 and 3 run once a question")
