"""The policies there are: presets, and TOML files of this user's own in `policies`, beside the config file."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import fields, is_dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from triptych.policy import Policy, policy_from_toml, preset, preset_names
from triptych.policy_tables import NONE, PolicyError
from triptych.reasons import Reason
from triptych.settings import default_config_path
from triptych_assets import FOLDER

Origin = Literal["preset", "own"]

LARGEST = 256 * 1024
"""Bytes that a policy file may have."""

MOST = 500
"""Files of one's own that are looked at."""


class Available(NamedTuple):
    """A policy that can be named. Where its file cannot be used, `policy` is None and `reason` says why."""

    name: str
    origin: Origin
    path: Path
    policy: Policy | None
    reason: Reason | None


def own_folder() -> Path:
    """Where this user's own policies lie, whether or not it is there."""
    return default_config_path().parent / "policies"


def own_path(name: str) -> Path:
    """The file of a policy of one's own, there or not. Raises PolicyError where there can be none of this name."""
    if name in preset_names():
        raise PolicyError("policy.preset_name", policy=name)
    if not _can_be_a_name(name):
        raise PolicyError("policy.bad_name", policy=name)
    return own_folder() / f"{name}.toml"


def available() -> list[Available]:
    """The presets, then this user's own, each by name; a file that cannot be used costs only itself."""
    presets = [Available(name, "preset", _preset_path(name), preset(name), None) for name in preset_names()]
    return presets + [_own(path) for path in _own_files()]


def find(name: str) -> Policy:
    """A preset, or a policy of one's own. Raises PolicyError with the known names, or with what is wrong in its file.

    A preset's name is always the preset.
    """
    if name in preset_names():
        return preset(name)
    if _can_be_a_name(name) and os.path.lexists(path := own_path(name)):  # false too for a name too long for a file
        return read(path)
    known = [*preset_names(), *(path.stem for path in _own_files())]
    raise PolicyError("policy.unknown", policy=name, known=", ".join(known))


def read(path: Path) -> Policy:
    """The policy in a file, whose name is the file's. Raises PolicyError naming the file and the key."""
    try:
        return policy_from_toml(_text_of(path), path.stem)
    except PolicyError as error:
        reason = _in_file(path, error.reason)
        raise PolicyError(reason.id, **reason.values) from None


def as_toml(policy: Policy) -> str:
    """The text of a file that holds this policy under whatever name: every parameter, none left to a default."""
    lines: list[str] = []
    tables: list[str] = []
    for name in (field.name for field in fields(policy) if field.name not in ("name", "edited")):
        value = getattr(policy, name)
        if is_dataclass(value):
            tables += ["", f"[{name}]"]
            tables += [f"{field.name} = {_toml(getattr(value, field.name))}" for field in fields(value)]
        elif value is not None:
            lines.append(f"{name} = {_toml(value)}")
    return "\n".join([*lines, *tables, ""])


def _can_be_a_name(name: str) -> bool:
    return name.isprintable() and not name.startswith(".") and bool(name) and not set(name) & set('/\\:*?"<>|')


def _in_file(path: Path, reason: Reason) -> Reason:
    """The reason naming the policy by its file."""
    return Reason(reason.id, {**reason.values, "policy": str(path)})


def _preset_path(name: str) -> Path:
    return FOLDER / "policies" / f"{name}.toml"


def _own_files() -> list[Path]:
    """The files in the user's folder that have a policy's name; none where it cannot be looked into."""
    try:
        found = sorted(islice(own_folder().glob("*.toml"), MOST))
    except OSError:
        return []
    return [path for path in found if not path.name.startswith(".")]


def _own(path: Path) -> Available:
    try:
        return Available(path.stem, "own", path, read(own_path(path.stem)), None)
    except PolicyError as error:
        return Available(path.stem, "own", path, None, _in_file(path, error.reason))


def _text_of(path: Path) -> str:
    """A file's text. A pipe or a device is not read, since that may never end."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise PolicyError("policy.unreadable", policy=str(path), detail="not a regular file")
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise PolicyError("policy.too_large", policy=str(path), most=LARGEST // 1024)
        return data.decode("utf-8-sig")
    except OSError as error:
        raise PolicyError("policy.unreadable", policy=str(path), detail=error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise PolicyError("policy.not_toml", policy=str(path), detail=str(error)) from None


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _text(NONE) if value is None else repr(value)


def _text(text: str) -> str:
    """A text in TOML, whose escapes are JSON's; one of several lines is written as such."""
    lines = ["".join(map(_seen, json.dumps(line, ensure_ascii=False)[1:-1])) for line in text.split("\n")]
    return f'"{lines[0]}"' if len(lines) == 1 else '"""\n' + "\n".join(lines) + '"""'


def _seen(character: str) -> str:
    """The character, or its escape where a terminal might obey it or an editor hide it. Half of a pair is nothing."""
    if character.isprintable():
        return character
    code = 0xFFFD if "\ud800" <= character <= "\udfff" else ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
