"""What all commands share: reading files, faults with their exit codes, and what goes to standard output."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from triptych.reasons import Reason, TriptychError
from triptych.storage.session_file import SessionFile
from triptych_tui.i18n import N_, _
from triptych_tui.plain import in_ascii

if TYPE_CHECKING:
    from triptych.entries import Entry
    from triptych.formats import Reading
    from triptych.settings import Settings

USAGE, FILE, ENDPOINT, CANCELLED, BROKEN_PIPE, INTERNAL = 2, 3, 4, 130, 141, 70
"""Exit codes beside 0 and 1, which `check` gives where it found problems."""

STANDARD_INPUT = "-"

_UNSEEN = (  # compiled for the first text that is shown: the window opens without one
    "[\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e0fff]"
)
Command = TypeVar("Command", bound=Callable[..., Any])


class Fault(Exception):
    """A command cannot go on: one sentence and an exit code."""

    def __init__(self, exit_code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code
        self.sentence = sentence


def option(*names: str, **attributes: Any) -> Callable[[Command], Command]:
    """An option that `TRIPTYCH_` and its name can set as well."""
    long = next(name for name in names if name.startswith("--"))
    return click.option(*names, envvar="TRIPTYCH_" + long[2:].upper().replace("-", "_"), **attributes)


def setting(*names: str, **attributes: Any) -> Callable[[Command], Command]:
    """An option that is one of the settings, which look at the environment and the config file themselves."""
    return click.option(*names, default=None, **attributes)


as_json = option("--json", "json_wanted", is_flag=True, help=N_("Print one JSON object and nothing else."))


def settings_for(**flags: Any) -> Settings:
    """The settings in force with these flags."""
    from triptych.settings import default_config_path, resolve

    return resolve(flags, os.environ, default_config_path())


def keymap_of(settings: Settings) -> dict[str, str]:
    """The user's keys, checked."""
    if not settings.keys:
        return {}
    from triptych_tui.keymap import checked_keymap  # needs all of the interface to be loaded

    return checked_keymap(settings)


def read_session(file: str) -> Reading:
    """The conversation in a file, or in standard input for `-`."""
    from triptych.formats import read

    with naming(file):
        return read(standard_input()) if file == STANDARD_INPUT else SessionFile(Path(file)).load().reading


def entries_in(file: str, reading: Reading) -> tuple[Entry, ...]:
    """The entries of what was read from a file, with the marks that its journal remembers, or else guessed ones."""
    from triptych.formats.notices import guess_marks
    from triptych.storage.kept_session import entries_on_disk

    known = entries_on_disk(Path(file), reading.messages) if file != STANDARD_INPUT and reading.ours else None
    return known if known is not None else guess_marks(reading.messages)


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Turn what is wrong with a file's content, whose reason does not name the file, into a fault that does."""
    try:
        yield
    except TriptychError as error:
        if not error.reason.id.startswith("format."):
            raise
        from triptych_tui.wording import say

        name = _("standard input") if file == STANDARD_INPUT else shown(file)
        raise Fault(FILE, f"{name}: {say(error.reason)}") from None


def standard_input() -> bytes:
    return sys.stdin.buffer.read() if sys.stdin is not None else b""


def shown(text: object) -> str:
    """Text from outside as a line of output may hold it."""
    from triptych_tui.untrusted import clean

    return clean(str(text), newlines=False)


def print_json(answer: Mapping[str, Any]) -> None:
    """One object with a version. What a terminal might obey, or hide, is escaped; it reads back the same."""
    answer = {"version": 1, **answer}
    try:
        text = json.dumps(answer, ensure_ascii=False, indent=2, allow_nan=False)
    except ValueError:
        text = json.dumps(plain(answer), ensure_ascii=False, indent=2)
    click.echo(re.sub(_UNSEEN, lambda found: json.dumps(found[0])[1:-1], text).encode("utf-8"))


def print_lines(lines: Iterable[str]) -> None:
    """Lines of text; what an encoding cannot say becomes a stand-in or a question mark."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    for line in map(str.rstrip, lines):
        try:
            line.encode(encoding)
        except UnicodeEncodeError:
            line = in_ascii(line).encode(encoding, "replace").decode(encoding)
        click.echo(line)


def table(rows: Sequence[Sequence[object]], *, right: Sequence[int] = ()) -> list[str]:
    """Rows in columns of equal width, those named in `right` aligned to the right."""
    from rich.cells import cell_len

    cells = [[shown(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    lines: list[str] = []
    for row in cells:
        padded = []
        for number, (text, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - cell_len(text))
            padded.append(blanks + text if number in right else text + blanks)
        lines.append("  ".join(padded).rstrip())
    return lines


def reason_json(reason: Reason) -> dict[str, Any]:
    """A reason as JSON carries it: as values, and put into words."""
    from triptych_tui.wording import say

    return {
        "id": reason.id,
        "values": plain(reason.values),
        "variables": plain(reason.variables),
        "text": say(reason),
    }


def plain(value: Any) -> Any:
    """A value in JSON's own kinds; NaN and Infinity, which JSON does not have, become null."""
    if isinstance(value, Reason):
        return reason_json(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float) else str(value)
