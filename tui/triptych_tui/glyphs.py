"""Every sign the workbench draws, each one cell wide, with an ASCII stand-in of the same width: nothing moves."""

from __future__ import annotations

from typing import NamedTuple

from triptych_tui.i18n import N_, _


class Glyphs(NamedTuple):
    """One set of signs. All are one cell, but `waiting`, which is two."""

    # marks
    truncated: str
    cleared: str
    pruned: str
    summary: str
    acknowledgement: str
    interrupted: str
    repaired: str
    pinned: str
    fault: str
    # lists
    call: str
    result: str
    bracket_first: str
    bracket_middle: str
    bracket_last: str
    bracket_line: str
    edge: str
    target: str
    not_target: str
    ghost: str
    tie: str
    quote: str
    ellipsis: str
    # stages and history
    present: str
    step: str
    turn: str
    waiting: str
    retrying: str
    hook: str
    more_before: str
    # rules and bars
    rule: str
    rule_focused: str
    rule_future: str
    column: str
    free: str
    run_start: str
    going: str
    # elsewhere
    prompt: str
    caret: str
    new_below: str
    yes: str
    no: str


UNICODE = Glyphs(
    truncated="⋯",
    cleared="∅",
    pruned="⋮",
    summary="Σ",
    acknowledgement="✓",
    interrupted="╌",
    repaired="±",
    pinned="◆",
    fault="!",
    call="→",
    result="←",
    bracket_first="┌",
    bracket_middle="├",
    bracket_last="└",
    bracket_line="─",
    edge="▌",
    target="◉",
    not_target="○",
    ghost="╎",
    tie="┊",
    quote="│",
    ellipsis="…",
    present="●",
    step="·",
    turn="┬",
    waiting="❚❚",
    retrying="↻",
    hook="╰",
    more_before="‹",
    rule="─",
    rule_focused="━",
    rule_future="╌",
    column="│",
    free="·",
    run_start="▏",
    going="░",
    prompt="❯",
    caret="▏",
    new_below="↓",
    yes="✓",
    no="✗",
)

ASCII = Glyphs(
    truncated="~",
    cleared="0",
    pruned="=",
    summary="M",
    acknowledgement="+",
    interrupted="-",
    repaired="&",
    pinned="^",
    fault="!",
    call=">",
    result="<",
    bracket_first="+",
    bracket_middle="+",
    bracket_last="+",
    bracket_line="-",
    edge=">",
    target="*",
    not_target=".",
    ghost=":",
    tie=":",
    quote="|",
    ellipsis="~",
    present="o",
    step=".",
    turn="+",
    waiting="||",
    retrying="@",
    hook="+",
    more_before="<",
    rule="-",
    rule_focused="=",
    rule_future=".",
    column="|",
    free=".",
    run_start="|",
    going=":",
    prompt=">",
    caret="|",
    new_below="v",
    yes="+",
    no="x",
)


class MarkLook(NamedTuple):
    """How a mark is shown: the name of its glyph in `Glyphs`, its word, the name of its ink in `Tokens`."""

    glyph_name: str
    message: str
    ink: str

    @property
    def word(self) -> str:
        """The word in the language now in force."""
        return _(self.message)

    def glyph(self, glyphs: Glyphs) -> str:
        return str(getattr(glyphs, self.glyph_name))


MARKS = {
    "truncated": MarkLook("truncated", N_("TRUNC"), "l1"),
    "cleared": MarkLook("cleared", N_("CLEARED"), "l2"),
    "pruned": MarkLook("pruned", N_("PRUNED"), "l2"),
    "summary": MarkLook("summary", N_("SUMMARY"), "l3"),
    "acknowledgement": MarkLook("acknowledgement", N_("ACK"), "l3"),
    "interrupted": MarkLook("interrupted", N_("STOPPED"), "text"),
    "repaired": MarkLook("repaired", N_("FIXED"), "text"),
    "pinned": MarkLook("pinned", N_("PINNED"), "strong"),
    "orphan": MarkLook("fault", N_("ORPHAN"), "error"),
}
"""The marks by their JSON name, and the two that are derived: pinned and orphan."""
