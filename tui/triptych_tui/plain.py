"""The interface's own words and signs in ASCII, for terminals that draw others too wide or not at all.

One switch for the whole process, as the language is: what the interface itself says goes through `plain`, what it
shows of a session never does.
"""

from __future__ import annotations

_SIGNS = str.maketrans(
    {
        "·": ".",
        "…": "~",
        "–": "-",
        "—": "-",
        "“": '"',
        "”": '"',
        "→": ">",
        "×": "x",
        "÷": "/",
        "²": "^2",
        "≤": "<=",
        "≥": ">=",
        "≈": "=",
        "▌": ">",
        "█": "#",
        "━": "=",
        "─": "-",
        "░": ":",
        "✓": "+",
        "✗": "x",
        "●": "o",
        "Σ": "M",
        "⏎": "|",
    }
)
SIZE_MARKS = {"measured": "", "adjusted": "≈", "estimated": "~"}
"""What stands before a number of tokens, by how it is known."""
_in_ascii = False


def use_ascii(wanted: bool) -> None:
    """Speak in ASCII from now on, or cease to."""
    global _in_ascii
    _in_ascii = wanted


def plain(text: str) -> str:
    """Text of the interface as the terminal may have it; under `--ascii` its signs become their stand-ins."""
    return in_ascii(text) if _in_ascii else text


def in_ascii(text: str) -> str:
    """The text with stand-ins for the interface's signs."""
    return text.translate(_SIGNS)
