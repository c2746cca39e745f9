"""The three panes with what is around them: where things stand, what has the focus, one selection for all, reading."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Key, Paste
from textual.geometry import Size
from textual.screen import Screen

from triptych.reasons import Reason
from triptych_tui.i18n import N_, _
from triptych_tui.launch import OpenedSession
from triptych_tui.screens.facts import welcome_rows
from triptych_tui.sheet import Sheet
from triptych_tui.stage_rows import Moment, before_turn
from triptych_tui.widgets.bar import Bar
from triptych_tui.widgets.chat_pane import ChatPane
from triptych_tui.widgets.gauges import Gauges
from triptych_tui.widgets.line_view import LineView
from triptych_tui.widgets.messages_pane import MessagesPane
from triptych_tui.widgets.pane_header import PaneHeader
from triptych_tui.widgets.prompt import Prompt, PromptText
from triptych_tui.widgets.session_pane import SessionPane
from triptych_tui.widgets.stage_bar import StageBar
from triptych_tui.widgets.tabs import Tabs

if TYPE_CHECKING:
    from triptych_tui.previews import Preview
    from triptych_tui.screens.reading import Reading
    from triptych_tui.widgets.notice import Notice

PaneName = Literal["chat", "messages", "file"]
PANES: tuple[PaneName, ...] = ("chat", "messages", "file")
FIRST_WIDE = "\u2e80"
"""From here on characters come from an input method, not from keys."""


class ThreePanes(Screen[int]):
    """Shows one opened session. It holds view state only, and nothing here changes the session."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (160, "-wide")]  # noqa: RUF012 (Textual declares it)
    VERTICAL_BREAKPOINTS = [(0, "-short"), (18, "-tall")]  # noqa: RUF012
    # Not CSS_PATH, which is parsed twice at a start.
    DEFAULT_CSS = (Path(__file__).parents[1] / "styles" / "workbench.tcss").read_text("utf-8")
    SCOPED_CSS = False
    AUTO_FOCUS = "#prompt-text"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "prompt", N_("prompt"), id="prompt"),
        Binding("slash,ideographic_comma", "search", N_("search"), id="search"),
        Binding("n", "next_hit(1)", N_("next hit"), id="search.next"),
        Binding("N", "next_hit(-1)", N_("previous hit"), id="search.previous"),
        Binding("f", "filter", N_("filter"), id="filter"),
        Binding("v", "original", N_("original"), id="original"),
        Binding("y", "copy", N_("copy"), id="copy"),
        Binding("1", "pane('chat')", N_("chat"), id="pane.chat"),
        Binding("2", "pane('messages')", N_("messages"), id="pane.messages"),
        Binding("3", "pane('file')", N_("file"), id="pane.file"),
        Binding("tab", "next_pane(1)", N_("next pane"), priority=True, id="pane.next"),
        Binding("shift+tab", "next_pane(-1)", N_("previous pane"), priority=True, id="pane.previous"),
        Binding("z", "zoom", N_("zoom"), id="zoom"),
    ]

    def __init__(self, opened: OpenedSession, width: int) -> None:
        """`width` is the terminal's in cells: known beforehand, the screen need not be styled twice."""
        size = next(name for least, name in reversed(self.HORIZONTAL_BREAKPOINTS) if width >= least)
        super().__init__(classes=f"-show-chat {size}")
        self._opened = opened
        self._session = opened.session
        schemas = opened.tools.schemas()
        self._sheet = Sheet(self._session, self._session.counter.schemas_weight(schemas))
        self._schemas = schemas
        self._reading: Reading | None = None
        self._notice: Notice | None = None
        self._shown: PaneName = "chat"

    def compose(self) -> ComposeResult:
        yield Bar(ground="surface", id="title")
        yield StageBar(before_turn(self._session.policy), id="stage")
        yield Tabs(id="tabs")
        with Horizontal(id="body"):
            with Vertical(id="chat-box", classes="pane"):
                yield PaneHeader(1, _("Chat"), id="chat-header")
                yield ChatPane(self._sheet, lambda width: welcome_rows(self._opened, width), id="chat")
            with Vertical(id="right"):
                with Vertical(id="messages-box", classes="pane"):
                    yield PaneHeader(2, _("Messages"), id="messages-header")
                    yield MessagesPane(self._sheet, self._schemas, id="messages")
                with Vertical(id="file-box", classes="pane"):
                    yield PaneHeader(3, _("File"), id="file-header")
                    yield SessionPane(self._session, is_kept=self._opened.writable, id="file")
        yield Gauges(self._sheet, self._opened.model.window, id="gauges")
        yield Prompt(self._session.counter, id="prompt")
        yield Bar(ground="surface", id="keys")

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        lays_out = not scroll or bool(self._layout_widgets)
        super()._refresh_layout(size, scroll)
        if not lays_out:
            return
        # Textual would draw as much of a widget as it had before, and the edge of that can part a wide character.
        for widget in self._compositor.visible_widgets:
            if widget._repaint_regions:
                widget._set_dirty()

    def refresh_facts(self) -> None:
        """Say anew, in headers and bars, how things are."""

    def panel_stops(self) -> list[str]:
        """The ids of what can have the focus in a panel that stands in for the panes it covers; none without one."""
        return []

    def count_anew(self) -> None:
        """Tokens are counted by another estimator now, so all numbers are others."""
        self._sheet.count_anew(self._session.counter.schemas_weight(self._schemas))
        self.query_one(Gauges).count_anew()
        for pane in (self.query_one(ChatPane), self.query_one(MessagesPane)):
            pane.redraw()
        self.query_one(Prompt).refresh()

    # Sentences

    def say(self, reason: Reason, *, fault: bool = True) -> None:
        """Put a sentence above the prompt."""
        if self._notice is None:
            from triptych_tui.widgets.notice import Notice  # not needed for the first picture

            self._notice = Notice(id="notice")
            self.mount(self._notice, before="#prompt")
        self._notice.say(reason, fault=fault)

    @on(Prompt.NotAttached)
    def _on_not_attached(self, message: Prompt.NotAttached) -> None:
        self.say(message.reason)

    def hush(self) -> bool:
        """Put the sentence away; whether there was one."""
        return self._notice is not None and self._notice.hush()

    def show_stage(self, moment: Moment) -> None:
        self.query_one(StageBar).show(moment)

    def show_preview(self, preview: Preview | None) -> None:
        """Mark in chat and messages what a layer would change; None ends it."""
        self.query_one(ChatPane).show_preview(preview)
        self.query_one(MessagesPane).show_preview(preview)

    # Reading

    @property
    def reader(self) -> Reading:
        if self._reading is None:
            from triptych_tui.screens.reading import Reading  # not needed for the first picture

            self._reading = Reading(self, self._sheet)
        return self._reading

    async def action_search(self) -> None:
        await self.reader.open_search()

    def action_next_hit(self, direction: int) -> None:
        self.reader.search.step(direction)

    async def action_filter(self) -> None:
        await self.reader.open_filter()

    def action_original(self) -> None:
        self.reader.show_original()

    async def action_copy(self) -> None:
        await self.reader.copy()

    def on_key(self, event: Key) -> None:
        """A letter that no pane has a key for: perhaps an input method is on."""
        if event.character is not None and event.character >= FIRST_WIDE:
            self.reader.hear_input_method(event)

    # Focus

    def action_prompt(self) -> None:
        self.set_focus(self.query_one(PromptText))

    def action_pane(self, pane: PaneName) -> None:
        self._show_pane(pane)
        self.set_focus(self.query_one(f"#{pane}", LineView))

    def action_next_pane(self, direction: int) -> None:
        """The prompt and the panes in turn; a panel stands in for the panes it covers."""
        panel = self.panel_stops()
        places = ["prompt-text", "messages", *panel] if panel else ["prompt-text", *PANES]
        present = self.focused.id if self.focused is not None else None
        place = "messages" if panel and present in PANES else present
        index = places.index(place) if place in places else 0
        target = places[(index + direction) % len(places)]
        if target in PANES:
            self._show_pane(target)
        elif target in panel and self.has_class("-zoom"):
            self.zoom("" if self._peeks else "panel")
        self.set_focus(self.query_one(f"#{target}"))

    def _is_covered(self, pane: PaneName) -> bool:
        """Whether a panel stands where this pane is shown."""
        is_beside = self.has_class("-wide") or (pane == "messages" and self.has_class("-medium"))
        return bool(self.panel_stops()) and not is_beside

    @property
    def _peeks(self) -> bool:
        """Whether a pane that the panel covers is shown in its stead for a while."""
        return self._is_covered(self._shown) and self.has_class(f"-zoom-{self._shown}")

    def _show_pane(self, pane: PaneName) -> None:
        stays_alone = self.has_class("-zoom") and not self._peeks
        self._shown = pane
        for name in PANES:
            self.set_class(name == pane, f"-show-{name}")
        self.zoom(pane if stays_alone or self._is_covered(pane) else "")
        self.refresh_facts()

    def action_zoom(self) -> None:
        """Give the focused pane the whole body, or all their places back."""
        if self.has_class("-zoom"):
            self.zoom("")
            return
        boxes = {each.id for each in self.focused.ancestors} if self.focused is not None else set()
        self.zoom(next((name for name in (*PANES, "panel") if f"{name}-box" in boxes), self._shown))

    def zoom(self, place: str) -> None:
        """Show this pane or the panel alone; "" shows all."""
        for name in (*PANES, "panel"):
            self.set_class(name == place, f"-zoom-{name}")
        self.set_class(bool(place), "-zoom")

    @on(LineView.CursorMoved)
    def _on_cursor_moved(self, message: LineView.CursorMoved) -> None:
        """One selection in all panes."""
        source = message.view
        if message.along and isinstance(source, SessionPane):
            return  # the file came later than the list, and has the list's selection
        index = source.selected if isinstance(source, ChatPane | MessagesPane | SessionPane) else None
        if index is not None and isinstance(source, SessionPane):
            index = self._sheet.index_of_head(index)
        if index is not None and index < len(self._sheet.entries):
            self.select(index, source, along=message.along)

    def select(self, index: int, source: LineView | None = None, *, along: bool = False) -> None:
        """Select an entry in all panes but the one that has selected it; `along`: it came while following the end."""
        for pane in (self.query_one(ChatPane), self.query_one(MessagesPane)):
            if pane is not source:
                pane.select(index, reveal=not along)
        file, place = self.query_one(SessionPane), self._sheet.index_at_head(index)
        if file is not source and place is not None:
            file.select(place, reveal=file.following or not along)

    def on_paste(self, event: Paste) -> None:
        """What is pasted or dropped while a pane has the focus is meant for the prompt."""
        if isinstance(self.focused, LineView):
            self.query_one(Prompt).paste(event.text)

    @on(LineView.FollowChanged)
    def _on_follow_changed(self) -> None:
        self.refresh_facts()

    def _in_prompt(self) -> bool:
        return self.focused is not None and self.focused.id == "prompt-text"
