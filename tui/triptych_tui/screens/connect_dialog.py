"""Connecting to a model: where it is, what it is called, the key and the window, and how things stand there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input

from triptych.models.base import ModelError
from triptych.models.endpoint import Endpoint, Listing, unlisted
from triptych.models.keys import host_of, usable_key
from triptych.reasons import Reason, TriptychError
from triptych_tui.connection import OPENAI_KEY, Connection, Health, Server, matching, without_login
from triptych_tui.i18n import N_, _
from triptych_tui.launch import OpenedSession
from triptych_tui.screens.facts import model_spans
from triptych_tui.spans import Span, spread
from triptych_tui.stage_words import logo
from triptych_tui.untrusted import clean
from triptych_tui.widgets.bar import Bar
from triptych_tui.widgets.choices import Choices
from triptych_tui.widgets.health_lines import HealthLines
from triptych_tui.widgets.pane_header import PaneHeader

SETTLE_SECONDS = 0.3
"""A server is asked when nothing was typed for this long."""

FIELDS = ("base_url", "model", "key", "window")
SERVER_NAME_CELLS = 16
WINDOW_DIGITS = 11

KeyFor = Callable[[str, str], tuple[str | None, str]]
"""The key that may go to a base URL, given what was typed as one, and where it comes from."""


class ConnectInput(Input):
    """One field. What is pasted into it comes from outside: it stays on one line, and nothing in it is obeyed."""

    DEFAULT_CSS = """
    ConnectInput { width: 1fr; height: 1; border: none; padding: 0 1; background: $raised; color: $text; }
    ConnectInput:focus { background: $sel; border: none; background-tint: transparent; }
    ConnectInput > .input--placeholder { color: $muted; }
    ConnectInput > .input--cursor { background: $sel; color: $accent; text-style: reverse; }
    """

    def __init__(self, value: str, *, id: str, password: bool = False, max_length: int = 0) -> None:
        super().__init__(value, id=id, select_on_focus=False, password=password, max_length=max_length)
        self.cursor_blink = False

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.replace(clean(" ".join(event.text.split()), newlines=False), *self.selection)


class KeyInput(ConnectInput):
    """The key: shown as stars, and never given to the clipboard."""

    def __init__(self, *, id: str) -> None:
        super().__init__("", id=id, password=True)

    @property
    def _value(self) -> Text:
        return Text("*" * len(self.value), no_wrap=True, overflow="ignore", end="")

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.replace("".join(event.text.split()), *self.selection)

    def action_copy(self) -> None:
        """Nothing: what is hidden stays so."""

    def action_cut(self) -> None:
        self.delete_selection()


class ConnectDialog(Screen["tuple[Connection, int | None] | None"]):
    """Shown over a workbench. Enter gives the connection that the fields name, and the window that the server told
    until then; Esc gives None."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium")]  # noqa: RUF012 (Textual declares it)
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    ConnectDialog { background: $bg; color: $text; layout: vertical; }
    ConnectDialog #connect-title, ConnectDialog #connect-keys { background: $surface; }
    ConnectDialog #connect-body { height: 1fr; layout: horizontal; }
    ConnectDialog #connect-form { width: 60fr; height: 1fr; }
    ConnectDialog #connect-fields { height: auto; padding: 1 2; }
    ConnectDialog #connect-fields Horizontal { height: 1; margin-bottom: 1; }
    ConnectDialog .label { width: 12; }
    ConnectDialog #connect-list { width: 58fr; height: 1fr; border-left: $line $rule; }
    ConnectDialog.-narrow #connect-body { layout: vertical; }
    ConnectDialog.-narrow #connect-form { width: 1fr; height: auto; }
    ConnectDialog.-narrow #connect-fields { padding: 0 2; }
    ConnectDialog.-narrow #connect-fields Horizontal { margin-bottom: 0; }
    ConnectDialog.-narrow #connect-list { width: 1fr; border-left: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", N_("leave"), id="connect.leave"),
        Binding("down", "choose(1)", N_("Next"), show=False, id="connect.next"),
        Binding("up", "choose(-1)", N_("Previous"), show=False, id="connect.previous"),
        Binding("pagedown", "turn_page(1)", N_("Page down"), show=False, id="connect.page_down"),
        Binding("pageup", "turn_page(-1)", N_("Page up"), show=False, id="connect.page_up"),
    ]

    def __init__(
        self, opened: OpenedSession, present: Connection, known: list[Server], key_for: KeyFor, has_openai_key: bool
    ) -> None:
        """`present` is what the fields hold first; its model is "" where none was chosen yet."""
        super().__init__()
        self._opened = opened
        self._first = present
        self._known = known
        self._key_for = key_for
        self._has_openai_key = has_openai_key
        self._filter = ""
        self._key_url = present.base_url
        self._meant: dict[str, str] = {}
        self._listing: tuple[str, str | None, Listing] | None = None
        self._health = Health()
        self._settling: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Bar(ground="surface", id="connect-title")
        with Horizontal(id="connect-body"):
            with Vertical(id="connect-form"):
                yield PaneHeader(0, _("Connect to a model"))
                with Vertical(id="connect-fields"):
                    for name in FIELDS:
                        with Horizontal():
                            yield Bar(id=f"label-{name}", classes="label")
                            yield self._field_of(name)
                    yield HealthLines(id="connect-health")
            with Vertical(id="connect-list"):
                yield PaneHeader(0, "", id="connect-list-header")
                yield Choices(id="connect-choices")
        yield Bar(ground="surface", id="connect-keys")

    def _field_of(self, name: str) -> ConnectInput:
        if name == "key":
            return KeyInput(id=name)
        if name == "window":
            value = "" if self._first.window is None else str(self._first.window)
            return ConnectInput(value, id=name, max_length=WINDOW_DIGITS)
        return ConnectInput(self._shown(self._first.model if name == "model" else self._first.base_url), id=name)

    def on_mount(self) -> None:
        labels = {"base_url": _("base URL"), "model": _("model"), "key": _("key"), "window": _("window")}
        for name, words in labels.items():
            self.query_one(f"#label-{name}", Bar).show([Span(words, "muted")])
        self.query_one("#window", ConnectInput).placeholder = _("empty: as the server says")
        keys = [("Enter", _("connect")), ("Up Down", _("choose")), ("tab", _("next field")), ("Esc", _("leave"))]
        spans = [
            span for key, does in keys for span in (Span("   "), Span(key, "strong", "b"), Span(f" {does}", "muted"))
        ]
        self.query_one("#connect-keys", Bar).show([Span(" "), *spans[1:]])
        self._input("model" if self._first.model else "base_url").focus()
        self._start_asking()

    def on_resize(self) -> None:
        left = [*logo(), Span(" triptych", "strong", "b")]
        right = [*model_spans(self._opened), Span(" ")]
        self.query_one("#connect-title", Bar).show(spread(left, right, self.size.width))

    # The fields

    def _input(self, name: str) -> ConnectInput:
        return self.query_one(f"#{name}", ConnectInput)

    @property
    def _base_url(self) -> str:
        return self._meant_in("base_url")

    @property
    def _model(self) -> str:
        return self._meant_in("model")

    def _meant_in(self, name: str) -> str:
        shown = self._input(name).value.strip()
        return self._meant.get(shown, shown)

    def _shown(self, text: str) -> str:
        """A model's name or a base URL as a field may hold it; what it stands for is remembered."""
        shown = clean(without_login(text), newlines=False).strip()
        self._meant[shown] = text
        return shown

    def _window(self) -> int | None:
        """The window that was typed. Raises TriptychError when it is none."""
        text = self._input("window").value.strip().replace(",", "")
        if not text:
            return None
        if not (text.isascii() and text.isdecimal()):
            raise TriptychError("parameter.not_a_whole_number", name=_("window"), value=text)
        if not text.strip("0"):
            raise TriptychError("parameter.too_small", name=_("window"), value=0, least=1)
        return int(text)

    def _connection(self) -> Connection:
        """What the fields name, the model "" where they name none yet. Raises TriptychError for what cannot be."""
        base_url = self._base_url
        host = host_of(base_url)
        key, source = self._key_for(base_url, self._input("key").value)
        return Connection(base_url, self._model, usable_key(key, host), source, self._window())

    @on(Input.Changed)
    def _on_changed(self, message: Input.Changed) -> None:
        message.stop()
        if message.input.id == "base_url":
            self._forget_key()
        if message.input.id == "model" and message.input.has_focus:
            self._filter = "" if message.value in self._meant else message.value
        self._start_asking()

    @on(Input.Submitted)
    def _on_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        try:
            connection = self._connection()
            _require_model(connection)
        except TriptychError as error:
            problem: Reason | None = error.reason
        else:
            problem = self._objection(connection)
            if problem is None or problem == self._health.problem:
                told = self._health.window if self._health.model == connection.model else None
                self.dismiss((connection, told))
                return
        self._show(replace(self._health, problem=problem))

    def _objection(self, connection: Connection) -> Reason | None:
        """What speaks against this connection. That a model is not listed is said once, and may be wrong."""
        listing = self._known_listing(connection)
        if listing is not None and connection.model and unlisted(listing, connection.model):
            return Reason("endpoint.model_unknown", {"model": connection.model, "host": connection.host})
        return None

    def on_descendant_focus(self) -> None:
        self._show_choices()

    def _forget_key(self) -> None:
        """A key that was typed may go to no other address than the one that it was typed for."""
        if self._base_url != self._key_url:
            self._key_url = self._base_url
            self._input("key").value = ""

    # Choosing

    def action_choose(self, by: int) -> None:
        name = self.focused.id if self.focused is not None else ""
        chosen = self.query_one(Choices).move(by) if name in ("base_url", "model") else None
        if chosen is not None:
            self._take(chosen)

    def action_turn_page(self, direction: int) -> None:
        self.action_choose(direction * self.query_one(Choices).page)

    @on(Choices.Picked)
    def _on_picked(self, message: Choices.Picked) -> None:
        self._take(message.text)

    def _take(self, chosen: str) -> None:
        """Put a choice into the field that it is for."""
        name = "base_url" if self._chooses_server else "model"
        field = self._input(name)
        with self.prevent(Input.Changed):
            field.value = self._shown(chosen)
        field.cursor_position = len(field.value)
        self._forget_key()
        self._start_asking()

    @property
    def _chooses_server(self) -> bool:
        return self.focused is not None and self.focused.id == "base_url"

    def _show_choices(self) -> None:
        header, choices = self.query_one("#connect-list-header", PaneHeader), self.query_one(Choices)
        if self._chooses_server:
            names = {each.base_url: each.name for each in self._known}
            header.set_title(_("Servers"))
            header.set_facts([])
            choices.show(list(names), self._base_url, lambda url: names[url], lead=SERVER_NAME_CELLS)
            return
        listing = self._health.listing
        models, windows = (listing.models, listing.windows) if listing is not None else ((), {})
        found = matching(models, self._filter)
        header.set_title(_("Models"))
        counts = _("{found} of {all}").format(found=f"{len(found):,}", all=f"{len(models):,}")
        header.set_facts([Span(counts, "muted")] if models else [])
        empty = _("no such name in the list; Enter takes it as it is") if models else ""
        choices.show(found, self._model, lambda model: f"{windows[model]:,}" if model in windows else "", empty=empty)

    # Asking

    def _start_asking(self) -> None:
        """Ask the server that the fields name, when they have settled; what was asked before is of no interest."""
        self.workers.cancel_group(self, "ask")
        if self._settling is not None:
            self._settling.stop()
        try:
            connection = self._connection()
        except TriptychError as error:
            self._show(Health(problem=error.reason))
            return
        finally:
            self._show_key_source()
        known = self._known_listing(connection)
        self._show(Health(connection.host, asking=known is None, listing=known))
        self._settling = self.set_timer(SETTLE_SECONDS, lambda: self._ask_soon(connection))

    def _ask_soon(self, connection: Connection) -> None:
        self.run_worker(self._ask(connection), group="ask", exclusive=True)

    async def _ask(self, connection: Connection) -> None:
        """Find out how things stand; a model that is not listed may not be typed to its end yet."""
        listing, window = self._known_listing(connection), connection.window
        health = Health(connection.host, window=window, window_typed=window is not None)
        try:
            endpoint = Endpoint(connection.base_url, connection.key)
            if listing is None:
                listing = await endpoint.listing()
                self._listing = (connection.base_url, connection.key, listing)
            if not matching(listing.models, connection.model):
                health = replace(health, problem=self._objection(connection))
            elif not unlisted(listing, connection.model):
                told = await endpoint.window(listing, connection.model) if window is None else window
                health = replace(health, model=connection.model, window=told)
        except ModelError as error:
            health = replace(health, problem=error.reason)
        self._show(replace(health, listing=listing))

    def _known_listing(self, connection: Connection) -> Listing | None:
        if self._listing is None or self._listing[:2] != (connection.base_url, connection.key):
            return None
        return self._listing[2]

    def _show(self, health: Health) -> None:
        if not self.is_running:
            return  # an answer that came while the dialog was left
        self._health = health
        self.query_one(HealthLines).show(health)
        self._show_choices()

    def _show_key_source(self) -> None:
        """Say in the empty field where the key comes from that is sent."""
        try:
            key, source = self._key_for(self._base_url, "")
        except ModelError:
            key, source = None, ""
        if key:
            words = _("from {source}").format(source=OPENAI_KEY) if source == OPENAI_KEY else _("as typed before")
        elif self._has_openai_key:
            words = _("none: {source} is not for this server").format(source=OPENAI_KEY)
        else:
            words = _("none")
        self._input("key").placeholder = words


def _require_model(connection: Connection) -> None:
    if not connection.model:
        raise TriptychError("connect.no_model")
