"""How a picture is named where its pixels cannot be shown: `[image 1024×768]`."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.messages import Message, pictures_in
from triptych_tui.i18n import _
from triptych_tui.plain import plain
from triptych_tui.untrusted import clean, fit

HOST_CELLS = 40


def picture_labels(message: Message) -> list[str]:
    """A label for each picture of a message."""
    return list(map(picture_label, picture_facts(message)))


def picture_facts(message: Message) -> list[str]:
    """What is known of each picture of a message: `1024×768` in pixels, else the host it is on, else nothing."""
    if not pictures_in(message):
        return []
    from triptych.pictures import seen_pictures  # most lists hold none

    return [size_fact(*seen.size) if seen.size is not None else seen.host for seen in seen_pictures(message)]


def size_fact(width: int, height: int) -> str:
    return f"{width}×{height}"


def picture_label(fact: str) -> str:
    known = plain(fit(clean(fact[: HOST_CELLS * 5], newlines=False), HOST_CELLS))
    return _("[image {size}]").format(size=known) if known else _("[image]")


def behind_labels(labels: Sequence[str], text: str) -> str:
    """A text on one line behind the labels of its pictures."""
    return " ".join([*labels, text] if text else labels)
