"""Which keys do what right now, for help and the palette; what a user remapped shows as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from textual.actions import parse
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import KEY_NAME_REPLACEMENTS, key_to_character
from textual.screen import Screen

from triptych_tui.i18n import N_, _
from triptych_tui.stage_words import LAYER_NUMBERS

_UNICODE_NAMES = {ours: theirs for theirs, ours in KEY_NAME_REPLACEMENTS.items()}
_NAMES = {
    "escape": "Esc",
    "enter": "Enter",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "up": "Up",
    "down": "Down",
    "tab": "tab",
    "space": "space",
}
_GROUPS = {
    "layer": N_("Layers by hand"),
    "panel": N_("Layers by hand"),
    "pane": N_("Panes"),
    "zoom": N_("Panes"),
    "list": N_("In a list"),
    "messages": N_("In a list"),
    "chat": N_("In a list"),
    "search": N_("In a list"),
    "filter": N_("In a list"),
    "original": N_("In a list"),
    "copy": N_("In a list"),
    "pin": N_("In a list"),
    "policy": N_("Layers by hand"),
    "prompt": N_("Prompt"),
    "history": N_("History"),
}
_REST = N_("Session and screen")


class Command(NamedTuple):
    """One action: what it does, its keys as a keyboard has them, and where it belongs."""

    id: str
    does: str
    keys: tuple[str, ...]
    group: str
    action: str
    node: DOMNode


def commands(screen: Screen[Any]) -> list[Command]:
    """Every binding of the application, the screen and what is on it, once, with all its keys."""
    found: dict[str, Command] = {}
    for node in (screen, *screen.query("*"), screen.app):
        for binding in _bindings(node):
            known = found.get(str(binding.id))
            if known is None:
                found[str(binding.id)] = _command(binding, node)
            elif known.action == binding.action and (key := shown_key(binding.key)) not in ("", *known.keys):
                found[str(binding.id)] = known._replace(keys=(*known.keys, key))
    groups = by_group(_merged(found.values()))
    return [command for members in groups.values() for command in members]


def by_group(found: Iterable[Command]) -> dict[str, list[Command]]:
    """Commands under the titles of their groups, in the order in which help shows them."""
    groups: dict[str, list[Command]] = {_(title): [] for title in (*_GROUPS.values(), _REST)}
    for command in found:
        groups[command.group].append(command)
    return {title: members for title, members in groups.items() if members}


def character_of(key: str) -> str | None:
    """The character that a key types, None for one that types none."""
    character = key_to_character(_UNICODE_NAMES.get(key, key))
    return character if character is not None and character.isprintable() else None


def shown_key(key: str) -> str:
    """A key as a keyboard has it; "" for the full-width twin of another."""
    *modifiers, base = key.split("+")
    character = character_of(base)
    if character is not None and not character.isascii():
        return ""
    if base in _NAMES:
        name = _NAMES[base]
    elif character is not None:
        name = character
    else:
        name = base.upper() if base[0] == "f" and base[1:].isdigit() else base
    return "+".join([*modifiers, name])


def _bindings(node: DOMNode) -> Iterator[Binding]:
    bindings = node._bindings.copy()
    bindings.apply_keymap(node.app._keymap)
    for each in bindings.key_to_bindings.values():
        yield from (binding for binding in each if binding.id and _is_allowed(binding, node))


def _is_allowed(binding: Binding, node: DOMNode) -> bool:
    _target, action, parameters = parse(binding.action)
    return node.check_action(action, parameters) is not False


def _command(binding: Binding, node: DOMNode) -> Command:
    head, _dot, tail = str(binding.id).partition(".")
    layer = LAYER_NUMBERS.get(tail, "") if head == "layer" else ""
    words = _(binding.description)
    does = f"{layer} {words}" if layer else words[:1].upper() + words[1:]
    key = shown_key(binding.key)
    return Command(str(binding.id), does, (key,) if key else (), _(_GROUPS.get(head, _REST)), binding.action, node)


def _merged(found: Iterable[Command]) -> list[Command]:
    """Commands that do the same under two ids, such as a key with and without priority, as one."""
    merged: dict[tuple[str, str], Command] = {}
    for command in found:
        same = (command.action, command.does)
        known = merged.get(same)
        merged[same] = command if known is None else known._replace(keys=_together(known.keys, command.keys))
    return list(merged.values())


def _together(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*one, *other]))
