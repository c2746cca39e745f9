"""What a learner should know about a layer's outcome beyond its numbers: the lessons' caveats, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triptych.entries import Cleared, Entry, Pruned, Summary, Truncated
from triptych.layers.clear import ClearParameters
from triptych.layers.parameters import LESSON_ERRORS
from triptych.layers.plan import Plan, shown_indices
from triptych.layers.prune import PruneParameters, first_block
from triptych.layers.summarize import DONE_PRINTED, SUMMARY_PREFIX, SummarizeParameters, SummaryPlan, turns_in
from triptych.layers.truncate import TruncateParameters
from triptych.messages import carries_result, is_tool_response, native, text_of
from triptych.policy import Policy
from triptych_tui.hand_run import HandRun
from triptych_tui.i18n import _, ngettext
from triptych_tui.sheet import Sheet

LONG_LOOP = 10
"""Results after one question from which on it is worth a word that they are never parted."""


def panel_notes(run: HandRun, sheet: Sheet) -> list[str]:
    """The caveats of a layer before it is applied."""
    if run.parameters.flavour == "robust":
        from triptych_tui.robust_notes import robust_notes

        return robust_notes(run, sheet)
    return [*_lesson_notes(run, sheet), *_pins_unknown(run)]


def _pins_unknown(run: HandRun) -> Iterator[str]:
    """The lesson's layers were written before there were pins."""
    plan = run.planned
    edits = (plan.removal,) if isinstance(plan, SummaryPlan) else plan.edits
    pinned = sum(entry.pinned for edit in edits for entry in edit.removed)
    if pinned:
        yield ngettext(
            "{count} pinned entry is among them: the lesson's layers know no pins",
            "{count} pinned entries are among them: the lesson's layers know no pins",
            pinned,
        ).format(count=f"{pinned:,}")


def _lesson_notes(run: HandRun, sheet: Sheet) -> list[str]:
    match run.parameters:
        case TruncateParameters() as parameters:
            return list(_truncate_notes(run, parameters))
        case ClearParameters() as parameters:
            return list(_clear_notes(run, parameters))
        case PruneParameters() as parameters:
            return list(_prune_notes(run, parameters, sheet))
        case SummarizeParameters() as parameters:
            return list(_summarize_notes(parameters, sheet))


def lesson_error(run: HandRun) -> str:
    """What the lesson's own function raises for the number that was typed; "" where it raises nothing."""
    problem = run.problem
    if problem is None or problem.id != "parameter.too_small" or run.parameters.flavour == "robust":
        return ""
    if run.layer not in ("truncate", "summarize"):
        return ""
    error = LESSON_ERRORS.get(str(problem.values["name"]))
    return f"ValueError: {error}" if error else ""


def entry_notes(entry: Entry, before: Sequence[Entry], policy: Policy) -> list[str]:
    """The caveats of what a layer made of an entry; `before` is what stood in its place."""
    mark, after = entry.newest_mark, text_of(entry.message)
    notes: list[str] = []
    if isinstance(mark, Truncated | Pruned):
        notes += _longer(text_of(before[0].message), after)
    if isinstance(mark, Pruned) and _drops(before[0], entry):
        notes.append(_("everything after its first block is dropped"))
    if isinstance(mark, Cleared) and not _tells_of_clearing(after):
        notes.append(_mistakable())
    if isinstance(mark, Summary) and (policy.summarize is None or policy.summarize.flavour == "lesson"):
        notes.append(_counts_as_turn(policy))
    if isinstance(mark, Summary) and after.startswith(SUMMARY_PREFIX):
        notes.append(DONE_PRINTED.format(count=len(mark.of)))
    return notes


def tried_notes(before: str, after: str, parameters: TruncateParameters) -> list[str]:
    """The caveats of what layer 1 makes of a text that somebody tries."""
    return [*_limit_notes(parameters), *_longer(before, after)] if parameters.flavour == "lesson" else []


def _longer(before: str, after: str) -> Iterator[str]:
    if len(after) > len(before):
        words = _("longer than before, {before} → {after} characters: what is left out is shorter than its notice")
        yield words.format(before=len(before), after=len(after))


def _limit_notes(parameters: TruncateParameters) -> Iterator[str]:
    if parameters.limit == 0:
        yield _("limit 0 keeps nothing of the text; only the notice stays")
    if parameters.limit % 2 and parameters.head_share == 0.5:
        yield _("an odd limit cannot be halved: the end gets the extra character")


def _truncate_notes(run: HandRun, parameters: TruncateParameters) -> Iterator[str]:
    changes = _changes(run)
    if not changes or parameters.flavour == "robust":
        return
    yield from _limit_notes(parameters)
    longer = sum(len(text_of(after.message)) > len(text_of(before.message)) for before, after in changes)
    if longer:
        yield ngettext(
            "{count} result gets longer: the limit counts only what is kept of the original, the notice comes on top",
            "{count} results get longer: the limit counts only what is kept of the original, the notice comes on top",
            longer,
        ).format(count=longer)


def _clear_notes(run: HandRun, parameters: ClearParameters) -> Iterator[str]:
    if parameters.keep <= 0 and parameters.flavour == "lesson":
        yield _("keep 0 or less clears all; a bare [:-0] would clear none, so the lesson asks for it first")
    if _changes(run) and not _tells_of_clearing(parameters.placeholder):
        yield _mistakable()


def _prune_notes(run: HandRun, parameters: PruneParameters, sheet: Sheet) -> Iterator[str]:
    policy = sheet.session.policy
    if "prune" in policy.stages and policy.stages.index("prune") > policy.stages.index("answer"):
        yield _("this policy prunes after the answer; before the request, results would be hidden one question earlier")
    if parameters.flavour == "robust":
        return
    changes = _changes(run)
    texts = [(before, _result_text(before), _result_text(after)) for before, after in changes]
    grown = [before for before, was, now in texts if len(now) > len(was)]
    yield from _about(grown, sheet, _("longer than before: the notice weighs more than the lines it stands for"))
    by_lines = [(before, now) for before, was, now in texts if was.count("\n") >= parameters.max_lines]
    long = [before for before, now in by_lines if len(now) > parameters.max_characters]
    yield from _about(long, sheet, _("lines win over characters: few lines stay, however long they are"))
    yield from _about([b for b, a in changes if _drops(b, a)], sheet, _("everything after its first block is dropped"))
    if run.planned.reason.variables.get("boundary"):
        old = sheet.session.entries[: run.planned.reason.variables["boundary"]]
        unseen = [each for each in old if is_tool_response(each.message) and first_block(each.message) is None]
        words = _(r"not seen: the lesson's pattern \w+ knows a tool's name as one word, not one like list-file")
        yield from _about(unseen, sheet, words)


def _summarize_notes(parameters: SummarizeParameters, sheet: Sheet) -> Iterator[str]:
    if parameters.flavour == "robust":
        return
    entries = sheet.session.entries
    users = turns_in([entry.message for entry in entries], count_results=parameters.count_results)
    if any(entries[index].has_mark(Summary) for index in users):
        yield _counts_as_turn(sheet.session.policy)
    results = sum(carries_result(entry.message) for entry in entries[users[-1] if users else 0 :])
    if results >= LONG_LOOP:
        yield ngettext(
            "the newest question has {count} tool result, and a question is never parted: no summary shortens it",
            "the newest question has {count} tool results, and a question is never parted: no summary shortens it",
            results,
        ).format(count=results)


def _result_text(entry: Entry) -> str:
    return text_of(native(entry.message))


def _changes(run: HandRun) -> list[tuple[Entry, Entry]]:
    """Each entry that a plan replaces, before and after; none where the summary is not one to one."""
    plan = run.planned
    edits = plan.edits if isinstance(plan, Plan) else ()
    return [pair for edit in edits for pair in zip(edit.removed, edit.inserted, strict=True)]


def _about(entries: Sequence[Entry], sheet: Sheet, words: str) -> Iterator[str]:
    """A sentence with the indices of the entries it is about, if there are any."""
    indices = [index for entry in entries if (index := sheet.index_of(entry.id)) is not None]
    if indices:
        yield ", ".join(map(str, shown_indices(indices))) + ": " + words


def _drops(before: Entry, after: Entry) -> bool:
    """Whether what stood behind the first block is gone."""
    block = first_block(before.message)
    return block is not None and bool(block.rest.strip()) and not text_of(after.message).endswith(block.rest)


def _tells_of_clearing(placeholder: str) -> bool:
    """By custom a notice stands in brackets."""
    return placeholder.lstrip().startswith(("[", "<", "(", "【", "（"))


def _mistakable() -> str:
    return _("a model may take this placeholder for what the tool really said")


def _counts_as_turn(policy: Policy) -> str:
    if policy.trigger.turns is not None:
        return _("a summary counts as a user turn, so every question from now on makes another: one request more each")
    return _("a summary counts as a user turn")
