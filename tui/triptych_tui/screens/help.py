"""The keys in force, by what they are about."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from triptych.settings import default_config_path
from triptych_tui.i18n import N_, _
from triptych_tui.keys_in_force import Command, by_group, commands
from triptych_tui.paint import line_of
from triptych_tui.spans import Row, Span, cut_spans, pad, width_of
from triptych_tui.stage_words import logo
from triptych_tui.themes import tokens_of
from triptych_tui.untrusted import clean, wrap
from triptych_tui.widgets.bar import Bar
from triptych_tui.widgets.line_view import Line, LineView, Look
from triptych_tui.widgets.pane_header import PaneHeader


class Help(Screen[None]):
    """Shown over a workbench; Esc leaves."""

    AUTO_FOCUS = "HelpText"
    DEFAULT_CSS = """
    Help { background: $bg; color: $text; }
    Help #help-title, Help #help-keys { background: $surface; }
    Help HelpText { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", N_("leave"), id="help.leave"),
    ]

    def __init__(self, workbench: Screen[int]) -> None:
        super().__init__()
        self._groups = by_group(commands(workbench))

    def compose(self) -> ComposeResult:
        yield Bar(ground="surface", id="help-title")
        yield PaneHeader(0, _("Help: the keys in force"))
        yield HelpText(self._groups)
        yield Bar(ground="surface", id="help-keys")

    def on_mount(self) -> None:
        self.query_one("#help-title", Bar).show([*logo(), Span(" triptych", "strong", "b")])
        keys = [("Esc", _("leave")), ("j k", _("scroll")), ("t", _("next theme"))]
        spans = [
            span for key, does in keys for span in (Span("   "), Span(key, "strong", "b"), Span(f" {does}", "muted"))
        ]
        self.query_one("#help-keys", Bar).show([Span(" "), *spans[1:]])


class HelpText(LineView):
    """The page itself, in as many columns as fit. It scrolls; nothing in it is selected."""

    follows = False
    exact_heights = True

    def __init__(self, groups: Mapping[str, Sequence[Command]]) -> None:
        super().__init__()
        self._groups = groups
        self._rows: list[Row] = []

    def on_resize(self) -> None:
        self._rows = help_rows(self._groups, self.size.width - 2)
        self.set_blocks(len(self._rows))

    def render_block(self, index: int, width: int, look: Look) -> Sequence[Line]:
        return [line_of(self._rows[index]._replace(aside=True), tokens_of(self))]

    def block_key(self, index: int) -> Hashable:
        return (index, tuple(self._rows[index].spans))

    def action_cursor_down(self) -> None:
        self.scroll_to(y=self.scroll_offset.y + 1)

    def action_cursor_up(self) -> None:
        self.scroll_to(y=self.scroll_offset.y - 1)

    def action_page_down(self) -> None:
        self.scroll_to(y=self.scroll_offset.y + self.size.height - 1)

    def action_page_up(self) -> None:
        self.scroll_to(y=self.scroll_offset.y - self.size.height + 1)

    def action_first(self) -> None:
        self.scroll_to(y=0)

    def action_last(self) -> None:
        self.scroll_to(y=self.block_count)


def help_rows(groups: Mapping[str, Sequence[Command]], width: int) -> list[Row]:
    """What there is to know first, then the groups side by side in columns."""
    path = clean(str(default_config_path()), newlines=False)
    hints = [
        _("Letters work outside the prompt: Esc leaves it, i goes back. Full-width signs work like their twins."),
        _('Other keys: in {path}, below [keys], lines such as undo = "ctrl+z"; the ids stand at the right.').format(
            path=path
        ),
    ]
    rows = [Row()]
    for hint in hints:
        rows += [Row([Span("  "), Span(line, "muted")]) for line in wrap(hint, max(width - 4, 2))]
    widths = _Widths.of([command for members in groups.values() for command in members])
    count = max(1, min(width // widths.column, len(groups)))
    cells = width // count
    columns = _in_columns([_group_rows(title, members, widths, cells) for title, members in groups.items()], count)
    for number in range(max(map(len, columns))):
        spans: list[Span] = []
        for place, column in enumerate(columns):
            spans += column[number] if number < len(column) else []
            spans.append(Span(" " * max((place + 1) * cells - width_of(spans), 0)))
        rows.append(Row(spans))
    return rows


class _Widths(NamedTuple):
    """Cells of a column: of keys, of what they do, and of all with the id by which they are remapped."""

    keys: int
    does: int
    column: int

    @classmethod
    def of(cls, found: Sequence[Command]) -> _Widths:
        keys = max(cell_len(" ".join(command.keys)) for command in found) + 2
        does = max(cell_len(command.does) for command in found) + 2
        return cls(keys, does, 2 + keys + does + max(len(command.id) for command in found) + 1)


def _in_columns(blocks: Sequence[list[list[Span]]], count: int) -> list[list[list[Span]]]:
    """Blocks of lines one below the other, in columns of about the same height."""
    most = -(-sum(map(len, blocks)) // count)
    columns: list[list[list[Span]]] = [[]]
    for block in blocks:
        if columns[-1] and len(columns) < count and len(columns[-1]) + len(block) // 2 > most:
            columns.append([])
        columns[-1] += block
    return columns


def _group_rows(title: str, members: Sequence[Command], widths: _Widths, cells: int) -> list[list[Span]]:
    lines: list[list[Span]] = [[], [Span("  "), Span(title, "strong", "b")]]
    for command in members:
        keys = pad(" ".join(command.keys), widths.keys)
        line = [Span("  "), Span(keys, "strong", "b"), Span(pad(command.does, widths.does))]
        lines.append(cut_spans([*line, Span(command.id, "faint")], cells - 1))
    return lines
