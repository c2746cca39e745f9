"""Keys that a user gave to bindings in the config file, checked before anything is drawn."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import combinations
from typing import NamedTuple

from textual.app import App
from textual.binding import Binding, BindingsMap
from textual.dom import DOMNode
from textual.keys import Keys
from textual.screen import Screen

from triptych.settings import Settings, SettingsError
from triptych_tui.keys_in_force import character_of, shown_key

_MODIFIERS = frozenset({"ctrl", "shift", "alt", "meta", "super", "hyper"})
_NAMED = frozenset(key.value for key in Keys)
_OTHERS_BYTES = frozenset({"ctrl+h", "ctrl+i", "ctrl+m", "ctrl+[", "ctrl+left_square_bracket"})
"""Keys that terminals send as backspace, tab, enter and escape."""


class Known(NamedTuple):
    """A binding and the class whose instances have it."""

    owner: type[DOMNode]
    binding: Binding


def checked_keymap(settings: Settings) -> dict[str, str]:
    """The user's keys as Textual takes them. Raises SettingsError for an unknown id, a key that is none, or a clash."""
    path, known = settings.source("keys"), known_bindings()
    keymap: dict[str, list[str]] = {}
    for name, text in settings.keys.items():
        if not any(each.binding.id == name for each in known):
            raise SettingsError("settings.unknown_binding", path=path, id=name)
        keymap[name] = [_checked(key.strip(), name, path) for key in text.split(",")]
    for name, keys in keymap.items():
        typed = next((key for key in keys if character_of(key) is not None), None)
        if typed is not None and any(_holds_while_typing(each) for each in known if each.binding.id == name):
            raise SettingsError("settings.key_is_typed", path=path, id=name, key=typed)
    _refuse_clashes(known, keymap, path)
    return {name: ",".join(keys) for name, keys in keymap.items()}


def renamed_keys(keymap: Mapping[str, str]) -> dict[str, str]:
    """For each key of a remapped binding the first key that it has now, both as they are shown."""
    return {
        shown_key(each.binding.key): shown_key(keymap[str(each.binding.id)].partition(",")[0])
        for each in known_bindings()
        if each.binding.id in keymap
    }


def known_bindings() -> list[Known]:
    """Every binding that has an id, of every part of the interface."""
    import triptych_tui.app
    from triptych_tui import screens, widgets

    modules = [triptych_tui.app]
    for package in (screens, widgets):
        names = [each.name for each in pkgutil.iter_modules(package.__path__)]
        modules += [import_module(f"{package.__name__}.{name}") for name in names]
    owners = {each: None for module in modules for each in vars(module).values() if _has_own_bindings(each)}
    return [Known(owner, binding) for owner in owners for binding in _own_bindings(owner) if binding.id]


def _has_own_bindings(value: object) -> bool:
    is_ours = isinstance(value, type) and value.__module__.startswith("triptych_tui.")
    return is_ours and issubclass(value, DOMNode) and "BINDINGS" in vars(value)  # type: ignore[arg-type]


def _own_bindings(owner: type[DOMNode]) -> Iterator[Binding]:
    for bindings in BindingsMap(vars(owner)["BINDINGS"]).key_to_bindings.values():
        yield from bindings


def _checked(key: str, name: str, path: str) -> str:
    """A key as Textual names it."""
    *modifiers, base = key.split("+") if len(key) > 1 else [key]
    base = base.lower() if len(base) > 1 else base
    modifiers = [each.lower() for each in modifiers]
    whole = "+".join([*modifiers, base])
    is_known = len(base) == 1 or base in _NAMED or character_of(base) is not None
    if not base or not is_known or whole in _OTHERS_BYTES or not _MODIFIERS.issuperset(modifiers):
        raise SettingsError("settings.unknown_named_key", path=path, id=name, key=key)
    return next(iter(BindingsMap([Binding(whole, "none")]).key_to_bindings))


def _holds_while_typing(known: Known) -> bool:
    """Whether the binding works in the midst of a text, so that it must not take a character away."""
    from textual.widgets import Input, TextArea

    return known.binding.priority or issubclass(known.owner, TextArea | Input)


def _refuse_clashes(known: list[Known], keymap: Mapping[str, list[str]], path: str) -> None:
    """Raise for two bindings with one key that can be in force at once, where the user gave one of them that key."""
    holders: dict[str, list[Known]] = {}
    for each in known:
        for key in keymap.get(str(each.binding.id), [each.binding.key]):
            holders.setdefault(key, []).append(each)
    for key, at_key in holders.items():
        for one, other in combinations(at_key, 2):
            given = next((each for each in (one, other) if key in keymap.get(str(each.binding.id), ())), None)
            if given is not None and one.binding.id != other.binding.id and _may_meet(one.owner, other.owner):
                rival = other if given is one else one
                values = {"id": given.binding.id, "other": rival.binding.id, "key": key}
                raise SettingsError("settings.key_clash", path=path, **values)


def _may_meet(one: type[DOMNode], other: type[DOMNode]) -> bool:
    """Whether both can be in force at once: two different widgets, or two different screens, never are."""
    if issubclass(one, other) or issubclass(other, one):
        return True
    return any(issubclass(each, App) for each in (one, other)) or issubclass(one, Screen) != issubclass(other, Screen)
