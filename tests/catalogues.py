"""The interface's catalogues: `python -m tests.catalogues` collects the sources' sentences, updates and compiles them.

Translations are written into the `.po` files; a sentence that is new there has none yet and is named. The files depend
on sources and translations alone: no dates, no places in the sources.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

import triptych_tui
from triptych.policy import preset, preset_names
from triptych_assets import FOLDER
from triptych_tui.i18n import ENGLISH, NAMES

SOURCES = Path(triptych_tui.__file__).parent
TEMPLATE = FOLDER / "locale" / "triptych.pot"
LANGUAGES = tuple(language for language in NAMES if language != ENGLISH)
KEYWORDS = {"_": None, "N_": None, "ngettext": (1, 2), "Counted": (2, 3), "NN_": (1, 2)}
"""The functions that are given sentences, and as which arguments; None is the first one."""


class _Catalogue(Catalog):
    """A catalogue whose header says only what reading it needs."""

    mime_headers = property(lambda self: self._needed_headers(), lambda self, headers: None)  # type: ignore[assignment]

    def _needed_headers(self) -> list[tuple[str, str]]:
        plurals = [("Language", self.locale_identifier), ("Plural-Forms", self.plural_forms)] if self.locale else []
        kind = [("MIME-Version", "1.0"), ("Content-Type", "text/plain; charset=utf-8")]
        return [*plurals, *kind, ("Content-Transfer-Encoding", "8bit")]


def source_file(language: str) -> Path:
    """The `.po` file, which translators edit."""
    return FOLDER / "locale" / language / "LC_MESSAGES" / "triptych.po"


def extracted() -> Catalog:
    """Every sentence that the sources give to a translating function, and the notes of the presets."""
    catalogue = _empty()
    for _file, _line, message, comments, context in extract_from_dir(SOURCES, keywords=KEYWORDS):
        catalogue.add(message, auto_comments=comments, context=context)
    for note in filter(None, (preset(name).note for name in preset_names())):
        catalogue.add(note)
    return catalogue


def stored(language: str) -> Catalog:
    """The `.po` file as it is."""
    with source_file(language).open("rb") as file:
        return read_po(file, locale=language, domain="triptych", abort_invalid=True)


def updated(language: str) -> Catalog:
    """The sources' sentences with the translations that there are; what the sources no longer say is dropped."""
    catalogue = _empty(language)
    known = stored(language) if source_file(language).exists() else _empty(language)
    for message in _messages(extracted()):
        found = known.get(message.id)
        catalogue.add(message.id, found.string if found is not None and found.id == message.id else None)
    return catalogue


def as_text(catalogue: Catalog) -> bytes:
    """A catalogue as `.po` or `.pot` files hold it."""
    file = BytesIO()
    write_po(file, catalogue, width=120, no_location=True, sort_output=True)
    return file.getvalue()


def compiled(catalogue: Catalog) -> bytes:
    """A catalogue as the program reads it."""
    file = BytesIO()
    write_mo(file, catalogue)
    return file.getvalue()


def untranslated(catalogue: Catalog) -> Iterator[str]:
    """The sentences without a translation."""
    for message in _messages(catalogue):
        strings = message.string if isinstance(message.string, tuple | list) else (message.string,)
        if not all(strings):
            yield message.id if isinstance(message.id, str) else message.id[0]


def sentences(language: str) -> Iterator[tuple[str, str]]:
    """Every sentence in English, of two forms the first, and in a language."""
    for message in _messages(stored(language)):
        english, own = (text if isinstance(text, str) else text[0] for text in (message.id, message.string))
        yield english, own


def _messages(catalogue: Catalog) -> Iterator:
    return (message for message in catalogue if message.id)


def _empty(language: str | None = None) -> Catalog:
    comment = "# The words of triptych's interface."
    return _Catalogue(locale=language, domain="triptych", fuzzy=False, header_comment=comment)


def main() -> int:
    """Bring all files up to date; 1 while a sentence has no translation."""
    TEMPLATE.parent.mkdir(exist_ok=True)
    TEMPLATE.write_bytes(as_text(extracted()))
    missing = False
    for language in LANGUAGES:
        path, catalogue = source_file(language), updated(language)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_text(catalogue))
        path.with_suffix(".mo").write_bytes(compiled(catalogue))
        for sentence in untranslated(catalogue):
            missing = True
            print(f"{path.relative_to(FOLDER)}: no translation: {sentence}")
    return int(missing)


if __name__ == "__main__":
    sys.exit(main())
