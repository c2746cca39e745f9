"""The model that a command asks for summaries, the window it goes by, and what is said while it is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import NamedTuple

import click

from triptych.models.base import ChatModel, Delta, Finish, Request, TextDelta
from triptych.models.offline import OfflineModel
from triptych.models.retries import Retry
from triptych.settings import Settings
from triptych_tui.i18n import _

ANY_LENGTH = 2**62
"""The window of an offline model that writes summaries of whatever is long."""


class Window(NamedTuple):
    """A context window in tokens, and where it comes from: `given`, `model`, `offline`, or `unknown`, which is None."""

    tokens: int | None
    source: str

    def in_words(self) -> str:
        if self.tokens is None:
            return _("window unknown; give one with --window")
        sources = {"given": _("as given"), "model": _("the model's"), "offline": _("the offline model's")}
        return _("window {tokens} ({source})").format(tokens=f"{self.tokens:,}", source=sources[self.source])


def window_of(settings: Settings, model: ChatModel) -> Window:
    """The window to go by; of a model that does not tell its own none is assumed."""
    if settings.window is not None:
        return Window(settings.window, "given")
    if model.offline:
        return Window(OfflineModel().window, "offline")
    return Window(model.window, "model" if model.window is not None else "unknown")


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


async def wait_and_tell(retry: Retry) -> None:
    """Say on standard error what the next try waits for."""
    from triptych_tui.wording import fault_in_short

    told = _("retry {attempt}/{of} in {seconds} s").format(
        attempt=retry.attempt, of=retry.of, seconds=f"{retry.seconds:.0f}"
    )
    click.echo(" · ".join(filter(None, (*fault_in_short(retry.reason), told))), err=True)
    await asyncio.sleep(retry.seconds)
