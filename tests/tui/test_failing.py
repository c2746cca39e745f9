"""Requests that fail, as the workbench tells it: the countdown to the next try, and what can be pressed at the end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key, Paste
from textual.pilot import Pilot

from tests.support_openai_server import OpenAIServer, Received, Reply, answer, error
from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from triptych.entries import messages_of
from triptych.models.openai import OpenAIModel
from triptych_tui.app import TriptychApp
from triptych_tui.i18n import set_language
from triptych_tui.launch import OpenedSession
from triptych_tui.widgets.prompt import PromptText

KEY = "sk-canary-0123456789"
REJECTED = error(401, f"Incorrect API key provided: {KEY}")
BUSY = error(429, "slow down", headers={"Retry-After": "8"})


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._held: asyncio.Event | None = None

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        self._held = asyncio.Event()
        await self._held.wait()

    def tick(self) -> None:
        assert self._held is not None
        self._held.set()


def session_at(server: OpenAIServer, tmp_path: Path, *, key: str | None = KEY) -> OpenedSession:
    model = OpenAIModel(name="m", base_url=server.base_url, api_key=key, key_source="OPENAI_API_KEY")
    return opened(tmp_path / "s.json", tool_talk(2), model)


def rows(app: TriptychApp) -> list[str]:
    """The two rows of the failure, and the prompt's."""
    lines = screen_text(app).splitlines()
    return lines[-4:-1]


def typed(app: TriptychApp) -> str:
    return app.workbench.query_one(PromptText).text


def focused(app: TriptychApp) -> str:
    return app.focused.id or "" if app.focused is not None else ""


async def failed(pilot: Pilot[Any], app: TriptychApp, *keys: str) -> None:
    """Ask, and wait for the row of the failure."""
    await pilot.press(*keys, "enter")
    await until(pilot, lambda: "Esc dismiss" in screen_text(app) and focused(app) == "failure", "the row")


async def test_a_rejected_key_is_told_in_two_rows_and_costs_nothing(tmp_path: Path) -> None:
    async with OpenAIServer([REJECTED]) as server:
        session = session_at(server, tmp_path)
        before = messages_of(session.session.entries)
        app = app_on(session)
        async with app.run_test(size=(120, 40)) as pilot:
            await failed(pilot, app, *"lost")
            what, keys, prompt = rows(app)
            assert what.startswith(f" !  401 from 127.0.0.1:{server.port}  the key was rejected")
            assert what.endswith("it came from OPENAI_API_KEY")
            assert keys.split("   ") == ["", " r retry", "m another model", "0 offline model", "Esc dismiss"]
            assert prompt.startswith(" ❯ lost")
            stages = screen_text(app).splitlines()
            assert " ! request " in stages[1]
            assert "╰ stopped: 401 · the list and the file are as before" in stages[2]
            assert KEY not in screen_text(app)
            assert KEY[:6] not in screen_text(app)
    assert messages_of(session.session.entries) == before
    assert not (tmp_path / "s.json").exists()


async def test_r_asks_the_question_again(tmp_path: Path) -> None:
    async with OpenAIServer([REJECTED, answer("Now it works.")]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await failed(pilot, app, *"lost")
            await pilot.press("r")
            await until(pilot, lambda: "Now it works." in screen_text(app), "the answer")
            assert typed(app) == ""
            assert focused(app) == "prompt-text"
            assert "Esc dismiss" not in screen_text(app)
            assert [received.messages[-1]["content"] for received in server.requests] == ["lost", "lost"]
            await pilot.press("r")
            assert typed(app) == "r"


@pytest.mark.parametrize(
    ("key", "text", "shown"),
    [("x", "lostx", True), ("空", "lost空", True), ("?", "lost?", True), ("2", "lost2", True), ("i", "lost", True)],
)
async def test_any_other_letter_is_typed_into_the_prompt(key: str, text: str, shown: bool, tmp_path: Path) -> None:
    async with OpenAIServer([REJECTED]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await failed(pilot, app, *"lost")
            await pilot.press(key)
            await until(pilot, lambda: (focused(app), typed(app)) == ("prompt-text", text), "typed")
            await pilot.press("r")
            assert typed(app) == text + "r"


async def test_words_typed_in_one_burst_are_words(tmp_path: Path) -> None:
    async with OpenAIServer([REJECTED, answer("Now it works.")]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await failed(pilot, app, *"lost")
            for letter in " or 0 more":
                app.post_message(Key("space" if letter == " " else letter, letter))
            app.post_message(Key("enter", "\r"))
            await until(pilot, lambda: "Now it works." in screen_text(app), "the answer")
            assert server.requests[1].messages[-1]["content"] == "lost or 0 more"


async def test_what_is_pasted_goes_to_the_prompt(tmp_path: Path) -> None:
    async with OpenAIServer([REJECTED]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await failed(pilot, app, *"lost")
            assert app.focused is not None
            app.focused.post_message(Paste(" and found"))
            await until(pilot, lambda: typed(app) == "lost and found", "the paste")


async def test_escape_puts_the_row_away_and_returns_to_the_prompt(tmp_path: Path) -> None:
    async with OpenAIServer([REJECTED]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await failed(pilot, app, *"lost")
            await pilot.press("escape")
            await until(pilot, lambda: "Esc dismiss" not in screen_text(app), "the row is away")
            assert (focused(app), typed(app)) == ("prompt-text", "lost")


async def test_who_has_typed_keeps_the_prompt_and_reaches_the_row_by_escape(tmp_path: Path) -> None:
    hold = asyncio.Event()
    late = Reply([hold, *REJECTED.pieces], 401, REJECTED.headers)
    async with OpenAIServer([late, answer("Now it works.")]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press(*"lost", "enter")
            await server.request()
            await pilot.press(*"next")
            hold.set()
            await until(pilot, lambda: "Esc dismiss" in screen_text(app), "the row")
            await pilot.press("r")
            assert (focused(app), typed(app)) == ("prompt-text", "lost\nnextr")
            await pilot.press("backspace", "escape")
            await until(pilot, lambda: focused(app) == "failure", "the row has the focus")
            await pilot.press("r")
            await until(pilot, lambda: "Now it works." in screen_text(app), "the answer")
            assert typed(app) == "next"
            assert server.requests[1].messages[-1]["content"] == "lost"


async def test_a_question_that_was_mended_is_asked_as_it_is_now(tmp_path: Path) -> None:
    async with OpenAIServer([error(400, "bad word"), answer("Now it works.")]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await failed(pilot, app, *"lost")
            await pilot.press("i", "backspace", "backspace", *"ng", "escape", "r")
            await until(pilot, lambda: "Now it works." in screen_text(app), "the answer")
            assert server.requests[1].messages[-1]["content"] == "long"


async def test_who_reads_in_a_pane_stays_there_and_r_works(tmp_path: Path) -> None:
    hold = asyncio.Event()
    late = Reply([hold, *REJECTED.pieces], 401, REJECTED.headers)
    async with OpenAIServer([late, answer("Now it works.")]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press(*"lost", "enter")
            await server.request()
            await pilot.press("tab")
            hold.set()
            await until(pilot, lambda: "Esc dismiss" in screen_text(app), "the row")
            assert focused(app) == "chat"
            await pilot.press("r")
            await until(pilot, lambda: "Now it works." in screen_text(app), "the answer")
            assert focused(app) == "chat"


async def test_0_switches_to_the_offline_model_and_the_question_is_still_there(tmp_path: Path) -> None:
    async with OpenAIServer([REJECTED]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await failed(pilot, app, *"hello")
            await pilot.press("0")
            await until(pilot, lambda: " OFFLINE " in screen_text(app), "the offline model")
            assert (focused(app), typed(app)) == ("prompt-text", "hello")
            await pilot.press("enter")
            await until(pilot, lambda: "I am the offline" in screen_text(app), "its answer")


async def test_a_remapped_key_is_shown_and_works(tmp_path: Path) -> None:
    async with OpenAIServer([REJECTED, answer("Now it works.")]) as server:
        app = TriptychApp(session_at(server, tmp_path), {"retry": "x"})
        async with app.run_test(size=(120, 40)) as pilot:
            await failed(pilot, app, *"lost")
            assert " x retry" in rows(app)[1]
            await pilot.press("r")
            assert typed(app) == "lostr"
            await pilot.press("backspace", "escape", "x")
            await until(pilot, lambda: "Now it works." in screen_text(app), "the answer")


async def test_m_opens_the_connect_dialog(tmp_path: Path) -> None:
    async with OpenAIServer([REJECTED]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await failed(pilot, app, *"hello")
            await pilot.press("m")
            await until(pilot, lambda: app.screen is not app.workbench, "the dialog")


async def test_a_key_that_is_wanted(tmp_path: Path) -> None:
    async with OpenAIServer([error(401, "no")]) as server:
        app = app_on(session_at(server, tmp_path, key=None))
        async with app.run_test(size=(80, 24)) as pilot:
            await failed(pilot, app, *"lost")
            assert "it asks for a key, and none was sent" in screen_text(app)


async def test_a_list_too_long_offers_layer_3(tmp_path: Path) -> None:
    async with OpenAIServer([error(400, "too much", code="context_length_exceeded")]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await failed(pilot, app, *"lost")
            what, keys, _ = rows(app)
            assert what.startswith(" !  Too long  the request does not fit the context window")
            assert keys.strip().startswith("F4 L3 summarize   r retry")
            await pilot.press("f4")
            await until(pilot, lambda: "Summarize old turns" in screen_text(app), "the panel")
            assert typed(app) == "lost"
            await pilot.press("escape")
            await until(pilot, lambda: "r retry" in screen_text(app), "the row again")


async def test_enter_right_behind_f4_is_for_the_panel_and_asks_nothing_again(tmp_path: Path) -> None:
    async with OpenAIServer([error(400, "too much", code="context_length_exceeded")]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await failed(pilot, app, *"lost")
            await until(pilot, lambda: focused(app) == "failure", "the row")
            before = len(server.requests)
            for key, character in (("f4", None), ("enter", "\r")):
                app.post_message(Key(key, character))
            await until(pilot, lambda: "Summarize old turns" in screen_text(app), "the panel")
            await pilot.pause()
            assert len(server.requests) == before
            assert typed(app) == "lost"


async def test_after_layer_3_by_hand_r_asks_the_question_that_did_not_fit(tmp_path: Path) -> None:
    too_long = error(400, "too much", code="context_length_exceeded")
    replies = [too_long, error(400, "no summaries here"), answer("A summary."), answer("Now it fits.")]
    async with OpenAIServer(replies) as server:
        session = opened(tmp_path / "s.json", tool_talk(5), OpenAIModel(name="m", base_url=server.base_url))
        session.session.switch_layer("summarize")  # or the turn would do it by itself
        app = app_on(session)
        async with app.run_test(size=(120, 40)) as pilot:
            await failed(pilot, app, *"lost")
            await pilot.press("f4")
            await until(pilot, lambda: "Enter ask for the summary" in screen_text(app), "the panel")
            await pilot.press("enter")
            await until(pilot, lambda: "no summaries here" in screen_text(app), "the failure of the summary")
            assert "r retry" not in screen_text(app)
            await pilot.press("enter")
            await until(pilot, lambda: "A summary." in screen_text(app), "the summary")
            await pilot.press("enter")
            await until(pilot, lambda: focused(app) == "failure", "the row again")
            assert rows(app)[0].strip().startswith("The question that failed is in the prompt")
            assert "r retry" in rows(app)[1]
            await pilot.press("r")
            await until(pilot, lambda: "Now it fits." in screen_text(app), "the answer")
            assert typed(app) == ""
            sent = server.requests[-1].messages
            assert sent[-1]["content"] == "lost"
            assert "A summary." in sent[1]["content"]


async def test_the_countdown_goes_on_once_a_second_and_then_it_is_asked_again(tmp_path: Path) -> None:
    async with OpenAIServer([BUSY, error(503, "", headers={"Retry-After": "1.5"}), answer("At last.")]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            clock = Clock()
            app.workbench.failing.sleep = clock.sleep
            await pilot.press(*"lost", "enter")
            await until(pilot, lambda: "retry 2/5 in 8 s" in screen_text(app), "the countdown")
            what, keys, _ = rows(app)
            assert what.startswith(
                f" ↻  429 from 127.0.0.1:{server.port}  it allows no more requests for now: slow down"
            )
            assert keys.split("   ") == ["", " retry 2/5 in 8 s", "─" * 20, "Esc stop waiting", "Enter retry now"]
            await until(pilot, lambda: " ↻ request " in screen_text(app), "the sign in the stage")
            assert "╰ 429 · waits for try 2 of 5" in screen_text(app).splitlines()[2]
            assert focused(app) == "prompt-text"
            for left in range(7, 0, -1):
                clock.tick()
                await until(pilot, lambda left=left: f"retry 2/5 in {left} s" in screen_text(app), f"{left} s")
            assert "━" * 18 + "─" * 2 in rows(app)[1], "most of the wait is over"
            assert len(server.requests) == 1
            clock.tick()
            await until(pilot, lambda: "retry 3/5 in 2 s" in screen_text(app), "the next countdown")
            assert clock.asked == [1] * 8 + [0.5]
            assert "503 from" in screen_text(app)
            clock.tick()
            await until(pilot, lambda: "retry 3/5 in 1 s" in screen_text(app), "1 s")
            clock.tick()
            await until(pilot, lambda: "last turn" in screen_text(app), "the answer")
            assert "At last." in screen_text(app)
            assert "retry" not in screen_text(app)
            assert "↻" not in screen_text(app)


@pytest.mark.parametrize("keys", [("enter",), ("tab", "r")])
async def test_who_does_not_want_to_wait_asks_at_once(tmp_path: Path, keys: tuple[str, ...]) -> None:
    async with OpenAIServer([BUSY, answer("At last.")]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            clock = Clock()
            app.workbench.failing.sleep = clock.sleep
            await pilot.press(*"lost", "enter")
            await until(pilot, lambda: "Enter retry now" in rows(app)[1], "the countdown")
            if keys[0] == "tab":
                await pilot.press("tab")
                clock.tick()
                await until(pilot, lambda: "r retry now   m another model" in rows(app)[1], "what letters do")
            await pilot.press(keys[-1])
            await until(pilot, lambda: "At last." in screen_text(app), "the answer")
            assert "retry" not in screen_text(app)
            assert len(server.requests) == 2


async def test_what_is_typed_during_the_countdown_is_the_next_question(tmp_path: Path) -> None:
    async with OpenAIServer([BUSY, answer("At last."), *[answer("Later.")] * 2]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            clock = Clock()
            app.workbench.failing.sleep = clock.sleep
            await pilot.press(*"lost", "enter")
            await until(pilot, lambda: "retry 2/5" in screen_text(app), "the countdown")
            await pilot.press(*"more")
            clock.tick()
            await until(pilot, lambda: "in 7 s" in rows(app)[1] and "retry now" not in rows(app)[1], "a second")
            await pilot.press("enter", "enter")
            await until(pilot, lambda: "Later." in screen_text(app), "both answers")
            asked = [request.messages[-1]["content"] for request in server.requests]
            assert (asked[:2], asked[-1]) == (["lost", "lost"], "more")


async def asks_another_model_instead_of_waiting(pilot: Pilot[Any], app: TriptychApp, text: str) -> None:
    app.workbench.failing.sleep = Clock().sleep
    await pilot.press(*text, "enter")
    await until(pilot, lambda: "retry 2/5" in screen_text(app), "the countdown")
    await pilot.press("tab", "m")
    await until(pilot, lambda: "base URL" in screen_text(app), "the dialog")


async def test_another_model_can_be_chosen_instead_of_waiting(tmp_path: Path) -> None:
    async with OpenAIServer([BUSY]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            await asks_another_model_instead_of_waiting(pilot, app, "lost")
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.workbench, "the workbench")
            assert typed(app) == "lost"
            assert "429 from" in screen_text(app)
            assert "r retry" in rows(app)[1]
            assert app.workbench.opened.session.entries[-1].message["content"] != "lost"


async def test_another_model_can_be_chosen_when_a_summary_is_not_waited_for(tmp_path: Path) -> None:
    async with OpenAIServer([BUSY, answer("Fine.")]) as server:
        session = session_at(server, tmp_path)
        session = session._replace(session=opened(tmp_path / "s.json", tool_talk(4)).session)
        app = app_on(session)
        async with app.run_test(size=(120, 40)) as pilot:
            await asks_another_model_instead_of_waiting(pilot, app, "more")
            assert app.workbench.opened.session.entries[-1].message["content"] == "Fine."


async def test_escape_during_the_countdown_ends_the_turn(tmp_path: Path) -> None:
    async with OpenAIServer([BUSY, answer("never")]) as server:
        session = session_at(server, tmp_path)
        app = app_on(session)
        async with app.run_test(size=(120, 40)) as pilot:
            app.workbench.failing.sleep = Clock().sleep
            await pilot.press(*"lost", "enter")
            await until(pilot, lambda: "retry 2/5" in screen_text(app), "the countdown")
            await pilot.press(*"more", "escape")
            await until(pilot, lambda: "Cancelled." in screen_text(app), "the end of the turn")
            assert "retry" not in screen_text(app)
            assert "↻" not in screen_text(app)
            assert typed(app) == "more"
            assert len(server.requests) == 1
    assert json.loads((tmp_path / "s.json").read_bytes())[-1] == {"role": "user", "content": "lost"}


async def test_leaving_during_the_countdown_leaves(tmp_path: Path) -> None:
    async with OpenAIServer([BUSY]) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            app.workbench.failing.sleep = Clock().sleep
            await pilot.press(*"lost", "enter")
            await until(pilot, lambda: "retry 2/5" in screen_text(app), "the countdown")
            await pilot.press("ctrl+q")
            await until(pilot, lambda: not app.is_running, "the end")
    assert json.loads((tmp_path / "s.json").read_bytes())[-1]["content"] == "lost"


async def test_a_summary_by_hand_counts_down_too_and_fails_in_its_panel(tmp_path: Path) -> None:
    async with OpenAIServer([BUSY, error(400, "no summaries here")]) as server:
        session = session_at(server, tmp_path)
        session = session._replace(session=opened(tmp_path / "s.json", tool_talk(5)).session)
        app = app_on(session)
        async with app.run_test(size=(120, 40)) as pilot:
            clock = Clock()
            app.workbench.failing.sleep = clock.sleep
            await pilot.press("f4")
            await until(pilot, lambda: "Enter ask for the summary" in screen_text(app), "the panel")
            await pilot.press("enter")
            await until(pilot, lambda: "retry 2/5 in 8 s" in screen_text(app), "the countdown")
            for _ in range(8):
                clock.tick()
                await pilot.pause()
            await until(pilot, lambda: "no summaries here" in screen_text(app), "the failure")
            assert "r retry" not in screen_text(app)
            assert focused(app) == "panel"


def always_busy(_: Received) -> Reply:
    return error(503, "resting", headers={"Retry-After": "0"})


async def test_after_five_tries_the_failure_stays_and_r_begins_anew(tmp_path: Path) -> None:
    async with OpenAIServer(always_busy) as server:
        app = app_on(session_at(server, tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:

            async def no_time(_: float) -> None:
                pass

            app.workbench.failing.sleep = no_time
            await failed(pilot, app, *"lost")
            assert "503 from" in screen_text(app)
            assert len(server.requests) == 5
            await pilot.press("r")
            await until(pilot, lambda: len(server.requests) == 10, "five more")


WORDS = {
    "en": ("the key was rejected", "r retry", "Esc dismiss", "retry 2/5 in 8 s"),
    "zh_Hans": ("密钥被拒绝", "r 重试", "Esc", "8 秒后重试 2/5"),
    "zh_Hant": ("金鑰被拒絕", "r 重試", "Esc", "8 秒後重試 2/5"),
}


@pytest.mark.parametrize("language", WORDS)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_three_languages(language: str, size: tuple[int, int], tmp_path: Path) -> None:
    rejected, retry, dismiss, countdown = WORDS[language]
    async with OpenAIServer([BUSY, REJECTED]) as server:
        set_language(language)
        app = app_on(session_at(server, tmp_path))
        try:
            async with app.run_test(size=size) as pilot:
                clock = Clock()
                app.workbench.failing.sleep = clock.sleep
                await pilot.press(*"lost", "enter")
                await until(pilot, lambda: countdown in screen_text(app), "the countdown")
                for _ in range(8):
                    clock.tick()
                    await pilot.pause()
                await until(pilot, lambda: focused(app) == "failure", "the row")
                for word in (rejected, retry, dismiss, "OPENAI_API_KEY", "401"):
                    assert word in screen_text(app).replace("\n    ", "")
        finally:
            set_language("en")


async def test_the_language_changes_under_the_row(tmp_path: Path) -> None:
    async with OpenAIServer([REJECTED]) as server:
        app = app_on(session_at(server, tmp_path))
        try:
            async with app.run_test(size=(120, 40)) as pilot:
                await failed(pilot, app, *"lost")
                await pilot.press("f9")
                await until(pilot, lambda: WORDS["zh_Hans"][0] in screen_text(app), "Chinese")
        finally:
            set_language("en")


async def test_in_ascii_the_signs_are_letters_and_an_at_sign(tmp_path: Path) -> None:
    async with OpenAIServer([BUSY, error(404, "nothing — here")]) as server:
        session = session_at(server, tmp_path)
        session = session._replace(settings=type(session.settings)(ascii=True, theme="monochrome"))
        app = app_on(session)
        async with app.run_test(size=(120, 40)) as pilot:
            clock = Clock()
            app.workbench.failing.sleep = clock.sleep
            await pilot.press(*"lost", "enter")
            await until(pilot, lambda: " @ request " in screen_text(app), "the sign in the stage")
            assert rows(app)[0].startswith(" @  429 from ")
            for _ in range(8):
                clock.tick()
                await pilot.pause()
            await until(pilot, lambda: focused(app) == "failure", "the row")
            assert rows(app)[0].startswith(" !  404 from ")
            assert all(ord(sign) < 0x7F for row in rows(app) for sign in row.replace("—", ""))
