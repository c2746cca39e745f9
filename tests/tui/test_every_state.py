"""Every state of the table at 80x24: whole words of one language, rows that hold their columns, signs without colour.

Four walks through all of them, so that every state is seen in each language and in each theme.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from string import Formatter
from typing import NamedTuple

import pytest
from rich.cells import cell_len

from tests.catalogues import sentences
from tests.support_scenes import SCENES
from tests.support_states import SIZE, Shown, walk
from tests.tui.test_looks import colours
from tests.tui.test_themes import contrast
from triptych.reasons import Reason
from triptych.settings import Settings
from triptych_tui.glyphs import MARKS, UNICODE
from triptych_tui.i18n import ENGLISH, set_language
from triptych_tui.keymap import known_bindings
from triptych_tui.messages_rows import mark_span
from triptych_tui.plain import use_ascii
from triptych_tui.untrusted import wrap
from triptych_tui.widgets.notice import MOST_LINES
from triptych_tui.wording import SENTENCES, placeholders, say

WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
WORD = re.compile(r"[A-Za-z_]{2,}")
TYPED = re.compile(r'"[^"\n]*"?|\w+(\(\w+\))?=\S+|\b(role|mark|tool):\w+|\S*/\S+|[a-z]+(\.[a-z_]+)+|[SUATΣ]{2,5}(?!\w)')
"""What stands as it is typed or saved in every language: JSON, variables, filters, paths, ids; and letters of roles."""
NAMES = frozenset(
    WORD.findall(
        "triptych lesson OFFLINE OpenAI OPENAI_API_KEY Ollama vLLM llama cpp JSON URL UTC kB ms re "
        "Enter Esc End Home PgUp PgDn Up Down tab ctrl shift space system user assistant tool summary "
        "keep limit keep_turns missing unterminated subpattern at position"
    )
)
"""Names of programs, roles, keys, units and the lesson's variables; what Python says of an expression."""


MARKED = [
    (text := mark_span(name, UNICODE, guessed=guessed).text, re.compile(rf"\d  {re.escape(text)}\s*$"))
    for name in MARKS
    for guessed in (False, True)
]
"""Each mark, and a row of the list that ends with it, where it stands behind its tokens."""

CUT = re.compile(r"(?<! )…|…(?! \S)")
"""An ellipsis that ends something; one that stands between two things, as in `thinking … ~3`, is no cut."""


class Look(NamedTuple):
    """A walk: the language, and how all is drawn."""

    language: str
    theme: str
    ascii: bool = False


LOOKS = (
    Look("en", "dark"),
    Look("zh_Hans", "light"),
    Look("zh_Hant", "high-contrast"),
    Look("en", "monochrome", ascii=True),
)


@pytest.fixture(autouse=True)
def _in_english_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("triptych_tui.screens.connect_dialog.SETTLE_SECONDS", 0.01)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/config")  # help names the file in it
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    yield
    set_language(ENGLISH)
    use_ascii(False)


@pytest.mark.long_walk
@pytest.mark.parametrize("look", LOOKS, ids=lambda look: f"{look.language}-{look.theme}")
async def test_every_state(look: Look, tmp_path: Path) -> None:
    set_language(look.language)
    known = own_words(look.language)
    faults: list[str] = []
    seen: list[Shown] = []
    async for shown in walk(SCENES, tmp_path, Settings(theme=look.theme, ascii=look.ascii)):
        seen.append(shown)
        faults += [f"{shown.name}: {fault}" for fault in faults_of(shown, look, known)]
    faults += [
        f"{one.name} looks like {other.name}" for one, other in combinations(seen, 2) if one.lines == other.lines
    ]
    assert not faults, "\n".join(faults)


def faults_of(shown: Shown, look: Look, known: frozenset[str]) -> Iterator[str]:
    outside = without_blanks(shown.outside)
    for line in shown.lines:
        if cell_len(line) != SIZE[0]:
            yield f"{cell_len(line)} cells: {line}"
        if not look.ascii and (cut := cut_words(line, outside)):
            yield f"cut: {cut}"
    if look.language == ENGLISH:
        foreign = set(WIDE.findall("".join(shown.lines))) - {*shown.outside}
        if foreign:
            yield f"Chinese: {''.join(sorted(foreign))}"
    else:
        left = set(WORD.findall(TYPED.sub("", "\n".join(shown.lines)))) - known
        yield from (f"English: {word}" for word in sorted(left) if word not in shown.outside)
    if len({cell_len(line[: line.index(mark)]) for line in shown.lines for mark in marks_in(line)}) > 1:
        yield "marks out of their column"
    if look.ascii:
        signs = sorted({*"".join(shown.lines)} - {*shown.outside})
        yield from (f"not ASCII: {sign}" for sign in signs if not sign.isascii())
    yield from weak_colours(shown, look)


def own_words(language: str) -> frozenset[str]:
    """Latin words that a language's own sentences have, as `token`."""
    words = {*NAMES, *(str(each.binding.id) for each in known_bindings())}
    if language != ENGLISH:
        for _english, text in sentences(language):
            words |= set(WORD.findall(re.sub(r"\{[^}]*\}", "", text)))
    return frozenset(words)


def cut_words(line: str, outside: str) -> str:
    """What stands before an ellipsis and is not from outside: words of the interface that were cut."""
    for place in (match.start() for match in CUT.finditer(line)):
        before = without_blanks(line[:place])[-4:]
        if before and before not in outside:
            return line.strip()
    return ""


def without_blanks(text: str) -> str:
    return re.sub(r"\s|⏎|\\n|\\u000a", "", text)


def marks_in(line: str) -> Iterator[str]:
    """The mark at the end of a row of the list, where it stands behind its tokens."""
    return (text for text, row in MARKED if row.search(line))


def weak_colours(shown: Shown, look: Look) -> Iterator[str]:
    for segment in (segment for line in shown.segments for segment in line):
        ink, ground = colours(segment)
        if look.theme == "monochrome":
            if ink or ground:
                yield f"a colour: {segment.text}"
        elif any(map(str.isalnum, segment.text)) and contrast(ink, ground) < 4.5:
            yield f"{ink} on {ground}: {segment.text}"


@pytest.mark.parametrize("language", ["en", "zh_Hans", "zh_Hant"])
def test_every_sentence_fits_above_the_prompt(language: str) -> None:
    set_language(language)
    too_long = {}
    for name, sentence in SENTENCES.items():
        template = sentence if isinstance(sentence, str) else sentence.many
        numbers = {value for _, value, form, _ in Formatter().parse(template) if form}
        numbers |= set() if isinstance(sentence, str) else {sentence.by}
        named = placeholders(template.replace("[", "").replace("]", ""))
        lines = wrap(say(Reason(name, {each: 12_345 if each in numbers else "x" * 24 for each in named})), SIZE[0] - 5)
        if len(lines) > MOST_LINES:
            too_long[name] = lines
    assert not too_long
