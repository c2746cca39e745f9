"""A parameter that is one of a few values: each press of a key takes the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from triptych_tui.i18n import N_, _
from triptych_tui.paint import strip_of
from triptych_tui.parameter_fields import choice_word
from triptych_tui.spans import Span
from triptych_tui.themes import tokens_of


class ChoiceField(Widget):
    """Shows the value that is chosen, and which key changes it while it has the focus."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,right", "cycle(1)", N_("Next value"), show=False, id="panel.next_value"),
        Binding("left", "cycle(-1)", N_("Previous value"), show=False, id="panel.previous_value"),
        Binding("enter", "leave", N_("Back to the panel"), show=False, id="panel.leave_field"),
        Binding("ctrl+j", "apply", N_("Apply"), show=False, id="panel.apply_from_choice"),
    ]

    DEFAULT_CSS = """
    ChoiceField { width: 1fr; height: 1; }
    """

    class Changed(Message):
        """Another value was chosen."""

    def __init__(
        self, value: str, choices: Sequence[str], apply: Callable[[], None], leave: Callable[[], object], *, id: str
    ) -> None:
        super().__init__(id=id)
        self.value = value
        self._choices = choices
        self._apply = apply
        self._leave = leave

    def action_cycle(self, by: int) -> None:
        self.value = self._choices[(self._choices.index(self.value) + by) % len(self._choices)]
        self.refresh()
        self.post_message(self.Changed())

    def action_leave(self) -> None:
        self._leave()

    def action_apply(self) -> None:
        self._apply()

    def on_click(self) -> None:
        self.action_cycle(1)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def render_line(self, y: int) -> Strip:
        spans = [Span(choice_word(self.value))]
        if self.has_focus:
            spans += [Span("  space", "strong", "b"), Span(" " + _("changes it"), "muted")]
        return strip_of(spans, tokens_of(self), self.size.width, "sel" if self.has_focus else "raised")
