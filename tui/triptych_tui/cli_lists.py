"""Commands about what is there: sessions, policies."""

from __future__ import annotations

import click

from triptych_tui.cli_support import as_json, plain, print_json, print_lines, table
from triptych_tui.i18n import N_, _

LONGEST_SHOWN = 120
"""Characters of a value that a table shows; JSON has all of them."""


@click.group(no_args_is_help=False, help=N_("Where sessions are kept."))
def sessions() -> None:
    pass


@sessions.command("path", help=N_("The session file that is opened when no file is named."))
@as_json
def sessions_path(json_wanted: bool) -> None:
    from triptych.storage.places import default_session_path

    path = str(default_session_path())
    if json_wanted:
        print_json({"path": path})
    else:
        print_lines([path])


@click.group(no_args_is_help=False, help=N_("What is done to the messages, and when."))
def policies() -> None:
    pass


@policies.command("list", help=N_("The policies that come with the program."))
@as_json
def policies_list(json_wanted: bool) -> None:
    from triptych.policy import preset, preset_names

    known = [preset(name) for name in preset_names()]
    if json_wanted:
        facts = [{"name": each.name, "source": each.source, "date": each.date, "note": each.note} for each in known]
        print_json({"policies": facts})
    else:
        print_lines(table([(each.name, each.source) for each in known]))


@policies.command("show", help=N_("Every parameter of one policy."))
@click.argument("name")
@as_json
def policies_show(name: str, json_wanted: bool) -> None:
    from triptych.policy import preset

    parameters = plain(preset(name))
    if json_wanted:
        print_json({"policy": parameters})
        return
    rows: list[tuple[str, str]] = []
    for key, value in parameters.items():
        if isinstance(value, dict):
            rows += [(f"{key}.{inner}", _one_line(set_to)) for inner, set_to in value.items()]
        else:
            rows.append((key, _("off") if value is None else _one_line(value)))
    print_lines(table(rows))


def _one_line(value: object) -> str:
    text = " → ".join(map(str, value)) if isinstance(value, list) else str(value)
    if value in (None, "", []):
        return "–"
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
