"""Three inks and the neutral rest: every colour of the workbench, as values for line widgets and as Textual themes.

Layer 1 is amber, layer 2 sky, layer 3 orchid, everywhere and for nothing else; `accent` means "here". A colour never
carries a meaning alone: a glyph or a word stands beside it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import ClassVar, cast

from rich.style import Style
from textual.app import App
from textual.dom import DOMNode
from textual.filter import ANSIToTruecolor, LineFilter, Monochrome
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.theme import Theme
from textual.widget import Widget

from triptych.settings import THEMES as NAMES
from triptych.settings import WITHOUT_COLOUR
from triptych_tui.colour_filter import INK, LINE, LIT, PAPER, WithoutColour
from triptych_tui.control_filter import ControlFilter
from triptych_tui.glyphs import ASCII, UNICODE, Glyphs
from triptych_tui.plain import use_ascii


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Tokens:
    """The colours of one theme, as `#RRGGBB`.

    Inks: `text`, `strong`, `muted`, `faint` by rank; `accent`, `error`; `l1` to `l3`; `role_*` for the letters
    (s system, u user, a assistant, t tool, sum summary); `json_*`. Grounds: `bg`, `surface`, `raised`, `sel`; `add`,
    `delete`, `err`; `fill_*` with `on_fill` on them; `on_block` stands on accent and inks. `rule` is never text.
    """

    bg: str
    surface: str
    raised: str
    sel: str
    rule: str
    faint: str
    muted: str
    text: str
    strong: str
    accent: str
    error: str
    l1: str
    l2: str
    l3: str
    role_s: str
    role_u: str
    role_a: str
    role_t: str
    role_sum: str
    fill_s: str
    fill_u: str
    fill_a: str
    fill_t: str
    fill_sum: str
    on_fill: str
    on_block: str
    add: str
    delete: str
    err: str
    json_key: str
    json_str: str
    json_num: str

    def style(
        self,
        ink: str = "",
        ground: str = "",
        *,
        bold: bool | None = None,
        italic: bool | None = None,
        strike: bool | None = None,
    ) -> Style:
        """The style of that ink on that ground, both by their names here; without a name, what lies below shows."""
        return _style(
            getattr(self, ink) if ink else None, getattr(self, ground) if ground else None, bold, italic, strike
        )


@lru_cache(maxsize=1024)
def _style(ink: str | None, ground: str | None, bold: bool | None, italic: bool | None, strike: bool | None) -> Style:
    return Style(color=ink, bgcolor=ground, bold=bold, italic=italic, strike=strike)


DARK_TOKENS = Tokens(
    bg="#14171C",
    surface="#1C2027",
    raised="#272D37",
    sel="#1B3733",
    rule="#414957",
    faint="#97A0AF",
    muted="#A7AFBD",
    text="#DCE1E8",
    strong="#FFFFFF",
    accent="#5FD3B3",
    error="#FF7F6B",
    l1="#F7C766",
    l2="#8FCBFB",
    l3="#EA85D3",
    role_s="#99A2B4",
    role_u="#5FD3B3",
    role_a="#BCC6D6",
    role_t="#CDB68C",
    role_sum="#EA85D3",
    fill_s="#4B5364",
    fill_u="#1B7763",
    fill_a="#67748C",
    fill_t="#84683A",
    fill_sum="#A04A8E",
    on_fill="#FFFFFF",
    on_block="#14171C",
    add="#16302B",
    delete="#3A2426",
    err="#3B2223",
    json_key="#A3B6EA",
    json_str="#B7CBA4",
    json_num="#E0BE9C",
)

LIGHT_TOKENS = Tokens(
    bg="#FBFAF6",
    surface="#F1EFE8",
    raised="#E6E3D9",
    sel="#D3ECE3",
    rule="#BDB8A9",
    faint="#5A5F67",
    muted="#50565F",
    text="#23272F",
    strong="#000000",
    accent="#08654E",
    error="#B00F2E",
    l1="#6F5600",
    l2="#073A66",
    l3="#B02A97",
    role_s="#586070",
    role_u="#08654E",
    role_a="#3E4757",
    role_t="#75591F",
    role_sum="#B02A97",
    fill_s="#6B7484",
    fill_u="#08654E",
    fill_a="#3E4757",
    fill_t="#80652B",
    fill_sum="#B02A97",
    on_fill="#FFFFFF",
    on_block="#FFFFFF",
    add="#DCF0E6",
    delete="#F8DFDC",
    err="#F8DFDC",
    json_key="#3D4F80",
    json_str="#3C5C22",
    json_num="#7C4A1B",
)

HIGH_CONTRAST_TOKENS = Tokens(
    bg="#000000",
    surface="#000000",
    raised="#1E1E1E",
    sel="#002E26",
    rule="#9A9A9A",
    faint="#CFCFCF",
    muted="#E2E2E2",
    text="#FFFFFF",
    strong="#FFFFFF",
    accent="#4DFFC8",
    error="#FF9A8F",
    l1="#FFCE55",
    l2="#5CC3F7",
    l3="#FFB5EC",
    role_s="#C2C8D4",
    role_u="#4DFFC8",
    role_a="#FFFFFF",
    role_t="#E8CF9C",
    role_sum="#FFB5EC",
    fill_s="#A7AEBC",
    fill_u="#4DFFC8",
    fill_a="#FFFFFF",
    fill_t="#E8CF9C",
    fill_sum="#FFB5EC",
    on_fill="#000000",
    on_block="#000000",
    add="#00261E",
    delete="#330B08",
    err="#330B08",
    json_key="#C9D6FF",
    json_str="#CDE8B4",
    json_num="#FFD9B0",
)

GREY_TOKENS = Tokens(
    bg="#161616",
    surface="#1F1F1F",
    raised="#2D2D2D",
    sel="#3D3D3D",
    rule="#4E4E4E",
    faint="#ADADAD",
    muted="#BCBCBC",
    text="#E2E2E2",
    strong="#FFFFFF",
    accent="#EDEDED",
    error="#FFFFFF",
    l1="#D6D6D6",
    l2="#D6D6D6",
    l3="#D6D6D6",
    role_s="#B0B0B0",
    role_u="#FFFFFF",
    role_a="#CFCFCF",
    role_t="#BDBDBD",
    role_sum="#D6D6D6",
    fill_s="#484848",
    fill_u="#525252",
    fill_a="#747474",
    fill_t="#5E5E5E",
    fill_sum="#6E6E6E",
    on_fill="#FFFFFF",
    on_block="#161616",
    add="#2B2B2B",
    delete="#222222",
    err="#333333",
    json_key="#BDBDBD",
    json_str="#D8D8D8",
    json_num="#EAEAEA",
)

_GROUNDS_WITHOUT_COLOUR = ("bg", "surface", "raised", "add", "delete", "err", "on_fill", "on_block")
ATTRIBUTE_TOKENS = Tokens(
    **{field.name: INK for field in fields(Tokens)}
    | dict.fromkeys(_GROUNDS_WITHOUT_COLOUR, PAPER)
    | {"rule": LINE, "accent": LIT, "role_u": LIT}
)
"""For a terminal without greys, and under NO_COLOR: stand-ins that `WithoutColour` turns into attributes."""
_LEAST_COLOURS = (None, "standard", "windows")
"""What a terminal's colours are called where there are so few that they hold no greys."""

TOKENS = dict(
    zip(NAMES, (DARK_TOKENS, LIGHT_TOKENS, HIGH_CONTRAST_TOKENS, GREY_TOKENS), strict=True),
)
"""The tokens by the name of their theme."""


def variables(tokens: Tokens) -> dict[str, str]:
    """The tokens as TCSS variables (`$l1`, `$json-key`), and Textual's own variables in the same colours."""
    own = {name.replace("_", "-"): colour for name, colour in asdict(tokens).items()}
    return own | {
        "block-cursor-background": tokens.sel,
        "block-cursor-foreground": tokens.strong,
        "block-cursor-blurred-background": tokens.raised,
        "block-cursor-blurred-foreground": tokens.text,
        "border": tokens.accent,
        "border-blurred": tokens.rule,
        "foreground-muted": tokens.muted,
        "input-cursor-background": tokens.accent,
        "input-cursor-foreground": tokens.on_block,
        "input-selection-background": tokens.sel,
        "link-color": tokens.accent,
        "screen-selection-background": tokens.accent,
        "screen-selection-foreground": tokens.on_block,
        "scrollbar": tokens.rule,
        "scrollbar-hover": tokens.faint,
        "scrollbar-active": tokens.accent,
        "scrollbar-background": tokens.bg,
        "scrollbar-background-hover": tokens.bg,
        "scrollbar-background-active": tokens.bg,
        "scrollbar-corner-color": tokens.bg,
        "text-muted": tokens.muted,
        "text-disabled": tokens.faint,
    }


def _theme(name: str, tokens: Tokens) -> Theme:
    return Theme(
        name=name,
        primary=tokens.accent,
        secondary=tokens.muted,
        accent=tokens.accent,
        success=tokens.accent,
        warning=tokens.error,  # amber means layer 1
        error=tokens.error,
        foreground=tokens.text,
        background=tokens.bg,
        surface=tokens.surface,
        panel=tokens.raised,
        boost=tokens.raised,
        dark=name != "light",
        variables=variables(tokens),
    )


class WholeCells(ScrollBarRender):
    """A scrollbar without glyphs."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


class ThemedApp(App[int]):
    """What every screen of the workbench stands on: the themes, the glyphs, and the net against control characters."""

    def __init__(self, theme: str = NAMES[0], *, in_ascii: bool = False) -> None:
        self.glyphs = ASCII if in_ascii else UNICODE
        self.renamed_keys: Mapping[str, str] = {}
        """The first key of a binding that the user remapped, by each key that it has by itself, as both are shown."""
        use_ascii(in_ascii)
        ScrollBar.renderer = WholeCells if in_ascii else ScrollBarRender
        super().__init__()
        self._net = ControlFilter()
        self._without_colour = WithoutColour()
        self._has_greys = not os.environ.get("NO_COLOR") and self.console.color_system not in _LEAST_COLOURS
        self.show_theme(theme)

    @property
    def tokens(self) -> Tokens:
        """The colours of the present theme."""
        return ATTRIBUTE_TOKENS if self._is_plain else TOKENS.get(self.theme, DARK_TOKENS)

    @property
    def _is_plain(self) -> bool:
        """Whether only attributes tell things apart."""
        return self.theme == WITHOUT_COLOUR and not self._has_greys

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(DARK_TOKENS)

    def get_css_variables(self) -> dict[str, str]:
        return super().get_css_variables() | {"line": "ascii" if self.glyphs is ASCII else "solid"}

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The net, and Textual's own but two: there are no ANSI colours here, and its monochrome sends greys."""
        own = [each for each in super().get_line_filters() if not isinstance(each, ANSIToTruecolor | Monochrome)]
        return [*own, self._net, *([self._without_colour] if self._is_plain else [])]

    def show_theme(self, name: str) -> None:
        """Change to this theme, in place; each is made when it is first shown."""
        if name not in self.available_themes:
            plain = name == WITHOUT_COLOUR and not self._has_greys
            self.register_theme(_theme(name, ATTRIBUTE_TOKENS if plain else TOKENS[name]))
        self.theme = name

    def show_next_theme(self) -> None:
        """Change to the theme behind the present one."""
        self.show_theme(NAMES[(NAMES.index(self.theme) + 1) % len(NAMES)])


def tokens_of(widget: Widget) -> Tokens:
    """The colours that `widget` draws with now; ask anew for every drawing, the theme may have changed."""
    return cast(ThemedApp, widget.app).tokens


def renamed_keys_of(node: DOMNode) -> Mapping[str, str]:
    """How keys are called that the user remapped."""
    return cast(ThemedApp, node.app).renamed_keys


def glyphs_of(widget: Widget) -> Glyphs:
    """The glyphs that `widget` draws with."""
    return cast(ThemedApp, widget.app).glyphs
