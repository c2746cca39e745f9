"""What the robust layers decided, and why, beyond their one reason: who stays, and what is made of the rest."""

from __future__ import annotations

from collections.abc import Iterator

from triptych.entries import Entry, Summary, messages_of
from triptych.layers.clear import ClearParameters
from triptych.layers.exchanges import exchanges_of
from triptych.layers.prune import PruneParameters
from triptych.layers.summarize import SummarizeParameters, SummaryPlan
from triptych.layers.truncate import TruncateParameters
from triptych.messages import carries_result, is_failed_result, leading_system_count
from triptych_tui.hand_run import HandRun
from triptych_tui.i18n import _, ngettext
from triptych_tui.sheet import Sheet


def robust_notes(run: HandRun, sheet: Sheet) -> list[str]:
    """The decisions of a robust layer before it is applied, one sentence each."""
    entries = sheet.session.entries
    match run.parameters:
        case TruncateParameters() as parameters:
            return list(_truncate_notes(run, parameters, entries))
        case ClearParameters() as parameters:
            return list(_clear_notes(parameters, entries))
        case PruneParameters():
            return [
                *_staying(entries),
                _("lines or characters, whichever leaves less, and only where that saves tokens"),
            ]
        case SummarizeParameters() as parameters:
            return list(_summarize_notes(run, parameters, entries))


def _truncate_notes(run: HandRun, parameters: TruncateParameters, entries: tuple[Entry, ...]) -> Iterator[str]:
    results = [entry for entry in entries if carries_result(entry.message)]
    yield from _pinned(sum(entry.pinned for entry in results))
    if parameters.error_limit is not None and any(is_failed_result(entry.message) for entry in results):
        yield _("what failed tools said has a limit of its own: {limit}").format(limit=f"{parameters.error_limit:,}")
    if run.plan is not None and run.plan.edits:
        yield _("the limit bounds the whole result, notice included; no character is parted")


def _clear_notes(parameters: ClearParameters, entries: tuple[Entry, ...]) -> Iterator[str]:
    yield from _staying(entries)
    exchanges = exchanges_of(entries)
    failed = sum(is_failed_result(exchanges.messages[index]) for index in exchanges.results)
    if parameters.keep_errors and failed:
        yield ngettext("{count} error stays", "{count} errors stay", failed).format(count=f"{failed:,}")
    if parameters.exclude_tools:
        excluded = sum(owner.tool in parameters.exclude_tools for owner in exchanges.owners.values())
        if excluded:
            words = ngettext(
                "{count} result is of a tool left alone", "{count} results are of tools left alone", excluded
            )
            yield words.format(count=f"{excluded:,}")
    if parameters.whole_batches:
        yield _("results of calls made together stay or go together")
    if parameters.on_overflow_only:
        yield _("in turns it waits until the list is too long for the window; by hand it does not")


def _staying(entries: tuple[Entry, ...]) -> Iterator[str]:
    """The results that stay whatever the numbers are."""
    exchanges = exchanges_of(entries)
    yield from _pinned(sum(index in exchanges.pinned for index in exchanges.results))
    unanswered = sum(index >= exchanges.unanswered_start for index in exchanges.results)
    if unanswered:
        yield ngettext(
            "{count} result stays: the model has not answered it yet",
            "{count} results stay: the model has not answered them yet",
            unanswered,
        ).format(count=f"{unanswered:,}")


def _pinned(count: int) -> Iterator[str]:
    if count:
        yield ngettext("{count} pinned result stays", "{count} pinned results stay", count).format(count=f"{count:,}")


def _summarize_notes(run: HandRun, parameters: SummarizeParameters, entries: tuple[Entry, ...]) -> Iterator[str]:
    plan = run.planned
    if not isinstance(plan, SummaryPlan):
        return
    if any(entry.has_mark(Summary) for entry in plan.old):
        yield _("the earlier summary is passed on to be updated, not summarized again")
    stay = plan.cut - plan.start - len(plan.old)
    if stay and parameters.summary_last:
        yield ngettext(
            "{count} entry of the old part stands before the summary word for word: a question, or pinned",
            "{count} entries of the old part stand before the summary word for word: questions, or pinned",
            stay,
        ).format(count=f"{stay:,}")
    elif stay:
        yield ngettext(
            "{count} entry of the old part follows the summary word for word: pinned, or the question under way",
            "{count} entries of the old part follow the summary word for word: pinned, or the question under way",
            stay,
        ).format(count=f"{stay:,}")
    systems = leading_system_count(messages_of(entries))
    if systems > 1:
        yield _("all {count} system messages at the beginning stay").format(count=f"{systems:,}")
    if parameters.from_originals:
        yield _("the summarizer reads results as they were before other layers shortened them")
    if plan.request_count > 1:
        yield _("too long for one request: each piece updates the summary of those before it")
    least = f"{parameters.minimum_progress:.0%}"
    yield _("refused: a call, an error, an echo, a cut answer, or one that saves less than {least}").format(least=least)
