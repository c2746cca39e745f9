"""The catalogues: complete, made from the sources as they are, and no wider than the places their words have."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from rich.cells import cell_len

from tests import catalogues
from tests.catalogues import LANGUAGES, SOURCES, TEMPLATE, as_text, compiled, extracted, stored, updated
from triptych.layers.clear import ClearParameters
from triptych.layers.prune import PruneParameters
from triptych.layers.summarize import SummarizeParameters
from triptych.layers.truncate import TruncateParameters
from triptych.stages import Stage
from triptych_tui import i18n
from triptych_tui.glyphs import ASCII, MARKS, UNICODE
from triptych_tui.i18n import set_language
from triptych_tui.messages_rows import MARK_CELLS, mark_span
from triptych_tui.parameter_fields import fields_of, words_of
from triptych_tui.stage_words import stage_name
from triptych_tui.widgets.parameter_form import LABEL_CELLS
from triptych_tui.widgets.tabs import pane_words
from triptych_tui.wording import placeholders

TRANSLATING = {"_": 1, "N_": 1, "ngettext": 2, "NN_": 2}
FIELD = re.compile(r"\{[^{}]*\}")
SPOKEN = ("en", *LANGUAGES)
LAYERS = (TruncateParameters, ClearParameters, PruneParameters, SummarizeParameters)
PARAMETERS = [parameters for layer in LAYERS for parameters in (layer.lesson(), layer.robust())]


@pytest.fixture(autouse=True)
def in_english_again() -> Iterator[None]:
    yield
    set_language("en")


def sentences(language: str) -> list[tuple[tuple[str, ...], str]]:
    """The English forms of every sentence and its translation."""
    pairs = []
    for message in stored(language):
        if message.id:
            forms = (message.id,) if isinstance(message.id, str) else tuple(message.id)
            pairs.append((forms, message.string if isinstance(message.string, str) else message.string[0]))
    return pairs


def calls_of_translators() -> Iterator[tuple[str, ast.Call]]:
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TRANSLATING:
                yield f"{path.relative_to(SOURCES)}:{node.lineno}", node


def test_every_sentence_of_the_sources_is_in_the_template() -> None:
    known = {form for message in extracted() if message.id for form in _forms(message.id)}
    missing = []
    for place, call in calls_of_translators():
        given = call.args[: TRANSLATING[call.func.id]]  # type: ignore[attr-defined]
        for argument in given:
            if isinstance(argument, ast.Constant) and argument.value not in known:
                missing.append((place, argument.value))
            assert not isinstance(argument, ast.JoinedStr), f"{place}: no catalogue can hold an f-string"
    assert not missing


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_catalogues_are_those_of_the_sources_and_complete(language: str) -> None:
    hint = "run `python -m tests.catalogues`, and translate what it names"
    assert TEMPLATE.read_bytes() == as_text(extracted()), hint
    catalogue = updated(language)
    assert catalogues.source_file(language).read_bytes() == as_text(catalogue), hint
    assert list(catalogues.untranslated(catalogue)) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_program_reads_what_translators_wrote(language: str) -> None:
    path = catalogues.source_file(language)
    assert path.with_suffix(".mo").read_bytes() == compiled(updated(language))
    set_language(language)
    assert i18n.current_language() == language
    for forms, translation in sentences(language):
        shown = i18n._(forms[0]) if len(forms) == 1 else i18n.ngettext(*forms, 2)
        assert shown == translation


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_speak_of_the_same_values_and_leave_the_same_parts_out(language: str) -> None:
    for forms, translation in sentences(language):
        assert sorted(FIELD.findall(translation)) in [sorted(FIELD.findall(form)) for form in forms], forms
        optional = [re.findall(r"\[([^][]*\{[^][]*)\]", text) for text in (*forms, translation)]
        named = [sorted(sorted(placeholders(part)) for part in parts) for parts in optional]
        assert named[-1] in named[:-1], forms
        assert translation.strip() == translation or forms[0].strip() != forms[0], forms
        assert "\n" not in translation


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_files_name_no_machine_and_no_day(language: str) -> None:
    for path in (TEMPLATE, catalogues.source_file(language), catalogues.source_file(language).with_suffix(".mo")):
        content = path.read_bytes()
        assert b"Date" not in content
        assert str(Path.cwd()).encode() not in content
        assert b"\n#:" not in content


@pytest.mark.parametrize("language", SPOKEN)
def test_every_mark_has_room_for_glyph_word_and_question_mark(language: str) -> None:
    set_language(language)
    for name in MARKS:
        for glyphs in (UNICODE, ASCII):
            for guessed in (False, True):
                shown = mark_span(name, glyphs, guessed=guessed).text
                assert cell_len(shown) <= MARK_CELLS
                assert MARKS[name].word in shown


@pytest.mark.parametrize("language", SPOKEN)
def test_words_fit_their_places_at_80_columns(language: str) -> None:
    set_language(language)
    assert cell_len(i18n._("mark")) <= MARK_CELLS
    assert cell_len(i18n._("~tok")) <= 6, "above the numbers"
    assert all(cell_len(stage_name(stage)) <= 9 for stage in get_args(Stage))
    labels = [words_of(each, name)[0] for each in PARAMETERS for name in fields_of(each)]
    assert all(cell_len(label) < LABEL_CELLS for label in labels)
    assert sum(cell_len(word) + 5 for word in pane_words().values()) <= 80, "the tabs"


def _forms(message: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return (message,) if isinstance(message, str) else tuple(message)
