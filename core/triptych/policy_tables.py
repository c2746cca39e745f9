"""A policy's TOML tables as parameter objects, key by key: whatever is wrong is told with its key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, replace
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from triptych.layers.parameters import ParameterError
from triptych.messages import encodable
from triptych.reasons import Reason, TriptychError

NONE = "none"
"""Stands in a file for no value, which TOML cannot write."""

_KINDS: Mapping[type, Reason] = {
    bool: Reason("policy.kind_bool"),
    int: Reason("policy.kind_int"),
    float: Reason("policy.kind_float"),
    str: Reason("policy.kind_text"),
    list: Reason("policy.kind_list"),
    dict: Reason("policy.kind_table"),
}

T = TypeVar("T")


class PolicyError(TriptychError):
    """A policy is unknown, or its file says something that cannot be."""


def built(kind: type[T], table: Mapping[str, Any], policy: str, path: str = "", *, lenient: bool = False) -> T:
    """The dataclass `kind` from a table; what a robust one leaves out is as its `robust()` has it.

    lenient: keys that are not known are passed over. Raises PolicyError naming the `policy` and the key, which begins
    with `path`.
    """
    hints = get_type_hints(kind)
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key in known:
            values[key] = _value(hints[key], value, policy, f"{path}{key}", lenient=lenient)
        elif not lenient:
            raise _unknown_key(key, known, policy, path)
    for key, field in known.items():
        if key not in values and field.default is MISSING:
            raise PolicyError("policy.missing_key", policy=policy, key=f"{path}{key}")
    try:
        if values.get("flavour") == "robust":
            robust: T = kind.robust()  # type: ignore[attr-defined]
            return replace(robust, **values)  # type: ignore[type-var]
        return kind(**values)
    except ParameterError as error:
        raise PolicyError("policy.unusable", policy=policy, why=_at(path, error.reason)) from None


def _unknown_key(key: str, known: Iterable[str], policy: str, path: str) -> PolicyError:
    """The error for a key that nobody knows, with the one that was meant, if that can be guessed."""
    from difflib import get_close_matches  # for the unlucky alone

    near = get_close_matches(key, known, 1)
    if not near:
        return PolicyError("policy.unknown_key", policy=policy, key=f"{path}{key}")
    return PolicyError("policy.unknown_key_near", policy=policy, key=f"{path}{key}", near=f"{path}{near[0]}")


def _at(path: str, reason: Reason) -> Reason:
    """The reason with the names of its parameters in full."""
    values = dict(reason.values)
    for key in values.keys() & {"name", "names"}:
        values[key] = ", ".join(f"{path}{name}" for name in str(values[key]).split(", "))
    return Reason(reason.id, values)


def _value(hint: Any, value: Any, policy: str, where: str, *, lenient: bool) -> Any:
    kinds = get_args(hint) if NoneType in get_args(hint) else (hint,)
    if NoneType in kinds and (value is None or value == NONE):
        return None
    kind = next(each for each in kinds if each is not NoneType)
    if hasattr(kind, "__dataclass_fields__") and isinstance(value, dict):
        return built(kind, value, policy, f"{where}.", lenient=lenient)
    expected = _expected(kind)
    if expected is list and isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(map(encodable, value))
    if isinstance(value, str) and expected is str:
        return encodable(value)  # whether it is one of several texts is the parameters' to say
    if type(value) is expected is not list or (type(value) is int and expected is float):
        return value
    raise PolicyError(
        "policy.wrong_type",
        policy=policy,
        key=where,
        value=_in_short(value),
        given=_KINDS.get(type(value), Reason("policy.kind_date")),
        expected=Reason("policy.kind_texts") if expected is list else _KINDS[expected],
    )


def _expected(kind: Any) -> type:
    """What a TOML file must hold for a field of this kind."""
    if hasattr(kind, "__dataclass_fields__"):
        return dict
    if kind in (bool, int, float):
        return kind  # type: ignore[no-any-return]
    return list if str(kind).startswith("tuple") else str


def _in_short(value: Any) -> str:
    if isinstance(value, dict):
        return "{…}"
    if isinstance(value, list):
        return "[…]"
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower() if isinstance(value, bool) else str(value)
