"""The table of `triptych compare`: numbers first, under them a bar for tokens or a thin line for other quantities."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.cells import cell_len

from triptych.stages import Stage
from triptych.tally import Replayed
from triptych_tui.cli_outcome import WIDTH, size_in_words
from triptych_tui.cli_support import STANDARD_INPUT, shown, table
from triptych_tui.i18n import _, ngettext
from triptych_tui.stage_words import layer_in_words
from triptych_tui.untrusted import fit, wrap

if TYPE_CHECKING:
    from triptych_tui.cli_compare import Comparison

WIDEST = 120
"""Columns of a terminal beyond which a table is not spread."""
GAP = 2
WIDEST_BAR = 30
MOST_LINES = 3

SOLID, HEAVY, THIN = "█", "━", "─"

_ORDER: tuple[Stage, ...] = ("truncate", "clear", "prune", "summarize", "repair")


class Quantity(NamedTuple):
    """One row: its name, what its numbers are of ("" where there is nothing to tell), and the numbers by policy.

    whole: what a full bar stands for. tokens: they are estimated tokens. points_at: which of them has a word beside it.
    """

    name: str
    of: str
    numbers: tuple[int, ...]
    whole: int
    tokens: bool = False
    points_at: Literal["fewest", "most", ""] = ""


def lines(comparison: Comparison) -> list[str]:
    """The comparison as lines of text."""
    drawn = sys.stdout is not None and sys.stdout.isatty()
    width = min(shutil.get_terminal_size((WIDTH, 24)).columns, WIDEST) if drawn else WIDTH
    outcomes = comparison.outcomes
    blank = ("",) * (len(outcomes) + 1)
    quantities, counts = _quantities(comparison), _counts(outcomes)
    acts = [] if comparison.ahead else _acts(outcomes)
    labels = [text for row in quantities for text in (row.name, row.of)] + [each[0] for each in (*counts, *acts)]
    room = _room(labels, width, len(outcomes))
    rows = _stacked("", [_broken(shown(outcome.policy.name), room) for outcome in outcomes], room)
    for row in quantities:
        rows += [blank, *_rows(row, room)]
    if counts:
        rows += [blank, *((label, *(f"{number:,}" for number in numbers)) for label, numbers in counts)]
    if acts:
        rows += [blank, (_("at question"), *blank[1:])]
        for label, questions in acts:
            rows += _stacked(label, [wrap(_ranges(each), room) for each in questions], room)
    return [*_facts(comparison, width), "", *table(rows), "", *_notes(comparison, width)]


def _quantities(comparison: Comparison) -> list[Quantity]:
    outcomes = comparison.outcomes

    def of(number: Callable[[Replayed], int]) -> tuple[int, ...]:
        return tuple(map(number, outcomes))

    before = outcomes[0].before
    messages, tokens = of(lambda outcome: outcome.after.messages), of(lambda outcome: outcome.after.tokens)
    of_messages, of_tokens = _of(f"{before.messages:,}"), _of(f"~{before.tokens:,}")
    rows = [
        Quantity(_("messages"), of_messages, messages, max(before.messages, *messages)),
        Quantity(_("tokens"), of_tokens, tokens, max(before.tokens, *tokens), True, "fewest"),
    ]
    anew = of(lambda outcome: outcome.rebilled)
    billed = Quantity(_("billed anew"), "", anew, max(anew), True, "fewest")
    if comparison.ahead:
        kept = of(lambda outcome: outcome.kept.tokens)
        rows += [Quantity(_("same beginning"), of_tokens, kept, before.tokens, True, "most"), billed]
    else:
        peaks = of(lambda outcome: outcome.peak)
        tokens_of_window = comparison.window.tokens
        window = "" if tokens_of_window is None else _("window {tokens}").format(tokens=f"{tokens_of_window:,}")
        rows += [Quantity(_("largest request"), window, peaks, max(peaks), True, "fewest"), billed]
    calls, cost = of(lambda outcome: outcome.summary_calls), of(lambda outcome: outcome.summary_tokens)
    if any(calls):
        rows += [
            Quantity(_("summary calls"), "", calls, max(calls)),
            Quantity(_("their tokens"), "", cost, max(cost), True, "fewest"),
        ]
    return rows


def _of(number: str) -> str:
    return _("of {number}").format(number=number)


def _counts(outcomes: Sequence[Replayed]) -> list[tuple[str, list[int]]]:
    """What was done to messages, as far as any policy did it."""
    rows = [
        (_("truncated"), [outcome.truncated for outcome in outcomes]),
        (_("cleared"), [outcome.cleared for outcome in outcomes]),
        (_("pruned"), [outcome.pruned for outcome in outcomes]),
        (_("summarized"), [outcome.summarized for outcome in outcomes]),
        (_("taken out"), [outcome.removed for outcome in outcomes]),
        (_("over the window"), [outcome.over_window for outcome in outcomes]),
        (_("failed summaries"), [outcome.failed_summaries for outcome in outcomes]),
    ]
    return [(label, numbers) for label, numbers in rows if any(numbers)]


def _acts(outcomes: Sequence[Replayed]) -> list[tuple[str, list[list[int]]]]:
    """At which questions each stage did something, by policy."""
    rows = [
        (
            layer_in_words(stage),
            [sorted({act.question for act in outcome.acts if act.stage == stage}) for outcome in outcomes],
        )
        for stage in _ORDER
    ]
    return [(label, questions) for label, questions in rows if any(questions)]


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers with runs of them drawn together: 2, 4–9."""
    runs = [
        [number for _place, number in run] for _, run in groupby(enumerate(numbers), lambda each: each[1] - each[0])
    ]
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _room(labels: Sequence[str], width: int, policies: int) -> int:
    """Columns that each policy has."""
    return min((width - max(map(cell_len, labels))) // policies - GAP, WIDEST_BAR)


def _broken(name: str, room: int) -> list[str]:
    """A policy's name, broken behind hyphens where it is long."""
    lines = [""]
    for piece in re.split("(?<=-)", name):
        if cell_len(lines[-1] + piece) <= room:
            lines[-1] += piece
        else:
            lines += wrap(piece, room)
    return lines


def _stacked(label: str, cells: Sequence[Sequence[str]], room: int) -> list[tuple[str, ...]]:
    """Rows for cells of several lines; what is more than a few ends in an ellipsis."""
    cut = [
        [*lines[: MOST_LINES - 1], fit(" ".join(lines[MOST_LINES - 1 :]), room)] if len(lines) > MOST_LINES else lines
        for lines in cells
    ]
    return [("" if row else label, *line) for row, line in enumerate(zip_longest(*cut, fillvalue=""))]


def _rows(row: Quantity, room: int) -> Iterator[tuple[str, ...]]:
    """The numbers, and the bars under them; the word that points at one stands where there is room for it."""
    texts = [f"~{number:,}" if row.tokens else f"{number:,}" for number in row.numbers]
    chosen = [False] * len(texts)
    word = ""
    if row.points_at and len(set(row.numbers)) > 1:
        best = min(row.numbers) if row.points_at == "fewest" else max(row.numbers)
        chosen = [number == best for number in row.numbers]
        word = " " + (_("fewest") if row.points_at == "fewest" else _("most"))
    fits = all(cell_len(text + word) <= room for text, points in zip(texts, chosen, strict=True) if points)
    bars = [_bar(number, row, room if fits else room - cell_len(word)) for number in row.numbers]
    pointing = texts if fits else bars
    pointing[:] = [text + word if points else text for text, points in zip(pointing, chosen, strict=True)]
    yield (row.name, *texts)
    yield (row.of, *bars)


def _bar(number: int, row: Quantity, room: int) -> str:
    """To scale, and never nothing for something."""
    cells = min(max(round(number / row.whole * room), 1), room) if number else 0
    return SOLID * cells if row.tokens else HEAVY * cells + THIN * (room - cells)


def _facts(comparison: Comparison, width: int) -> list[str]:
    """What was replayed, and what goes for all of it."""
    before, first = comparison.outcomes[0].before, comparison.outcomes[0]
    file = _("standard input") if comparison.file == STANDARD_INPUT else shown(Path(comparison.file).name)
    if comparison.ahead:
        begins = _("from now: the next question")
    else:
        begins = ngettext(
            "from its start: {count} question", "from its start: {count} questions", comparison.questions
        ).format(count=f"{comparison.questions:,}")
    requests = ngettext("{count} request", "{count} requests", first.requests).format(count=f"{first.requests:,}")
    by_host = _("summaries by {host}").format(host=shown(comparison.written_by))
    facts = [
        [file, begins, requests, *size_in_words(before)],
        [
            comparison.window.in_words(),
            _("tokens by {estimator}").format(estimator=comparison.estimator),
            by_host if comparison.written_by else _("summaries by the offline model"),
        ],
    ]
    return [line for each in facts for line in _joined(each, width)]


def _joined(facts: Sequence[str], width: int) -> list[str]:
    """Facts side by side, as many as a line holds."""
    lines: list[str] = []
    for fact in facts:
        longer = f"{lines[-1]} · {fact}" if lines else fact
        if lines and cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines += wrap(fact, width)
    return lines


def _notes(comparison: Comparison, width: int) -> list[str]:
    """What one has to know to read the numbers."""
    notes = [
        _(
            "billed anew: tokens of all requests, each without the beginning that it shares with the one before; "
            "a prompt cache can save no more than that beginning"
        )
    ]
    if any(outcome.policy.estimator != comparison.estimator for outcome in comparison.outcomes):
        notes.append(_("policies that count tokens by another estimator decide by theirs"))
    recording = comparison.recording
    if not comparison.ahead:
        if recording.remembered:
            notes.append(_("originals: from the session's journal"))
        else:
            notes.append(_("originals: only the list in the file is known, without a journal"))
        if recording.shortened:
            shortened = ngettext(
                "{count} message had been shortened before anything is known, and stays so",
                "{count} messages had been shortened before anything is known, and stay so",
                recording.shortened,
            )
            notes.append(shortened.format(count=f"{recording.shortened:,}"))
    return [line for note in notes for line in wrap(note, width)]
