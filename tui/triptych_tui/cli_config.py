"""Commands about settings: where the config file is, and which value comes from where."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import click

from triptych_tui.cli_support import as_json, keymap_of, print_json, print_lines, settings_for, table
from triptych_tui.i18n import N_, _

LONGEST_SHOWN = 100
"""Characters of a value that the table shows; JSON has all of them."""
_KEY = "OPENAI_API_KEY"


@click.group(no_args_is_help=False, help=N_("The settings in force, and the file that they can stand in."))
def config() -> None:
    pass


@config.command("path", help=N_("The config file of this user, whether or not it is there."))
@as_json
def config_path(json_wanted: bool) -> None:
    from triptych.settings import default_config_path

    path = default_config_path()
    if json_wanted:
        print_json({"path": str(path), "exists": path.is_file()})
    else:
        print_lines([str(path)])


@config.command("show", help=N_("Every setting with its value and where it comes from."))
@as_json
def config_show(json_wanted: bool) -> None:
    from triptych.settings import default_config_path

    settings = settings_for()
    keymap_of(settings)
    values = {name: _shown(name, getattr(settings, name)) for name in _names()}
    has_key = bool(os.environ.get(_KEY, "").strip())
    if json_wanted:
        found = {name: {"value": value, "source": settings.source(name)} for name, value in values.items()}
        key = {"set": has_key, "source": _KEY if has_key else None}
        print_json({"path": str(default_config_path()), "settings": found, "openai_api_key": key})
        return
    rows = [(name, _short(value), settings.source(name)) for name, value in values.items() if name != "keys"]
    rows += [(f"keys.{name}", keys, settings.source("keys")) for name, keys in settings.keys.items()]
    rows.append(("openai_api_key", _("set") if has_key else _("not set"), _KEY if has_key else "–"))
    print_lines(table(rows))


def _names() -> Iterator[str]:
    from triptych.settings import Settings

    return (field.name for field in fields(Settings) if field.name != "sources")


def _shown(name: str, value: Any) -> Any:
    """A value as it may be shown: an address without the user name and password that it can hold."""
    if name == "base_url" and isinstance(value, str) and "@" in value:
        scheme, separator, rest = value.rpartition("://")
        return scheme + separator + rest.rpartition("@")[2]
    return dict(value) if name == "keys" else value if isinstance(value, bool | int) or value is None else str(value)


def _short(value: object) -> str:
    if value is None:
        return "–"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
