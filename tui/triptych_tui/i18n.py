"""The interface's language. Every string a user reads goes through `_`, which looks the language up when it is called,
so the language can change while the program runs. Message ids are the English sentences."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from triptych_assets import FOLDER
from triptych_tui.plain import plain

if TYPE_CHECKING:
    from gettext import NullTranslations

ENGLISH = "en"
NAMES = {ENGLISH: "English", "zh_Hans": "简体中文", "zh_Hant": "繁體中文"}
"""Every language the program may have, each named in itself."""

_DOMAIN = "triptych"
_LOCALES = FOLDER / "locale"
_TRADITIONAL_REGIONS = frozenset({"TW", "HK", "MO"})

_language = ENGLISH
_catalogue: NullTranslations | None = None  # English needs none, nor the module that reads them


def _(message: str) -> str:
    """`message` in the language now in force."""
    return plain(message if _catalogue is None else _catalogue.gettext(message))


def ngettext(singular: str, plural: str, count: int) -> str:
    """The form of a message that goes with `count`, in the language now in force."""
    if _catalogue is None:
        return plain(singular if count == 1 else plural)
    return plain(_catalogue.ngettext(singular, plural, count))


def N_(message: str) -> str:
    """Marks `message` for the catalogues where it is only named; `_` translates it where it is shown."""
    return message


def languages() -> tuple[str, ...]:
    """The languages that can be set: English, and those that have a catalogue."""
    return tuple(language for language in NAMES if language == ENGLISH or _catalogue_file(language).is_file())


def current_language() -> str:
    return _language


def set_language(language: str) -> None:
    """Speak that language from now on: one of `languages()` or a locale's name (`zh_TW.UTF-8`), else English."""
    global _language, _catalogue
    _language, _catalogue = ENGLISH, None
    wanted = language_of(language)
    if wanted in languages() and wanted != ENGLISH:
        from gettext import GNUTranslations

        with _catalogue_file(wanted).open("rb") as file:
            _language, _catalogue = wanted, GNUTranslations(file)


def lend_catalogues() -> None:
    """Let those who ask the standard library, as click does, speak the language now in force too."""
    from gettext import bindtextdomain, textdomain

    bindtextdomain(_DOMAIN, str(_LOCALES))
    textdomain(_DOMAIN)
    os.environ["LANGUAGE"] = _language


def language_of(locale: str) -> str:
    """The language of a locale's name: `zh_CN.UTF-8`, `zh-Hant-HK`, `C`."""
    parts = locale.partition(".")[0].partition("@")[0].replace("-", "_").split("_")
    if parts[0].lower() != "zh":
        return ENGLISH
    subtags = {part.lower() for part in parts[1:]}
    if "hans" not in subtags and ("hant" in subtags or {part.upper() for part in subtags} & _TRADITIONAL_REGIONS):
        return "zh_Hant"
    return "zh_Hans"


def preferred_locale(environment: Mapping[str, str] = os.environ) -> str:
    """The locale that the environment asks messages to be in, as POSIX ranks the variables."""
    return next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := environment.get(name))), "")


def _catalogue_file(language: str) -> Path:
    return _LOCALES / language / "LC_MESSAGES" / f"{_DOMAIN}.mo"
