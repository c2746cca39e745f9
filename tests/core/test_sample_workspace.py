"""The sample workspace and the table of facts that a class asks it for."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from triptych.layers.truncate import TruncateParameters, cut
from triptych.messages import ToolCall
from triptych.tools.files import file_tools
from triptych.tools.workspace import Workspace

ASSETS = Path(str(files("triptych_assets")))
WORKSPACE = ASSETS / "workspace"
TABLE = tomllib.loads((ASSETS / "workspace_facts.toml").read_text(encoding="utf-8"))
FACTS: list[dict[str, Any]] = TABLE["facts"]
PATHS = sorted(path.relative_to(WORKSPACE).as_posix() for path in WORKSPACE.rglob("*") if path.is_file())
LONG = 4000

each_fact = pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact['file']}-{fact['answer']}")


def text_of(path: str) -> str:
    return (WORKSPACE / path).read_bytes().decode("utf-8")


def after_lesson_cut(text: str, limit: int) -> str:
    made = cut(text, TruncateParameters(limit=limit))
    return text if made is None else made.text


def places(text: str, answer: str) -> Iterator[str]:
    """The part of the text that holds each occurrence, `between` where one lies across a border."""
    fifth = len(text) // 5
    start = text.find(answer)
    while start >= 0:
        end = start + len(answer)
        if end <= fifth:
            yield "beginning"
        elif start >= len(text) - fifth:
            yield "end"
        else:
            yield "middle" if start >= fifth and end <= len(text) - fifth else "between"
        start = text.find(answer, start + 1)


def script_of(text: str) -> str:
    """Told by what the standard encodings of each script can hold; the dot between foreign names is left out."""
    if text.isascii():
        return "en"
    encodable = [script for script, encoding in _ENCODINGS.items() if _fits(text.replace("·", ""), encoding)]
    return encodable[0] if len(encodable) == 1 else f"unclear: {encodable}"


_ENCODINGS = {"zh-Hans": "gb2312", "zh-Hant": "big5"}


def _fits(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


# The files


def test_there_are_a_dozen_texts_in_a_few_folders() -> None:
    assert 12 <= len(PATHS) <= 14
    assert {path.rpartition("/")[0] for path in PATHS} == {"", "harbour", "lighthouse", "town"}


@pytest.mark.parametrize("path", PATHS)
def test_a_file_is_plain_utf8_with_line_feeds(path: str) -> None:
    text = text_of(path)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert not text.startswith("\N{ZERO WIDTH NO-BREAK SPACE}")
    assert all(character.isprintable() or character in "\n\u3000" for character in text)
    assert not any(character.isspace() for character in path)


@pytest.mark.parametrize("path", PATHS)
def test_a_file_begins_with_a_line_that_describes_it(path: str) -> None:
    assert 20 <= len(text_of(path).splitlines()[0]) <= 120


@pytest.mark.parametrize("path", PATHS)
def test_a_file_keeps_to_one_script_and_its_name_to_the_same(path: str) -> None:
    script = script_of(text_of(path))
    assert script in {"en", "zh-Hans", "zh-Hant"}
    assert path.isascii() == (script == "en")


def test_each_of_the_three_scripts_has_a_long_text() -> None:
    long_texts = [path for path in PATHS if len(text_of(path)) >= 6000]
    assert {script_of(text_of(path)) for path in long_texts} == {"en", "zh-Hans", "zh-Hant"}
    assert len(long_texts) >= 4
    assert max(len(text_of(path)) for path in PATHS) <= 20_000


def test_settings_and_table_can_be_read_by_a_program() -> None:
    assert tomllib.loads(text_of("lighthouse/lamp_settings.toml"))["light"]["period_seconds"] == 12
    rows = list(csv.reader(text_of("harbour/tide_table.csv").splitlines()))
    assert len(rows) == 32
    assert len({len(row) for row in rows}) == 1


# The facts


def test_there_are_facts_for_every_file_language_and_place() -> None:
    assert len(FACTS) >= 30
    assert {fact["file"] for fact in FACTS} == set(PATHS)
    assert {(fact["language"], fact["where"]) for fact in FACTS} == {
        (language, where) for language in ("en", "zh-Hans", "zh-Hant") for where in ("beginning", "middle", "end")
    }


@each_fact
def test_an_answer_stands_where_the_table_says_and_nowhere_else(fact: dict[str, Any]) -> None:
    assert set(places(text_of(fact["file"]), fact["answer"])) == {fact["where"]}


@each_fact
def test_a_question_is_asked_in_the_language_of_its_file_and_gives_nothing_away(fact: dict[str, Any]) -> None:
    assert script_of(text_of(fact["file"])) == fact["language"]
    assert fact["question"].isascii() == (fact["language"] == "en")
    assert fact["question"].endswith("？" if fact["language"] != "en" else "?")
    assert fact["answer"] not in fact["question"]


@pytest.mark.parametrize("limit", [80, LONG])
def test_a_cut_loses_what_stands_in_the_middle_of_a_long_text(limit: int) -> None:
    lost = [fact for fact in FACTS if fact["where"] == "middle" and len(text_of(fact["file"])) > LONG]
    assert len(lost) >= 10
    for fact in lost:
        assert fact["answer"] not in after_lesson_cut(text_of(fact["file"]), limit), fact["question"]


def test_a_cut_at_4000_keeps_the_beginning_and_the_end_of_every_text() -> None:
    for fact in FACTS:
        if fact["where"] != "middle":
            assert fact["answer"] in after_lesson_cut(text_of(fact["file"]), LONG), fact["question"]


@each_fact
def test_the_table_knows_what_a_cut_at_80_keeps(fact: dict[str, Any]) -> None:
    kept = fact["answer"] in after_lesson_cut(text_of(fact["file"]), 80)
    assert kept == fact.get("survives_80", False)


def test_a_cut_at_80_keeps_a_fact_of_some_long_texts_and_loses_one_of_each() -> None:
    survivors = {fact["file"] for fact in FACTS if fact.get("survives_80") and len(text_of(fact["file"])) > LONG}
    lost = {fact["file"] for fact in FACTS if not fact.get("survives_80") and len(text_of(fact["file"])) > LONG}
    assert len(survivors) >= 3
    assert lost == {path for path in PATHS if len(text_of(path)) > LONG}


# What changes between papers, and a sentence that gives orders


@pytest.mark.parametrize("update", TABLE["updates"], ids=lambda update: update["question"])
def test_a_later_paper_says_otherwise(update: dict[str, Any]) -> None:
    earlier, later = update["earlier"], update["later"]
    assert earlier["file"] != later["file"]
    assert earlier["answer"] in text_of(earlier["file"])
    assert later["answer"] in text_of(later["file"])
    assert later["answer"] not in text_of(earlier["file"])


def test_one_file_ends_with_an_instruction_that_contradicts_it() -> None:
    planted = TABLE["instruction_in_data"]
    assert [path for path in PATHS if "Ignore" in text_of(path)] == [planted["file"]]
    assert text_of(planted["file"]).splitlines()[-1] == planted["text"]
    assert planted["contradicts"] in text_of(planted["file"])


# Through the tools


async def test_the_tools_list_every_file_and_read_it_as_it_is() -> None:
    tools = file_tools(Workspace(WORKSPACE))
    listing = await tools.run(ToolCall("1", "list_files", "{}"))
    assert all(path in listing.text for path in PATHS)
    for path in PATHS:
        answer = await tools.run(ToolCall("2", "read_file", f'{{"path": "{path}"}}'))
        assert not answer.failed
        assert answer.text == text_of(path)


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("Blue Thistle", {"harbour/radio.log", "lighthouse/keepers_log.txt"}),
        ("蓝蓟号", {"harbour/港口会议记录.txt"}),
        ("海燕號", {"harbour/渡輪時刻表.txt", "town/燈塔與海燕.txt"}),
    ],
)
async def test_a_search_finds_a_word_in_each_script(word: str, found: set[str]) -> None:
    answer = await file_tools(Workspace(WORKSPACE)).run(ToolCall("1", "search_files", f'{{"query": "{word}"}}'))
    assert {path for path in PATHS if path in answer.text} == found
