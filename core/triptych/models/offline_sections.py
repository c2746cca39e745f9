"""A summary that a message carries, and its sections: what they are called in each language, and reading them back."""

from __future__ import annotations

import re
from collections.abc import Iterator

from triptych.layers.summarize import PREFIXES
from triptych.models.offline_language import simplified

SECTIONS: dict[str, tuple[str, str, str]] = {
    "goal": ("Goal:", "目标：", "目標："),
    "decisions": ("Decisions:", "决定：", "決定："),
    "facts": ("Facts:", "事实：", "事實："),
    "files": ("Files:", "文件：", "檔案："),
    "open": ("Open:", "未决：", "未決："),
    "next": ("Next:", "下一步：", "下一步："),
}
"""The headings in the order they are written, each in every script."""

UNANSWERED = ("open", "next")
"""The sections that hold what is not known or done yet."""

# As other models write them, too.
_NAMES = {
    "goal": "goals?|目标",
    "decisions": "decisions?|决定",
    "facts": "(?:key )?facts?|事实",
    "files": "files?|文件|档案",
    "open": "open(?: (?:questions?|issues?|points?|items?))?|unresolved|未决(?:问题|事项)?",
    "next": "next(?: steps?)?|下一步",
}
_HEADING = re.compile(
    r"(?P<bullet>\s*(?:[-*•>]|\d{1,3}[.)])\s)?\s*(?:#{1,6}\s*)?[*_【\[]{0,2}(?:"
    + "|".join(f"(?P<{section}>{names})" for section, names in _NAMES.items())
    + r")[*_】\]]{0,2}\s*(?:[:：][*_]{0,2}(?P<rest>.*))?",
    re.IGNORECASE,
)


def summary_in(text: str) -> str | None:
    """The summary that a user message of this text carries; None where it carries none."""
    prefix = next((prefix for prefix in map(str.strip, PREFIXES) if text.startswith(prefix)), None)
    return None if prefix is None else text.removeprefix(prefix)


def sections_of(summary: str) -> Iterator[tuple[str, str]]:
    """The lines of a summary, headings taken off, each with its section: "" before the first heading."""
    section, bare = "", False
    for line in summary.splitlines():
        heading = _HEADING.fullmatch(simplified(line))
        # Under bare headings a bullet that reads like one ("- Open: nine to five") is an item.
        if heading is None or (heading["bullet"] and bare):
            yield section, line
            continue
        bare = bare or not heading["bullet"]
        section = next(name for name in SECTIONS if heading[name])
        if heading["rest"]:
            yield section, line[heading.start("rest") :]
