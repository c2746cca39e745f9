"""The lines of the layer panel: why, with which parameters, on what, for what gain, and which key does it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from triptych.entries import Entry
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummaryPlan
from triptych.messages import role_of, text_of, tool_calls
from triptych.stages import Layer
from triptych_tui.glyphs import Glyphs
from triptych_tui.hand_run import HandRun
from triptych_tui.i18n import _, ngettext
from triptych_tui.lesson_notes import lesson_error, panel_notes
from triptych_tui.messages_rows import Preview, call_values, one_line
from triptych_tui.plain import plain
from triptych_tui.sheet import ROLE_INKS, Sheet, role_letter
from triptych_tui.spans import Row, Span, cut_spans, pad, spread, width_of
from triptych_tui.stage_words import LAYER_INKS
from triptych_tui.untrusted import clean, wrap
from triptych_tui.wording import say, variables_line

MARGIN = 2
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
    """Lays out one hand-run layer at a width of cells."""

    def __init__(self, run: HandRun, preview: Preview, sheet: Sheet, glyphs: Glyphs, width: int) -> None:
        self._run = run
        self._preview = preview
        self._sheet = sheet
        self._glyphs = glyphs
        self._room = max(width - 2 * MARGIN, 8)
        self._ink = LAYER_INKS[run.layer]
        self._calls = _calls_by_id(sheet)

    def lines(self) -> list[Row]:
        run = self._run
        sections = [self._why()]
        if isinstance(run.planned, SummaryPlan):
            # What is being written stands where one looks already, not below a long request.
            sections += [self._summary()] if run.writing else []
            sections.append(self._request(run.planned))
        plan = run.plan
        if plan is not None and plan.edits:
            if not isinstance(run.planned, SummaryPlan):
                sections.append(self._targets(plan))
            sections += [self._gain(plan), self._prompt_cache(plan)]
        sections.append(self._keys())
        if plan is not None and plan.edits and not isinstance(run.planned, SummaryPlan):
            sections.append(self._before_and_after(plan))
        return [line for section in sections for line in (Row(), *section)]

    def _why(self) -> Iterator[Row]:
        yield self._heading(_("Why"))
        if self._run.problem is not None:
            yield from self._text(say(self._run.problem), "error")
            yield from self._text(lesson_error(self._run), "muted")
            return
        reason = (self._run.summary_plan or self._run.planned).reason
        yield from self._text(say(reason))
        if variables := variables_line(reason):
            yield from self._text(variables, "muted")
        yield from self._text(reason.printed, "muted")
        for note in panel_notes(self._run, self._sheet):
            yield from self._note(note)

    def _targets(self, plan: Plan) -> Iterator[Row]:
        targets = [entry for edit in plan.edits for entry in edit.removed]
        words = ngettext("{count} result", "{count} results", len(targets)).format(count=f"{len(targets):,}")
        yield self._heading(_("Targets"), words)
        for entry in targets[:SHOWN_TARGETS]:
            index, target = self._sheet.index_of(entry.id), self._preview.targets[entry.id]
            if index is None or target is None:
                continue
            before, after = self._sheet.tokens_of(index), target[1]
            left = [Span(self._glyphs.target + " ", self._ink), *self._entry_spans(entry)]
            right = [
                Span(f"~{before:,} {self._glyphs.call} ", "muted"),
                Span(f"~{after:,}", "strong" if after <= before else "error", "b"),
            ]
            yield self._line(left, right)
        if len(targets) > SHOWN_TARGETS:
            more = len(targets) - SHOWN_TARGETS
            yield self._line([Span(ngettext("{count} more", "{count} more", more).format(count=f"{more:,}"), "faint")])

    def _entry_spans(self, entry: Entry) -> list[Span]:
        index = self._sheet.index_of(entry.id)
        letter = role_letter(entry)
        number = "" if index is None else f"{index:>4} "
        return [
            Span(number, "faint"),
            Span(letter + " ", ROLE_INKS[letter], "b"),
            Span(self._calls.get(entry.message.get("tool_call_id", ""), one_line(text_of(entry.message)))),
        ]

    def _gain(self, plan: Plan) -> Iterator[Row]:
        before, after = plan.before.tokens, plan.after.tokens
        change = after - before
        percent = f"{change / before:+.0%}" if before else ""
        yield self._heading(_("Gain"), (_("{change} tok").format(change=f"{change:+,}") + f"  {percent}").rstrip())
        track = max(self._room - 26, 4)
        most = max(before, after, 1)
        for label, value, ink in ((_("before"), before, "role_t"), (_("after"), after, self._ink)):
            filled = max(round(track * value / most), 1 if value else 0)
            bar = [Span(self._glyphs.rule_focused * filled, ink), Span(self._glyphs.rule * (track - filled), "rule")]
            yield self._line([Span(pad(label, 9), "muted"), *bar], [Span(f"~{value:,}", "text", "b")])
        if change > 0:
            yield from self._text(_longer(self._run.layer), "error")

    def _prompt_cache(self, plan: Plan) -> Iterator[Row]:
        yield self._heading(_("Prompt cache"))
        kept, reused = self._preview.first_index or 0, self._preview.reused
        share = reused / plan.before.tokens if plan.before.tokens else 0
        filled = min(round(self._room * share), self._room)
        going = self._glyphs.going * (self._room - filled)
        yield self._line([Span(" " * filled, ground=self._ink), Span(going, self._ink)])
        if kept:
            words = _("entries 0–{last} stay the same: ~{tokens} tok can be reused, the rest is read again").format(
                last=kept - 1, tokens=f"{reused:,}"
            )
        else:
            words = _("nothing stays the same: everything is read again")
        yield from self._text(words, "muted")

    def _before_and_after(self, plan: Plan) -> Iterator[Row]:
        """The first target as it is and as it would be."""
        before, after = plan.edits[0].removed[0], plan.edits[0].inserted[0]
        index = self._sheet.index_of(before.id)
        yield self._heading(_("Before and after"), "" if index is None else _("entry {index}").format(index=index))
        for entry, sign, ground, most in ((before, "-", "delete", 4), (after, "+", "add", 3)):
            lines = clean(text_of(entry.message)[: SHOWN_BEFORE * self._room]).split("\n")
            more = len(lines) > most
            for number, piece in enumerate(lines[: most - more] + [self._glyphs.ellipsis] * more):
                lead = Span(f"{sign} " if number == 0 or not more else "  ", "error" if sign == "-" else "accent", "b")
                spans = cut_spans([lead, Span(piece, "muted" if sign == "-" else "text")], self._room)
                blank = Span(" " * (self._room - width_of(spans)))
                yield self._line([span._replace(ground=ground) for span in (*spans, blank)])

    def _request(self, planned: SummaryPlan) -> Iterator[Row]:
        tokens = f"{_request_tokens(planned):,}"
        yield self._heading(_("Request"), _("exactly as sent · ~{tokens} tok").format(tokens=tokens))
        room = max(self._room - 3, 2)
        shown = REQUEST_LINES if self._run.summary_plan is None else REQUEST_LINES // 3
        for message in planned.request:
            letter = "S" if role_of(message) == "system" else "U"
            text = text_of(message)
            lines = wrap(clean(text[: shown * room]), room)
            for number, piece in enumerate(lines[:shown]):
                lead = Span(f"{letter}  " if number == 0 else "   ", ROLE_INKS[letter], "b")
                yield self._line([lead, Span(piece, "muted")])
            if len(lines) > shown or len(text) > shown * room:
                more = max(1, len(text) - len("\n".join(lines[:shown])))
                words = ngettext("{count} more character", "{count} more characters", more)
                yield self._line([Span("   " + words.format(count=f"{more:,}"), "faint")])

    def _summary(self) -> Iterator[Row]:
        yield self._heading(_("Summary"), _("the model is writing"))
        lines = wrap(clean(self._run.summary), max(self._room - 2, 2)) or [""]
        for number, piece in enumerate(lines):
            end = [Span(self._glyphs.caret, "accent")] if number == len(lines) - 1 else []
            yield self._line([Span(self._glyphs.tie + " ", "l3"), Span(piece), *end])

    def _keys(self) -> Iterator[Row]:
        run = self._run
        if run.awaits_request:
            yield self._key("Enter", _("ask the model for the summary"), lit=True)
        elif run.can_apply:
            yield self._key("Enter", _("apply as one step"), lit=True)
        if run.summary_plan is not None:
            yield self._key("r", _("ask again"), lit=False)
            if run.summary != run.received:
                yield self._key("v", _("as received"), lit=False)
        policy = self._sheet.session.policy
        if policy.has(run.layer) and not run.writing:
            is_off = run.layer in policy.off
            yield self._key(
                "o", _("let it run in turns again") if is_off else _("let it run in turns no more"), lit=False
            )
        leave = _("cancel; everything stays as it was") if run.writing else _("leave everything as it was")
        yield self._key("Esc", leave, lit=False)

    def _key(self, key: str, does: str, *, lit: bool) -> Row:
        chip = Span(key.center(9), "on_block" if lit else "strong", "b", self._ink if lit else "raised")
        return self._line([chip, Span("  " + does)])

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


def _calls_by_id(sheet: Sheet) -> dict[str, str]:
    """What was called, as the chat shows it."""
    return {
        call.id: one_line("  ".join([call.name, ", ".join(map(str, call_values(call).values()))]))
        for entry in sheet.session.entries
        for call in tool_calls(entry.message)
    }


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
