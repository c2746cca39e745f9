"""What a layer or a policy has made of a list, as JSON and as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from triptych.edits import Edit
from triptych.layers.parameters import Flavour
from triptych.policy import LAYERS, Policy
from triptych.reasons import Reason
from triptych.tally import Replayed
from triptych.tokens import Count
from triptych_tui.cli_support import plain, reason_json, shown, table
from triptych_tui.i18n import _, ngettext

WIDTH = 80
"""Columns that lines fit into."""

UNTOUCHED = Reason("replay.untouched")


def flavour_of(policy: Policy) -> Flavour:
    """`robust` where one of its layers is."""
    parameters = [getattr(policy, layer) for layer in LAYERS]
    return "robust" if any(each is not None and each.flavour == "robust" for each in parameters) else "lesson"


def replayed_json(outcome: Replayed) -> dict[str, Any]:
    """What became of a list under a policy, without the messages."""
    return {
        "policy": outcome.policy.name,
        "flavour": flavour_of(outcome.policy),
        "applied": bool(outcome.edits),
        "reason": reason_json(outcome.reason or UNTOUCHED),
        "before": plain(outcome.before),
        "after": plain(outcome.after),
        "kept_prefix": plain(outcome.kept),
        "edits": edits_json(outcome.edits, outcome.reasons),
        "model_calls": outcome.summary_calls,
        "stages": [
            {"stage": each.stage, "applied": each.applied, "reason": reason_json(each.reason)}
            for each in outcome.stages
        ],
    }


def edits_json(edits: Sequence[Edit], reasons: Iterable[Reason]) -> list[dict[str, Any]]:
    """Edits, each with its reason."""
    return [
        {
            "index": edit.index,
            "removed": len(edit.removed),
            "inserted": len(edit.inserted),
            "mark": _mark_of(edit),
            "reason": reason_json(reason),
        }
        for edit, reason in zip(edits, reasons, strict=True)
    ]


def outcome_lines(
    why: Sequence[str], before: Count, after: Count, kept: Count, edits: Sequence[Edit], written: Path | None
) -> list[str]:
    """Why it came about, the sizes of the lists, what was done where, and which file holds the outcome."""
    sizes = table(
        [
            (_("before"), *size_in_words(before)),
            (_("after"), *size_in_words(after)),
            (_("same beginning"), *size_in_words(kept)),
        ],
        right=(1, 2),
    )
    rows = [(_place_in_words(edit), _mark_of(edit) or "") for edit in edits]
    ending = _("written to {path}").format(path=shown(written)) if written else _("nothing was written")
    sections = [why, sizes, table(rows) if rows else [], [ending]]
    return "\n\n".join("\n".join(section) for section in sections if section).split("\n")


def size_in_words(count: Count) -> tuple[str, str]:
    messages = ngettext("{count} message", "{count} messages", count.messages).format(count=f"{count.messages:,}")
    return messages, _("~{tokens} tokens").format(tokens=f"{count.tokens:,}")


def wrapped(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Two columns, the second of them in as many lines as it takes."""
    from rich.cells import cell_len

    from triptych_tui.untrusted import wrap

    room = WIDTH - max(cell_len(label) for label, _text in rows) - 2
    return table(
        [("" if number else label, line) for label, text in rows for number, line in enumerate(wrap(shown(text), room))]
    )


def _mark_of(edit: Edit) -> str | None:
    """The JSON name of what was done to the first entry of an edit."""
    mark = edit.inserted[0].newest_mark if edit.inserted else None
    return mark.name if mark is not None else None


def _place_in_words(edit: Edit) -> str:
    """Which messages of the list before an edit is about."""
    last = edit.index + len(edit.removed) - 1
    if last <= edit.index:
        return _("message {index}").format(index=edit.index)
    return _("messages {first}–{last}").format(first=edit.index, last=last)
