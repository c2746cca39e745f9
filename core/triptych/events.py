"""What the core tells the outside while it works: values to be read, not messages of any interface."""

from __future__ import annotations

from typing import Literal, NamedTuple

from triptych.policy import Policy
from triptych.reasons import Reason
from triptych.stages import Stage
from triptych.timeline import Step

Actor = Literal["program", "model"]
Outcome = Literal["answered", "cut_off", "filtered", "too_many_rounds", "cancelled", "failed"]


class StageEntered(NamedTuple):
    """A turn came to this stage. `actor` is who acts there; `request` counts the requests of the turn from 1."""

    stage: Stage
    reason: Reason
    actor: Actor
    request: int = 0


class TextStreamed(NamedTuple):
    """The model said a piece of text, or only thought it (`reasoning`); `summary`: it belongs to a summary."""

    text: str
    summary: bool = False
    reasoning: bool = False


class SummaryPieceSent(NamedTuple):
    """A summary takes several requests, and this is the `number`th `of` them (from 1) that is sent."""

    number: int
    of: int


class StreamEnded:
    """What was streamed has become an entry, or was dropped."""

    __slots__ = ()


class StepCommitted(NamedTuple):
    """The list changed at the head; whoever re-reads need only look at what `step.edits` touch."""

    step: Step


class HeadMoved(NamedTuple):
    """Undo, redo, another branch, a turn taken back or originals forgotten: another step is the head now."""

    head: int | None


class ViewMoved(NamedTuple):
    view: int | None


class TurnEnded(NamedTuple):
    """A turn is over. `reason` says what a user should know, None after a plain answer."""

    outcome: Outcome
    reason: Reason | None = None


class PolicyChanged(NamedTuple):
    """This policy is in force from the next stage on, in place of `before`."""

    policy: Policy
    before: Policy


class Noticed(NamedTuple):
    """The core noticed something that a user should know and can mend; the turn goes on."""

    reason: Reason


class Saved:
    """The head's list is on disk."""

    __slots__ = ()


class SaveFailed(NamedTuple):
    """The session could not be written; the file is as it was, the session goes on."""

    reason: Reason


Event = (
    StageEntered
    | TextStreamed
    | SummaryPieceSent
    | StreamEnded
    | StepCommitted
    | HeadMoved
    | ViewMoved
    | TurnEnded
    | PolicyChanged
    | Noticed
    | Saved
    | SaveFailed
)
