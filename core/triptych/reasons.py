"""Why something happened or did not, as a value that any language can put into words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Reason:
    """A sentence's id with the values it speaks of.

    `variables` are the published lesson's own variables as they ran, in its order, for example
    `{"len(text)": 182, "limit": 80}`; a screen shows them as they are, untranslated. `printed` is what the lesson's own
    program prints here, word for word.
    """

    id: str
    values: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    variables: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    printed: str = ""

    def __str__(self) -> str:
        return " ".join([self.id, *(f"{name}={value!r}" for name, value in self.values.items())])


class TriptychError(Exception):
    """Something a user can meet and mend; `reason` is what a screen or the command line says."""

    def __init__(self, reason_id: str, /, **values: Any) -> None:
        self.reason = Reason(reason_id, values)
        super().__init__(str(self.reason))
