from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from triptych_tui import i18n
from triptych_tui.i18n import N_, _, ngettext

HEADER = "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=1; plural=0;\n"


def write_catalogue(path: Path, messages: dict[str, str]) -> None:
    """A `.mo` file as msgfmt writes it."""
    path.parent.mkdir(parents=True)
    pairs = sorted((key.encode(), value.encode()) for key, value in {"": HEADER, **messages}.items())
    keys = values = b""
    place = 28 + 16 * len(pairs)
    key_index = value_index = b""
    for key, _value in pairs:
        key_index += struct.pack("<II", len(key), place + len(keys))
        keys += key + b"\0"
    for _key, value in pairs:
        value_index += struct.pack("<II", len(value), place + len(keys) + len(values))
        values += value + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    path.write_bytes(head + key_index + value_index + keys + values)


@pytest.fixture(autouse=True)
def catalogues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    messages = {"CLEARED": "已清理", "{count} entry\0{count} entries": "{count} 条消息"}
    write_catalogue(tmp_path / "zh_Hans" / "LC_MESSAGES" / "triptych.mo", messages)
    monkeypatch.setattr(i18n, "_LOCALES", tmp_path)
    yield
    i18n.set_language("en")


def test_without_a_catalogue_messages_are_the_english_ids() -> None:
    assert i18n.current_language() == "en"
    assert _("CLEARED") == "CLEARED"
    assert [ngettext("{count} entry", "{count} entries", count) for count in (1, 2)] == [
        "{count} entry",
        "{count} entries",
    ]


def test_the_language_changes_in_place() -> None:
    word = N_("CLEARED")
    i18n.set_language("zh_Hans")
    assert i18n.current_language() == "zh_Hans"
    assert _(word) == "已清理"
    assert ngettext("{count} entry", "{count} entries", 2) == "{count} 条消息"
    assert _("not in the catalogue") == "not in the catalogue"
    i18n.set_language("en")
    assert _(word) == "CLEARED"


def test_only_languages_with_a_catalogue_are_offered() -> None:
    assert i18n.languages() == ("en", "zh_Hans")
    i18n.set_language("zh_TW.UTF-8")
    assert i18n.current_language() == "en"


@pytest.mark.parametrize(
    ("locale", "language"),
    [
        ("zh_CN.UTF-8", "zh_Hans"),
        ("zh_SG", "zh_Hans"),
        ("zh", "zh_Hans"),
        ("zh_Hans", "zh_Hans"),
        ("zh-Hans-HK", "zh_Hans"),
        ("zh_TW.UTF-8", "zh_Hant"),
        ("zh_HK@euro", "zh_Hant"),
        ("zh-MO", "zh_Hant"),
        ("zh_Hant", "zh_Hant"),
        ("en_GB.UTF-8", "en"),
        ("de_DE", "en"),
        ("C", "en"),
        ("", "en"),
    ],
)
def test_the_language_of_a_locale(locale: str, language: str) -> None:
    assert i18n.language_of(locale) == language


def test_the_environment_is_ranked_as_posix_does() -> None:
    assert i18n.preferred_locale({"LANG": "en_US", "LC_MESSAGES": "zh_TW", "LC_ALL": "zh_CN"}) == "zh_CN"
    assert i18n.preferred_locale({"LANG": "en_US", "LC_MESSAGES": "zh_TW", "LC_ALL": ""}) == "zh_TW"
    assert i18n.preferred_locale({"LANG": "en_US"}) == "en_US"
    assert i18n.preferred_locale({}) == ""
