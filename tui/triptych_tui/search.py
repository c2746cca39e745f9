"""Searching a list of entries: a plain text in any case, or `re:` and a regular expression."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

from triptych.entries import Entry
from triptych.messages import Message, text_of, tool_calls
from triptych.reasons import TriptychError
from triptych_tui.messages_rows import call_values
from triptych_tui.sheet import Sheet

EXPRESSION_PREFIX = "re:"
LONGEST_FOR_EXPRESSION = 200_000
"""Characters of one text that a regular expression looks at."""
EXPRESSION_SECONDS = 0.3
"""How long a regular expression may take on what is searched at a stretch."""
_STRETCH_SECONDS = 0.01

Matcher = Callable[[str], bool]


class SearchError(TriptychError):
    """What is sought is no regular expression, or one that takes too long."""


class Hit(NamedTuple):
    """The row of an entry that holds what is sought. `gone`: only what stood there before a layer changed it does."""

    row: int
    gone: bool


def matcher(sought: str) -> Matcher:
    """Whether a text holds what is sought. Raises SearchError when that is no regular expression."""
    if not sought.startswith(EXPRESSION_PREFIX):
        return plain_matcher(sought)
    pattern = sought.removeprefix(EXPRESSION_PREFIX)
    try:
        with warnings.catch_warnings(), _deadline(EXPRESSION_SECONDS):
            warnings.simplefilter("ignore")
            expression = re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise SearchError("search.bad_expression", expression=pattern, detail=str(error)) from None
    except TimeoutError:
        raise SearchError("search.too_slow", expression=pattern) from None
    return lambda text: expression.search(text, 0, LONGEST_FOR_EXPRESSION) is not None


def plain_matcher(sought: str) -> Matcher:
    """Whether a text holds this one, in any case."""
    folded = sought.casefold()
    return lambda text: folded in text.casefold()


def texts_of(message: Message) -> Iterator[str]:
    """What is searched of a message: its text, names, and the arguments of its calls, as written and as shown."""
    yield text_of(message)
    if isinstance(message.get("name"), str):
        yield message["name"]
    if "tool_calls" in message or "function_call" in message:
        for call in tool_calls(message):
            yield call.name
            yield call.arguments
            if "\\" in call.arguments:
                yield json.dumps(call_values(call), ensure_ascii=False)


def places(sought: str) -> Callable[[str], list[tuple[int, int]]]:
    """Where a line of text holds what is sought, as starts and ends. `matcher` has accepted it.

    An expression that takes long on a line, cut as lines are, is given up for all that follow.
    """
    is_expression = sought.startswith(EXPRESSION_PREFIX)
    pattern = re.compile(sought.removeprefix(EXPRESSION_PREFIX) if is_expression else re.escape(sought), re.IGNORECASE)

    given_up = False

    def found(line: str) -> list[tuple[int, int]]:
        nonlocal given_up
        if given_up:
            return []
        try:
            with _deadline(EXPRESSION_SECONDS if is_expression else None):
                return [match.span() for match in pattern.finditer(line) if match.group()]
        except TimeoutError:
            given_up = True
            return []

    return found


async def find(sought: str, sheet: Sheet) -> list[Hit]:
    """The entries that hold what is sought, from the first to the last, giving way to other work again and again.

    Raises SearchError.
    """
    matches = matcher(sought)
    entries, hits, start = sheet.entries, list[Hit](), 0
    while start < len(entries):
        try:
            with _deadline(EXPRESSION_SECONDS):
                start = _find_some(matches, entries, start, sheet.behind, hits)
        except TimeoutError:
            raise SearchError("search.too_slow", expression=sought.removeprefix(EXPRESSION_PREFIX)) from None
        await asyncio.sleep(0)
    return hits


def _find_some(
    matches: Matcher,
    entries: tuple[Entry, ...],
    start: int,
    behind: Callable[[Entry], tuple[Entry, ...]],
    hits: list[Hit],
) -> int:
    """Search for a moment from `start` on; returns where to go on."""
    until = perf_counter() + _STRETCH_SECONDS
    for index in range(start, len(entries)):
        entry = entries[index]
        if any(map(matches, texts_of(entry.message))):
            hits.append(Hit(index, gone=False))
        elif entry.marks and any(matches(text) for gone in behind(entry) for text in texts_of(gone.message)):
            hits.append(Hit(index, gone=True))
        if perf_counter() > until:
            return index + 1
    return len(entries)


@contextmanager
def _deadline(seconds: float | None) -> Iterator[None]:
    """Raises TimeoutError when this takes longer, even amid one match: `re` heeds signals.

    Where there are no such signals (on Windows, in other threads) nothing is interrupted.
    """
    if seconds is None or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
