"""Connecting to a model while the workbench is open: the dialog, the switch, the key, and the window in force."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support_model_server import ModelServer, models, never, ollama, vllm
from tests.support_openai_server import Received, Reply, answer, error, stalled
from tests.support_pilot import app_on, opened, screen_text, tool_talk, until
from triptych.models.openai import OpenAIModel
from triptych.settings import Settings
from triptych_tui.app import TriptychApp
from triptych_tui.i18n import set_language
from triptych_tui.screens.connect_dialog import ConnectDialog, ConnectInput
from triptych_tui.widgets.choices import Choices
from triptych_tui.widgets.prompt import Prompt

CANARY = "sk-canary-0123456789abcdef"
LLAMAS = ollama(
    ["llama3.2:latest", "qwen3:4b"], loaded={"llama3.2:latest": 4096}, modelfile={"qwen3:4b": "num_ctx 16384"}
)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("triptych_tui.screens.connect_dialog.SETTLE_SECONDS", 0.01)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    yield
    set_language("en")


async def open_dialog(pilot: Pilot[Any], app: TriptychApp) -> ConnectDialog:
    await pilot.press("escape", "m")
    await until(pilot, lambda: isinstance(app.screen, ConnectDialog) and app.focused is not None, "the dialog")
    assert isinstance(app.screen, ConnectDialog)
    return app.screen


def fill(app: TriptychApp, **values: str) -> None:
    for name, value in values.items():
        app.screen.query_one(f"#{name}", ConnectInput).value = value


async def connect(pilot: Pilot[Any], app: TriptychApp, base_url: str, model: str, key: str = "") -> None:
    """Fill the dialog in, wait until it is well, and connect."""
    await open_dialog(pilot, app)
    fill(app, base_url=base_url)
    await pilot.pause()
    fill(app, model=model, key=key)
    await until(pilot, lambda: " ms" in screen_text(app) and "window" in screen_text(app), "a server that is well")
    await pilot.press("enter")
    await until(pilot, lambda: app.screen is app.workbench, "the workbench")


async def ask(pilot: Pilot[Any], app: TriptychApp, question: str, reply: str) -> None:
    app.workbench.query_one(Prompt).put(question)
    await pilot.press("i", "enter")
    await until(pilot, lambda: reply in screen_text(app) and not app.workbench._is_running, f"the answer {reply}")


def saved_in(folder: Path) -> list[str]:
    return [path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()]


async def test_escape_leaves_everything_as_it_was(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape", "2")
        await pilot.pause()
        before, model = screen_text(app), app.workbench.opened.model
        await open_dialog(pilot, app)
        fill(app, base_url="http://127.0.0.1:9/v1", model="other", key=CANARY, window="99")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.workbench, "the workbench")
        assert screen_text(app) == before
        assert app.workbench.opened.model is model


async def test_the_dialog_names_servers_and_models_and_connects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(tmp_path / "s.json", tool_talk(2))
    app = app_on(session)
    async with ModelServer(LLAMAS, [answer("Hello from afar")]) as server, app.run_test(size=(120, 40)) as pilot:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
        entries = session.session.entries
        await open_dialog(pilot, app)
        await until(pilot, lambda: "✓ Ollama" in screen_text(app), "the health of the server at hand")
        for name in ("OpenAI", "vLLM", "llama.cpp", "https://api.openai.com/v1"):
            assert name in screen_text(app)
        await pilot.press("tab")
        await until(pilot, lambda: "2 of 2" in screen_text(app), "the models")
        await pilot.press("down", "down")
        await until(pilot, lambda: "window 16,384 tokens" in screen_text(app), "what a modelfile says")
        await pilot.press("up")
        await until(pilot, lambda: "window 4,096 tokens" in screen_text(app), "what the model is loaded with")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.workbench, "the workbench")
        shown = screen_text(app)
        assert f"llama3.2:latest  127.0.0.1:{server.port}" in shown
        assert "/ 4,096" in shown
        assert session.session.entries == entries
        await ask(pilot, app, "hi", "Hello from afar")
        asked = [received for received in server.requests if received.path.endswith("/chat/completions")]
        assert asked[0].body["model"] == "llama3.2:latest"
        await pilot.press("escape", "u")
        await until(pilot, lambda: session.session.entries == entries, "undo goes back behind the switch")


async def test_0_goes_back_to_the_offline_model(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    async with ModelServer(vllm("org/a", 32768)) as server, app.run_test(size=(120, 40)) as pilot:
        await connect(pilot, app, server.base_url, "org/a")
        await until(pilot, lambda: "/ 32,768" in screen_text(app), "the window of the model")
        assert "No key and no network" not in screen_text(app)
        await pilot.press("escape", "0")
        await until(pilot, lambda: "OFFLINE" in screen_text(app) and "/ 8,192" in screen_text(app), "the offline model")
        await until(pilot, lambda: "No key and no network" in screen_text(app), "the welcome, anew")
        await pilot.press("0")
        await until(pilot, lambda: "answers already" in screen_text(app), "that it is so already")


async def test_no_switch_while_a_turn_runs(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    async with (
        ModelServer(vllm("a", 4096), [stalled(answer("Hello there"), 2)]) as server,
        app.run_test(size=(120, 40)) as pilot,
    ):
        await connect(pilot, app, server.base_url, "a")
        await pilot.press("i", "h", "i", "enter")
        await until(pilot, lambda: "Hello" in screen_text(app), "the beginning of an answer")
        for key in ("m", "0"):
            await pilot.press("tab", key)
            await until(pilot, lambda: "still running" in screen_text(app), "why not")
            app.workbench.hush()
        assert not isinstance(app.screen, ConnectDialog)
        assert app.workbench.opened.model.name == "a"
        await pilot.press("escape")
        await until(pilot, lambda: not app.workbench._is_running, "the end of the turn")


async def test_hostile_model_names_are_shown_harmless_and_sent_as_they_are(tmp_path: Path) -> None:
    evil = "m\x1b]52;c;AAAA\x07[@click=app.quit]x[/]\u202e\nend"
    app = app_on(opened(tmp_path / "s.json", []))
    async with (
        ModelServer({"/v1/models": models([evil])}, [answer("fine")]) as server,
        app.run_test(size=(120, 40)) as pilot,
    ):
        await open_dialog(pilot, app)
        fill(app, base_url=server.base_url)
        await pilot.press("tab")
        await until(pilot, lambda: "[@click=app.quit]x[/]‹U+202E›" in screen_text(app), "its name, made visible")
        await pilot.press("down")
        await until(pilot, lambda: "window unknown" in screen_text(app), "that it is listed")
        assert not {"\x1b", "\x07", "\u202e"} & set(
            screen_text(app) + app.screen.query_one("#model", ConnectInput).value
        )
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.workbench, "the workbench")
        await ask(pilot, app, "hi", "fine")
        assert server.requests[-1].body["model"] == evil
        assert not {"\x1b", "\x07", "\u202e"} & set(screen_text(app))


async def test_ten_thousand_models_are_filtered_by_typing(tmp_path: Path) -> None:
    names = [f"maker-{number % 37}/model-{number}" for number in range(10_000)]
    app = app_on(opened(tmp_path / "s.json", []))
    async with ModelServer({"/v1/models": models(names)}) as server, app.run_test(size=(80, 24)) as pilot:
        await open_dialog(pilot, app)
        fill(app, base_url=server.base_url)
        await pilot.press("tab")
        await until(pilot, lambda: "10,000 of 10,000" in screen_text(app), "all of them")
        await pilot.press(*"MODEL-4242")
        await until(pilot, lambda: "1 of 10,000" in screen_text(app), "the one that is meant")
        await pilot.press("down")
        assert app.screen.query_one("#model", ConnectInput).value == "maker-24/model-4242"
        assert "1 of 10,000" in screen_text(app), "choosing keeps the filter"
        await pilot.press(*["backspace"] * 30, "pagedown", "pagedown")
        await until(pilot, lambda: "10,000 of 10,000" in screen_text(app), "all of them again")
        assert app.screen.query_one("#model", ConnectInput).value in names[2:60]
        assert len(app.screen.query("*")) < 40, "a list of rows, not of widgets"


async def test_a_click_takes_a_model(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    async with ModelServer(LLAMAS) as server, app.run_test(size=(120, 40)) as pilot:
        await open_dialog(pilot, app)
        fill(app, base_url=server.base_url)
        await pilot.press("tab")
        await until(pilot, lambda: "qwen3:4b" in screen_text(app), "the models")
        await pilot.click(Choices, offset=(4, 1))
        await until(pilot, lambda: app.screen.query_one("#model", ConnectInput).value == "qwen3:4b", "what was clicked")


async def test_a_server_that_stalls_is_left_alone_when_the_address_changes(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    async with (
        ModelServer({"/v1/models": never()}) as slow,
        ModelServer(LLAMAS) as server,
        app.run_test(size=(120, 40)) as pilot,
    ):
        await open_dialog(pilot, app)
        fill(app, base_url=slow.base_url)
        await until(pilot, lambda: f"asking 127.0.0.1:{slow.port}" in screen_text(app), "who is asked")
        received = await slow.request()
        fill(app, base_url=server.base_url)
        await until(pilot, lambda: "✓ Ollama" in screen_text(app), "the other server")
        await received.disconnected.wait()
        fill(app, base_url=slow.base_url)
        await slow.request(2)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.workbench, "the workbench")
        await slow.requests[1].disconnected.wait()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"base_url": "localhost"}, "is none"),
        ({"window": "many"}, "must be a whole number"),
        ({"window": "0"}, "at least 1"),
        ({"model": ""}, "No model is chosen"),
        ({"key": "sk-\u00e9"}, "no key has"),
        ({"model": "qwen3"}, "does not list the model qwen3"),
    ],
)
async def test_what_cannot_be_connected_is_said(tmp_path: Path, fields: dict[str, str], said: str) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    async with ModelServer(LLAMAS) as server, app.run_test(size=(80, 24)) as pilot:
        dialog = await open_dialog(pilot, app)
        fill(app, base_url=server.base_url, model="qwen3:4b")
        await until(pilot, lambda: "window 16,384" in screen_text(app), "a server that is well")
        fill(app, **fields)
        await pilot.pause()
        await pilot.press("enter")
        await until(pilot, lambda: said in screen_text(app).replace("\n    ", " "), said)
        assert app.screen is dialog


async def test_a_model_that_is_not_listed_can_be_insisted_on(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    async with ModelServer(LLAMAS) as server, app.run_test(size=(80, 24)) as pilot:
        await open_dialog(pilot, app)
        fill(app, base_url=server.base_url, model="private", window="1,000")
        await until(pilot, lambda: "does not list the model private" in screen_text(app), "that it is not listed")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.workbench, "the workbench")
        assert (app.workbench.opened.model.name, app.workbench.opened.model.window) == ("private", 1000)


async def test_a_typed_key_goes_to_its_server_alone_and_is_shown_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    app = app_on(opened(tmp_path / "s.json", []))
    seen: list[str] = []
    routes = {"/v1/models": models(["a"], max_model_len=4096)}
    async with (
        ModelServer(routes, [answer("one")]) as server,
        ModelServer(routes, [answer("two")]) as other,
        app.run_test(size=(120, 40)) as pilot,
    ):
        await open_dialog(pilot, app)
        fill(app, base_url=server.base_url, model="a")
        await pilot.press("tab", "tab", *CANARY[:8])
        fill(app, key=CANARY)
        await until(pilot, lambda: "✓ vLLM" in screen_text(app), "a server that is well")
        seen.append(screen_text(app))
        await pilot.press("ctrl+shift+a", "ctrl+c")
        assert CANARY not in app.clipboard
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.workbench, "the workbench")
        await ask(pilot, app, "hi", "one")
        assert server.requests[-1].headers["authorization"] == f"Bearer {CANARY}"
        await open_dialog(pilot, app)
        await until(pilot, lambda: "as typed before" in screen_text(app), "where the key comes from")
        fill(app, key="sk-other-canary")
        fill(app, base_url=other.base_url)
        await until(pilot, lambda: "✓ vLLM" in screen_text(app), "the other server")
        assert app.screen.query_one("#key", ConnectInput).value == ""
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.workbench, "the workbench")
        await ask(pilot, app, "ho", "two")
        seen += [screen_text(app), repr(app.workbench.opened), repr(vars(app.workbench._connecting)["_last"])]
    assert all("canary" not in received.headers.get("authorization", "") for received in other.requests)
    seen += saved_in(tmp_path)
    seen.append(caplog.text)
    assert all(CANARY not in text and CANARY[:8] not in text for text in seen)


async def test_openais_key_is_named_by_its_source_and_goes_to_no_other_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    async with ModelServer(LLAMAS) as server, app.run_test(size=(120, 40)) as pilot:
        monkeypatch.setenv("OPENAI_API_KEY", CANARY)
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        await open_dialog(pilot, app)
        fill(app, base_url="http://127.0.0.1:9/v1")
        await until(pilot, lambda: "from OPENAI_API_KEY" in screen_text(app), "where the key comes from")
        fill(app, base_url=server.base_url)
        await until(pilot, lambda: "OPENAI_API_KEY is not for this server" in screen_text(app), "that it has none")
        await until(pilot, lambda: "✓ Ollama" in screen_text(app), "its health")
        assert CANARY not in screen_text(app)
    assert all("authorization" not in received.headers for received in server.requests)


async def test_a_rejected_key_is_replaced_from_the_row_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(reply: Reply) -> Callable[[Received], Reply]:
        return lambda received: reply if CANARY in received.headers.get("authorization", "") else error(401, "no")

    routes = {"/v1/models": locked(models(["a"], max_model_len=4096))}
    async with ModelServer(routes, locked(answer("let in"))) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-old")
        model = OpenAIModel(name="a", base_url=server.base_url, api_key="sk-old", key_source="OPENAI_API_KEY")
        session = opened(tmp_path / "s.json", [], model)
        settings = Settings(model="a", base_url=server.base_url, sources={"base_url": "--base-url"})
        app = app_on(session._replace(settings=settings, host=model.host))
        async with app.run_test(size=(120, 40)) as pilot:
            app.workbench.query_one(Prompt).put("my question")
            await pilot.press("enter")
            await until(pilot, lambda: "m another model" in screen_text(app), "what can be done")
            await pilot.press("m")
            await until(pilot, lambda: "rejects the key" in screen_text(app), "the dialog, and what is wrong")
            await pilot.press("tab")
            fill(app, key=CANARY)
            await until(pilot, lambda: "✓ vLLM" in screen_text(app), "a server that is well")
            await pilot.press("enter")
            await until(pilot, lambda: app.screen is app.workbench, "the workbench")
            assert "another model" not in screen_text(app)
            assert app.workbench.query_one(Prompt).text == "my question"
            await pilot.press("enter")
            await until(pilot, lambda: "let in" in screen_text(app), "the answer")


async def test_a_key_does_not_come_back_with_the_first_address(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    async with app.run_test(size=(80, 24)) as pilot:
        await open_dialog(pilot, app)
        first = app.screen.query_one("#base_url", ConnectInput).value
        for url in ("http://127.0.0.1:9/v1", first):
            fill(app, base_url=url)
            await pilot.pause()
            assert app.screen.query_one("#key", ConnectInput).value == ""
            fill(app, key=CANARY)
            await pilot.pause()
            assert app.screen.query_one("#key", ConnectInput).value == CANARY


async def test_a_login_in_an_address_is_sent_but_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    async with ModelServer(LLAMAS) as server, app.run_test(size=(120, 40)) as pilot:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url.replace("://", "://teacher:hunter2@"))
        await open_dialog(pilot, app)
        await pilot.press(*["up"] * 5)
        await until(pilot, lambda: "✓ Ollama" in screen_text(app), "its health")
        assert server.base_url in screen_text(app)
        assert "hunter2" not in screen_text(app)
        assert server.requests[-1].headers["authorization"].startswith("Basic ")


async def test_the_program_can_be_left_from_the_dialog(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    async with ModelServer({"/v1/models": never()}) as server, app.run_test(size=(80, 24)) as pilot:
        await open_dialog(pilot, app)
        fill(app, base_url=server.base_url)
        await server.request()
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running, "the end")
    assert app.return_value == 0


async def test_a_window_is_learned_at_the_start_or_after_the_first_answer(tmp_path: Path) -> None:
    routes = ollama(["a:latest"])

    def load(_: object) -> Reply:
        server.routes.update(ollama(["a:latest"], loaded={"a:latest": 2048}))
        return answer("loaded")

    async with ModelServer(routes, load) as server:
        model = OpenAIModel(name="a", base_url=server.base_url)
        session = opened(tmp_path / "s.json", [], model)
        session = session._replace(settings=Settings(model="a", base_url=server.base_url), host=model.host)
        app = app_on(session)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: "/api/show" in server.asked, "that the server is asked at the start")
            assert "/ 2,048" not in screen_text(app)
            await ask(pilot, app, "hi", "loaded")
            await until(pilot, lambda: "/ 2,048" in screen_text(app), "the window, now that it is known")


async def test_a_window_that_was_set_is_in_force_whatever_the_server_says(tmp_path: Path) -> None:
    async with ModelServer(vllm("a", 32768)) as server:
        model = OpenAIModel(name="a", base_url=server.base_url, window=1000)
        session = opened(tmp_path / "s.json", [], model)
        settings = Settings(model="a", base_url=server.base_url, window=1000)
        app = app_on(session._replace(settings=settings, host=model.host))
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            assert "/ 1,000" in screen_text(app)
            await open_dialog(pilot, app)
            await until(pilot, lambda: "window 1,000 tokens, as typed" in screen_text(app), "whose window it is")
            await pilot.press("enter")
            await until(pilot, lambda: app.screen is app.workbench and "/ 1,000" in screen_text(app), "the same")


async def test_a_server_that_leaves_out_the_beginning_is_noticed_once(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    replies = [answer(f"answer number {number}, and some more words", usage=(2048, 8)) for number in range(4)]
    async with ModelServer(vllm("a", 4096), replies) as server, app.run_test(size=(120, 40)) as pilot:
        await connect(pilot, app, server.base_url, "a")
        await ask(pilot, app, "what is the first thing here", "answer number 0")
        assert "leaves out the beginning" not in screen_text(app)
        await ask(pilot, app, "what is the second thing here", "answer number 1")
        await until(pilot, lambda: "leaves out the beginning" in screen_text(app), "what the server does")
        assert "2,048" in screen_text(app)
        assert "F4" in screen_text(app)
        await ask(pilot, app, "what is the third thing here", "answer number 2")
        assert "leaves out the beginning" not in screen_text(app), "said once"


@pytest.mark.parametrize(
    ("cols", "rows", "language"), [(80, 24, "en"), (80, 24, "zh_Hans"), (100, 30, "en"), (200, 50, "zh_Hant")]
)
async def test_everything_is_in_view_at_every_size(tmp_path: Path, cols: int, rows: int, language: str) -> None:
    set_language(language)
    app = app_on(opened(tmp_path / "s.json", []))
    async with ModelServer(LLAMAS) as server, app.run_test(size=(cols, rows)) as pilot:
        await open_dialog(pilot, app)
        fill(app, base_url=server.base_url, model="qwen3:4b")
        await pilot.press("tab")
        await until(pilot, lambda: "16,384" in screen_text(app), "the window")
        lines = screen_text(app).splitlines()
        assert len(lines) == rows
        assert "Esc" in lines[-1]
        assert "llama3.2:latest" in screen_text(app)
        assert app.screen.query_one(Choices).size.height >= 5
        if language != "en":
            assert "Connect" not in screen_text(app)
        assert all(strip.cell_length <= cols for strip in app.screen._compositor.render_strips())


async def test_ascii_alone_is_drawn_where_it_is_asked_for(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", [])
    app = app_on(session._replace(settings=Settings(ascii=True, theme="monochrome")))
    try:
        async with ModelServer(LLAMAS) as server, app.run_test(size=(80, 24)) as pilot:
            await open_dialog(pilot, app)
            fill(app, base_url=server.base_url)
            await pilot.pause()
            fill(app, model="nope", key="secret")
            await until(pilot, lambda: "does not list" in screen_text(app), "what is wrong")
            assert screen_text(app).isascii()
            assert "******" in screen_text(app)
    finally:
        from triptych_tui.plain import use_ascii

        use_ascii(False)


async def test_the_prompt_keeps_its_letters(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("m", "0")
        assert app.workbench.query_one(Prompt).text == "m0"


async def test_another_session_keeps_the_connection_with_its_typed_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    async with ModelServer(vllm("first", 32768)) as first, ModelServer({"/v1/models": models(["second"])}) as second:
        model = OpenAIModel(name="first", base_url=first.base_url)
        settings = Settings(model="first", base_url=first.base_url)
        app = app_on(opened(tmp_path / "s.json", [], model)._replace(settings=settings, host=model.host))
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: "/ 32,768" in screen_text(app), "the first server is in use")
            await connect(pilot, app, second.base_url, "second", CANARY)
            await pilot.press("ctrl+n")
            await until(pilot, lambda: app.focused is not None and app.focused.id == "find-text", "a path")
            asked = len(first.asked)
            await pilot.press("enter")
            await until(pilot, lambda: app.workbench.opened.name != "s.json" and app.session.store is not None, "begun")
            dialog = await open_dialog(pilot, app)
            assert dialog.query_one("#base_url", ConnectInput).value == second.base_url
            assert "as typed before" in screen_text(app)
            await pilot.press("escape")
            assert app.workbench.opened.model.name == "second"
            assert len(first.asked) == asked
