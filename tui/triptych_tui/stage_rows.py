"""The stage bar's rows: the stages of a turn, the present one lit, and under it who acts and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from triptych.events import StageEntered, SummaryPieceSent, TurnEnded
from triptych.policy import LAYERS, Policy
from triptych.reasons import Reason
from triptych.stages import Layer, Stage
from triptych.timeline import Step
from triptych.tokens import Usage
from triptych_tui.glyphs import Glyphs
from triptych_tui.i18n import ENGLISH, _, current_language
from triptych_tui.plain import plain
from triptych_tui.spans import Span, cut_spans, slice_spans, width_of, wrap_spans
from triptych_tui.stage_words import LAYER_INKS, LAYER_NUMBERS, policy_title, stage_name, turn_spans

if TYPE_CHECKING:
    from triptych_tui.hand_run import HandRun

MARGIN = 1
"""Cells left and right of a row."""
REASON_ROWS = 2
"""Rows under the stages of a narrow terminal while a turn is stepped through."""
LONG_LOOP = 5
"""The request of a turn from which on it is worth a word that layers 2 and 3 wait for the next question."""
_FAULTS = frozenset({"summarize.failed"})
"""Reasons for which a stage is entered that mean it has failed."""

Words = Callable[[bool], list[Span]]
"""What stands beside or under the stages, in the language of the moment; short where True is given."""


class Moment(NamedTuple):
    """Where a turn is, or what the last one did.

    stages: those the policy runs, in its order; the first `passed` of them are over. present: the one that is lit.
    fault: it failed there. waiting: the turn stands before it until someone lets it go on.
    retry: its request failed and is sent again soon; what is said of that instead of the words.
    piece: which request is sent of a summary that takes several.
    off: layers among the stages that are switched off. whole: its words are read to their end, however narrow the
        terminal. behind: what is said behind the words where there is room, for which these are rather shortened.
    """

    stages: tuple[Stage, ...]
    passed: int
    words: Words
    present: Stage | None = None
    fault: bool = False
    waiting: bool = False
    retry: Callable[[], list[Span]] | None = None
    piece: SummaryPieceSent | None = None
    off: Collection[Stage] = ()
    whole: bool = False
    behind: Callable[[], list[Span]] | None = None

    def said(self, *, short: bool, room: int = 0) -> list[Span]:
        """What stands beside or under the stages; short or without room, the sign of waiting is enough."""
        if self.retry is not None:
            return self.retry()
        if self.piece is not None:
            return [Span(piece_words(self.piece), "l3", "b"), Span(plain(" · "), "muted"), *self.words(short)]
        if not short and self.behind is not None:
            whole, brief, behind = self.words(False), self.words(True), self.behind()
            ways = ([*whole, *behind], [*brief, *behind], whole, brief)
            return next((way for way in ways if width_of(way) <= room), brief)
        if short or not self.waiting or self.present is None:
            return self.words(short)
        words = self.words(short)
        waiting = Span(_("waiting here"), LAYER_INKS.get(self.present, "accent"), "b")
        said = [waiting, Span(plain(" · "), "muted"), *words]
        return said if width_of(said) <= room else words

    def failed(self) -> Moment:
        """The same with its present stage as one that failed."""
        return self._replace(fault=True, waiting=False, retry=None)


def before_turn(policy: Policy) -> Moment:
    """Nothing has run yet."""
    return Moment(_stages_of(policy), 0, lambda short: [Span(_("ready"), "muted")])


def in_turn(policy: Policy, event: StageEntered, *, waiting: bool = False) -> Moment:
    """A turn has come to a stage, and waits before it or not."""
    stages = _stages_of(policy)
    words = partial(_reason_words, event, policy.every_request)
    fault = event.reason.id in _FAULTS
    return Moment(stages, _place(stages, event.stage), words, event.stage, fault, waiting)


def in_piece(moment: Moment, event: SummaryPieceSent) -> Moment:
    """A turn's summary takes several requests, and one of them is sent."""

    return moment._replace(piece=event)


def piece_words(event: SummaryPieceSent) -> str:
    """Which request of a summary that takes several."""
    return _("piece {number} of {all}").format(number=f"{event.number:,}", all=f"{event.of:,}")


def by_hand(policy: Policy, run: HandRun) -> Moment:
    """A layer is shown before it is applied; nothing of a turn runs."""
    stages = _stages_of(policy)
    stages = stages if run.layer in stages else (*stages, run.layer)
    return Moment(stages, 0, partial(_hand_words, run.writing, run.layer in policy.off), run.layer)


def after_turn(moment: Moment, event: TurnEnded, steps: Sequence[Step]) -> Moment:
    """A turn that was at `moment` is over; `steps` are its own. Where it failed stays lit."""

    def words(short: bool) -> list[Span]:
        return turn_spans(steps, _("last turn"), short=short)

    usage = next((step.usage for step in reversed(steps) if step.usage is not None and step.stage != "summarize"), None)
    behind = partial(_measured_spans, usage) if usage is not None else None
    if event.outcome == "failed":
        return moment.failed()._replace(words=partial(_fault_words, event, bool(steps)))
    if event.outcome == "cancelled":
        return moment._replace(present=None, waiting=False, retry=None, words=words, behind=behind)
    if moment.fault and moment.present == "save":
        return moment._replace(words=words, behind=behind)
    return Moment(moment.stages, len(moment.stages), words, behind=behind)


def _measured_spans(usage: Usage) -> list[Span]:
    """What the last request of a turn cost by the model's own count: bare numbers, nothing estimated."""
    words = _("measured {read} tokens read, {written} written")
    numbers = words.format(read=f"{usage.prompt_tokens:,}", written=f"{usage.completion_tokens:,}")
    return [Span(plain("  ·  "), "faint"), Span(numbers, "muted")]


def after_layer(policy: Policy, steps: Sequence[Step]) -> Moment:
    """A layer has run by hand."""
    return Moment(_stages_of(policy), 0, lambda short: turn_spans(steps, _("done by hand"), short=short))


def after_revert(policy: Policy, step: Step, done: Step) -> Moment:
    """One earlier step of a layer was taken back by another."""

    return Moment(_stages_of(policy), 0, lambda short: _revert_words(step.stage, done))


def after_switch(policy: Policy, layer: Layer) -> Moment:
    """A layer was switched off, or on again."""

    def words(short: bool) -> list[Span]:
        does = _("does not run in turns any more") if layer in policy.off else _("runs in turns again")
        name = LAYER_NUMBERS[layer] if short else f"{LAYER_NUMBERS[layer]} {stage_name(layer)}"
        return [Span(name + " ", LAYER_INKS[layer], "b"), Span(does, "text")]

    return Moment(_stages_of(policy), 0, words)


def after_policy(policy: Policy) -> Moment:
    """Another policy was taken."""

    def words(short: bool) -> list[Span]:
        name = Span(policy_title(policy), "strong", "b")
        return [name, Span(" " + (_("in force") if short else _("is in force from the next stage on")), "text")]

    return Moment(_stages_of(policy), 0, words)


def under_policy(moment: Moment, policy: Policy) -> Moment:
    """The same moment of a turn, whose next stages are those of another policy."""
    stages, present = _stages_of(policy), moment.present
    if present is not None and present not in (*stages, "repair"):
        stages = (present, *stages)
    return moment._replace(stages=stages, passed=moment.passed if present is None else _place(stages, present))


def after_pin(policy: Policy, step: Step) -> Moment:
    """Entries were pinned, or are so no more."""
    heeds = [layer for layer in LAYERS if policy.has(layer) and getattr(policy, layer).flavour == "robust"]
    pins = any(entry.pinned for edit in step.edits for entry in edit.inserted)

    def words(short: bool) -> list[Span]:
        from triptych_tui.wording import say

        spans = [Span(say(step.reason), "text")]
        if pins and not heeds:
            spans += [Span(plain(" · "), "faint"), Span(_("this policy's layers know no pins"), "muted")]
        elif pins and not short:
            spans += [Span(plain(" · "), "faint"), Span(_("no layer takes them away"), "muted")]
        return spans

    return Moment(_stages_of(policy), 0, words)


def after_travel(policy: Policy, steps: Sequence[Step], *, undone: bool) -> Moment:
    """Steps were taken back, or done again."""
    revert = next((step for step in steps if step.stage == "revert"), None)

    def words(short: bool) -> list[Span]:
        title = _("undone") if undone else _("redone")
        stage = None if revert is None else revert.reason.values.get("stage")
        if revert is None or stage not in LAYER_NUMBERS:
            return turn_spans(steps, title, short=short)
        return [Span(f"{title}  ", "muted"), *_revert_words(stage, revert)]

    return Moment(_stages_of(policy), 0, words)


def looking_back(policy: Policy, step: Step | None) -> Moment:
    """An earlier list is on screen, as this step left it; None: as it was in the beginning."""
    stages = _stages_of(policy)
    if step is None:
        return Moment(stages, 0, partial(_past_words, Reason("history.beginning")), whole=True)
    stages = stages if step.stage in stages else (*stages, step.stage)
    return Moment(stages, _place(stages, step.stage), partial(_past_words, step.reason), step.stage, whole=True)


def stage_rows(moment: Moment, width: int, glyphs: Glyphs) -> tuple[list[Span], list[Span]]:
    """The stages by name, closer together or as dots where they do not fit, and what there is to say under them."""
    for padding in (" ", ""):
        stages, column = _named(moment, glyphs, padding)
        if width_of(stages) <= width - 2 * MARGIN:
            break
    else:
        stages, column = _dotted(moment, glyphs)
    return [Span(" " * MARGIN), *cut_spans(stages, width - 2 * MARGIN)], _under(moment, column, width, glyphs)


def compact_row(moment: Moment, width: int, glyphs: Glyphs) -> list[Span]:
    """All in one row: `● L2 ● L3 [request] ○ L1 ○ ○ ○` and, as far as there is room, why."""
    stages, _column = _dotted(moment, glyphs)
    words, room = moment.said(short=True), width - MARGIN - width_of(stages) - 2
    words = words if moment.present is None else _whole_clauses(words, room)
    return cut_spans([*stages, Span("  "), *words], width - MARGIN)


def _whole_clauses(words: list[Span], room: int) -> list[Span]:
    """A reason without the clauses at its end for which there is no room."""
    text = "".join(span.text for span in words)
    ends = [match.start() for match in re.finditer(r"\s*[·:;：；，]|,\s", text)]
    fitting = [end for end in ends if cell_len(text[:end]) <= room]
    return words if cell_len(text) <= room or not fitting else slice_spans(words, 0, fitting[-1])


def compact_rows(moment: Moment, width: int, glyphs: Glyphs) -> list[list[Span]]:
    """The same while a turn is stepped through: the stages, and under them in `REASON_ROWS` rows why, word for word."""
    stages, _column = _dotted(moment, glyphs)
    words, room = moment.said(short=False), width - 2 * MARGIN
    lines = wrap_spans(words, room)
    if len(lines) > 1 and words[-1].ink == "faint":  # the variables: better whole in a row of their own
        variables = words[-1]._replace(text=words[-1].text.removeprefix(plain(" · ")))
        apart = [*wrap_spans(words[:-1], room), *wrap_spans([variables], room)]
        lines = apart if len(apart) <= REASON_ROWS else lines
    if len(lines) > REASON_ROWS:
        lines[REASON_ROWS - 1] = [*lines[REASON_ROWS - 1], Span(plain("…"), "faint")]
    rows = [[Span(" " * MARGIN), *cut_spans(line, width - 2 * MARGIN)] for line in lines[:REASON_ROWS]]
    return [cut_spans(stages, width - MARGIN), *rows, *([] for _row in range(REASON_ROWS - len(rows)))]


def _stages_of(policy: Policy) -> tuple[Stage, ...]:
    return tuple(stage for stage in policy.stages if policy.runs(stage) or stage in policy.off)


def _place(stages: Sequence[Stage], stage: Stage) -> int:
    if stage == "repair":  # done for the sake of a request
        stage = "request"
    return stages.index(stage) if stage in stages else len(stages)


def _named(moment: Moment, glyphs: Glyphs, padding: str) -> tuple[list[Span], int]:
    """The stages by name and the column of the one that is lit."""
    spans: list[Span] = []
    column = 0
    for index, stage in enumerate(moment.stages):
        is_present = stage == moment.present
        if index:
            reached = index < moment.passed or (is_present and index == moment.passed)
            spans.append(Span(padding + (glyphs.rule if reached else glyphs.rule_future) + padding, "rule"))
        if is_present:
            column = width_of(spans)
            spans.append(_pill(moment, stage, glyphs))
            continue
        if stage in moment.off:
            spans.append(_switched_off(stage))
            continue
        ink = "muted" if index < moment.passed else "faint"
        if number := LAYER_NUMBERS.get(stage):
            spans.append(Span(number + " ", LAYER_INKS[stage]))
        spans.append(Span(stage_name(stage), ink))
    return spans, column


def _dotted(moment: Moment, glyphs: Glyphs) -> tuple[list[Span], int]:
    """The stages as dots, layers by number, only the present one by name; and its column."""
    spans: list[Span] = []
    column = 0
    for index, stage in enumerate(moment.stages):
        if index:
            spans.append(Span(" "))
        if stage == moment.present:
            column = width_of(spans)
            spans.append(_pill(moment, stage, glyphs))
        elif stage in moment.off:
            spans.append(_switched_off(stage))
        elif number := LAYER_NUMBERS.get(stage):
            spans.append(Span(number, LAYER_INKS[stage]))
        elif index < moment.passed:
            spans.append(Span(glyphs.present, "muted"))
        else:
            spans.append(Span(glyphs.not_target, "faint"))
    return spans, column


def _switched_off(stage: Stage) -> Span:
    return Span(_("{layer} off").format(layer=LAYER_NUMBERS[stage]), "faint")


def _pill(moment: Moment, stage: Stage, glyphs: Glyphs) -> Span:
    signs = ((moment.fault, glyphs.fault), (moment.retry, glyphs.retrying), (moment.waiting, glyphs.waiting))
    sign = next((f"{glyph} " for holds, glyph in signs if holds), "")
    number = f"{LAYER_NUMBERS[stage]} " if stage in LAYER_NUMBERS else ""
    ink = "error" if moment.fault else LAYER_INKS.get(stage, "accent")
    return Span(f" {sign}{number}{stage_name(stage)} ", "on_block", "b", ink)


def _under(moment: Moment, column: int, width: int, glyphs: Glyphs) -> list[Span]:
    """The words, hanging under the present stage, further left where they would not fit."""
    words = moment.said(short=False, room=width - 2 * MARGIN - width_of([Span(glyphs.hook + " ")]))
    if moment.present is None:
        return [Span(" " * MARGIN), *cut_spans(words, width - 2 * MARGIN)]
    words = cut_spans([Span(glyphs.hook + " ", "muted"), *words], width - 2 * MARGIN)
    indent = min(MARGIN + column, width - MARGIN - width_of(words))
    return [Span(" " * indent), *words]


def _reason_words(event: StageEntered, every_request: bool, short: bool) -> list[Span]:
    """Who acts, why, and the article's variables as they ran."""
    from triptych_tui.wording import say, variables_line  # loaded at the first turn

    spans: list[Span] = []
    if not short:
        spans.append(Span((_("model") if event.actor == "model" else _("program")) + plain(" · "), "muted"))
    if event.stage == "request" and event.request > 1:
        words = _("{ordinal} request") if short else _("{ordinal} request this turn")
        spans.append(Span(words.format(ordinal=_ordinal(event.request)) + plain(" · "), "text"))
    spans.append(Span(say(event.reason), "text"))
    if variables := variables_line(event.reason):
        spans.append(Span(plain(" · ") + variables, "faint"))
    elif event.reason.printed:
        spans.append(Span(plain(" · ") + event.reason.printed, "faint"))
    if event.stage == "request" and event.request >= LONG_LOOP and not short and not every_request:
        spans.append(Span(plain(" · ") + _("layers 2 and 3 run once a question"), "faint"))
    return spans


def _ordinal(number: int) -> str:
    """`2nd`; in languages that are not English the bare number, for their own words around it."""
    if current_language() != ENGLISH:
        return str(number)
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _revert_words(stage: Stage, done: Step) -> list[Span]:
    """Which layer's step a revert has taken back, and what that makes in tokens."""
    layer = Span(f"{LAYER_NUMBERS[stage]} {stage_name(stage)}", LAYER_INKS[stage], "b")
    change = f"{done.after.tokens - done.before.tokens:+,}"
    return [layer, Span(" " + _("taken back") + " " + _("({change} tok)").format(change=change), "text")]


def _hand_words(writing: bool, off: bool, short: bool) -> list[Span]:
    words = _("the model writes the summary") if writing else _("preview · nothing has changed yet")
    hand = _("by hand, in turns it is off") if off else _("by hand")
    if short:
        return [Span(hand if off and not writing else words, "text")]
    return [Span(hand + plain(" · "), "muted"), Span(words, "text")]


def _past_words(reason: Reason, short: bool) -> list[Span]:
    from triptych_tui.wording import say, variables_line

    spans = [Span(_("looking back"), "accent", "b"), Span(plain(" · "), "muted"), Span(say(reason), "text")]
    variables = "" if short else variables_line(reason)
    return [*spans, Span(plain(" · ") + variables, "faint")] if variables else spans


def _fault_words(event: TurnEnded, kept: bool, short: bool) -> list[Span]:
    """That the turn ended there, and what became of its steps; what failed stands above the prompt."""
    status = event.reason.values.get("status") if event.reason is not None else None
    stopped = _("stopped: {status}").format(status=status) if status else _("stopped")
    spans = [Span(stopped, "error", "b")]
    if not short:
        became = _("what had come is kept") if kept else _("the list and the file are as before")
        spans += [Span(plain(" · "), "muted"), Span(became, "text")]
    return spans
