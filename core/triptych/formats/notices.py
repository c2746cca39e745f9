"""What the known notices in a saved list tell of its past, where nothing else remembers it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triptych.entries import Acknowledgement, Cleared, Entry, Mark, Pruned, Summary, Truncated
from triptych.layers.clear import RECOMMENDED_PLACEHOLDER, ROBUST_PLACEHOLDER
from triptych.layers.prune import NOTICE
from triptych.layers.summarize import ACKNOWLEDGEMENTS, PREFIXES
from triptych.layers.truncate import LESSON_NOTICE, ROBUST_NOTICE
from triptych.messages import Message, carries_result, native, role_of, text_of

_FIELDS = {
    "omitted": "([0-9]{1,15})",
    "characters": "[0-9]{1,15}",
    "tool": r"[^\]\n]{0,200}",  # without an end, many beginnings would each be followed to the end of the text
    "unit": "(?:characters|bytes|lines)",
}


def notice_pattern(template: str) -> re.Pattern[str]:
    """What a notice looks like with its fields filled in."""
    pieces = re.split(r"\{(\w+)\}", template)
    return re.compile("".join(_FIELDS[piece] if at % 2 else re.escape(piece) for at, piece in enumerate(pieces)))


_TRUNCATED = notice_pattern(LESSON_NOTICE)
_TRUNCATED_ROBUSTLY = notice_pattern(ROBUST_NOTICE)
_CLEARED_ROBUSTLY = notice_pattern(ROBUST_PLACEHOLDER)
_PRUNED = notice_pattern(NOTICE)


def guess_marks(messages: Sequence[Message]) -> tuple[Entry, ...]:
    """Entries for a list that was opened without memory of its past, with guessed marks where a known notice stands.

    The article's example placeholder `I am Iron Man` is no notice: a tool may have said it.
    """
    entries: list[Entry] = []
    after_summary = False
    for index, message in enumerate(messages):
        marks = _marks(message, after_summary)
        entries.append(Entry(index, message, marks))
        after_summary = any(isinstance(mark, Summary) for mark in marks)
    return tuple(entries)


def _marks(message: Message, after_summary: bool) -> tuple[Mark, ...]:
    if carries_result(message):
        return tuple(_result_marks(text_of(native(message))))
    if role_of(message) == "user" and text_of(message).startswith(PREFIXES):
        return (Summary(guessed=True),)
    is_acknowledgement = text_of(message) in ACKNOWLEDGEMENTS
    if after_summary and role_of(message) == "assistant" and is_acknowledgement:
        return (Acknowledgement(guessed=True),)
    return ()


def _result_marks(text: str) -> list[Mark]:
    if text == RECOMMENDED_PLACEHOLDER or _CLEARED_ROBUSTLY.fullmatch(text):
        return [Cleared(guessed=True)]
    marks: list[Mark] = []
    if notice := _TRUNCATED.search(text):
        marks.append(Truncated(guessed=True, omitted=int(notice[1])))
    elif _TRUNCATED_ROBUSTLY.search(text):
        marks.append(Truncated(guessed=True))  # how many characters is not said where lines or bytes are counted
    if _PRUNED.search(text):
        marks.append(Pruned(guessed=True))
    return marks
