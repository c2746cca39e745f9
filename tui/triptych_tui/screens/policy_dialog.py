"""Choosing a policy: what is there, what each does with the three layers, and which one is in force."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from triptych.policy import Policy
from triptych.reasons import Reason
from triptych_tui.i18n import N_, _
from triptych_tui.paint import line_of
from triptych_tui.policy_words import policy_facts, what_it_does, whose_rules
from triptych_tui.spans import Row, Span, pad, spread
from triptych_tui.stage_words import logo, policy_title
from triptych_tui.themes import glyphs_of, tokens_of
from triptych_tui.untrusted import clean, fit, wrap
from triptych_tui.widgets.bar import Bar
from triptych_tui.widgets.line_view import Line, LineView, Look
from triptych_tui.widgets.pane_header import PaneHeader
from triptych_tui.wording import say

NAME_CELLS = 22
MOST_LINES = 3
"""Lines of what a policy says of itself."""


class Offer(NamedTuple):
    """A policy that can be taken, or, where it is None, the reason why it cannot. `own`: the user wrote it."""

    name: str
    policy: Policy | None
    problem: Reason | None = None
    own: bool = False
    in_force: bool = False


class PolicyDialog(Screen["Policy | None"]):
    """Shown over a workbench. Enter gives the policy that is to be in force, Esc gives None."""

    AUTO_FOCUS = "PolicyList"
    DEFAULT_CSS = """
    PolicyDialog { background: $bg; color: $text; }
    PolicyDialog #policy-title, PolicyDialog #policy-keys { background: $surface; }
    PolicyDialog PolicyList { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", N_("leave"), id="policy.leave"),
        Binding("enter", "take", N_("take it"), id="policy.take"),
    ]

    def __init__(self, offers: Sequence[Offer]) -> None:
        super().__init__()
        self._offers = offers

    def compose(self) -> ComposeResult:
        yield Bar(ground="surface", id="policy-title")
        yield PaneHeader(0, _("Choose a policy"))
        yield PolicyList(self._offers)
        yield Bar(ground="surface", id="policy-keys")

    def on_mount(self) -> None:
        self.query_one("#policy-title", Bar).show([*logo(), Span(" triptych", "strong", "b")])
        keys = [("Enter", _("take it from the next stage on")), ("Up Down", _("choose")), ("Esc", _("leave"))]
        spans = [
            span for key, does in keys for span in (Span("   "), Span(key, "strong", "b"), Span(f" {does}", "muted"))
        ]
        self.query_one("#policy-keys", Bar).show([Span(" "), *spans[1:]])

    def action_take(self) -> None:
        """What cannot be read cannot be taken: its row says why."""
        cursor = self.query_one(PolicyList).cursor
        policy = self._offers[cursor].policy if cursor is not None else None
        if policy is not None:
            self.dismiss(policy)


class PolicyList(LineView):
    """A block a policy: its name and its layers, below them what it does."""

    follows = False

    def __init__(self, offers: Sequence[Offer]) -> None:
        super().__init__()
        self._offers = offers

    def on_mount(self) -> None:
        self.set_blocks(len(self._offers))
        self.move_cursor(next((place for place, each in enumerate(self._offers) if each.in_force), 0))

    def block_key(self, index: int) -> Hashable:
        return index

    def render_block(self, index: int, width: int, look: Look) -> Sequence[Line]:
        rows = offer_rows(self._offers[index], width, glyphs_of(self).fault)
        return [line_of(row, tokens_of(self)) for row in rows]


def offer_rows(offer: Offer, width: int, fault: str) -> list[Row]:
    """The rows of one policy, and a blank one."""
    title = policy_title(offer.policy) if offer.policy is not None else clean(offer.name, newlines=False)
    name = Span(pad(fit(title, NAME_CELLS - 1), NAME_CELLS), "strong", "b")
    states = [_("in force")] * offer.in_force + [_("your own")] * offer.own
    state = [Span("  ".join(states), "accent" if offer.in_force else "muted"), Span("  ")] if states else []
    facts = policy_facts(offer.policy) if offer.policy is not None else [Span(f"{fault} ", "error", "b")]
    rows = [Row(spread([Span(" "), name, *facts], state, width))]
    if offer.policy is not None:
        lines = [(line, "muted") for line in wrap(what_it_does(offer.policy), width - 6)[:MOST_LINES]]
        source = whose_rules(offer.policy)
        lines += [(line, "faint") for line in wrap(source, width - 6)[:MOST_LINES]] if source else []
    else:
        lines = [(line, "error") for line in wrap(say(offer.problem) if offer.problem is not None else "", width - 6)]
    rows += [Row([Span("   "), Span(line, ink)]) for line, ink in lines]
    return [*rows, Row(aside=True)]
