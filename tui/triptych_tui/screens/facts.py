"""The words around the panes: title, headers, key line, the welcome of an empty chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from triptych_tui.glyphs import Glyphs
from triptych_tui.i18n import N_, _, ngettext
from triptych_tui.launch import OpenedSession
from triptych_tui.messages_rows import MARK_CELLS
from triptych_tui.plain import plain
from triptych_tui.sheet import Sheet
from triptych_tui.spans import Row, Span, cut_spans, pad, spread, width_of
from triptych_tui.stage_words import logo, policy_title
from triptych_tui.untrusted import clean, fit, wrap

if TYPE_CHECKING:
    from triptych.storage.kept_session import Outside
    from triptych.timeline import Timeline
    from triptych_tui.hand_run import HandRun

WELCOME_INDENT = 7
NAME_CELLS = 32
"""Cells of a name that stands beside others."""


def model_spans(opened: OpenedSession) -> list[Span]:
    """The model's name; the offline model is labelled wherever its name stands."""
    model = opened.model
    if model.offline:
        return [Span(" OFFLINE ", "strong", "b", "raised"), Span(" " + _("model"), "muted")]
    name, host = (fit(clean(text, newlines=False), NAME_CELLS) for text in (model.name, opened.host))
    return [Span(name, "strong"), Span("  " + host, "muted")]


def title_spans(opened: OpenedSession, *, running: bool, stepping: bool, width: int) -> list[Span]:
    """Name, session and policy at the left, the model at the right."""
    left = [
        *logo(),
        Span(" triptych", "strong", "b"),
        Span("   " + fit(clean(opened.name, newlines=False), NAME_CELLS), "text"),
        Span("  " + fit(policy_title(opened.session.policy), NAME_CELLS), "muted"),
    ]
    if stepping:
        left.append(Span("   " + _("step mode"), "strong", "b"))
    right = model_spans(opened)
    if running:
        right += [Span("   Esc", "strong", "b"), Span(" " + _("cancel"), "muted")]
    return spread(left, [*right, Span(" ")], width)


def tab_facts(opened: OpenedSession) -> list[Span]:
    """Session and model beside the tabs of a narrow terminal, which has no title."""
    name = fit(clean(opened.name, newlines=False), NAME_CELLS // 2)
    return [Span("  " + name + "   "), *model_spans(opened), Span(" ")]


def messages_facts(sheet: Sheet, *, previewing: bool) -> list[Span]:
    """The captions of the columns, and what the rows add up to; a preview tells its own sums."""
    captions = [Span("   " + _("~tok"), "faint"), Span("  " + pad(_("mark"), MARK_CELLS), "faint")]
    total = [Span(_("total") + " ", "faint"), Span(f"~{sheet.total:,}", "text", "b")]
    return captions if previewing else [*total, *captions]


def chat_facts(unread: int | None, *, empty: bool, glyphs: Glyphs) -> list[Span]:
    """How many messages came since the chat does not follow its end any more; None: it follows."""
    if empty or unread is None:
        return [] if empty else [Span(_("following"), "muted")]
    new = _("{count} new").format(count=f"{unread:,}")
    return [
        Span(f"{glyphs.new_below} {new}  ", "accent", "b") if unread else Span(""),
        Span(_("End follows again"), "accent"),
    ]


def file_facts(opened: OpenedSession, outside: Outside = "", lines: int = 0, *, previewing: bool = False) -> list[Span]:
    """The file's name, size, time and whether the list at the head is in it.

    outside: what other programs have done to it. lines: how many of its lines change when it is saved, or would, while
    a layer is previewed; 0 where that is not known.
    """
    disk, session = opened.on_disk(), opened.session
    spans = [Span(fit(clean(opened.name, newlines=False), NAME_CELLS), "text")]
    if disk is not None:
        spans += [Span("  " + size_of(disk.size), "muted"), Span(f"  {disk.modified:%H:%M} UTC", "muted")]
    if outside == "changed":
        spans.append(Span("  ! " + _("changed by another program"), "error", "b"))
    if not opened.writable:
        spans.append(Span("  " + _("read only"), "muted"))
    elif outside == "changed":
        return spans
    elif outside == "gone":
        spans.append(Span("  ! " + _("the file is gone"), "error", "b"))
    elif session.save_problem is not None:
        spans.append(Span("  ! " + _("not saved"), "error", "b"))
    elif disk is None:
        spans.append(Span("  " + _("no file yet"), "muted"))
    elif lines:
        spans.append(Span(plain("  ● ") + _changes(lines, previewing=previewing), "text", "b"))
    elif session.is_saved:
        spans.append(Span(plain("  ✓ ") + _("saved"), "muted"))
    else:
        spans.append(Span(plain("  ● ") + _("changes on save"), "text", "b"))
    return spans


def _changes(lines: int, *, previewing: bool) -> str:
    if previewing:
        words = ngettext("{count} line would change", "{count} lines would change", lines)
    else:
        words = ngettext("{count} line changes on save", "{count} lines change on save", lines)
    return words.format(count=f"{lines:,}")


def size_of(size: int) -> str:
    """A file's size as people read it: bytes, then kB and MB of 1,000."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def key_spans(
    run: HandRun | None,
    timeline: Timeline,
    *,
    running: bool,
    waiting: bool,
    past: bool,
    place: str,
    width: int,
    renamed: Mapping[str, str],
) -> list[Span]:
    """The keys that do something now, as many as fit; the way out is always among them.

    past: an earlier list is on screen.
    place: what has the focus, "search" and "filter" being the field above the prompt.
    renamed: keys as they are now, by their names here.
    """
    keys = _field_keys(place) or _panel_keys(run, place)
    if not keys and past:
        keys = _past_keys(place, running=running)
    elif not keys and waiting:
        keys = [("F8", _("go on"), ""), ("Esc", _("cancel the turn"), ""), ("s", _("step mode off"), "")]
    elif not keys and running:
        keys = [("Esc", _("cancel"), ""), ("tab", _("next pane"), "")]
    keys = keys or _resting_keys(place, timeline)
    help_key = "?" if place in ("chat", "messages", "file") else "F1"  # some terminals keep F1 for themselves
    keys += [("F9", _("language"), ""), (help_key, _("help"), ""), ("ctrl+q", _("quit"), "")]
    keys = [(renamed.get(key, key), does, layer) for key, does, layer in keys]
    spans = _key_line(keys)
    while width_of(spans) > width and len(keys) > 2:
        del keys[-3]
        spans = _key_line(keys)
    return spans


Keys = list[tuple[str, str, str]]
"""Key, what it does, and the layer it belongs to or ""."""


_PATH_PLACES = {
    "save_as": N_("save there"),
    "rename": N_("rename to that"),
    "new": N_("begin there"),
    "save_policy": N_("save it as this"),
}


def _field_keys(place: str) -> Keys:
    if place == "search":
        return [("Enter", _("go there"), ""), ("Esc", _("back"), ""), ("re:", _("regular expression"), "")]
    if place in _PATH_PLACES:
        return [("Enter", _(_PATH_PLACES[place]), ""), ("Esc", _("leave it"), "")]
    if place == "filter":
        examples = [(example, "", "") for example in ("role:tool", "mark:cleared", "tool:read_file")]
        return [("Enter", _("show only these"), ""), ("Esc", _("leave"), ""), *examples]
    return []


def _panel_keys(run: HandRun | None, place: str) -> Keys:
    if run is None:
        return []
    onward = _("ask for the summary") if run.awaits_request else _("apply") if run.can_apply else ""
    outside = {"panel": onward, "prompt-text": _("send"), "chat": "", "messages": "", "file": ""}
    enter = outside.get(place, _("new line") if place == "summary-text" else _("back"))
    keys: Keys = [("Enter", enter, ""), ("ctrl+j", "" if place in outside else onward, "")]
    stop = _("next field") if place == "panel" or place not in outside else _("next pane")
    return [*(key for key in keys if key[1]), ("Esc", _("leave"), ""), ("tab", stop, "")]


def _past_keys(place: str, *, running: bool) -> Keys:
    keys: Keys = [("F7", _("step back"), ""), ("F8", _("step forward"), ""), ("F5", _("play"), "")]
    keys.append(("Esc", _("cancel") if running else _("newest"), ""))
    return keys if place == "prompt-text" else [*keys, ("{ }", _("compactions"), "")]


def _resting_keys(place: str, timeline: Timeline) -> Keys:
    is_asking = place == "prompt-text"
    words = (_("truncate"), _("clear"), _("summarize")) if is_asking else ("", "", "")
    keys: Keys = [("F2", words[0], "L1"), ("F3", words[1], "L2"), ("F4", words[2], "L3")]
    if place == "failure":  # its own letters stand in its row, all others are typed
        return [*keys, ("tab", _("panes"), "")]
    if not is_asking:
        return keys + _reading_keys(place, timeline)
    return [*keys, *_redo_key(timeline), ("tab", _("panes"), ""), ("ctrl+j", _("new line"), "")]


def _redo_key(timeline: Timeline) -> Keys:
    return [("ctrl+r", _("redo"), "")] if timeline.can_redo else []


def _key_line(keys: Keys) -> list[Span]:
    spans: list[Span] = []
    for key, does, layer in keys:
        spans.append(Span("   " if spans else " "))
        spans.append(Span(key, "strong", "b"))
        if layer:
            spans.append(Span(f" {layer}", layer.lower(), "b"))
        if does:
            spans.append(Span(f" {does}", "muted"))
    return spans


def _reading_keys(pane: str, timeline: Timeline) -> Keys:
    """What a pane's own keys do, those that are needed most first."""
    keys = [("/", _("search"), ""), ("v", _("original"), ""), ("i", _("ask"), ""), ("y", _("copy"), "")]
    if pane == "messages":
        keys[1:1] = [("Enter", _("unfold"), "")]
        keys.append(("f", _("filter"), ""))
    undo: Keys = [("u", _("undo"), "")] if timeline.can_undo else []
    return [*keys, *undo, *_redo_key(timeline), ("F7", _("step back"), ""), ("tab", _("panes"), "")]


def welcome_rows(opened: OpenedSession, width: int) -> list[Row]:
    """What an empty chat says in `width` cells: what this is, and questions that work on the files at hand."""
    rows = [Row(), *_paragraph("triptych", width, "strong", "b")]
    rows += _paragraph(_("See what an agent's memory really holds: three panes, three layers."), width)
    rows += [Row(), *_layers(width), Row()]
    if opened.files:
        rows += _paragraph(_("Ask for example"), width, "muted")
        for question in _questions(opened.files):
            rows += _paragraph(question, width, "text", indent=WELCOME_INDENT + 2)
        rows.append(Row())
    if opened.model.offline:
        rows += _paragraph(_("No key and no network needed. Nothing leaves this machine."), width, "muted")
    return rows


_EMBLEMS = (("████", "····", "████"), ("████", "░░░░", "████"), ("    ", "████", "████"))
"""A result without its middle, one of which only its place is left, and two turns that became one text."""


def _layers(width: int) -> list[Row]:
    """What each layer does, as a small picture with its name below."""
    layers = (("L1", _("truncate"), "l1"), ("L2", _("clear"), "l2"), ("L3", _("summarize"), "l3"))
    names = [Span(f"{number} {word}", ink, "b") for number, word, ink in layers]
    widths = [width_of([name]) for name in names]
    even = max(widths) + 2
    columns = [even] * 2 if WELCOME_INDENT + 2 * even + widths[-1] <= width else [each + 1 for each in widths[:-1]]
    rows = [
        [Span(plain(emblem[line]), name.ink) for emblem, name in zip(_EMBLEMS, names, strict=True)] for line in range(3)
    ]
    indent = Span(" " * WELCOME_INDENT)
    padded = (
        [
            indent,
            *(span._replace(text=pad(span.text, column)) for span, column in zip(row, columns, strict=False)),
            row[-1],
        ]
        for row in (*rows, names)
    )
    return [Row(cut_spans(row, width)) for row in padded]


def _paragraph(
    text: str, width: int, ink: str = "text", attributes: str = "", indent: int = WELCOME_INDENT
) -> list[Row]:
    lines = wrap(text, max(width - indent - 1, 2))
    return [Row([Span(" " * indent), Span(line, ink, attributes)]) for line in lines]


def _questions(files: Sequence[str]) -> list[str]:
    names = [clean(name, newlines=False) for name in files]
    questions = [_("Which files are there?"), _("Read {file}").format(file=names[0])]
    if len(names) > 2:
        questions.append(_("Read {one} and {two}").format(one=names[1], two=names[2]))
    return [*questions, _("My name is Lin. What is my name?")]
