"""The lines of the chat pane: the conversation as a person follows it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from triptych.entries import Cleared, Entry, Interrupted, Pruned, Summary, Truncated
from triptych.messages import (
    TOOL_CALL_TAG,
    Message,
    ToolCall,
    carries_result,
    native,
    text_of,
    thought_and_said,
    tool_calls,
)
from triptych_tui.glyphs import Glyphs
from triptych_tui.growing_text import GrowingText
from triptych_tui.i18n import _, ngettext
from triptych_tui.messages_rows import call_values, entry_mark, gutter, one_line
from triptych_tui.picture_words import behind_labels, picture_labels
from triptych_tui.plain import plain
from triptych_tui.sheet import Sheet, role_letter
from triptych_tui.spans import Row, Span, cut_spans, spread, width_of
from triptych_tui.untrusted import clean, wrap

if TYPE_CHECKING:
    from triptych_tui.previews import Preview

INDENT = 7
SHOWN_LINES = 400
"""Lines of one message that the chat shows as long as it is folded."""
SHOWN_CHARACTERS = 60_000
UNFOLDED_CHARACTERS = 300_000
"""Of one that is unfolded; the file has the rest."""
SUMMARY_LINES = 2
"""Of a summary under its divider; the messages pane has the rest."""
LAST_LINES = 100
"""Of these, how many are of its end; an answer's end is what one looks at when it has come."""
LAST_CHARACTERS = 20_000
_LESSON_NOTICE = re.compile(r"\.\.\.中间省略([0-9]{1,15})(个字)\.\.\.")
_ROBUST_NOTICE = re.compile(r"\[\.\.\. ([0-9]{1,15}) (characters|lines|bytes) omitted \.\.\.\]")


class ChatLines:
    """Renders entries of one sheet; `width` is the pane's, in cells."""

    def __init__(self, sheet: Sheet, glyphs: Glyphs, preview: Preview | None = None) -> None:
        """preview: of a layer whose targets are marked."""
        self._sheet = sheet
        self._glyphs = glyphs
        self._preview = preview
        self._unfolded = self._whole = self._at_hand = False

    def block(
        self, index: int, width: int, *, unfolded: bool = False, whole: bool = False, at_hand: bool = False
    ) -> list[Row]:
        """The lines of one entry, its blank line included.

        unfolded: with what the model thought. whole: with all of a long text. at_hand: the key for either works now.
        """
        entry = self._sheet.entries[index]
        width -= 1  # marks at the right keep away from the scrollbar
        self._unfolded, self._whole, self._at_hand = unfolded, whole, at_hand
        if entry.has_mark(Summary):
            lines = self._divider(index, width)
        elif carries_result(entry.message):
            lines = self._result(index, width)
        elif tool_calls(native(entry.message)):
            lines = self._calls(index, width)
        else:
            lines = self._speech(index, width)
        return [*lines, Row(aside=True)] if self._ends_with_blank(index) else lines

    def streaming(
        self, message: Message, width: int, growing: GrowingText, *, summary: bool, start: int = 0
    ) -> list[Row]:
        """What the model is saying right now, its calls apart, from the character at `start` on, with a caret.

        `growing` remembers what has been wrapped of it.
        """
        width -= 1  # as in `block`
        ink = "l3" if summary else "text"
        letter = Span(self._glyphs.summary if summary else "A", "l3" if summary else "role_a", "b")
        thought, said = thought_and_said(message)
        lines = [Row((*self._indent(), *self._thought(thought, going_on=not said)))] if thought else []
        text, calls = (said, []) if summary else _calls_apart(said)
        text = text[start:]
        if text or not (thought or calls):
            lines += [_said_row(_more(start), "faint")] if start else []
            pieces = growing.lines(clean(text), max(width - INDENT, 2))
            lines += [_said_row(piece, ink) for piece in pieces or [""]]
        lines += [Row(cut_spans([*self._indent(), *self._call(call)], width - 1)) for call in calls]
        caret = Span(self._glyphs.caret, "accent")
        lines[-1] = Row((*lines[-1].spans, caret))
        first = (Span(" " * 4), letter, Span("  "), *lines[0].spans[1:])
        return [Row(first), *lines[1:], Row(aside=True)]

    def _ends_with_blank(self, index: int) -> bool:
        entry = self._sheet.entries[index]
        group = self._sheet.outline.group_at(index)
        if group is not None:
            return bool(group.results) and index == group.results[-1]
        return role_letter(entry) != "U"

    def _mark(self, index: int) -> list[Span]:
        """What stands at the right of an entry's first row: that a layer would change it, or else its mark."""
        preview = self._preview
        if preview is not None and self._sheet.entries[index].id in preview.targets:
            return [Span(f"{self._glyphs.target} " + _("target"), preview.ink, "b")]
        return entry_mark(self._sheet, index, self._glyphs)

    def _is_target(self, index: int) -> bool:
        return self._preview is not None and self._sheet.entries[index].id in self._preview.targets

    def _head(self, index: int) -> list[Span]:
        head = gutter(self._sheet, index, self._glyphs)
        return [*head, Span(" ")]

    def _indent(self) -> list[Span]:
        return [Span(" " * INDENT)]

    def _speech(self, index: int, width: int) -> list[Row]:
        entry = self._sheet.entries[index]
        user = role_letter(entry) == "U"
        ink, attributes, ground = ("strong", "b", "surface") if user else ("text", "", "")
        message = native(entry.message)
        labels = picture_labels(message)
        thought, text = _thought_and_text(entry)
        text = text or ("" if labels or thought or message.get("content") is None else _("(no text)"))
        mark = self._mark(index)
        lines: list[Row] = []
        shown = self._thought_lines(thought, width) if thought else []
        if text or not (labels or thought):
            shown += self._said_lines(text, Span("", ink, attributes), width)
        shown += [[Span(piece, "muted")] for piece in _wrapped("  ".join(labels), width)] if labels else []
        for number, pieces in enumerate(shown):
            head = self._indent() if number else self._head(index)
            spans = spread([*head, *pieces], [] if number else mark, width)
            lines.append(Row(spans, ground))
        if entry.has_mark(Interrupted) and not carries_result(entry.message):
            lines.append(Row((*self._indent(), Span(_("stopped here"), "muted", "i"))))
        return lines

    def _said_lines(self, text: str, style: Span, width: int) -> list[list[Span]]:
        """All of a text, or its beginning and its end with the key between them that unfolds it."""
        head, left, tail = _parts(text, width, whole=self._whole)
        lines = [[style._replace(text=piece)] for piece in head]
        if left:
            unfold = _("unfold") if self._at_hand else _("here: all")
            key = Span("   Enter ", "strong" if self._at_hand else "muted", "b")
            words = _("… ~{count} characters").format(count=f"{left:,}")  # few: a chat can be narrow
            lines.append([Span(words, "faint"), key, Span(unfold, "muted")])
        return lines + [[style._replace(text=piece)] for piece in tail]

    def _thought_lines(self, thought: str, width: int) -> list[list[Span]]:
        """What the model thought: one row, and all of it where it is unfolded."""
        lines = [self._thought(thought)]
        if self._at_hand:
            lines[0] += [Span("   Enter ", "strong", "b"), Span(_("fold") if self._unfolded else _("unfold"), "muted")]
        if self._unfolded:
            bar = Span(self._glyphs.quote + " ", "faint")
            lines += [[bar, Span(piece, "muted")] for piece in _wrapped(thought, width - 2)]
        return lines

    def _thought(self, thought: str, *, going_on: bool = False) -> list[Span]:
        counter = self._sheet.session.counter
        tokens = f"{counter.tokens(counter.estimator.weight(thought)):,}"
        if going_on:
            return [Span(_("thinking") + plain(" … ") + f"~{tokens}", "faint", "i")]
        return [Span(_("thought") + plain(" · ") + _("~{tokens} tok").format(tokens=tokens), "faint", "i")]

    def _calls(self, index: int, width: int) -> list[Row]:
        entry = self._sheet.entries[index]
        message = native(entry.message)
        lines = self._speech(index, width) if any(map(str.strip, thought_and_said(message))) else []
        for call in tool_calls(message):
            head = self._indent() if lines else self._head(index)
            spans = [*head, *self._call(call)]
            mark = self._mark(index) if not lines and (entry.pinned or self._is_target(index)) else []
            lines.append(Row(spread(spans, mark, width)))
        return lines

    def _call(self, call: ToolCall) -> list[Span]:
        """A call in few words: the tool's name and the values it is given."""
        arguments = one_line(", ".join(map(str, call_values(call).values())))
        spans = [Span(self._glyphs.call + " ", "role_t"), Span(one_line(call.name), "text", "b")]
        return [*spans, Span("  " + arguments, "muted")] if arguments else spans

    def _result(self, index: int, width: int) -> list[Row]:
        sheet, entry = self._sheet, self._sheet.entries[index]
        left = [*self._head(index), Span(self._glyphs.result + " ", "role_t")]
        text = text_of(native(entry.message))
        if entry.has_mark(Cleared):
            left.append(Span(_("cleared"), "muted", "i"))
            if sheet.behind(entry):
                left += [Span(plain(" · "), "faint"), Span("v ", "muted", "b"), Span(_("original"), "muted", "i")]
        else:
            left += self._sizes(entry, index)
            if not entry.has_mark(Truncated) and not entry.has_mark(Pruned):
                left.append(Span("  " + one_line(behind_labels(picture_labels(entry.message), text)), "muted"))
        lines = [Row(spread(left, self._mark(index), width))]
        if entry.newest_mark is not None and isinstance(entry.newest_mark, Truncated | Pruned):
            lines += self._excerpt(text, width)
        return lines

    def _sizes(self, entry: Entry, index: int) -> list[Span]:
        now = _("~{tokens} tok").format(tokens=f"{self._sheet.tokens_of(index):,}")
        before = self._sheet.tokens_before(entry)
        if before is None:
            return [Span(now, "text")]
        return [Span(f"~{before:,} {self._glyphs.call} ", "muted"), Span(now, "text")]

    def _excerpt(self, text: str, width: int) -> list[Row]:
        """What is left of a shortened result: its beginning, what was left out, its end."""
        lines: list[Row] = []
        pieces = text.rstrip("\n").split("\n")
        notice = next((i for i, piece in enumerate(pieces) if _left_out(piece)), None)
        shown = pieces if notice is None or len(pieces) <= 5 else [pieces[0], pieces[notice], pieces[-1]]
        for piece in shown[:7]:
            bar = [*self._indent(), Span(self._glyphs.quote + " ", "l1")]
            if words := _left_out(piece):
                span = Span(f"{self._glyphs.truncated} {words} {self._glyphs.truncated}", "l1")
            else:
                span = Span(one_line(piece), "muted")
            lines.append(Row(cut_spans([*bar, span], width)))
        return lines

    def _divider(self, index: int, width: int) -> list[Row]:
        sheet, entry = self._sheet, self._sheet.entries[index]
        replaced = next((len(mark.of) for mark in entry.marks if isinstance(mark, Summary)), 0)
        words = ngettext("{count} entry {arrow} 1 summary", "{count} entries {arrow} 1 summary", replaced)
        title = words.format(count=replaced, arrow=self._glyphs.call) if replaced else _("earlier summary")
        before = sheet.session.timeline.replaced(entry.id)
        now = f"~{sheet.tokens_of(index):,}"
        sizes = f"~{sheet.session.counter.count(before).tokens:,} {self._glyphs.call} {now}" if before else now
        left = [*self._head(index), Span(title + " ", "l3", "b")]
        right = [*(self._mark(index) if self._is_target(index) else []), Span(f" {sizes}", "l3")]
        rule = max(width - width_of([*left, *right]) - 1, 0)
        left.append(Span(self._glyphs.rule * rule, "l3"))
        lines = [Row(spread(left, right, width))]
        body = text_of(entry.message).split("\n", 1)[-1]
        said = _wrapped(body, width - 2)
        for number, piece in enumerate(said[:SUMMARY_LINES], 1):
            more = Span(" " + self._glyphs.ellipsis if number == SUMMARY_LINES < len(said) else "", "faint")
            tie = Span(self._glyphs.tie + " ", "l3")
            lines.append(Row((*self._indent(), tie, *cut_spans([Span(piece, "muted"), more], width - INDENT - 2))))
        return lines


@lru_cache(maxsize=1024)
def _left_out(line: str) -> str:
    """A line that is layer 1's notice, in words; "" for any other."""
    notice = _LESSON_NOTICE.fullmatch(line) or _ROBUST_NOTICE.fullmatch(line)
    if notice is None:
        return ""
    count, unit = int(notice[1]), notice[2]
    if unit == "lines":
        words = ngettext("{count} line left out", "{count} lines left out", count)
    elif unit == "bytes":
        words = ngettext("{count} byte left out", "{count} bytes left out", count)
    else:
        words = ngettext("{count} character left out", "{count} characters left out", count)
    return words.format(count=f"{count:,}")


def _calls_apart(said: str) -> tuple[str, list[ToolCall]]:
    """What streams without the calls in its text, and these, should it speak the text protocol."""
    if TOOL_CALL_TAG not in said and not said[said.rfind("\n") + 1 :].lstrip().startswith("<"):
        return said, []
    from triptych.text_protocol import calls_so_far  # for those that need it: the window opens without it

    return calls_so_far(said)


def _said_row(piece: str, ink: str) -> Row:
    return Row((Span(" " * INDENT), Span(piece, ink)))


def _wrapped(text: str, width: int) -> list[str]:
    """The lines of a text beside others at a pane width: its beginning and its end, where it is too long."""
    head, left, tail = _parts(text, width)
    return [*head, _more(left), *tail] if left else head


def _parts(text: str, width: int, *, whole: bool = False) -> tuple[list[str], int, list[str]]:
    """The lines of a message at a pane width: all of them, or its beginning, the characters left out, and its end."""
    room = max(width - INDENT, 2)
    most = UNFOLDED_CHARACTERS if whole else SHOWN_CHARACTERS
    if len(text) <= most:
        lines = wrap(clean(text), room)
        if whole or len(lines) <= SHOWN_LINES:
            return lines, 0, []
        head, tail = lines[: SHOWN_LINES - LAST_LINES], lines[-LAST_LINES:]
    else:
        head, tail = wrap(clean(text[: most - LAST_CHARACTERS]), room), wrap(clean(text[-LAST_CHARACTERS:]), room)
        head, tail = (head, tail) if whole else (head[: SHOWN_LINES - LAST_LINES], tail[-LAST_LINES:])
    return head, max(len(text) - len("\n".join(head)) - len("\n".join(tail)), 1), tail


def _thought_and_text(entry: Entry) -> tuple[str, str]:
    message = native(entry.message)
    return thought_and_said(message) if role_letter(entry) == "A" else ("", text_of(message))


def is_cut(entry: Entry, width: int) -> bool:
    """Whether the middle of what is said is left out at a pane width as long as it is folded."""
    return not carries_result(entry.message) and _parts(_thought_and_text(entry)[1], width - 1)[1] > 0


def lines_before(message: Message, start: int, width: int) -> int:
    """How many lines there are before the character at `start`, where what streams begins, once all is shown."""
    before = thought_and_said(message)[1][:start].removesuffix("\n")
    return len(wrap(clean(before), max(width - 1 - INDENT, 2))) if start else 0


def _more(left: int) -> str:
    return _("… about {count} more characters").format(count=f"{left:,}")


def later_start(message: Message, start: int, lines: int) -> int:
    """Where what streams is to begin, so that about `SHOWN_LINES` stay of so many that it had from `start` on.

    It stays for a while where it is: all behind a new beginning is wrapped anew.
    """
    said = _calls_apart(thought_and_said(message)[1])[0]  # a call has one line, however long it is
    if len(said) - start > SHOWN_CHARACTERS:
        return len(said) - LAST_CHARACTERS
    if lines <= SHOWN_LINES + LAST_LINES:
        return start
    start += (len(said) - start) * (lines - SHOWN_LINES) // lines
    return said.find("\n", start, start + 1000) + 1 or start
