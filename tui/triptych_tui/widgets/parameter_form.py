"""The parameters of a layer run by hand, to be changed where they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from triptych.layers.truncate import TruncateParameters, cut
from triptych_tui.hand_run import EDITABLE, HandRun
from triptych_tui.i18n import N_, _
from triptych_tui.messages_rows import one_line
from triptych_tui.plain import plain
from triptych_tui.spans import Span, pad
from triptych_tui.widgets.bar import Bar

LABEL_CELLS = 23
TRIED = "tried"


class ParameterInput(Input):
    """One value. ctrl+j applies the layer, Enter goes back to what the panel shows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j", "apply", N_("Apply"), show=False, id="panel.apply_from_field"),
    ]

    DEFAULT_CSS = """
    ParameterInput { width: 1fr; height: 1; border: none; padding: 0 1; background: $raised; color: $text; }
    ParameterInput:focus { background: $sel; border: none; }
    """

    def __init__(self, value: str, apply: Callable[[], None], *, id: str, placeholder: str = "") -> None:
        super().__init__(value, id=id, placeholder=placeholder, compact=True, select_on_focus=False)
        self._apply = apply

    def action_apply(self) -> None:
        self._apply()


class ParameterForm(Vertical):
    """A row a parameter. `changed` is told the texts of all fields, `apply` that the layer should go on, `leave` that
    the fields are done with."""

    DEFAULT_CSS = """
    ParameterForm { height: auto; padding: 1 3 0 3; }
    ParameterForm Horizontal { height: 1; }
    ParameterForm .label { width: 23; }
    """

    def __init__(
        self,
        run: HandRun,
        changed: Callable[[dict[str, str]], None],
        apply: Callable[[], None],
        leave: Callable[[], object],
    ) -> None:
        super().__init__(id="parameters")
        self._run = run
        self._changed = changed
        self._apply = apply
        self._leave = leave

    @property
    def stops(self) -> list[str]:
        """The ids of its fields, in order, for moving between them."""
        return [field.id for field in self.query(ParameterInput) if field.id]

    def compose(self) -> ComposeResult:
        yield Bar(id="parameters-title")
        for name in EDITABLE[self._run.layer]:
            value = getattr(self._run.parameters, name)
            yield self._row(name, ParameterInput(str(value), self._apply, id=f"parameter-{name}"))
        if self._run.layer == "truncate":
            yield self._row(TRIED, ParameterInput("", self._apply, id=TRIED, placeholder="0123456789"))
            yield Bar(id="tried-result")

    def on_mount(self) -> None:
        self.show_run(self._run)

    def show_run(self, run: HandRun) -> None:
        """Follow the layer: where its parameters come from, and what they do to the text that is tried."""
        self._run = run
        origin = _("edited") if run.edited else _("preset {name}").format(name=run.preset)
        title = self.query_one("#parameters-title", Bar)
        title.show_spread([Span(_("Parameters"), "strong", "b")], [Span(origin, "muted")])
        if isinstance(run.parameters, TruncateParameters):
            self.query_one("#tried-result", Bar).show(self._tried(run.parameters))

    @on(Input.Changed)
    def _on_changed(self, message: Input.Changed) -> None:
        message.stop()
        if message.input.id == TRIED:
            self.show_run(self._run)
        elif self.is_mounted:
            fields = [field for field in self.query(ParameterInput) if field.id != TRIED]
            self._changed({str(field.id).removeprefix("parameter-"): field.value for field in fields})

    @on(Input.Submitted)
    def _on_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self._leave()

    def _tried(self, parameters: TruncateParameters) -> list[Span]:
        text = self.query_one(f"#{TRIED}", ParameterInput).value
        if not text:
            return []
        made = cut(text, parameters)
        if made is None:
            whole = _("{length} characters: it stays whole").format(length=len(text))
            return [Span(whole, "muted")]
        longer, again = len(made.text) > len(text), cut(made.text, parameters)
        lead = Span(pad(_("longer, and cut again") if longer else _("cut, and cut again"), LABEL_CELLS), "muted")
        size = f"{len(text)} → {len(made.text)}"
        twice = f" → {len(again.text)}" if again is not None else ""
        ink = "error" if longer else "l1"
        return [lead, Span(plain(size), ink, "b"), Span(plain(twice) + "  ", "muted"), Span(one_line(made.text))]

    def speak(self) -> None:
        for name, words in labels().items():
            for bar in self.query(f"#label-{name}").results(Bar):
                bar.show([Span(words, "muted")])
        self.show_run(self._run)

    def _row(self, name: str, field: ParameterInput) -> Horizontal:
        bar = Bar(id=f"label-{name}", classes="label")
        bar.show([Span(labels()[name], "muted")])
        return Horizontal(bar, field)


def labels() -> dict[str, str]:
    """The fields in words, with their unit."""
    return {
        TRIED: _("try a text of your own"),
        "limit": _("limit (characters)"),
        "head_share": _("head share (0 to 1)"),
        "keep": _("keep (results)"),
        "placeholder": _("placeholder"),
        "keep_turns": _("keep (turns)"),
        "max_lines": _("max lines"),
        "max_characters": _("max characters"),
    }
