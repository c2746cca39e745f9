"""What `run` and `compare` share: the model and its window, and what became of a list as JSON."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from triptych.formats import Reading
from triptych.layers.parameters import Flavour
from triptych.models.base import ChatModel, Delta, Finish, Request, TextDelta
from triptych.models.offline import OfflineModel
from triptych.policy import LAYERS, Policy
from triptych.reasons import Reason
from triptych.recording import Recording, as_said
from triptych.settings import Settings
from triptych.tally import Replayed
from triptych_tui.cli_layer import mark_of
from triptych_tui.cli_support import STANDARD_INPUT, plain, reason_json, shown, table
from triptych_tui.i18n import _

WIDTH = 80
"""Columns that lines fit into."""

ANY_LENGTH = 2**62
"""The window of an offline model that writes summaries of whatever is long."""

UNTOUCHED = Reason("replay.untouched")


class Window(NamedTuple):
    """A context window in tokens, and where it comes from: `given`, `model`, or `offline` where nobody knows."""

    tokens: int
    source: str

    def in_words(self) -> str:
        sources = {"given": _("as given"), "model": _("the model's"), "offline": _("the offline model's")}
        return _("window {tokens} ({source})").format(tokens=f"{self.tokens:,}", source=sources[self.source])


def window_of(settings: Settings, model: ChatModel) -> Window:
    """The window to go by."""
    if settings.window is not None:
        return Window(settings.window, "given")
    if not model.offline and model.window is not None:
        return Window(model.window, "model")
    return Window(OfflineModel().window, "offline")


def writer_of_summaries(model: ChatModel) -> ChatModel:
    """The model, or an offline model that refuses no text for its length."""
    return OfflineModel(ANY_LENGTH) if model.offline else model


@dataclass(frozen=True, slots=True)
class GivenSummary:
    """Answers with a summary that somebody has written already."""

    text: str
    name: str = ""
    window: int | None = None
    offline: bool = True

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        yield TextDelta(self.text)
        yield Finish("stop")


def wrapped(rows: Sequence[tuple[str, str]], width: int = WIDTH) -> list[str]:
    """Two columns, the second of them in as many lines as it takes."""
    from rich.cells import cell_len

    from triptych_tui.untrusted import wrap

    room = width - max(cell_len(label) for label, _text in rows) - 2
    return table(
        [("" if number else label, line) for label, text in rows for number, line in enumerate(wrap(shown(text), room))]
    )


def recording_in(file: str, reading: Reading) -> Recording:
    """What was said in a session, as its journal remembers it, or else as its list does."""
    from triptych.formats.notices import guess_marks
    from triptych.storage.kept_session import timeline_on_disk

    is_ours = file != STANDARD_INPUT and reading.ours
    timeline = timeline_on_disk(Path(file), reading.messages) if is_ours else None
    if timeline is None:
        return Recording(guess_marks(reading.messages), remembered=False)
    return Recording(as_said(timeline), remembered=True)


def flavour_of(policy: Policy) -> Flavour:
    """`robust` where one of its layers is."""
    parameters = [getattr(policy, layer) for layer in LAYERS]
    return "robust" if any(each is not None and each.flavour == "robust" for each in parameters) else "lesson"


def outcome_json(told: Replayed) -> dict[str, Any]:
    """What became of a list under a policy, as JSON carries it, without the messages."""
    return {
        "policy": told.policy.name,
        "flavour": flavour_of(told.policy),
        "applied": bool(told.edits),
        "reason": reason_json(told.reason or UNTOUCHED),
        "before": plain(told.before),
        "after": plain(told.after),
        "kept_prefix": plain(told.kept),
        "edits": [
            {
                "index": edit.index,
                "removed": len(edit.removed),
                "inserted": len(edit.inserted),
                "mark": mark_of(edit),
                "reason": reason_json(reason),
            }
            for edit, reason in zip(told.edits, told.reasons, strict=True)
        ],
        "model_calls": told.summary_calls,
        "stages": [
            {"stage": each.stage, "applied": each.applied, "reason": reason_json(each.reason)} for each in told.stages
        ],
    }
