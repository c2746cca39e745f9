"""The README and its two translations: alike in shape, and true of the program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

import click
import pytest

from tests.support_pilot import app_on, opened, tool_talk
from triptych.agent import run_turn
from triptych.policy import LAYERS, preset_names
from triptych.settings import Settings
from triptych_tui.cli import main
from triptych_tui.glyphs import MARKS, UNICODE
from triptych_tui.i18n import _, set_language
from triptych_tui.keymap import known_bindings
from triptych_tui.keys_in_force import commands, shown_key
from triptych_tui.launch import Launch, open_session

ROOT = Path(__file__).parents[1]
FILES = {
    "en": ROOT / "README.md",
    "zh_Hans": ROOT / "assets/readme/README.zh-Hans.md",
    "zh_Hant": ROOT / "assets/readme/README.zh-Hant.md",
}
TEXTS = {language: path.read_text("utf-8") for language, path in FILES.items()}
TOUR, KEYS, SCREEN, COMMANDS, POLICIES = 3, 4, 5, 6, 8
"""Sections by number: headings are translated."""
IN_CHINESE = ("zh_Hans", "zh_Hant")

CODE_BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)
EXPLANATION = re.compile(r"(?<=\S) {2,}\S.*")
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\]\(([^)]+)\)")
HAN = "[\u4e00-\u9fff]"

every_language = pytest.mark.parametrize("language", FILES)
both_translations = pytest.mark.parametrize("language", IN_CHINESE)


@pytest.fixture(autouse=True)
def in_english_again() -> Iterator[None]:
    yield
    set_language("en")


def sections(language: str) -> list[str]:
    """The text between headings, and before the first."""
    return re.split(r"^#+ .*$", prose(language), flags=re.M)[1:]


def prose(language: str) -> str:
    return CODE_BLOCK.sub("", TEXTS[language])


def code(text: str) -> list[str]:
    """What stands in the text as code, in the order it stands there; English lines are broken, also within it."""
    return [" ".join(span.split()) for span in CODE.findall(text)]


def blocks(language: str) -> list[str]:
    """What is typed in each code block, without what stands beside it in words."""
    return [EXPLANATION.sub("", block) for block in CODE_BLOCK.findall(TEXTS[language])]


def first_cells(section: str) -> list[str]:
    """The first column of a section's tables, without headings and rules."""
    rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("|")]
    return [cell for number, cell in enumerate(rows) if cell.strip("-") and rows[number + 1 : number + 2] != ["---"]]


def keys(language: str) -> list[list[str]]:
    """The keys of each row of the table of keys."""
    return [code(cell) for cell in first_cells(sections(language)[KEYS])]


def shape(section: str) -> dict[str, int]:
    lines = section.splitlines()
    starts = {"rows": r"\|", "points": "- ", "numbers": r"\d\. "}
    found = {name: sum(bool(re.match(start, line)) for line in lines) for name, start in starts.items()}
    return {**found, "paragraphs": len(re.findall(r"\S\n\n+(?=\S)", section)), "links": len(LINK.findall(section))}


@both_translations
def test_a_translation_has_the_same_headings_and_in_each_section_the_same_parts(language: str) -> None:
    levels = [re.findall(r"^#+(?= )", prose(each), flags=re.M) for each in ("en", language)]
    assert levels[0] == levels[1]
    for number, (english, translated) in enumerate(zip(sections("en"), sections(language), strict=True)):
        assert shape(translated) == shape(english), f"section {number}"


@both_translations
def test_a_translation_has_the_same_code(language: str) -> None:
    assert blocks(language) == blocks("en")
    for number, (english, translated) in enumerate(zip(sections("en"), sections(language), strict=True)):
        if number not in (TOUR, SCREEN):  # there a learner asks and reads in the language of the interface
            assert sorted(code(translated)) == sorted(code(english)), f"section {number}"


@both_translations
def test_a_translation_is_set_as_chinese_is(language: str) -> None:
    words = CODE.sub("code", prose(language))
    assert re.findall(rf".*{HAN}[,;:!?()].*", words) == []
    assert re.findall(r"^[ |>-]*[。，、；：！？）」』”].*", words, flags=re.M) == []
    assert re.findall(rf"{HAN}\n{HAN}.*", words) == [], "a line break inside a paragraph is shown as a blank"


@every_language
def test_links_and_pictures_are_there(language: str) -> None:
    targets = [target for target in LINK.findall(TEXTS[language]) if "://" not in target]
    assert len(targets) >= 3
    assert [target for target in targets if not (FILES[language].parent / target).is_file()] == []
    others = {path.resolve() for other, path in FILES.items() if other != language}
    assert others <= {(FILES[language].parent / target).resolve() for target in targets}


@every_language
def test_paths_and_modules_that_are_named_exist(language: str) -> None:
    spans = [span.split(" ")[0] for span in code(prose(language))]
    modules = [span for span in spans if re.fullmatch(r"(tests|triptych|triptych_tui)(\.\w+)+", span)]
    assert len(modules) > 10
    for name in modules:
        resolve_name(name)
    paths = [span for span in spans if re.match(r"(assets|core|tests|triptych|tui)/", span)]
    assert [path for path in paths if not any((ROOT / folder / path).exists() for folder in ("", "core", "tui"))] == []


@every_language
def test_every_option_that_is_named_is_in_help(language: str) -> None:
    lines = [*code(prose(language)), *"\n".join(CODE_BLOCK.findall(TEXTS[language])).splitlines()]
    ours = [line for line in lines if line.startswith("-") or " triptych " in f" {line}"]
    named = {option for line in ours for option in re.findall(r"(?<![\w-])(?:--[a-z][a-z-]*|-o)\b", line)}
    assert {"--model", "--policy", "-o"} <= named
    assert named <= set(options(main))


def options(command: click.Command) -> Iterator[str]:
    """What `--help` lists, of a command and of those below it."""
    context = click.Context(command)
    for parameter in command.get_params(context):
        yield from parameter.opts
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from options(found)
        if (default := command.commands.get("open")) is not None:
            yield from options(default)


@every_language
def test_every_command_is_listed(language: str) -> None:
    listed = re.findall(r"^triptych (\w+)", blocks(language)[2], flags=re.M)
    assert sorted(listed) == main.list_commands(click.Context(main))


@every_language
def test_every_preset_is_listed(language: str) -> None:
    listed = [code(cell)[0] for cell in first_cells(sections(language)[POLICIES])]
    assert sorted(listed) == sorted(preset_names())


@every_language
def test_marks_are_written_as_the_program_shows_them(language: str) -> None:
    set_language(language)
    shown = {f"{look.glyph(UNICODE)} {_(look.word)}" for look in MARKS.values()}
    assert {mark for cell in first_cells(sections(language)[SCREEN]) for mark in code(cell)} == shown


@every_language
async def test_the_default_policy_does_what_the_tour_says(language: str, tmp_path: Path) -> None:
    (told,) = [each for each in sections(language)[TOUR].split("\n\n") if "--new robust.json" in each]
    questions = [span for span in code(told) if re.match("Read |读 |讀 ", span)]
    talk = open_session(Launch(Settings(), tmp_path / "robust.json", is_new=True), {})
    did = []
    for question in questions:
        known = len(talk.session.timeline.path())
        await run_turn(talk.session, question, model=talk.model, tools=talk.tools)
        steps = talk.session.timeline.path()[known:]
        did.append([(step.stage, step.before.tokens - step.after.tokens) for step in steps if step.stage in LAYERS])
    layers = [[layer for layer, _saved in each] for each in did]
    assert layers == [["truncate"], ["truncate"], ["truncate"], ["clear"], ["truncate", "clear", "summarize"]]
    assert round(did[3][0][1]) == 1120


@both_translations
def test_the_tables_of_keys_are_the_same(language: str) -> None:
    assert keys(language) == keys("en")


def test_every_key_of_the_table_does_something() -> None:
    bound = {shown_key(each.binding.key) for each in known_bindings()}
    assert {key for row in keys("en") for key in row} <= bound


async def test_every_key_of_help_is_in_the_table(tmp_path: Path) -> None:
    app = app_on(opened(tmp_path / "s.json", tool_talk(2)))
    async with app.run_test(size=(120, 40)):
        in_force = {key for command in commands(app.workbench) for key in command.keys}
    assert len(in_force) > 40
    assert in_force <= {key for row in keys("en") for key in row}
