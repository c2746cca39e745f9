"""How a session was found, and with which of its lists to go on; nothing that is there is lost by any answer."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.events import Event, Key, Paste
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from triptych_tui.found import Found, ListFound
from triptych_tui.i18n import _, ngettext
from triptych_tui.paint import strip_of
from triptych_tui.plain import plain
from triptych_tui.spans import Span, pad, wrap_spans
from triptych_tui.themes import tokens_of
from triptych_tui.untrusted import clean
from triptych_tui.widgets.prompt import Prompt
from triptych_tui.wording import say

if TYPE_CHECKING:
    from triptych_tui.screens.keeping import Keeping

Choice = Literal["go_on", "other", "alone", "branches"]
KEYS: dict[str, Choice] = {"enter": "go_on", "escape": "go_on", "o": "other", "L": "alone", "B": "branches"}
MARGIN = 2


class FoundDialog(ModalScreen["Choice | Event"]):
    """Shown once, over the workbench. Gives what was chosen, or what was typed or pasted: that is meant for the
    prompt, and goes on too."""

    DEFAULT_CSS = """
    FoundDialog { align: center middle; background: $bg 0%; }
    FoundDialog #found {
        width: 78; max-width: 100%; height: auto; max-height: 100%; border: $line $rule; background: $surface;
        scrollbar-size: 0 1;
    }
    FoundText { height: auto; width: 1fr; background: $surface; }
    """

    def __init__(self, found: Found) -> None:
        super().__init__()
        self._found = found

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="found"):
            yield FoundText(self._found)

    def on_key(self, event: Key) -> None:
        choice = KEYS.get(event.key)
        if choice is not None and choice in choices_of(self._found):
            event.stop()
            self.dismiss(choice)
        elif event.is_printable:
            event.stop()
            self.dismiss(Key(event.key, event.character))

    def on_paste(self, event: Paste) -> None:
        event.stop()
        self.dismiss(Paste(event.text))


def choices_of(found: Found) -> dict[Choice, str]:
    """What can be chosen, with what it does."""
    offered: dict[Choice, str] = {"go_on": _("go on with it")}
    other = found.in_file or found.left
    if other is not None and found.can_go_to_other:
        offered["other"] = f"{_other_words(found)} ({_count(other)})"
    if found.has_alone:
        offered["alone"] = _("see the list alone, as the lesson reopens it")
    if found.can_go_to_other:
        offered["branches"] = _("see all branches, to go to one")
    return offered


def _other_words(found: Found) -> str:
    if found.in_file is not None:
        return _("go on with the list in the file")
    if found.aside is not None:
        return _("go on with the list that the journal leads to")
    return _("go on with the list as it was left")


class FoundText(Widget):
    """The sentences, the lists with their times, the files, and the keys."""

    def __init__(self, found: Found) -> None:
        super().__init__()
        self._found = found

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(found_lines(self._found, width))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        lines = found_lines(self._found, width)
        return strip_of(lines[y] if y < len(lines) else [], tokens_of(self), width, "surface")


def found_lines(found: Found, width: int) -> list[list[Span]]:
    """The dialog's lines, a margin at either side."""
    room = max(width - 2 * MARGIN, 10)
    title = _("How {name} was found").format(name=clean(found.name, newlines=False))
    lines = [[], *wrap_spans([Span(title, "strong", "b")], room), []]
    lines += wrap_spans([Span(say(found.what))], room)
    lines += [[], *_facts(found, room)]
    if found.told:
        lines.append([])
    for each in found.told:
        lines += _hanging(plain("· "), [Span(say(each), "muted")], room)
    lines.append([])
    names: dict[Choice, str] = {"go_on": "Enter", "other": "o", "alone": "L", "branches": "B"}
    for choice, words in choices_of(found).items():
        lines += _hanging(pad(names[choice], 7), [Span(words)], room)
    lines.append([])
    return [[Span(" " * MARGIN), *line] if line else [] for line in lines]


def _facts(found: Found, room: int) -> list[list[Span]]:
    """A row for each list, and where the journal is kept."""
    left = _("as it was left") if found.aside is None else _("in the journal")
    lists = [(_("here"), found.here), (_("in the file"), found.in_file), (left, found.left)]
    rows = [(label, _count(each), _time(each.at)) for label, each in lists if each is not None]
    if found.aside is not None:
        name = clean(found.aside.name, newlines=False)
        rows.append((_("kept aside"), name, _("the whole journal")))
    cells = max(cell_len(label) for label, _words, _more in rows) + 2
    return [
        line
        for label, words, more in rows
        for line in _hanging(pad(label, cells), [Span(words, "strong", "b"), Span("  " + more, "muted")], room, "muted")
    ]


def _hanging(lead: str, spans: list[Span], room: int, ink: str = "strong") -> list[list[Span]]:
    """Lines that hang behind their beginning."""
    cells = cell_len(lead)
    first, *others = wrap_spans(spans, max(room - cells, 10))
    return [[Span(lead, ink, "b" if ink == "strong" else ""), *first], *([Span(" " * cells), *line] for line in others)]


def _count(found: ListFound) -> str:
    return ngettext("{count} message", "{count} messages", found.messages).format(count=f"{found.messages:,}")


def _time(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at is not None else ""


def show_found(screen: Keeping, found: Found) -> None:
    """Show the dialog over a workbench, and do there what is chosen."""

    async def chosen(answer: Choice | Event | None) -> None:
        if isinstance(answer, Event):
            field = screen.query_one(Prompt).field
            screen.set_focus(field)
            field.post_message(answer)
        elif answer == "other" and not screen.busy():
            await screen.rewriting.go_to(found.other)
        elif answer == "alone":
            await screen.action_lessons_view()
        elif answer == "branches":
            screen.action_branches()

    screen.app.push_screen(FoundDialog(found), chosen)
