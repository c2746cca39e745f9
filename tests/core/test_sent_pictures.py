"""Pictures: read from any file without harm, sent as parts, and seen in any list."""

from __future__ import annotations

import base64
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support_attachments import gif, jpeg, png, webp
from tests.support_desk import LESSON, SYSTEM, Desk, questions
from tests.support_offline_model import reply
from tests.support_openai_server import OpenAIServer, answer, error
from tests.support_scripted_model import says
from tests.support_session_files import kept_at
from tests.support_strategies import JSON
from triptych import lesson_api
from triptych.agent import run_turn
from triptych.layers.summarize import render
from triptych.messages import Message, pictures_in
from triptych.models.base import ModelError
from triptych.models.openai import OpenAIModel
from triptych.pictures import (
    LARGEST_PICTURE,
    Picture,
    PictureError,
    PictureSize,
    SeenPicture,
    read_picture,
    seen_pictures,
    user_message,
)
from triptych.session import Session
from triptych.tools.base import Toolbox

KINDS = {
    "image/png": (png(1024, 768), (1024, 768)),
    "image/jpeg": (jpeg(640, 480), (640, 480)),
    "image/gif": (gif(10, 20), (10, 20)),
    "image/webp": (webp(300, 200), (300, 200)),
}


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(PictureError) as refused:
        read_picture(path)
    assert refused.value.reason.values["name"]
    return refused.value.reason.id


def outcome(path: Path) -> str:
    """The id of the reason why it is refused, or `a size`."""
    try:
        size = read_picture(path).size
    except PictureError as error:
        return error.reason.id
    return "a size" if size.width > 0 < size.height else str(size)


def picture(width: int = 1024, height: int = 768) -> Picture:
    url = "data:image/png;base64," + base64.b64encode(png(width, height)).decode()
    return Picture("lamp.png", PictureSize(width, height), url)


# Reading files


@pytest.mark.parametrize("media_type", KINDS)
def test_a_picture_is_known_by_its_first_bytes_whatever_its_name_is(media_type: str, tmp_path: Path) -> None:
    data, size = KINDS[media_type]
    found = read_picture(written(tmp_path, "灯塔 照片.txt", data))
    assert (found.name, found.size) == ("灯塔 照片.txt", size)
    head, _, encoded = found.data_url.partition(",")
    assert head == f"data:{media_type};base64"
    assert base64.b64decode(encoded) == data


def test_a_photograph_has_the_size_in_which_it_is_looked_at(tmp_path: Path) -> None:
    assert read_picture(written(tmp_path, "upright.jpg", jpeg(640, 480, orientation=6))).size == (480, 640)


def test_a_size_behind_much_metadata_is_found(tmp_path: Path) -> None:
    assert read_picture(written(tmp_path, "edited.jpg", jpeg(640, 480, metadata=3_000_000))).size == (640, 480)


def test_a_link_leads_to_its_picture(tmp_path: Path) -> None:
    (tmp_path / "link.png").symlink_to(written(tmp_path, "lamp.png", png()))
    assert read_picture(tmp_path / "link.png").size == (1024, 768)


def test_what_is_no_picture_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "loop.png").symlink_to(tmp_path / "loop.png")
    (tmp_path / "dangling.png").symlink_to(tmp_path / "nowhere.png")
    lamp = written(tmp_path, "lamp.png", png())
    assert refusal(tmp_path / "pipe.png") == "picture.special"
    assert refusal(tmp_path) == "picture.special"
    assert refusal(Path("/dev/zero")) == "picture.special"
    assert refusal(Path("/")) == "picture.special"
    assert refusal(tmp_path / "loop.png") == "picture.unreadable"
    assert refusal(tmp_path / ("n" * 300 + ".png")) == "picture.unreadable"
    for missing in (tmp_path / "dangling.png", lamp / "inside.png", tmp_path / "\0.png", tmp_path / "\ud800.png"):
        assert refusal(missing) == "picture.missing"


@pytest.mark.parametrize("data", [b"", b"plain text", b"<svg width='9' height='9'/>", b"BM" + bytes(60), b"RIFF"])
def test_other_files_are_no_pictures(data: bytes, tmp_path: Path) -> None:
    assert refusal(written(tmp_path, "x.png", data)) == "picture.unknown_kind"


@pytest.mark.parametrize("media_type", KINDS)
def test_a_picture_that_breaks_off_in_its_header_is_broken(media_type: str, tmp_path: Path) -> None:
    beginning = KINDS[media_type][0][: 8 if media_type == "image/gif" else 12]
    assert refusal(written(tmp_path, "x.png", beginning)) == "picture.broken"


def test_a_picture_may_be_so_large_and_no_larger(tmp_path: Path) -> None:
    path = written(tmp_path, "large.png", png())
    os.truncate(path, LARGEST_PICTURE)
    assert read_picture(path).size == (1024, 768)
    os.truncate(path, LARGEST_PICTURE + 1)
    assert refusal(path) == "picture.too_large"
    os.truncate(path, 1 << 40)  # a file with a hole, as large as no memory is
    assert refusal(path) == "picture.too_large"


def test_headers_full_of_lies_give_a_size_or_a_sentence(tmp_path: Path) -> None:
    chance = random.Random(7)
    outcomes = set[str]()
    for _ in range(1500):
        data = bytearray(chance.choice([data for data, _ in KINDS.values()])[:80])
        for _ in range(chance.randint(1, 5)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        outcomes.add(outcome(written(tmp_path, "x.png", data[: chance.randint(3, len(data))])))
    assert outcomes == {"a size", "picture.broken", "picture.unknown_kind"}


# In a list


def test_a_question_without_pictures_is_plain_text() -> None:
    assert user_message("Hello") == {"role": "user", "content": "Hello"}


def test_a_question_with_pictures_has_a_part_for_each() -> None:
    lamp, town = picture(1024, 768), picture(30, 20)
    message = user_message("Which is larger?", [lamp, town])
    assert message["content"] == [
        {"type": "text", "text": "Which is larger?"},
        {"type": "image_url", "image_url": {"url": lamp.data_url}},
        {"type": "image_url", "image_url": {"url": town.data_url}},
    ]
    assert [seen.size for seen in seen_pictures(message)] == [(1024, 768), (30, 20)]
    assert user_message("", [lamp])["content"] == message["content"][1:2]


SMALL = base64.b64encode(png(9, 7)).decode()


@pytest.mark.parametrize(
    ("part", "seen"),
    [
        ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{SMALL}"}}, SeenPicture(PictureSize(9, 7))),
        ({"type": "image_url", "image_url": f"data:image/png;base64,{SMALL}"}, SeenPicture(PictureSize(9, 7))),
        ({"type": "input_image", "image_url": f"DATA:;BASE64,{SMALL}"}, SeenPicture(PictureSize(9, 7))),
        ({"type": "image", "source": {"type": "base64", "data": SMALL}}, SeenPicture(PictureSize(9, 7))),
        ({"type": "image_url", "image_url": {"url": "https://a.example:8/x.png?k=1"}}, SeenPicture(host="a.example")),
        ({"type": "image", "source": {"type": "url", "url": "http://b.example/x"}}, SeenPicture(host="b.example")),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,A"}}, SeenPicture()),
        ({"type": "image_url", "image_url": {"url": "data:image/png,%89PNG"}}, SeenPicture()),
        ({"type": "image_url", "image_url": {"url": "https://[broken/x.png"}}, SeenPicture()),
        ({"type": "image_url", "image_url": {"url": 7}}, SeenPicture()),
        ({"type": "image_url"}, SeenPicture()),
    ],
)
def test_a_part_tells_its_size_or_its_host(part: dict[str, Any], seen: SeenPicture) -> None:
    assert seen_pictures({"role": "user", "content": [part]}) == (seen,)


def test_a_size_behind_metadata_is_seen_in_a_list() -> None:
    url = "data:image/jpeg;base64," + base64.b64encode(jpeg(640, 480, metadata=120_000)).decode()
    part = {"type": "image_url", "image_url": {"url": url}}
    assert seen_pictures({"role": "user", "content": [part]}) == (SeenPicture(PictureSize(640, 480)),)


@given(st.dictionaries(st.sampled_from(["image_url", "source", "image", "url", "data"]), JSON))
def test_parts_of_any_shape_are_seen(part: dict[str, Any]) -> None:
    assert len(seen_pictures({"role": "user", "content": [{"type": "image", **part}]})) == 1


def test_patches_are_the_area_by_the_square_of_their_side() -> None:
    assert PictureSize(1024, 768).patches == 1003
    assert PictureSize(28, 56).patches == 2


# Sent, summarized, saved


async def test_an_endpoint_gets_text_and_pictures_as_parts_and_what_it_measures_counts(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    session = Session(Desk([SYSTEM], LESSON).base, LESSON, kept_at(path))
    question = user_message("这是什么？", [picture()])
    async with OpenAIServer([answer("A lamp.", usage=(1103, 4))]) as server:
        model = OpenAIModel(name="sees", base_url=server.base_url)
        await run_turn(session, "这是什么？", pictures=[picture()], model=model, tools=Toolbox([]))
        assert server.requests[0].messages == [SYSTEM, question]
    assert session.entries[1].message == question
    assert lesson_api.load_session(path)[1] == question
    assert json.loads(path.read_text("utf-8"))[1] == question
    assert session.counter.tokens(session.counter.weight(session.entries[1])) == 800 + 6
    measured = session.size(session.counter.total(session.entries))
    assert measured.kind == "adjusted"
    assert measured.tokens > 1103


async def test_a_refused_picture_is_taken_back_with_its_question(tmp_path: Path) -> None:
    desk = Desk([SYSTEM], LESSON, store=kept_at(tmp_path / "session.json"))
    async with OpenAIServer([error(400, "image input is not supported")]) as server:
        model = OpenAIModel(name="blind", base_url=server.base_url)
        with pytest.raises(ModelError) as refused:
            await run_turn(desk.session, "What is this?", pictures=[picture()], model=model, tools=Toolbox([]))
    assert "image input is not supported" in str(refused.value.reason)
    assert desk.messages == [SYSTEM]


async def test_a_summary_is_told_where_pictures_were_and_the_kept_ones_stay() -> None:
    old, kept = user_message("第一张", [picture()]), user_message("第二张", [picture(30, 20)])
    answered: Message = {"role": "assistant", "content": "好的"}
    assert render([old, answered]) == "[user] 第一张\n[image]\n[assistant] 好的"
    desk = Desk([SYSTEM, old, answered, *questions(1)[1:], kept, answered], LESSON)
    await desk.ask("And now?", says("They sent a picture."), says("Done."))
    assert desk.messages[1]["content"].endswith("They sent a picture.")
    assert kept in desk.messages
    assert sum(map(pictures_in, desk.messages)) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("What is this?", "I cannot see pictures: of this message I have only the text."),
        ("这是什么？", "我看不到图片"),
        ("這張圖畫的是誰？", "我看不到圖片"),
        ("", "I cannot see pictures: of this message I have only the text."),
    ],
)
def test_the_offline_model_says_that_it_cannot_see(text: str, said: str) -> None:
    assert reply([SYSTEM, user_message(text, [picture()])]).text.startswith(said)


def test_the_offline_model_reads_the_text_beside_a_picture() -> None:
    talk = [user_message("My name is Lin.", [picture()]), {"role": "assistant", "content": "Noted."}]
    said = reply([*talk, {"role": "user", "content": "What is my name?"}]).text
    assert "My name is Lin" in said
    assert "cannot see" not in said


@pytest.mark.parametrize("name", ["@/tmp/lamp.png", '@"/tmp/my lamp.png"', "@/tmp/my\\ lamp.png"])
def test_the_offline_model_takes_no_attached_picture_for_a_file_to_read(name: str) -> None:
    said = reply([SYSTEM, user_message(f"{name} What is this?", [picture()])])
    assert not said.calls
    assert "picture" in said.text
