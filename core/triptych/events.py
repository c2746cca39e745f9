"""What the core tells the outside while it works: values to be read, not messages of any interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from triptych.messages import ToolCall
from triptych.reasons import Reason
from triptych.stages import Stage
from triptych.timeline import Step

Actor = Literal["program", "model"]
Outcome = Literal["answered", "cut_off", "filtered", "too_many_rounds", "cancelled", "failed"]


@dataclass(frozen=True, slots=True)
class StageEntered:
    """A turn came to this stage. `actor` is who acts there; `request` counts the requests of the turn from 1."""

    stage: Stage
    reason: Reason
    actor: Actor
    request: int = 0


@dataclass(frozen=True, slots=True)
class TextStreamed:
    """The model said a piece of text; `summary`: it belongs to a summary, not to the conversation."""

    text: str
    summary: bool = False


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """What was streamed has become an entry, or was dropped."""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    call: ToolCall


@dataclass(frozen=True, slots=True)
class StepCommitted:
    """The list changed at the head; whoever re-reads need only look at what `step.edits` touch."""

    step: Step


@dataclass(frozen=True, slots=True)
class HeadMoved:
    """Undo, redo, or a turn taken back: another step is the head now."""

    head: int | None


@dataclass(frozen=True, slots=True)
class ViewMoved:
    view: int | None


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn is over. `reason` says what a user should know, None after a plain answer."""

    outcome: Outcome
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """The head's list is on disk."""


@dataclass(frozen=True, slots=True)
class SaveFailed:
    """The session could not be written; the file is as it was, the session goes on."""

    reason: Reason


Event = (
    StageEntered
    | TextStreamed
    | StreamEnded
    | ToolStarted
    | StepCommitted
    | HeadMoved
    | ViewMoved
    | TurnEnded
    | Saved
    | SaveFailed
)
