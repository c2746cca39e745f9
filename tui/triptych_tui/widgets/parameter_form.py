"""The parameters of a layer run by hand, to be changed where they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input

from triptych.layers.truncate import TruncateParameters, cut
from triptych.policy import Trigger
from triptych_tui.glyphs import UNICODE
from triptych_tui.hand_run import HandRun, Parameters
from triptych_tui.i18n import N_, _
from triptych_tui.lesson_notes import tried_notes
from triptych_tui.messages_rows import one_line
from triptych_tui.parameter_fields import choices_of, fields_of, text_of, words_of
from triptych_tui.plain import plain
from triptych_tui.policy_words import trigger_fact
from triptych_tui.spans import Row, Span, pad
from triptych_tui.themes import glyphs_of
from triptych_tui.untrusted import wrap
from triptych_tui.widgets.bar import Bar
from triptych_tui.widgets.choice_field import ChoiceField
from triptych_tui.widgets.panel_rows import PanelRows
from triptych_tui.widgets.thin_scrollbar import AsciiScrollbar, ThinScrollbar

LABEL_CELLS = 23
TRIED = "tried"
MADE_ROWS = 4
"""At most so many rows show what a text that is tried becomes, its end always among them."""


class ParameterInput(Input):
    """One value. ctrl+j applies the layer, Enter goes back to what the panel shows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j", "apply", N_("Apply"), show=False, id="panel.apply_from_field"),
    ]

    DEFAULT_CSS = """
    ParameterInput { width: 1fr; height: 1; border: none; padding: 0 1; background: $raised; color: $text; }
    ParameterInput:focus { background: $sel; border: none; }
    ParameterInput > .input--placeholder { color: $muted; }
    """

    def __init__(
        self, value: str, apply: Callable[[], None], leave: Callable[[], object], *, id: str, placeholder: str = ""
    ) -> None:
        super().__init__(value, id=id, placeholder=placeholder, compact=True, select_on_focus=False)
        self._apply = apply
        self._leave = leave

    async def action_submit(self) -> None:
        self._leave()

    def action_apply(self) -> None:
        self._apply()


class Fields(VerticalScroll, can_focus=False, inherit_bindings=False):
    """The rows, of which only some may be in view."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "step(1)", N_("Next field"), show=False, id="panel.next_field"),
        Binding("up", "step(-1)", N_("Previous field"), show=False, id="panel.previous_field"),
    ]

    def action_step(self, by: int) -> None:
        """To the next field, or the one before."""
        fields = [*self.query("ParameterInput, ChoiceField")]
        focused = next((place for place, field in enumerate(fields) if field.has_focus), 0)
        if 0 <= focused + by < len(fields):
            self.screen.set_focus(fields[focused + by])

    def on_mount(self) -> None:
        thin = ThinScrollbar if glyphs_of(self) is UNICODE else AsciiScrollbar
        self.vertical_scrollbar.renderer = thin  # type: ignore[misc]  # Textual reads it from the instance
        self.give_room(scarce=False)

    def give_room(self, *, scarce: bool) -> None:
        """So many rows are in view as the screen can spare; fewer where there is a summary to be read below."""
        height = self.screen.size.height
        # Not as a share in CSS, which the form around it does not count by.
        self.styles.max_height = max(height // 10, 2) if scarce else max(height // 5, min(4, height - 12), 2)


class ParameterForm(Vertical):
    """A row a parameter. `changed` is told the texts of all fields, `apply` that the layer should go on, `leave` that
    the fields are done with."""

    DEFAULT_CSS = """
    ParameterForm { height: auto; padding: 1 3 0 3; }
    ParameterForm Horizontal { height: 1; }
    ParameterForm .label { width: 23; }
    ParameterForm PanelRows { padding: 0; }
    ParameterForm Fields {
        height: auto; scrollbar-size: 0 1; scrollbar-background: $bg; scrollbar-background-hover: $bg;
        scrollbar-background-active: $bg; scrollbar-color: $rule;
    }
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
    def _fields(self) -> list[ParameterInput | ChoiceField]:
        """The fields, in order, without the one for a text of one's own."""
        fields = self.query("ParameterInput, ChoiceField").results()
        return [each for each in fields if isinstance(each, ParameterInput | ChoiceField) and each.id != TRIED]

    @property
    def stops(self) -> list[str]:
        """The ids of its fields, in order, for moving between them."""
        return [each.id for each in self.query("ParameterInput, ChoiceField") if each.id]

    def compose(self) -> ComposeResult:
        yield Bar(id="parameters-title")
        with Fields():
            for filled in self._run.filled:
                if isinstance(filled, Trigger):
                    yield Bar(id="trigger-title")
                for name in fields_of(filled):
                    yield self._row(name, self._field(filled, name))
            if self._run.layer == "truncate":
                yield self._row(TRIED, ParameterInput("", self._apply, self._leave, id=TRIED, placeholder="0123456789"))
        if self._run.layer == "truncate":
            yield PanelRows(id="tried-result")
        yield PanelRows(id="meaning")

    def _field(self, filled: Parameters | Trigger, name: str) -> ParameterInput | ChoiceField:
        value, id = text_of(getattr(filled, name)), f"parameter-{name}"
        if choices := choices_of(filled, name):
            return ChoiceField(value, choices, self._apply, self._leave, id=id)
        return ParameterInput(value, self._apply, self._leave, id=id)

    def on_mount(self) -> None:
        self.show_run(self._run)

    def show_run(self, run: HandRun) -> None:
        """Follow the layer: where its parameters come from, and what they do to the text that is tried."""
        self._run = run
        origin = _("edited") if run.edited else _("preset {name}").format(name=run.preset)
        title = self.query_one("#parameters-title", Bar)
        title.show_spread([Span(_("Parameters"), "strong", "b")], [Span(origin, "muted")])
        self.query_one(Fields).give_room(scarce=run.summary_plan is not None)
        if run.trigger is not None:
            self._show_trigger(run, run.trigger)
        if isinstance(run.parameters, TruncateParameters):
            text, parameters = self.query_one(f"#{TRIED}", ParameterInput).value, run.parameters
            self.query_one("#tried-result", PanelRows).show(lambda width: _tried_rows(text, parameters, width))

    def _show_trigger(self, run: HandRun, trigger: Trigger) -> None:
        """What starts the layer by itself, and the number of turns where that has followed another field."""
        title = self.query_one("#trigger-title", Bar)
        title.show_spread([Span(_("Runs by itself"), "strong", "b")], [Span(trigger_fact(trigger), "muted")])
        turns = self.query_one("#parameter-turns", ParameterInput)
        if run.problem is None and not turns.has_focus:
            with turns.prevent(Input.Changed):
                turns.value = text_of(trigger.turns)

    def _show_meaning(self) -> None:
        """Say below the fields what the one that has the focus does."""
        focused = self.screen.focused
        name = str(focused.id).removeprefix("parameter-") if focused is not None and focused.id else ""
        words = next((words_of(each, name)[1] for each in self._run.filled if name in fields_of(each)), "")
        self.query_one("#meaning", PanelRows).show(lambda width: _faint_rows(words, width))

    def on_descendant_focus(self) -> None:
        self._show_meaning()

    def on_descendant_blur(self) -> None:
        self._show_meaning()

    @on(ChoiceField.Changed)
    def _on_chosen(self, message: ChoiceField.Changed) -> None:
        message.stop()
        self._tell()

    @on(Input.Changed)
    def _on_changed(self, message: Input.Changed) -> None:
        message.stop()
        if message.input.id == TRIED:
            self.show_run(self._run)
        elif self.is_mounted:
            self._tell()

    def _tell(self) -> None:
        self._changed({str(field.id).removeprefix("parameter-"): field.value for field in self._fields})

    def speak(self) -> None:
        for bar in self.query(".label").results(Bar):
            bar.show([Span(self._label(str(bar.id).removeprefix("label-")), "muted")])
        self.show_run(self._run)

    def _row(self, name: str, field: ParameterInput | ChoiceField) -> Horizontal:
        bar = Bar(id=f"label-{name}", classes="label")
        bar.show([Span(self._label(name), "muted")])
        return Horizontal(bar, field)

    def _label(self, name: str) -> str:
        if name == TRIED:
            return _("try a text of your own")
        return next(words_of(each, name)[0] for each in self._run.filled if name in fields_of(each))


def _tried_rows(text: str, parameters: TruncateParameters, width: int) -> list[Row]:
    """What becomes of a text: its sizes, all of it where a few rows hold that, and what is to be known about it."""
    if not text:
        return []
    made = _cut(text, parameters)
    if made is None:
        return [Row([Span(_("{length} characters: it stays whole").format(length=len(text)), "muted")])]
    longer, again = len(made) > len(text), _cut(made, parameters)
    lead = Span(pad(_("longer, and cut again") if longer else _("cut, and cut again"), LABEL_CELLS), "muted")
    size = Span(plain(f"{len(text)} → {len(made)}"), "error" if longer else "l1", "b")
    sizes = [lead, size, Span(plain(f" → {len(again)}") if again is not None else "", "muted")]
    lines = wrap(one_line(made, len(made)), width)
    if len(lines) > MADE_ROWS:
        lines[MADE_ROWS - 2 : -1] = [plain("…")]
    notes = (row for note in tried_notes(text, made, parameters) for row in _faint_rows(note, width))
    return [Row(sizes), *(Row([Span(line)]) for line in lines), *notes]


def _faint_rows(words: str, width: int) -> list[Row]:
    return [Row([Span(line, "faint")]) for line in wrap(words, max(width, 2))] if words else []


def _cut(text: str, parameters: TruncateParameters) -> str | None:
    """What is left of a text, None where all of it is."""
    if parameters.flavour == "lesson":
        made = cut(text, parameters)
        return None if made is None else made.text
    from triptych.layers.robust_truncate import cut_texts

    (left,) = cut_texts([text], parameters.limit, parameters, "")
    return None if left == text else left
