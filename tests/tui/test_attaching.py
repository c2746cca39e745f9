"""Pictures attached to a question: pasted, dropped or named; shown, removed, sent, refused and given back."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from tests.support_attachments import gif, jpeg, png, webp
from tests.support_openai_server import OpenAIServer, answer, error
from tests.support_pilot import app_on, opened, screen_text, until
from tests.support_scripted_model import ScriptedModel, fails, says
from triptych.entries import messages_of
from triptych.models.offline import OfflineModel
from triptych.models.openai import OpenAIModel
from triptych.pictures import LARGEST_PICTURE, read_picture, user_message
from triptych_tui.app import TriptychApp
from triptych_tui.picture_paths import mentioned_paths, read_pasted
from triptych_tui.widgets.prompt import Prompt


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    path = tmp_path / "灯塔 lamp (1).png"
    path.write_bytes(png(1024, 768))
    return path


@pytest.fixture
def town(tmp_path: Path) -> Path:
    path = tmp_path / "town.jpeg"
    path.write_bytes(jpeg(640, 480))
    return path


def names_of(pasted: str) -> list[str]:
    return [picture.name for picture in read_pasted(pasted).pictures]


# Which text means a picture


def test_a_pasted_path_is_known_in_every_form_that_terminals_give(lamp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(lamp.parent))
    escaped = str(lamp).replace(" ", r"\ ").replace("(", r"\(").replace(")", r"\)")
    forms = [
        str(lamp),
        f"{lamp}\n",
        f"  {lamp} ",
        f"'{lamp}'",
        f'"{lamp}"',
        f"{shlex.quote(str(lamp))} ",
        escaped,
        lamp.as_uri(),
        f"{lamp.as_uri()}\r\n",
        lamp.as_uri().replace("file://", "file://localhost"),
        "~/灯塔\\ lamp\\ \\(1\\).png",
    ]
    for form in forms:
        assert read_pasted(form).pictures == (read_picture(lamp),), form
        assert (read_pasted(form).text, read_pasted(form).problem) == ("", None), form


def test_several_at_once_are_known_in_every_form(lamp: Path, town: Path) -> None:
    forms = [
        f"{shlex.quote(str(lamp))} {town}",
        f"{lamp}\n{town}",
        f"{lamp.as_uri()}\r\n{town.as_uri()}\r\n",
        f"{lamp.as_uri()} {town.as_uri()}",
        f"'{lamp}' '{town}' ",
    ]
    for form in forms:
        assert names_of(form) == [lamp.name, town.name], form


def test_other_files_among_pictures_stay_as_text(lamp: Path, tmp_path: Path) -> None:
    (tmp_path / "my notes.txt").write_text("notes")
    pasted = read_pasted(f"'{lamp}' '{tmp_path}/my notes.txt'")
    assert [picture.name for picture in pasted.pictures] == [lamp.name]
    assert pasted.text == f"'{tmp_path}/my notes.txt'"
    assert pasted.problem is None


def test_ordinary_text_is_never_eaten(lamp: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "town.png").write_bytes(png())
    texts = [
        f"Look at {lamp}",
        f"{lamp.as_uri()} is the lamp",
        "town.png",
        "./town.png",
        "and/or",
        "/",
        "/etc/hosts",
        "it's a/b",
        "http://example.org/a.png",
        f"file://elsewhere{lamp}",
        "file://[broken/a.png",
        "",
        "/\0/a.txt",
        "~nobody-has-this-name/a.txt",
        f"/{'x/' * 40_000}",
        "\n\n",
    ]
    for text in texts:
        pasted = read_pasted(text)
        assert (pasted.pictures, pasted.text, pasted.problem) == ((), text, None), text


def test_what_looks_like_a_picture_and_is_none_stays_text_with_a_reason(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "loop.gif").symlink_to("loop.gif")
    (tmp_path / "words.webp").write_text("words")
    (tmp_path / "broken.jpg").write_bytes(jpeg()[:12])
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "large.png").write_bytes(png())
    os.truncate(tmp_path / "large.png", LARGEST_PICTURE + 1)
    reasons = {
        "pipe.png": "picture.special",
        "loop.gif": "picture.unreadable",
        "words.webp": "picture.unknown_kind",
        "broken.jpg": "picture.broken",
        "folder.png": "picture.special",
        "large.png": "picture.too_large",
        "missing.PNG": "picture.missing",
    }
    for name, reason in reasons.items():
        text = f"{tmp_path}/{name}"
        pasted = read_pasted(text)
        assert (pasted.pictures, pasted.text) == ((), text)
        assert pasted.problem is not None
        assert pasted.problem.id == reason


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("@lamp.png", ["lamp.png"]),
        ("What is on @lamp.png?", ["lamp.png"]),
        ("What is on @pictures/lamp.PNG.", ["pictures/lamp.PNG"]),
        ("看@灯塔.png，这是什么", ["灯塔.png"]),
        ("看@灯塔.png这是什么", ["灯塔.png"]),
        (r"@my\ lamp.webp and @~/a.gif", ["my lamp.webp", "~/a.gif"]),
        ("@\"my lamp.jpg\" @'your lamp.jpeg'", ["my lamp.jpg", "your lamp.jpeg"]),
        ("@a.png @a.png", ["a.png"]),
        ("(@a.png)", ["a.png"]),
        ("me@lamp.png", []),
        ("@lamp.pngx @lamp.png.txt @lamp-png @lamp.txt @", []),
        ("lamp.png", []),
    ],
)
def test_an_at_sign_before_a_picture_s_name_means_the_picture(text: str, paths: list[str]) -> None:
    assert mentioned_paths(text) == paths


# In the workbench


async def paste(pilot: Pilot[Any], text: str) -> None:
    """As a terminal does it; what is typed next comes behind it."""
    pilot.app.post_message(events.Paste(text))
    await pilot.pause()


def prompt_of(app: TriptychApp) -> Prompt:
    return app.screen.query_one(Prompt)


def names_in(app: TriptychApp) -> set[str]:
    """The names of the pictures that go with the text."""
    return {picture.name for picture in prompt_of(app).pictures}


async def test_a_pasted_picture_is_shown_counted_sent_and_kept(lamp: Path, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    async with OpenAIServer([answer("A lamp.", usage=(1500, 3))]) as server:
        session = opened(file, [], OpenAIModel(name="sees", base_url=server.base_url))
        app = app_on(session)
        async with app.run_test(size=(120, 40)) as pilot:
            await paste(pilot, f"'{lamp}'")
            await until(pilot, lambda: "[image 1024×768] 灯塔 lamp (1).png" in screen_text(app), "the row")
            assert "+~800" in screen_text(app)
            assert prompt_of(app).text == ""
            await pilot.press(*"What?", "enter")
            await until(pilot, lambda: "A lamp." in screen_text(app) and session.session.is_saved, "the answer")
            screen = screen_text(app)
            assert lamp.name not in screen
            assert screen.count("[image 1024×768]") == 2, "in the chat and in the list"
            assert "data:image/png;base64," in screen, "in the file"
            await until(pilot, lambda: "≈" in screen_text(app), "the measured size")
        question = user_message("What?", [read_picture(lamp)])
        assert server.requests[0].messages[1] == question
    assert json.loads(file.read_bytes())[1] == question


async def test_a_picture_may_go_without_words_and_the_offline_model_says_that_it_sees_none(
    lamp: Path, tmp_path: Path
) -> None:
    session = opened(tmp_path / "s.json", [], OfflineModel())
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await paste(pilot, str(lamp))
        await pilot.press("enter")
        await until(pilot, lambda: "I cannot see pictures" in screen_text(app), "the answer")
    assert session.session.entries[1].message == user_message("", [read_picture(lamp)])


async def test_backspace_at_the_start_removes_the_last_picture_and_nothing_else(
    lamp: Path, town: Path, tmp_path: Path
) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"ab")
        await paste(pilot, f"{lamp}\n{town}")
        await until(pilot, lambda: "[image 640×480] town.jpeg" in screen_text(app), "both")
        await pilot.press("backspace")
        assert prompt_of(app).text == "a"
        await pilot.press("home", "backspace")
        assert names_in(app) == {lamp.name}
        assert "[image 640×480]" not in screen_text(app)
        await pilot.press("backspace")
        assert prompt_of(app).pictures == ()
        assert "[image" not in screen_text(app)
        await pilot.press("backspace")
        assert prompt_of(app).text == "a"


async def test_a_typed_name_attaches_and_lets_go_as_the_text_says(
    town: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = opened(tmp_path / "s.json", [], ScriptedModel([says("A town.")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"@town.jpeg")
        await until(pilot, lambda: "[image 640×480] town.jpeg" in screen_text(app), "the row")
        await pilot.press("backspace")
        await until(pilot, lambda: "[image" not in screen_text(app), "no row")
        await pilot.press(*"t?", "enter")
        await until(pilot, lambda: "A town." in screen_text(app), "the answer")
    assert session.session.entries[1].message["content"] == "@town.jpet?"


async def test_a_typed_name_is_sent_with_its_picture_even_in_one_burst(
    town: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = opened(tmp_path / "s.json", [], ScriptedModel([says("A town.")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await paste(pilot, str(town))  # the same one twice goes once
        await pilot.press(*"@town.jpeg?", "enter")
        await until(pilot, lambda: "A town." in screen_text(app), "the answer")
    assert session.session.entries[1].message == user_message("@town.jpeg?", [read_picture(town)])


async def test_a_name_of_no_picture_is_said_once_and_then_sent_as_text(tmp_path: Path) -> None:
    session = opened(tmp_path / "s.json", [], ScriptedModel([says("As you say.")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"@lost.png", "enter")
        await until(pilot, lambda: "lost.png is not attached: there is no such file" in screen_text(app), "said")
        assert prompt_of(app).text == "@lost.png"
        assert len(session.session.entries) == 1
        await pilot.press("enter")
        await until(pilot, lambda: "As you say." in screen_text(app), "the answer")
    assert session.session.entries[1].message["content"] == "@lost.png"


async def test_a_pasted_file_that_is_no_picture_is_said_and_stays_as_text(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    app = app_on(opened(tmp_path / "s.json", []))
    async with app.run_test(size=(120, 40)) as pilot:
        await paste(pilot, f"{tmp_path}/pipe.png")
        await until(pilot, lambda: "pipe.png is not attached: it is no regular file" in screen_text(app), "said")
        assert prompt_of(app).text == f"{tmp_path}/pipe.png"
        await paste(pilot, " and/or text\nas ever")
        assert prompt_of(app).text == f"{tmp_path}/pipe.png and/or text\nas ever"


async def test_a_refused_picture_returns_to_the_prompt_with_its_question(lamp: Path, tmp_path: Path) -> None:
    async with OpenAIServer([error(400, "this model takes no images"), answer("Now I see.")]) as server:
        session = opened(tmp_path / "s.json", [], OpenAIModel(name="blind", base_url=server.base_url))
        app = app_on(session)
        async with app.run_test(size=(120, 40)) as pilot:
            await paste(pilot, str(lamp))
            await pilot.press(*"What?", "enter")
            await until(pilot, lambda: "this model takes no images" in screen_text(app), "the refusal")
            await until(pilot, lambda: prompt_of(app).text == "What?", "the text is back")
            assert "[image 1024×768] 灯塔 lamp (1).png" in screen_text(app)
            assert len(session.session.entries) == 1
            prompt_of(app).field.focus()
            await pilot.press("enter")
            await until(pilot, lambda: "Now I see." in screen_text(app), "the next try")
    assert messages_of(session.session.entries)[1] == user_message("What?", [read_picture(lamp)])


async def test_pictures_attached_while_a_question_fails_stay_beside_its_own(
    lamp: Path, town: Path, tmp_path: Path
) -> None:
    session = opened(tmp_path / "s.json", [], ScriptedModel([fails("model.empty")]))
    app = app_on(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await paste(pilot, str(lamp))
        await pilot.press(*"first", "enter")
        await paste(pilot, str(town))
        await until(pilot, lambda: prompt_of(app).text == "first", "the text is back")
        await until(pilot, lambda: names_in(app) == {lamp.name, town.name}, "both pictures")


async def test_a_file_dropped_while_a_pane_has_the_focus_goes_to_the_prompt(lamp: Path, tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", []))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("escape")
        await paste(pilot, str(lamp))
        await until(pilot, lambda: names_in(app) == {lamp.name}, "attached")
        await pilot.press(*"a")
        assert prompt_of(app).text == "a"


async def test_more_pictures_than_the_row_holds_are_counted(tmp_path: Path) -> None:
    for number, data in enumerate([png(), gif(), jpeg(), webp(), png(1, 1)]):
        (tmp_path / f"picture_{number}.bin").write_bytes(data)
    app = app_on(opened(tmp_path / "s.json", []))
    async with app.run_test(size=(80, 24)) as pilot:
        await paste(pilot, "\n".join(f"{tmp_path}/picture_{number}.bin" for number in range(5)))
        await until(pilot, lambda: "+4" in screen_text(app), "the count")
        assert "+~4,000" in screen_text(app)


async def test_a_name_that_would_steer_the_terminal_is_made_harmless(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b]52;c;evil\x07\u202e[b]x.png"
    path.write_bytes(png(9, 7))
    app = app_on(opened(tmp_path / "s.json", []))
    async with app.run_test(size=(120, 40)) as pilot:
        await paste(pilot, path.as_uri())
        await until(pilot, lambda: "[image 9×7] a␛]52;c;evil␇‹U+202E›[b]x.png" in screen_text(app), "the name")
