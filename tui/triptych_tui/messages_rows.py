"""The rows of the messages pane, one an entry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from triptych.entries import Acknowledgement, Cleared, Entry
from triptych.messages import ToolCall, carries_result, is_result, native, text_of, tool_calls
from triptych_tui.glyphs import MARKS, Glyphs
from triptych_tui.i18n import _, ngettext
from triptych_tui.outline import Place
from triptych_tui.picture_words import picture_labels
from triptych_tui.plain import plain
from triptych_tui.sheet import ROLE_INKS, Sheet, role_letter
from triptych_tui.spans import Row, Span, cut_spans, width_of
from triptych_tui.untrusted import clean, fit

if TYPE_CHECKING:
    from triptych_tui.previews import Preview

MARK_CELLS = 10
SIGN_CELLS = 2
"""Of a mark that is only a sign."""
TOKEN_CELLS = 5
BOLD_FROM_TOKENS = 600
LONGEST_ARGUMENTS = 2000
"""Characters of arguments that are looked into; longer ones are shown raw."""


def gutter(sheet: Sheet, index: int, glyphs: Glyphs) -> list[Span]:
    """Index and role letter: the same in chat and messages, so that the eye can cross over."""
    letter = role_letter(sheet.entries[index])
    digits = max(3, len(str(len(sheet.entries) - 1)))
    return [
        Span(f"{index:>{digits}}", "faint"),
        Span(" "),
        Span(letter if letter != "Σ" else glyphs.summary, ROLE_INKS[letter], "b"),
        Span(" "),
    ]


def tools_row(sheet: Sheet, tools: int, width: int, *, mark_cells: int = MARK_CELLS) -> Row:
    """The request's tool schemas: sent along, but no message, and not in the total."""
    words = ngettext("tools  {count} schema, sent along", "tools  {count} schemas, sent along", tools)
    left = [Span(" " * 8), Span(words.format(count=tools), "faint")]
    return Row(with_right(left, sheet.schemas_tokens, [], width, "faint", mark_cells=mark_cells))


def message_row(
    sheet: Sheet,
    index: int,
    width: int,
    *,
    tied: bool,
    glyphs: Glyphs,
    preview: Preview | None = None,
    slim: bool = False,
) -> Row:
    """One entry on one line: gutter, bracket and call id, first words, tokens, mark; slim, a preview has only signs."""
    if slim and preview is not None:
        return _slim_row(sheet, index, width, tied, glyphs, preview)
    entry = sheet.entries[index]
    left = gutter(sheet, index, glyphs)
    place = sheet.outline.place(index)
    left += _bracket(place, tied, glyphs)
    if place is None and (turn := sheet.outline.turn_at(index)) is not None:
        left.append(Span(f"T{turn} ", "faint"))
    left += content_spans(entry)
    tokens = sheet.tokens_of(index)
    if preview is not None:
        left.insert(4, _target_dot(entry, preview, glyphs))
        mark = _mark_to_be(entry, preview, glyphs) or entry_mark(sheet, index, glyphs)
    else:
        mark = entry_mark(sheet, index, glyphs)
    return Row(with_right(left, tokens, mark, width, "muted" if tokens < BOLD_FROM_TOKENS else "strong"))


def _slim_row(sheet: Sheet, index: int, width: int, tied: bool, glyphs: Glyphs, preview: Preview) -> Row:
    """A previewed entry where there is little room: its words come first."""
    entry = sheet.entries[index]
    left = [*gutter(sheet, index, glyphs), _target_dot(entry, preview, glyphs)]
    if sheet.outline.place(index) is not None:
        sign = glyphs.result if carries_result(entry.message) else glyphs.call
        left.append(Span(sign + " ", "accent" if tied else "role_t"))
    left += content_spans(entry)
    tokens = sheet.tokens_of(index)
    ink = "muted" if tokens < BOLD_FROM_TOKENS else "strong"
    mark = _mark_to_be(entry, preview, glyphs) or entry_mark(sheet, index, glyphs)
    if preview.cut is None:
        return Row(with_right(left, tokens, mark, width, ink))
    signs = [span._replace(text=span.text[:1]) for span in mark]
    return Row(with_right(left, tokens, signs, width, ink, mark_cells=SIGN_CELLS))


def dividing_row(preview: Preview, width: int, glyphs: Glyphs, staying: int) -> Row:
    """Above the first row that would change: what a prompt cache keeps. For a summary, above the first that stays."""
    if preview.cut is None:
        words = _("prompt cache ends here · ~{tokens} tok reused").format(tokens=f"{preview.reused:,}")
    else:
        words = ngettext("cut · {count} entry stays as it is", "cut · {count} entries stay as they are", staying)
        words = words.format(count=f"{staying:,}")
    words = fit(f" {words} ", max(width - 2, 0), glyphs.ellipsis)
    before, dash = max(min(7, width - cell_len(words) - 2), 0), glyphs.rule_future
    behind = max(width - before - cell_len(words), 0)
    line = Span(dash * before, preview.ink), Span(words, preview.ink), Span(dash * behind, preview.ink)
    return Row(cut_spans(line, width), aside=True)


def summary_legend(glyphs: Glyphs) -> list[Span]:
    """What the signs of slim rows mean while a summary is previewed, and their column's caption."""
    stays = " " + _("replaced") + f"  {glyphs.step} " + _("stays")
    caption = Span("  " + _("~tok") + " " * (SIGN_CELLS + 2), "faint")
    return [Span(glyphs.target, "l3"), Span(stays, "faint"), caption]


def entry_mark(sheet: Sheet, index: int, glyphs: Glyphs) -> list[Span]:
    """The newest mark as glyph, word and ink, behind the sign of a pin; `?` where it was guessed from a notice."""
    entry = sheet.entries[index]
    mark = entry.newest_mark
    if sheet.outline.is_orphan(index):
        return [mark_span("orphan", glyphs, pinned=entry.pinned)]
    if mark is not None:
        return [mark_span(mark.name, glyphs, guessed=mark.guessed, pinned=entry.pinned)]
    return [mark_span("pinned", glyphs)] if entry.pinned else []


def mark_span(name: str, glyphs: Glyphs, *, guessed: bool = False, pinned: bool = False) -> Span:
    """A mark in its column, the blank behind its glyph left out where there is no room for it."""
    look = MARKS[name]
    glyph, word = (glyphs.pinned if pinned else "") + look.glyph(glyphs), look.word + ("?" if guessed else "")
    blank = " " if cell_len(glyph + word) < MARK_CELLS else ""
    return Span(glyph + blank + word, look.ink, "b")


def one_line(text: str, cells: int = 400) -> str:
    """The first words of a text for a row, cleaned; looking no further than a row can show."""
    return clean(text[:cells], newlines=False)


def content_spans(entry: Entry) -> list[Span]:
    """The first words of a message, or its calls, behind a label for each of its pictures."""
    message = native(entry.message)
    first, *more = picture_labels(message) or [""]
    labels = [Span(f"{first} +{len(more)} " if more else f"{first} ", "muted")] if first else []
    return labels if labels and not text_of(message) and not tool_calls(message) else [*labels, *_said_spans(entry)]


def _said_spans(entry: Entry) -> list[Span]:
    message = native(entry.message)
    calls = tool_calls(message)
    text = text_of(message)
    if calls:
        spans = [Span(one_line(text) + " ", "text")] if text else []
        for number, call in enumerate(calls):
            if number:
                spans.append(Span(plain(" · "), "faint"))
            spans += [Span(one_line(call.name), "text"), Span(f"({_shown_arguments(call)})", "muted")]
        return spans
    if role_letter(entry) == "U":
        return [Span(one_line(text), "strong", "b")]
    if entry.has_mark(Acknowledgement) or entry.has_mark(Cleared):
        return [Span(one_line(text), "muted", "i")]
    if is_result(message):
        return [Span(one_line(text), "muted")]
    if not text and message.get("content") is not None:
        return [Span(one_line(str(message["content"])), "muted", "i")]
    return [Span(one_line(text), "muted" if role_letter(entry) == "S" else "text")]


def call_values(call: ToolCall) -> dict[str, Any]:
    """A call's arguments by name; the raw text under no name where it is no JSON object."""
    try:
        arguments = json.loads(call.arguments or "{}") if len(call.arguments) <= LONGEST_ARGUMENTS else None
    except (ValueError, RecursionError):
        arguments = None
    return arguments if isinstance(arguments, dict) else {"": call.arguments[:LONGEST_ARGUMENTS]}


def _shown_arguments(call: ToolCall) -> str:
    pieces = [
        f"{name}={json.dumps(value, ensure_ascii=False)}" if name else value
        for name, value in call_values(call).items()
    ]
    return one_line(", ".join(pieces))


def _bracket(place: Place | None, tied: bool, glyphs: Glyphs) -> list[Span]:
    if place is None:
        return [Span("  ")]
    ink = "accent" if tied else "faint"
    corner = {"first": glyphs.bracket_first, "middle": glyphs.bracket_middle, "last": glyphs.bracket_last}
    bracket = corner[place.bracket] + glyphs.bracket_line if place.bracket else "  "
    return [Span(bracket, ink), Span(place.call.ljust(4) + " ", ink)]


def _target_dot(entry: Entry, preview: Preview, glyphs: Glyphs) -> Span:
    if entry.id in preview.targets:
        return Span(glyphs.target + " ", preview.ink)
    return Span(glyphs.step + " ", "faint")


def _mark_to_be(entry: Entry, preview: Preview, glyphs: Glyphs) -> list[Span]:
    target = preview.targets.get(entry.id)
    if target is None or target[0].newest_mark is None:
        return []
    replacement, tokens = target
    glyph = MARKS[replacement.newest_mark.name].glyph(glyphs) if replacement.newest_mark else ""
    return [Span(f"{glyph} {glyphs.call} ~{tokens:,}", preview.ink)]


def with_right(
    left: list[Span], tokens: int, mark: list[Span], width: int, ink: str, *, mark_cells: int = MARK_CELLS
) -> list[Span]:
    """A row with its right-hand columns, which are never cut: tokens, two blanks, mark."""
    number = Span(f"{tokens:>{TOKEN_CELLS},}", ink, "b" if ink == "strong" else "")
    mark_spans = cut_spans(mark, mark_cells)
    right = [Span(" "), number, Span("  "), *mark_spans, Span(" " * (mark_cells - width_of(mark_spans)))]
    room = max(width - width_of(right), 0)
    left = cut_spans(left, room)
    return [*left, Span(" " * (room - width_of(left))), *right]
