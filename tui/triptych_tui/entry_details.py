"""What unfolds beneath a row of the messages pane: how its number comes about, the message as JSON, and what it was
before a layer changed it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from triptych.entries import Entry, Summary
from triptych.messages import Message, native, text_of, tool_calls
from triptych_tui.glyphs import MARKS, Glyphs
from triptych_tui.i18n import _, ngettext
from triptych_tui.json_lines import json_spans
from triptych_tui.lesson_notes import entry_notes
from triptych_tui.messages_rows import content_spans, with_right
from triptych_tui.plain import plain
from triptych_tui.sheet import Sheet, role_letter
from triptych_tui.spans import Row, Span, cut_spans, wrap_spans
from triptych_tui.token_sums import entry_sum, schemas_sum, sum_rows
from triptych_tui.untrusted import clean, wrap

INDENT = 8
MOST_ROWS = 400
LONGEST_STRING = 4000
"""Characters of one JSON string that are shown."""
LONGEST_DATA = 36
"""Characters of a `data:` URL that are shown."""
LONGEST_KEY = 200
FIRST_LINES = 8
"""Lines of an original that are shown as long as its row is not unfolded."""
FIRST_GHOSTS = 5
_LONGEST_TEXT = 60_000


def entry_rows(sheet: Sheet, index: int, width: int) -> list[Row]:
    """How an entry's tokens come about, and its message as JSON."""
    message = sheet.entries[index].message
    lines = entry_sum(sheet.session.counter, message, sheet.tokens_of(index))
    return [*sum_rows(lines, width, INDENT), *json_rows(message, width)]


def tools_rows(sheet: Sheet, schemas: Sequence[Mapping[str, Any]], width: int) -> list[Row]:
    """The same for the tool schemas that go with every request."""
    lines = schemas_sum(sheet.session.counter, schemas, sheet.schemas_tokens)
    return [*sum_rows(lines, width, INDENT), *json_rows(list(schemas), width)]


def json_rows(value: Any, width: int) -> list[Row]:
    """A value as indented JSON with the inks of its parts, at most `MOST_ROWS` rows of `width` cells."""
    rows: list[Row] = []
    for line in _json_lines(value):
        rows += _json_line_rows(line, width)
        if len(rows) >= MOST_ROWS:
            return [*rows[: MOST_ROWS - 1], _note(_("… the rest is not shown; y copies all of it"), width)]
    return rows


def original_rows(sheet: Sheet, index: int, width: int, glyphs: Glyphs, *, whole: bool) -> list[Row]:
    """What stood where this entry stands, and what stands there now; nothing for an entry as it was.

    whole: show as much as can be shown, not only the beginning.
    """
    entry = sheet.entries[index]
    behind = sheet.behind(entry)
    if not behind:
        return []
    ink = MARKS[entry.newest_mark.name].ink if entry.newest_mark is not None else "text"
    most = MOST_ROWS if whole else FIRST_LINES
    before, now = _tokens(sheet.tokens_before(entry) or 0), _tokens(sheet.tokens_of(index))
    notes = entry_notes(entry, behind, sheet.session.policy)
    if entry.has_mark(Summary):
        unseen = _("the model does not see them")
        words = ngettext("{count} entry", "{count} entries", len(behind)).format(count=f"{len(behind):,}")
        title = [Span(words, "strong", "b"), Span(plain(f"  {before} · {unseen}"), "muted")]
        rows = [Row(cut_spans([*_tie(" ", glyphs), *title], width))]
        rows += _ghost_rows(sheet, behind, width, glyphs, most=MOST_ROWS if whole else FIRST_GHOSTS)
    else:
        unseen = _("the model does not see it")
        rows = [_heading(_("original"), plain(f"{before} · {unseen}"), ink, width, glyphs)]
        rows += _text_rows(_said(behind[0].message), most, ink, width, glyphs, whole=whole)
    rows.append(_heading(_("now"), now, ink, width, glyphs))
    rows += _text_rows(_said(entry.message), most, ink, width, glyphs, whole=whole)
    room = max(width - INDENT - 3, 2)
    rows += [_quote([Span(line, "faint", "i")], ink, width, glyphs) for note in notes for line in wrap(note, room)]
    return rows


class _JsonLine(NamedTuple):
    """A line of indented JSON; `left_out` characters of its string are not in it."""

    text: str
    left_out: int = 0


def _json_lines(value: Any, lead: str = "", indent: str = "", tail: str = "") -> Iterator[_JsonLine]:
    """The lines that `json.dumps` writes with an indent, made one after the other: none is made in vain."""
    if value and isinstance(value, dict | list):
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        members = value.items() if isinstance(value, dict) else ((None, item) for item in value)
        inner, last = indent + "  ", len(value) - 1
        yield _JsonLine(lead + opening)
        for number, (key, item) in enumerate(members):
            name = "" if key is None else _quoted(key[:LONGEST_KEY]) + ": "
            yield from _json_lines(item, inner + name, inner, "," if number < last else "")
        yield _JsonLine(indent + closing + tail)
    elif isinstance(value, str):
        longest = LONGEST_DATA if value.startswith("data:") else LONGEST_STRING
        yield _JsonLine(lead + _quoted(value[:longest]) + tail, max(0, len(value) - longest))
    else:
        yield _JsonLine(lead + json.dumps(value) + tail)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _json_line_rows(line: _JsonLine, width: int) -> list[Row]:
    text = line.text.lstrip(" ")
    room = max(width - INDENT - 1, 4)
    lead = min(len(line.text) - len(text), room // 2)
    spans = json_spans(text, len(text))
    if line.left_out:
        words = ngettext("{count} more character", "{count} more characters", line.left_out)
        spans.append(Span(plain(" … ") + words.format(count=f"{line.left_out:,}"), "faint"))
    rows = wrap_spans(spans, max(room - lead - 2, 2))
    return [
        Row(cut_spans([Span(" " * (INDENT + lead + (2 if number else 0))), *row], width))
        for number, row in enumerate(rows)
    ]


def _ghost_rows(sheet: Sheet, gone: Sequence[Entry], width: int, glyphs: Glyphs, *, most: int) -> Iterator[Row]:
    counter = sheet.session.counter
    for entry in gone[:most]:
        letter = role_letter(entry)
        tie = _tie(letter if letter != "Σ" else glyphs.summary, glyphs)
        content = [Span(span.text, "faint", "s") for span in content_spans(entry)]
        tokens = counter.tokens(counter.weight(entry))
        yield Row(with_right([*tie, *content], tokens, [], width, "faint"))
    if rest := gone[most:]:
        words = ngettext("{count} more, {tokens}", "{count} more, {tokens}", len(rest))
        told = words.format(count=f"{len(rest):,}", tokens=_tokens(counter.tokens(counter.total(rest))))
        spans = [*_tie(" ", glyphs), Span(told, "faint")]
        if most == FIRST_GHOSTS:
            spans.append(Span("  " + _("Enter shows all"), "faint"))
        yield Row(cut_spans(spans, width))


def _tie(letter: str, glyphs: Glyphs) -> list[Span]:
    """What ties a row to the summary above it, with the letter of its role where rows have it."""
    return [Span("   "), Span(glyphs.ghost, "l3"), Span(letter.ljust(4), "faint")]


def _text_rows(text: str, most: int, ink: str, width: int, glyphs: Glyphs, *, whole: bool) -> Iterator[Row]:
    """A text behind a bar, as far as it is shown."""
    room = max(width - INDENT - 3, 2)
    lines = wrap(clean(text[:_LONGEST_TEXT]), room)
    for line in lines[:most]:
        yield _quote([Span(line, "muted")], ink, width, glyphs)
    if len(lines) > most or len(text) > _LONGEST_TEXT:
        words = ngettext("… {count} more line", "… {count} more lines", len(lines) - most)
        told = words.format(count=f"{len(lines) - most:,}") if len(text) <= _LONGEST_TEXT else _("… and more")
        hint = [] if whole else [Span("  " + _("Enter shows all"), "faint")]
        yield _quote([Span(told, "faint"), *hint], ink, width, glyphs)


def _heading(word: str, facts: str, ink: str, width: int, glyphs: Glyphs) -> Row:
    return _quote([Span(word, "strong", "b"), Span("  " + facts, "muted")], ink, width, glyphs)


def _quote(spans: Sequence[Span], ink: str, width: int, glyphs: Glyphs) -> Row:
    return Row(cut_spans([Span(" " * INDENT), Span(glyphs.quote + " ", ink), *spans], width))


def _note(text: str, width: int) -> Row:
    return Row(cut_spans([Span(" " * INDENT), Span(text, "faint")], width))


def _said(message: Message) -> str:
    """What a message says: its text, and its calls."""
    message = native(message)
    calls = [f"{call.name}({call.arguments})" for call in tool_calls(message)]
    return "\n".join(filter(None, [text_of(message), *calls]))


def _tokens(tokens: int) -> str:
    return _("~{tokens} tok").format(tokens=f"{tokens:,}")
