"""Every reason of the core as a sentence: the one place where ids become words.

A template names the reason's values in braces. Parts in square brackets are left out where one of their values is
missing or empty. `Counted` holds two forms, chosen by the value it names; it marks both for the catalogues.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from string import Formatter
from typing import Any

from triptych.reasons import Reason
from triptych_tui.connection_words import CONNECTIONS
from triptych_tui.i18n import N_, _, ngettext
from triptych_tui.layer_words import ROBUST_LAYERS, Counted
from triptych_tui.model_words import IN_SHORT, MODELS
from triptych_tui.plain import SIZE_MARKS, plain
from triptych_tui.settings_words import SETTINGS
from triptych_tui.untrusted import clean
from triptych_tui.workbench_words import WORKBENCH

LONGEST_VALUE = 300
"""Characters of a text from outside that a sentence repeats."""

_OPTIONAL_PART = re.compile(r"\[([^][]*)\]")


def say(reason: Reason) -> str:
    """The sentence for a reason, on one line, with everything from outside made harmless."""
    sentence = SENTENCES.get(reason.id)
    if sentence is not None:
        with suppress(TypeError, ValueError, ArithmeticError):  # a journal may hold other values than ours
            return _filled(sentence, reason)
    return _("Something happened that has no words yet: {id}").format(id=_shown(str(reason)))


def fault_in_short(reason: Reason) -> tuple[str, str]:
    """What went wrong with a request in a few words, and whose fault it is; what was kept others say."""
    sentence = IN_SHORT.get(reason.id)
    if sentence is None:
        return "", say(reason)
    fault, _dash, cause = _filled(sentence, reason).partition(plain(" — "))
    return fault, cause


def _filled(sentence: str | Counted, reason: Reason) -> str:
    if isinstance(sentence, Counted):
        template = ngettext(sentence.one, sentence.many, reason.values.get(sentence.by, 0))
    else:
        template = _(sentence)
    values = _Values({name: _shown(value) for name, value in reason.values.items()})
    if values.get("kind") in SIZE_MARKS:
        values["kind"] = plain(SIZE_MARKS[values["kind"]])
    if values.get("why") in FAULTS:
        values["why"] = fault_in_words(values["why"])
    return _OPTIONAL_PART.sub(lambda part: _part(part[1], values), template).format_map(values)


class _Number(int):
    """A number with its thousands parted, also where its template does not ask for that."""

    def __format__(self, spec: str) -> str:
        return int.__format__(self, spec or ",")


class _Values(dict[str, Any]):
    """What a sentence speaks of. A value nobody gave leaves a gap: half a sentence is better than none."""

    def __missing__(self, name: str) -> str:
        return plain("…")


def fault_in_words(fault: str) -> str:
    """Why a part of a file could not be read."""
    return _(FAULTS[fault]) if fault in FAULTS else _shown(fault)


def problem_in_words(kind: str) -> str:
    """What is wrong with a list."""
    return _(PROBLEMS[kind])


def variables_line(reason: Reason) -> str:
    """The article's variables as they ran: `len(text)=182 limit=80 start_count=40`."""
    return " ".join(f"{clean(name, newlines=False)}={_as_python(value)}" for name, value in reason.variables.items())


def placeholders(template: str) -> set[str]:
    """The names of the values that a template speaks of."""
    return {name for _text, name, _format, _conversion in Formatter().parse(template) if name}


def _part(text: str, values: Mapping[str, Any]) -> str:
    return text if all(values.get(name) not in (None, "") for name in placeholders(text)) else ""


def _shown(value: Any) -> Any:
    """A value as a sentence may hold it. Numbers keep their type, since templates format them."""
    if isinstance(value, Reason):
        return say(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _Number(value)
    if value is None or isinstance(value, int | float):
        return value
    text = str(value)
    if len(text) > LONGEST_VALUE:
        text = text[: LONGEST_VALUE - 1] + plain("…")
    return clean(text, newlines=False)


def _as_python(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_as_python, value)) + "]"
    return clean(str(value), newlines=False)


_LAYERS: Mapping[str, str | Counted] = {
    "truncate.cut_one": N_("{length} characters > {limit}: {head} + {tail} stay; {result_length} with the notice"),
    "truncate.cut_one_longer": N_(
        "{length} characters > {limit}: {head} + {tail} stay; {result_length} with the notice, longer than before"
    ),
    "truncate.cut_error": N_("errors are cut too: {length} characters > {limit}; {result_length} with the notice"),
    "truncate.cut_many": Counted(
        "results",
        "{results} tool result > {limit} characters: {omitted} characters are left out of its middle",
        "{results} tool results > {limit} characters: {omitted} characters are left out of their middles",
    ),
    "truncate.within_limit": N_("{length} characters ≤ {limit}: it stays whole"),
    "truncate.already_cut": N_(
        "it is truncated already; cut again it would only lose more[: {length} → {again} characters]"
    ),
    "truncate.no_results": N_("there is no tool result to truncate"),
    "truncate.none_over_limit": Counted(
        "results",
        "{results} tool result: not over {limit} characters, or truncated already",
        "{results} tool results: none that is over {limit} characters and not yet truncated",
    ),
    "clear.done": Counted(
        "results",
        "{results} tool result > keep {keep}, so clear {cleared}",
        "{results} tool results > keep {keep}, so clear {cleared}",
    ),
    "clear.none_kept": Counted(
        "results",
        "{results} tool result, keep {keep}: none stays, so clear {cleared}",
        "{results} tool results, keep {keep}: none stays, so clear {cleared}",
    ),
    "clear.nothing_old": Counted(
        "results",
        "{results} tool result, keep {keep}: nothing old to clear",
        "{results} tool results, keep {keep}: nothing old to clear",
    ),
    "clear.all_cleared_before": Counted(
        "results",
        "{results} tool result, keep {keep}: the old one is cleared already",
        "{results} tool results, keep {keep}: all old ones are cleared already",
    ),
    "prune.done": Counted(
        "turns",
        "{turns} user turn, keep {keep_turns}: old tool results pruned: {pruned}",
        "{turns} user turns, keep {keep_turns}: old tool results pruned: {pruned}",
    ),
    "prune.nothing_old": Counted(
        "turns",
        "{turns} user turn, keep {keep_turns}: nothing old to prune",
        "{turns} user turns, keep {keep_turns}: nothing old to prune",
    ),
    "prune.nothing_long": Counted(
        "turns",
        "{turns} user turn, keep {keep_turns}: no old tool result is long enough and not yet pruned",
        "{turns} user turns, keep {keep_turns}: no old tool result is long enough and not yet pruned",
    ),
    "prune.keep_zero": N_("keep 0 prunes nothing, a fault of the lesson: index -0 is the first turn, nothing is older"),
    "summarize.too_few_turns": Counted(
        "turns",
        "{turns} user turn, keep {keep_turns}: nothing old to summarize",
        "{turns} user turns, keep {keep_turns}: nothing old to summarize",
    ),
    "summarize.old_turns": Counted(
        "old",
        "{turns} user turns, keep {keep_turns}: {old} old message to summarize[, in {requests:,} requests]",
        "{turns} user turns, keep {keep_turns}: {old} old messages to summarize[, in {requests:,} requests]",
    ),
    "summarize.with_summary_as_turn": Counted(
        "old",
        "{turns} user turns (a summary counts as one), keep {keep_turns}: {old} old message to summarize",
        "{turns} user turns (a summary counts as one), keep {keep_turns}: {old} old messages to summarize",
    ),
    "summarize.done": Counted(
        "replaced",
        "{replaced} old message → 1 summary[, {flaw}]: ~{old_tokens:,} → ~{new_tokens:,} tokens",
        "{replaced} old messages → 1 summary[, {flaw}]: ~{old_tokens:,} → ~{new_tokens:,} tokens",
    ),
    "summarize.done_larger": Counted(
        "replaced",
        "{replaced} old message → 1 summary[, {flaw},] that is larger than it: "
        "~{old_tokens:,} → ~{new_tokens:,} tokens",
        "{replaced} old messages → 1 summary[, {flaw},] that is larger than they: "
        "~{old_tokens:,} → ~{new_tokens:,} tokens",
    ),
    "summarize.blank": N_("the summary is blank[, {flaw}], so all messages stay; try again or write one yourself"),
    "summary.cut_off": N_("cut off at the model's length limit"),
    "summary.filtered": N_("cut off by the endpoint's content filter"),
    "summary.called_tool": N_("the model called {tool} instead"),
    "replay.untouched": N_("the policy has no layer that does anything here"),
    "summarize.failed": N_("no summary could be made, so all messages stay. {why}"),
    "decide.layer_off": N_("this policy never summarizes"),
    "decide.switched_off": N_("layer 3 is switched off, so nothing to summarize"),
    "decide.too_long": N_("too long for the model's context window, so summarize and ask once more"),
    "decide.by_hand_only": N_("this policy summarizes by hand only"),
    "decide.turns_over": Counted(
        "turns", "{turns} user turn > {limit}, so summarize", "{turns} user turns > {limit}, so summarize"
    ),
    "decide.turns_over_with_summary": N_(
        "{turns} user turns > {limit}: a summary counts as one, so each question makes another"
    ),
    "decide.turns_within": Counted(
        "turns",
        "{turns} user turn ≤ {limit}, so nothing to summarize",
        "{turns} user turns ≤ {limit}, so nothing to summarize",
    ),
    "decide.share_over": N_("{kind}{tokens:,} tokens ≥ {threshold:,} (window {window:,}), so summarize"),
    "decide.share_within": N_("{kind}{tokens:,} tokens < {threshold:,} (window {window:,}), so nothing to summarize"),
    "decide.window_unknown": N_(
        "the model's window is unknown, so a share of it cannot trigger a summary; --window N sets it"
    ),
}

_TURN: Mapping[str, str | Counted] = {
    "turn.received": N_("the question joins the list"),
    "turn.request": Counted(
        "messages",
        "{messages:,} message, ~{tokens:,} tokens[ + {tools:,} for tools]",
        "{messages:,} messages, ~{tokens:,} tokens[ + {tools:,} for tools]",
    ),
    "turn.calls": Counted("calls", "the model calls {calls} tool", "the model calls {calls} tools"),
    "turn.tool": Counted("left", "{tool} runs: {left} call to answer", "{tool} runs: {left} calls to answer"),
    "turn.result": Counted(
        "characters",
        "a result of {characters} character joins the list",
        "a result of {characters} characters joins the list",
    ),
    "turn.answer": N_("the model answers"),
    "turn.saving": N_("the list is written to the session file"),
    "turn.cancelled": N_("Cancelled. What had come is kept and marked; ask again when you like."),
    "turn.taken_back": N_("the question failed, so what it had done is taken back"),
    "turn.cut_off": N_("The answer ends where the model's length limit cut it. It is kept; ask it to go on."),
    "turn.filtered": N_("The endpoint's content filter stopped the answer. What had come is kept; ask differently."),
    "turn.too_many_rounds": N_(
        "The turn was stopped after {rounds} rounds of tool calls. Everything is kept; ask it to go on."
    ),
    "turn.broken": N_("A fault of the program ({error}) ended the turn. What had come is kept; ask again."),
    "recovery.draft": N_("the program ended in the midst of this answer: what had come is kept and marked"),
    "outside.changed": N_("another program changed the file: {removed} messages gone, {added} new"),
    "recovery.open_calls": Counted(
        "calls",
        "the program ended before {calls} call was answered: it is closed with a marked result",
        "the program ended before {calls} calls were answered: they are closed with marked results",
    ),
    "edit.place_gone": N_("The list has changed since this was planned. Nothing was changed; plan it again."),
    "edit.entries_changed": N_("The list has changed since this was planned. Nothing was changed; plan it again."),
}

_FILES: Mapping[str, str | Counted] = {
    "format.empty": N_("The file is empty. It was not changed; name a file with messages in it."),
    "format.no_messages": N_(
        "line {line}: {why}. There are no messages in the file; it was not changed. Name another."
    ),
    "file.missing": N_("There is no file {path}; check its name, or create it with `triptych --new`."),
    "file.unreadable": N_("{path} cannot be read: {error}. It was not changed; mend that or name another file."),
    "file.is_folder": N_("{path} is a folder; name a file in it."),
    "file.not_regular": N_("{path} is no regular file, so it cannot be a session; name another file."),
    "file.not_writable": N_("{path} cannot be written: {error}. It is as it was; make room or choose another place."),
    "file.exists": N_("{path} is there already and was not changed; open it without --new, or name another file."),
    "file.changed_outside": N_(
        "{path} was changed by another program and is not overwritten. "
        "The session goes on unsaved; open the file again."
    ),
    "file.not_ours": N_(
        "{path} is another program's, damaged, or without a system message ({format}). It was not changed; use -o OUT."
    ),
    "journal.not_writable": N_(
        "{path} cannot be written: {error}. What is new is kept here until it can be; make room."
    ),
    "session.in_use": N_(
        "{path} is open in another window, so it is only read here; once that is closed, `O` opens it for writing."
    ),
    "session.writable": N_("The session is kept in its file again."),
    "session.opened_anew": N_("This is the session as the other window left it; it can be written here now."),
    "session.has_own_steps": N_(
        "{path} has changed since it was opened here, and so has this session. Nothing was overwritten; "
        "save this one elsewhere with `w`, then open that one again."
    ),
    "session.conflict": N_(
        "{path} was changed by another program, and this session has changes that are not in it. "
        "Nothing is overwritten; whichever you take, the other stays a step."
    ),
    "session.no_longer_one": N_(
        "{path} was changed by another program and is no session any more. Nothing is overwritten; "
        "to keep yours, that file is moved aside first."
    ),
    "session.put_aside": N_("Your session is saved; what stood there is kept, byte for byte, as {path}."),
    "outside.taken": N_("Another program changed the file. What it made of the list is a step; `u` takes it back."),
    "outside.kept_mine": N_("Your session is saved. What the other program made of it is a step; ctrl+r shows it."),
    "session.saved_as": N_("The session is kept in {path} from now on, with all its steps."),
    "session.renamed": N_("The session is called {path} now."),
    "session.name_taken": N_("There is a file or a journal with the name {path} already; nothing was changed."),
    "session.choose_another": N_(
        "There is a file or a journal with the name {path} already; nothing was changed. Choose another name."
    ),
    "session.remove": N_("Remove {path}? It is put away under another name with its journal, so it can be had back."),
    "session.removed": N_("{name} is put away as {path}; this is your own session."),
    "session.leave_unsaved": N_("What is new in this session is not saved and would be lost."),
    "open.changed_outside": N_(
        "Another program changed this file while it was closed. What it made of the list is a step."
    ),
    "open.recovered": N_("The program ended before all was saved. It is here, word for word."),
    "found.lost": Counted(
        "steps",
        "This session's journal is damaged: {steps} step cannot be read or fits nowhere. All others are here.",
        "This session's journal is damaged: {steps} steps cannot be read or fit nowhere. All others are here.",
    ),
    "found.unusable": N_("This session's journal cannot be read. The list is here, undo is not; marks are guessed."),
    "found.not_told": N_("what is left of the journal does not lead to the list in the file: it is a step of its own"),
    "open.lessons_view": N_(
        "This is the list alone, as the lesson reopens it: no undo, marks are guessed. `L` goes back."
    ),
    "open.foreign": N_("This file is another program's or has no system message ({format}), so it is only read."),
    "open.damaged": Counted(
        "places",
        "{places} place could not be read as it stands, so the file is only read; `triptych check` tells.",
        "{places} places could not be read as they stand, so the file is only read; `triptych check` tells.",
    ),
    "open.unsaved": N_(
        "{path} cannot be used: {error}. It was not changed; this session is not saved, `w` saves it elsewhere."
    ),
    "open.moved_aside": N_(
        "Your session file was damaged. It is kept, byte for byte, as {path}; what could be read of it goes on here."
    ),
}

SENTENCES: Mapping[str, str | Counted] = {
    **_LAYERS,
    **ROBUST_LAYERS,
    **_TURN,
    **MODELS,
    **CONNECTIONS,
    **SETTINGS,
    **_FILES,
    **WORKBENCH,
}

FAULTS: Mapping[str, str] = {
    "cut_off": N_("the file ends in the middle of it"),
    "invalid_json": N_("this is not valid JSON"),
    "too_deep": N_("this is nested too deeply"),
    "number_too_long": N_("a number has too many digits"),
    "duplicate_key": N_("a key stands twice; the last one counts"),
    "not_a_number": N_("NaN or Infinity, which JSON does not have"),
    "lone_surrogate": N_("half a character, replaced by U+FFFD"),
    "invalid_encoding": N_("bytes that are no text, replaced by U+FFFD"),
    "nul_bytes": N_("NUL bytes, passed over"),
    "given_up": N_("too many faults; the rest was not read"),
    "no_role": N_("an object without a role"),
    "not_an_object": N_("this is no object"),
    "not_a_conversation": N_("this is no conversation"),
    "another_conversation": N_("another conversation; only the first is read"),
}
"""What readers say of what they could not read."""

PROBLEMS: Mapping[str, str] = {
    "orphan_result": N_("this tool result answers no call"),
    "unanswered_call": N_("this call has no result"),
    "empty_assistant": N_("an assistant message without text or calls"),
    "duplicate_call_id": N_("an earlier call has the same id"),
    "invalid_arguments": N_("the arguments are no JSON object"),
    "no_system": N_("there is no system message"),
    "system_not_first": N_("a system message that does not come first"),
    "replaced_characters": N_("characters replaced by U+FFFD"),
}
"""What `checks` finds."""
