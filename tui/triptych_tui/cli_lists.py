"""Commands about what is there: sessions, policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from triptych_tui.cli_support import as_json, plain, print_json, print_lines, reason_json, shown, table
from triptych_tui.i18n import N_, _

if TYPE_CHECKING:
    from triptych.policy_files import Available

LONGEST_SHOWN = 120
"""Characters of a value that a table shows; JSON has all of them."""

_WHOLE = ("source", "note")
"""What people read of a policy, however long it is."""


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


@policies.command("list", help=N_("The policies that come with the program, then your own."))
@as_json
def policies_list(json_wanted: bool) -> None:
    from triptych.policy_files import available, own_folder

    known = available()
    if json_wanted:
        print_json({"policies": [_policy_json(each) for each in known], "own_folder": str(own_folder())})
        return
    print_lines(table([(each.name, _origin(each)) for each in known]))
    if all(each.origin == "preset" for each in known):
        print_lines(["", _("Your own go into {folder}").format(folder=shown(own_folder()))])


def _policy_json(each: Available) -> dict[str, Any]:
    policy = each.policy
    facts = {key: getattr(policy, key) if policy else None for key in ("source", "date", "note")}
    error = reason_json(each.reason) if each.reason else None
    return {"name": each.name, "origin": each.origin, "path": str(each.path), **facts, "error": error}


def _origin(each: Available) -> str:
    """What a preset does, or whose rules it has; of one's own which file it is."""
    from triptych_tui.policy_words import what_it_does
    from triptych_tui.wording import say

    if each.reason is not None:
        return say(each.reason)
    if each.policy is None or each.origin != "preset":
        return _("yours: {path}").format(path=each.path)
    return what_it_does(each.policy)


@policies.command("show", help=N_("Every parameter of one policy."))
@click.argument("name")
@click.option("--toml", is_flag=True, help=N_("As a file that a policy of your own can start from."))
@as_json
def policies_show(name: str, toml: bool, json_wanted: bool) -> None:
    from triptych.policy_files import as_toml, find

    policy = find(name)
    if json_wanted:
        print_json({"policy": plain(policy)})
        return
    if toml:
        click.echo(as_toml(policy).encode(), nl=False)  # a TOML file is UTF-8, whatever the terminal is
        return
    rows: list[tuple[str, str]] = []
    for key, value in plain(policy).items():
        if isinstance(value, dict):
            rows += [(f"{key}.{inner}", _one_line(set_to)) for inner, set_to in value.items()]
        elif key != "edited":  # what no file says
            shown_as = str(value) if key in _WHOLE and value else _one_line(value)
            shown_as = _(value) if key == "note" and value else shown_as
            rows.append((key, _("off") if value is None else shown_as))
    print_lines(table(rows))


def _one_line(value: object) -> str:
    text = " → ".join(map(str, value)) if isinstance(value, list) else str(value)
    if isinstance(value, bool):
        return text.lower()
    if value in (None, "", []):
        return "–"
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
