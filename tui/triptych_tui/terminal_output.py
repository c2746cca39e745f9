"""A terminal that may be gone, its window closed or its connection broken, and that answers Esc at once."""

from __future__ import annotations

import os
import selectors
import sys
from types import SimpleNamespace
from typing import IO, Any

from textual.driver import Driver

INPUT_PAUSE = 0.025
"""Seconds between two looks at whether an Esc was the key itself, no longer the beginning of another."""


class _ShortSelect(selectors.SelectSelector):
    """Textual looks every 100 ms, whatever `ESCDELAY` says: half of the time that cancelling may take."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(INPUT_PAUSE if timeout is None else min(timeout, INPUT_PAUSE))


class LastingOutput:
    """A terminal's output that takes everything, also when there is nobody any more to see it.

    Textual writes from a thread of its own. Should that end by an error, the program waits for it for ever.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        try:
            self._file.write(text)
        except OSError:
            _write_to_nobody()

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError:
            _write_to_nobody()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _write_to_nobody() -> None:
    """What is written from now on, by Python at its end too, goes nowhere instead of failing."""
    nobody = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nobody, descriptor)
    os.close(nobody)


def lasting(driver_class: type[Driver]) -> type[Driver]:
    """The same driver, writing to such an output, and quick to tell Esc from what begins like it."""
    if (module := sys.modules.get("textual.drivers.linux_driver")) is not None:
        vars(module)["selectors"] = SimpleNamespace(SelectSelector=_ShortSelect, EVENT_READ=selectors.EVENT_READ)

    class LastingDriver(driver_class):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            output: IO[str] = self._file
            self._file: Any = LastingOutput(output)

    return LastingDriver
