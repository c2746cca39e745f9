"""The lines of the layer panel: why, with which parameters, on what, for what gain, and which key does it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from triptych.entries import Entry
from triptych.layers.exchanges import exchanges_of
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummaryPlan
from triptych.messages import ToolCall, carries_result, native, role_of, text_of
from triptych.stages import Layer
from triptych_tui.context_load import Change, change_of
from triptych_tui.glyphs import Glyphs
from triptych_tui.hand_run import HandRun
from triptych_tui.i18n import _, ngettext
from triptych_tui.lesson_notes import lesson_error, panel_notes
from triptych_tui.messages_rows import call_values, one_line
from triptych_tui.parameter_fields import under_labels
from triptych_tui.plain import plain
from triptych_tui.previews import Preview
from triptych_tui.sheet import ROLE_INKS, Sheet, role_letter
from triptych_tui.spans import Row, Span, cut_spans, pad, spread, width_of, wrap_spans
from triptych_tui.stage_rows import piece_words
from triptych_tui.stage_words import LAYER_INKS
from triptych_tui.untrusted import clean, wrap
from triptych_tui.wording import say, variables_line

MARGIN = 2
KEY_GAP = 3
"""Cells between two keys in one row."""
SHOWN_TARGETS = 12
REQUEST_LINES = 14
"""Lines of each message of a request before it is sent; afterwards there is something else to read."""
SHOWN_BEFORE = 12
"""Lines of a target's text that are looked at."""


def layer_title(layer: Layer) -> str:
    """What a layer does, as a panel's title."""
    return {
        "truncate": _("Truncate tool results"),
        "clear": _("Clear old tool results"),
        "prune": _("Prune old tool results"),
        "summarize": _("Summarize old turns"),
    }[layer]


class PanelLines:
    """Lays out one hand-run layer at a width of cells; `roomy` where the screen has rows to spare."""

    def __init__(
        self, run: HandRun, preview: Preview, sheet: Sheet, glyphs: Glyphs, width: int, *, roomy: bool = True
    ) -> None:
        self._run = run
        self._preview = preview
        self._sheet = sheet
        self._glyphs = glyphs
        self._room = max(width - 2 * MARGIN, 8)
        self._roomy = roomy
        self._ink = LAYER_INKS[run.layer]

    def why(self) -> list[Row]:
        """What always stands above: the reason with the variables as they ran, or what is wrong."""
        said = [line for text, ink in self._reasons() for line in self._hanging(text, ink)]
        if self._roomy:
            return [Row(), self._heading(_("Why")), *map(self._line, said)]
        label = Span(_("Why") + "  ", "strong", "b")
        indent = Span(" " * width_of([label]))
        return [self._line([indent if number else label, *line]) for number, line in enumerate(said)]

    def lines(self) -> list[Row]:
        """What is scrolled: the request or the targets, and what else there is to know."""
        run, plan = self._run, self._run.plan
        notes = self._notes()
        sections = [notes] if run.summary_plan is None else []
        if isinstance(run.planned, SummaryPlan):
            # What is being written stands where one looks already, not below a long request.
            sections = [self._summary(), *sections] if run.writing else sections
            sections.append(self._request(run.planned))
        has_edits = plan is not None and bool(plan.edits)
        if plan is not None and has_edits:
            if not isinstance(run.planned, SummaryPlan):
                sections.append(self._targets(plan))
            sections.append(self._prompt_cache(plan))
            if not isinstance(run.planned, SummaryPlan):
                sections.append(self._before_and_after(plan))
        if run.summary_plan is not None:
            sections.append(notes)
        filled = [rows for section in sections if (rows := list(section))]
        return [line for rows in filled for line in (Row(), *rows)]

    def foot(self, *, in_field: bool) -> list[Row]:
        """What always stands below: with room the gain, then what to press. in_field: Enter is a text field's own."""
        plan = self._run.plan
        gain = self._summary_gain if isinstance(self._run.planned, SummaryPlan) else self._gain
        rows = list(gain(plan)) if self._roomy and plan is not None and plan.edits else []
        return [*([Row(), *rows] if rows else []), *([Row()] if self._roomy else []), *self._key_rows(in_field)]

    def _reasons(self) -> Iterator[tuple[str, str]]:
        run = self._run
        if run.problem is not None:
            yield say(under_labels(run.problem, run.filled)), "error"
            yield lesson_error(run), "muted"
            return
        reason = (run.summary_plan or run.planned).reason
        yield say(reason), "text"
        yield variables_line(reason), "muted"
        if run.plan is not None and run.plan.after.tokens > run.plan.before.tokens:
            yield _longer(run.layer), "error"

    def _hanging(self, text: str, ink: str) -> list[list[Span]]:
        """A text in lines, beside the label where that stands in the same row."""
        room = self._room if self._roomy else max(self._room - width_of([Span(_("Why") + "  ")]), 8)
        return [[Span(piece, ink)] for piece in wrap(text, room)] if text else []

    def _notes(self) -> Iterator[Row]:
        run = self._run
        if run.problem is not None:
            return
        yield from self._text((run.summary_plan or run.planned).reason.printed, "muted")
        for note in panel_notes(run, self._sheet):
            yield from self._note(note)

    def _targets(self, plan: Plan) -> Iterator[Row]:
        sheet, exchanges = self._sheet, exchanges_of(self._sheet.session.entries)
        targets = {entry.id: entry for edit in plan.edits for entry in edit.removed}
        results = [entry for entry in sheet.session.entries if carries_result(entry.message) or entry.id in targets]
        words = ngettext("{count} of {all} result", "{count} of {all} results", len(results))
        yield self._heading(_("Targets"), words.format(count=f"{len(targets):,}", all=f"{len(results):,}"))
        listed = results if len(results) <= SHOWN_TARGETS else list(targets.values())
        for entry in listed[:SHOWN_TARGETS]:
            index, target = sheet.index_of(entry.id), self._preview.targets.get(entry.id)
            if index is None:
                continue
            is_target = target is not None
            sign, ink = (self._glyphs.target, self._ink) if is_target else (self._glyphs.not_target, "faint")
            left = [
                Span(sign + " ", ink),
                *_entry_spans(entry, index, exchanges.call_of(index), "text" if is_target else "muted"),
            ]
            yield self._line(left, self._sizes(sheet.tokens_of(index), None if target is None else target[1]))
        if len(listed) > SHOWN_TARGETS:
            more = len(listed) - SHOWN_TARGETS
            yield self._line([Span(ngettext("{count} more", "{count} more", more).format(count=f"{more:,}"), "faint")])

    def _sizes(self, before: int, after: int | None) -> list[Span]:
        """An entry's tokens now and as a target; of what stays, that it does."""
        if after is None:
            return [Span(f"~{before:,}  ", "muted"), Span(_("stays"), "faint")]
        return [
            Span(f"~{before:,} {self._glyphs.call} ", "muted"),
            Span(f"~{after:,}", "strong" if after <= before else "error", "b"),
        ]

    def _gain(self, plan: Plan) -> Iterator[Row]:
        before, after = plan.before.tokens, plan.after.tokens
        yield self._heading(_("Gain"), gain_words(plan))
        track = max(self._room - 26, 4)
        most = max(before, after, 1)
        for label, value, ink in ((_("before"), before, "role_t"), (_("after"), after, self._ink)):
            filled = max(round(track * value / most), 1 if value else 0)
            bar = [Span(self._glyphs.rule_focused * filled, ink), Span(self._glyphs.rule * (track - filled), "rule")]
            yield self._line([Span(pad(label, 9), "muted"), *bar], [Span(f"~{value:,}", "text", "b")])

    def _summary_gain(self, plan: Plan) -> Iterator[Row]:
        """What there is to see of a summary that could be put in place, and what the list would then add up to."""
        smaller = plan.after.tokens < plan.before.tokens
        title = Span(_("Gain") + "   ", "strong", "b")
        checks = [
            *self._check(_("not empty"), holds=True),
            *self._check(_("finished"), holds=self._run.flaw is None),
            *self._check(_("smaller"), holds=smaller),
        ]
        gain = Span(gain_words(plan), "text" if smaller else "error", "b")
        if width_of([title, *checks, gain]) <= self._room:
            yield self._line([title, *checks], [gain])
        else:
            yield self._line([title], [gain])
            yield self._line(checks)
        if (change := change_of(plan, self._sheet, self._ink)) is not None:
            yield from map(self._line, wrap_spans(list(self._sum(change)), self._room))

    def _check(self, words: str, *, holds: bool) -> list[Span]:
        sign = Span(self._glyphs.yes, "accent", "b") if holds else Span(self._glyphs.fault, "error", "b")
        return [sign, Span(f" {words}   ")]

    def _sum(self, change: Change) -> Iterator[Span]:
        parts = {self._glyphs.summary if letter == "Σ" else letter: n for letter, n in change.after.parts.items()}
        words = " + ".join(f"{letter} {tokens:,}" for letter, tokens in parts.items())
        yield Span(_("after") + f"  {words} = ", "muted")
        yield Span(_("~{tokens} tok").format(tokens=f"{change.after.total:,}"), "strong", "b")
        yield Span(",  " + _("was ~{tokens}").format(tokens=f"{change.before.total:,}"), "muted")

    def _prompt_cache(self, plan: Plan) -> Iterator[Row]:
        yield self._heading(_("Prompt cache"), _("longest common prefix"))
        kept, reused = self._preview.first_index or 0, self._preview.reused
        share = reused / plan.before.tokens if plan.before.tokens else 0
        filled = min(round(self._room * share), self._room)
        going = self._glyphs.going * (self._room - filled)
        yield self._line([Span(" " * filled, ground=self._ink), Span(going, self._ink)])
        if kept and self._roomy:
            yield self._axis(kept, filled)
        if kept:
            words = _("entries 0–{last} stay the same: ~{tokens} tok can be reused, the rest is read again").format(
                last=kept - 1, tokens=f"{reused:,}"
            )
        else:
            words = _("nothing stays the same: everything is read again")
        yield from self._text(words, "muted")

    def _axis(self, kept: int, filled: int) -> Row:
        """Under a strip of which so many cells are filled: where entry 0, the first that changes and the last stand."""
        here = Span(f"{self._glyphs.hook} {kept:,}", self._ink, "b")
        zero = Span(pad("0", filled), "faint") if filled > 1 else Span(" " * filled)
        return self._line([zero, here], [Span(f"{len(self._sheet.session.entries) - 1:,}", "faint")])

    def _before_and_after(self, plan: Plan) -> Iterator[Row]:
        """The first target as it is and as it would be."""
        before, after = plan.edits[0].removed[0], plan.edits[0].inserted[0]
        index = self._sheet.index_of(before.id)
        yield self._heading(_("Before and after"), "" if index is None else _("entry {index}").format(index=index))
        for entry, sign, ground, most in ((before, "-", "delete", 4), (after, "+", "add", 3)):
            lines = clean(text_of(entry.message)[: SHOWN_BEFORE * self._room]).split("\n")
            more = len(lines) > most
            for number, piece in enumerate(lines[: most - more] + [self._glyphs.ellipsis] * more):
                is_line = number < most - more or not more
                lead = Span(f"{sign} " if is_line else "  ", "error" if sign == "-" else "accent", "b")
                spans = cut_spans([lead, Span(piece, "muted" if sign == "-" else "text")], self._room)
                blank = Span(" " * (self._room - width_of(spans)))
                yield self._line([span._replace(ground=ground) for span in (*spans, blank)])

    def _request(self, planned: SummaryPlan) -> Iterator[Row]:
        fact = _("exactly as sent · ~{tokens} tok").format(tokens=f"{_request_tokens(planned):,}")
        if planned.request_count > 1:
            first = _("the first of {count}").format(count=f"{planned.request_count:,}")
            fact = first + plain(" · ") + fact
        yield self._heading(_("Request"), fact)
        room = max(self._room - 3, 2)
        shown = REQUEST_LINES if self._run.summary_plan is None else REQUEST_LINES // 4
        for message in planned.request:
            letter = "S" if role_of(message) == "system" else "U"
            text = text_of(message)
            lines = wrap(clean(text[: shown * room]), room)
            for number, piece in enumerate(lines[:shown]):
                lead = Span(f"{letter}  " if number == 0 else "   ", ROLE_INKS[letter], "b")
                yield self._line([lead, Span(piece, "muted")])
            if len(lines) > shown or len(text) > shown * room:
                focus = _focus_line(planned) if letter == "S" else ""
                more = max(1, len(text) - len("\n".join(lines[:shown])) - len(focus))
                words = ngettext("{count} more character", "{count} more characters", more)
                yield self._line([Span("   " + words.format(count=f"{more:,}"), "faint")])
                if focus:  # what was just typed is seen, however long the prompt before it
                    yield self._line([Span("   "), Span(clean(focus[: 2 * room], newlines=False), "muted")])

    def _summary(self) -> Iterator[Row]:
        sent = self._run.piece
        yield self._heading(_("Summary"), _("the model is writing") if sent is None else piece_words(sent))
        lines = wrap(clean(self._run.summary), max(self._room - 2, 2)) or [""]
        for number, piece in enumerate(lines):
            end = [Span(self._glyphs.caret, "accent")] if number == len(lines) - 1 else []
            yield self._line([Span(self._glyphs.tie + " ", "l3"), Span(piece), *end])

    def _keys(self, in_field: bool) -> Iterator[tuple[str, str]]:
        """Keys and what they do, in few words where there is little room; first the one that goes on, if one does."""
        run, policy, roomy = self._run, self._sheet.session.policy, self._roomy
        onward = "ctrl+j" if in_field else "Enter"
        if run.awaits_request:
            yield onward, _ask_words(run) if roomy else _("ask for the summary")
        elif run.can_apply:
            yield onward, _("apply as one step") if roomy else _("apply")
        if run.summary_plan is not None and not in_field:
            yield "r", _("ask again")
            if run.summary != run.received:
                yield "v", _("as received")
        if policy.has(run.layer) and not run.writing and not in_field:
            if run.layer in policy.off:
                yield "o", _("let it run in turns again") if roomy else _("on in turns")
            else:
                yield "o", _("let it run in turns no more") if roomy else _("off in turns")
        if not run.writing and not in_field:
            if run.edited and run.problem is None:
                yield "K", _("the policy keeps these") if roomy else _("keep in policy")
            yield "S", _("save the policy as your own") if roomy else _("save as own")
        yield "Esc", _("cancel; everything stays as it was") if run.writing else _("leave everything as it was")

    def _key_rows(self, in_field: bool) -> Iterator[Row]:
        """As many keys in a row as fit; where that is one, their chips are equally wide."""
        keys = list(self._keys(in_field))
        rows: list[list[Span]] = []
        for number, (key, does) in enumerate(keys):
            spans = self._key(f" {key} ", does, number)
            if rows and width_of([*rows[-1], *spans]) + KEY_GAP <= self._room:
                rows[-1] += [Span(" " * KEY_GAP), *spans]
            else:
                rows.append(spans)
        if 1 < len(rows) == len(keys):
            rows = [self._key(key.center(9), " " + does, number) for number, (key, does) in enumerate(keys)]
        yield from map(self._line, rows)

    def _key(self, chip: str, does: str, place: int) -> list[Span]:
        lit = place == 0 and (self._run.awaits_request or self._run.can_apply)
        return [Span(chip, "on_block" if lit else "strong", "b", self._ink if lit else "raised"), Span(" " + does)]

    def _heading(self, title: str, fact: str = "") -> Row:
        return self._line([Span(title, "strong", "b")], [Span(fact, "muted")] if fact else [])

    def _text(self, text: str, ink: str = "text") -> Iterator[Row]:
        for piece in wrap(text, self._room) if text else ():
            yield self._line([Span(piece, ink)])

    def _note(self, text: str) -> Iterator[Row]:
        for number, piece in enumerate(wrap(text, self._room - 2)):
            yield self._line([Span("  " if number else plain("· "), "faint"), Span(piece, "muted")])

    def _line(self, left: list[Span], right: list[Span] | None = None) -> Row:
        spans = spread(left, right, self._room) if right else cut_spans(left, self._room)
        return Row([Span(" " * MARGIN), *spans])


def preview_facts(run: HandRun, window: int | None, glyphs: Glyphs) -> list[Span]:
    """While a layer is previewed: the tokens of the list before and after it, in a window of this size."""
    plan = run.plan
    if plan is None or not plan.edits:
        return []
    before, after = f"~{plan.before.tokens:,}", f"~{plan.after.tokens:,}"
    size = f" / {window:,}" if window else ""
    grows = plan.after.tokens > plan.before.tokens
    gain = Span("   " + gain_words(plan), "error" if grows else LAYER_INKS[run.layer], "b")
    return [Span(f"{before} {glyphs.call} ", "muted"), Span(after, "strong", "b"), Span(size, "muted"), gain]


def gain_words(plan: Plan) -> str:
    """`-1,096 tok  -54%`."""
    before, change = plan.before.tokens, plan.after.tokens - plan.before.tokens
    percent = f"{change / before:+.0%}" if before else ""
    return (_("{change} tok").format(change=f"{change:+,}") + f"  {percent}").rstrip()


def _entry_spans(entry: Entry, index: int, call: ToolCall | None, ink: str) -> list[Span]:
    """An entry in few words; a result by its call, as the chat shows that."""
    letter = role_letter(entry)
    said = text_of(native(entry.message))
    if call is not None:
        said = "  ".join([call.name, ", ".join(map(str, call_values(call).values()))])
    return [Span(f"{index:>4} ", "faint"), Span(letter + " ", ROLE_INKS[letter], "b"), Span(one_line(said), ink)]


def _ask_words(run: HandRun) -> str:
    count = run.planned.request_count if isinstance(run.planned, SummaryPlan) else 1
    if count == 1:
        return _("ask the model for the summary")
    return _("ask the model for the summary, in {count} requests").format(count=f"{count:,}")


def _focus_line(planned: SummaryPlan) -> str:
    """The last line of the instructions, where it says what to heed."""
    return text_of(planned.request[0]).rpartition("\n")[2] if planned.parameters.focus else ""


def _longer(layer: Layer) -> str:
    return {
        "truncate": _("Longer than before: the notice weighs more than what it replaces."),
        "clear": _("Longer than before: the placeholder weighs more than what it replaces."),
        "prune": _("Longer than before: the notice weighs more than what it replaces."),
        "summarize": _("Longer than before: summary, prefix and fixed answer weigh more than what they replace."),
    }[layer]


@lru_cache(maxsize=1)
def _request_tokens(planned: SummaryPlan) -> int:
    """The estimate of a whole request, which may be long: made once, not with every word of the answer."""
    counter = planned.counter
    return counter.tokens(sum(counter.message_weight(message) for message in planned.request))
