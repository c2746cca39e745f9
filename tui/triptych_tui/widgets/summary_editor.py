"""The summary of layer 3 before it is accepted: it may be edited."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import TextArea

from triptych_tui.hand_run import HandRun
from triptych_tui.i18n import N_, _
from triptych_tui.plain import plain
from triptych_tui.spans import Span
from triptych_tui.untrusted import clean
from triptych_tui.widgets.bar import Bar
from triptych_tui.widgets.prompt import TextField


class SummaryText(TextField):
    """The text itself. ctrl+j accepts it; Enter begins a new line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j", "accept", N_("Accept"), show=False, id="panel.accept"),
    ]

    DEFAULT_CSS = """
    SummaryText {
        height: auto; max-height: 25vh; background: $raised; color: $text; padding: 0 1;
        border: none; border-left: outer $l3;
        scrollbar-size: 0 1; scrollbar-background: $raised; scrollbar-color: $rule;
    }
    SummaryText:focus { border: none; border-left: outer $accent; }
    SummaryText .text-area--cursor-line { background: $raised; }
    SummaryText:focus .text-area--cursor { background: $raised; color: $accent; text-style: reverse; }
    """

    def __init__(self, accept: Callable[[], None]) -> None:
        super().__init__(id="summary-text", compact=True, highlight_cursor_line=False)
        self._accept = accept

    def action_accept(self) -> None:
        self._accept()


class SummaryEditor(Vertical):
    """Hidden until there is a summary. `changed` is told the text, `accept` that it should be put in place.

    What the model wrote is shown harmless; as long as nobody edits it, it is accepted as it was received.
    """

    DEFAULT_CSS = """
    SummaryEditor { height: auto; padding: 1 3 0 3; display: none; }
    SummaryEditor.-shown { display: block; }
    """

    def __init__(self, changed: Callable[[str], None], accept: Callable[[], None]) -> None:
        super().__init__(id="summary")
        self._changed = changed
        self._accept = accept
        self._run: HandRun | None = None

    def compose(self) -> ComposeResult:
        yield Bar(id="summary-title")
        yield SummaryText(self._accept)

    def show_run(self, run: HandRun | None) -> None:
        """Show the summary of this run, if it has one."""
        self._run = run
        shown = run is not None and run.summary_plan is not None
        self.set_class(shown, "-shown")
        if run is None or not shown:
            return
        text = self.query_one(SummaryText)
        harmless = clean(run.summary)
        if text.text != harmless:
            text.load_text(harmless)
        state = _("as received") if run.summary == run.received else _("edited by you")
        tokens = run.summary_plan.reason.values.get("new_tokens") if run.summary_plan is not None else None
        state += "" if tokens is None else plain(" · ") + _("~{tokens} tok").format(tokens=f"{tokens:,}")
        title = [Span(_("Summary"), "strong", "b")]
        self.query_one("#summary-title", Bar).show_spread(title, [Span(state, "muted")])

    @on(TextArea.Changed)
    def _on_changed(self, message: TextArea.Changed) -> None:
        message.stop()
        text, received = message.text_area.text, "" if self._run is None else self._run.received
        self._changed(received if text == clean(received) else text)
