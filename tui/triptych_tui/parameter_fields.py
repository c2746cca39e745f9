"""The parameters of a layer as fields to be filled in: which there are, what they are called, what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import NoneType
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

from triptych.layers.clear import ClearParameters
from triptych.layers.parameters import UNITS, ParameterError
from triptych.layers.prune import PruneParameters
from triptych.layers.summarize import SummarizeParameters
from triptych.layers.truncate import TruncateParameters
from triptych.policy import Trigger
from triptych.reasons import Reason
from triptych_tui.i18n import N_, _
from triptych_tui.untrusted import clean

P = TypeVar("P", bound=TruncateParameters | ClearParameters | PruneParameters | SummarizeParameters | Trigger)

YES, NO = "yes", "no"


class Words(NamedTuple):
    """A field's label and, in a sentence, what it does, both as message ids."""

    label: str
    meaning: str


_LESSON: Mapping[type, tuple[str, ...]] = {
    TruncateParameters: ("limit", "head_share"),
    ClearParameters: ("keep", "placeholder"),
    SummarizeParameters: ("keep_turns", "prefix", "acknowledgement"),
}
_ROBUST: Mapping[type, tuple[str, ...]] = {
    TruncateParameters: ("limit", "unit", "head_share", "error_limit", "max_line", "notice"),
    ClearParameters: (
        "keep",
        "minimum_gain",
        "placeholder",
        "whole_batches",
        "keep_errors",
        "exclude_tools",
        "protect_tokens",
        "skip_turns",
        "minimum_characters",
        "from_tokens",
        "head_characters",
        "tail_characters",
        "on_overflow_only",
    ),
    SummarizeParameters: (
        "keep_turns",
        "focus",
        "from_originals",
        "kept_share",
        "kept_tokens",
        "minimum_progress",
        "request_tokens",
        "clip_characters",
        "keep_messages",
        "count_results",
        "keep_part",
        "keep_first",
        "keep_question_tokens",
        "kept_least",
        "kept_most",
        "summary_last",
        "prefix",
        "acknowledgement",
    ),
}
_TRIGGER = (
    "turns",
    "window_share",
    "tokens",
    "messages",
    "on_overflow_only",
    "turns_without_window",
    "reserve_tokens",
)
_PRUNE = (
    "keep_turns",
    "max_lines",
    "head_lines",
    "tail_lines",
    "max_characters",
    "head_characters",
    "tail_characters",
)

_LABELS: Mapping[type, Mapping[str, Words]] = {
    TruncateParameters: {
        "limit": Words(N_("limit"), N_("the most that stays of a result, the notice included")),
        "unit": Words(N_("unit"), N_("what the limits count; bytes are those of UTF-8")),
        "head_share": Words(
            N_("head share (0 to 1)"), N_("the part kept from the beginning; the rest is kept from the end")
        ),
        "error_limit": Words(N_("limit of errors"), N_("the limit for what a failed tool says; empty: the same limit")),
        "max_line": Words(N_("longest line"), N_("characters a line may have; empty: any number")),
        "notice": Words(N_("notice"), N_("stands for what is left out; {omitted}, {unit}, {tool} are filled in")),
    },
    ClearParameters: {
        "keep": Words(N_("keep (results)"), N_("the newest results that stay")),
        "minimum_gain": Words(
            N_("minimum gain (tok)"), N_("below it nothing is cleared: clearing spoils the prompt cache")
        ),
        "placeholder": Words(
            N_("placeholder"), N_("stands for a result; {tool}, {arguments}, {characters} are filled in")
        ),
        "whole_batches": Words(N_("whole batches"), N_("results of calls made together stay when one of them does")),
        "keep_errors": Words(N_("keep errors"), N_("what failed tools said stays, and is not counted")),
        "exclude_tools": Words(N_("tools left alone"), N_("names, with commas between: their results stay, uncounted")),
        "protect_tokens": Words(
            N_("protect newest (tok)"), N_("the newest results stay up to so many tokens together")
        ),
        "skip_turns": Words(N_("skip newest turns"), N_("results of so many newest turns stay")),
        "minimum_characters": Words(N_("from (characters)"), N_("results with fewer characters stay")),
        "from_tokens": Words(N_("from a list of (tok)"), N_("a list with fewer tokens stays as it is")),
        "head_characters": Words(N_("beginning kept"), N_("characters of its beginning that a cleared result keeps")),
        "tail_characters": Words(N_("end kept"), N_("characters of its end that a cleared result keeps")),
        "on_overflow_only": Words(
            N_("only on overflow"), N_("in turns, only when the list is too long for the window")
        ),
    },
    PruneParameters: {
        "keep_turns": Words(N_("keep (turns)"), N_("results of so many newest turns stay whole")),
        "max_lines": Words(N_("max lines"), N_("a result with more lines keeps its first and last ones")),
        "head_lines": Words(N_("first lines"), N_("lines kept from the beginning")),
        "tail_lines": Words(N_("last lines"), N_("lines kept from the end")),
        "max_characters": Words(
            N_("max characters"), N_("a result with more characters keeps its first and last ones")
        ),
        "head_characters": Words(N_("first characters"), N_("characters kept from the beginning")),
        "tail_characters": Words(N_("last characters"), N_("characters kept from the end")),
    },
    SummarizeParameters: {
        "keep_turns": Words(N_("keep (turns)"), N_("the newest turns that stay, with all that follows them")),
        "focus": Words(N_("focus"), N_("what the summary should heed above all; empty: nothing special")),
        "from_originals": Words(
            N_("from originals"), N_("the summarizer reads results as they were before other layers")
        ),
        "kept_share": Words(
            N_("kept (of the window)"), N_("the part of the window, 0 to 1, that may stay; else fewer turns do")
        ),
        "kept_tokens": Words(N_("kept (tok)"), N_("the same in tokens, where the window is unknown")),
        "minimum_progress": Words(
            N_("least saving (0 to 1)"), N_("a summary that saves a smaller part than this is refused")
        ),
        "request_tokens": Words(N_("one request (tok)"), N_("what is longer goes in pieces; empty: by the window")),
        "clip_characters": Words(N_("messages cut at"), N_("characters of a message that the summarizer gets to read")),
        "keep_messages": Words(
            N_("keep (messages)"), N_("the newest messages that stay, instead of turns; empty: turns")
        ),
        "count_results": Words(N_("count results"), N_("whether tool results count among these messages")),
        "keep_part": Words(
            N_("keep (of the list)"), N_("the newest part of the list, 0 to 1, instead of turns; empty: turns")
        ),
        "keep_first": Words(N_("keep first (messages)"), N_("the first messages, which stay before the summary")),
        "keep_question_tokens": Words(
            N_("old questions (tok)"), N_("old questions that stay verbatim, up to so many tokens; empty: none")
        ),
        "kept_least": Words(
            N_("kept at least (tok)"), N_("what stays may have so many tokens, however small the window")
        ),
        "kept_most": Words(N_("kept at most (tok)"), N_("what stays has at most so many tokens; empty: any number")),
        "summary_last": Words(N_("summary last"), N_("no newest part stays: the summary is about all and stands last")),
        "prefix": Words(N_("prefix"), N_("stands before the summary, in the user message that carries it")),
        "acknowledgement": Words(N_("fixed answer"), N_("the assistant message that follows the summary")),
    },
    Trigger: {
        "turns": Words(N_("above (turns)"), N_("at a question, when the list has more turns; empty: not by turns")),
        "window_share": Words(
            N_("from (of the window)"), N_("when this part of the window is full, 0 to 1; empty: not by it")
        ),
        "tokens": Words(N_("from (tok)"), N_("when the list has at least so many tokens; empty: not by tokens")),
        "messages": Words(N_("above (messages)"), N_("when the list has more messages; empty: not by messages")),
        "on_overflow_only": Words(N_("only on overflow"), N_("only when the list is too long for the window")),
        "turns_without_window": Words(
            N_("or above (turns)"), N_("beside a part of the window: more turns, where that is unknown")
        ),
        "reserve_tokens": Words(
            N_("or less left (tok)"), N_("beside a part of the window: fewer left of it, once half is full")
        ),
    },
}
_CHOICES: Mapping[str, tuple[str, ...]] = {"unit": UNITS}
_CHOICE_WORDS: Mapping[str, str] = {
    YES: N_("on"),
    NO: N_("off"),
    "characters": N_("characters"),
    "lines": N_("lines"),
    "bytes": N_("bytes"),
}


def fields_of(parameters: object) -> tuple[str, ...]:
    """The names of the parameters that a panel lets people change, the most used first."""
    if isinstance(parameters, PruneParameters):
        return _PRUNE
    if isinstance(parameters, Trigger):
        return _TRIGGER
    table = _ROBUST if getattr(parameters, "flavour", "") == "robust" else _LESSON
    return table[type(parameters)]


def words_of(parameters: object, name: str) -> tuple[str, str]:
    """A field's label and what it does, in the language now in force."""
    if isinstance(parameters, TruncateParameters) and name == "limit" and parameters.flavour == "lesson":
        return _("limit (characters)"), _("original characters that stay; the notice comes on top")
    words = _LABELS[type(parameters)][name]
    return _(words.label), _(words.meaning)


def under_labels(problem: Reason, filled: Iterable[object]) -> Reason:
    """What is wrong with the values of fields, under the labels that they have instead of the parameters' names."""
    labels = {name: words_of(each, name)[0] for each in filled for name in fields_of(each)}

    def labelled(names: Any) -> str:
        return ", ".join(_("“{label}”").format(label=labels.get(name, name)) for name in str(names).split(", "))

    values = {key: labelled(value) if key in ("name", "names") else value for key, value in problem.values.items()}
    return replace(problem, values=values)


def choices_of(parameters: object, name: str) -> tuple[str, ...]:
    """The texts that a field can have; none where it is typed."""
    return (YES, NO) if isinstance(getattr(parameters, name), bool) else _CHOICES.get(name, ())


def choice_word(text: str) -> str:
    """One of the choices, in words."""
    return _(_CHOICE_WORDS[text])


def text_of(value: Any) -> str:
    """A parameter as its field shows it: on one line, and harmless."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return YES if value else NO
    text = ", ".join(value) if isinstance(value, tuple) else str(value)
    return clean(text.replace("\n", r"\n"), newlines=False)


def with_texts(parameters: P, texts: Mapping[str, str]) -> P:
    """Parameters with values as their fields have them. Raises ParameterError for one that is none or out of range.

    A field that shows what its parameter is leaves that as it is, whatever could not be shown.
    """
    hints = get_type_hints(type(parameters))
    changed = {name: text for name, text in texts.items() if text != text_of(getattr(parameters, name))}
    return replace(parameters, **{name: _value(hints[name], name, text) for name, text in changed.items()})


def _value(hint: Any, name: str, text: str) -> Any:
    kinds = get_args(hint) or (hint,)
    if NoneType in kinds and not text.strip():
        return None
    if bool in kinds:
        return text == YES
    if "tuple" in str(hint):
        return tuple(filter(None, map(str.strip, text.split(","))))
    kind = next((each for each in (int, float) if each in kinds), None)
    if kind is None:
        return text.replace(r"\n", "\n")
    try:
        return kind(text)
    except ValueError:
        wrong = "parameter.not_a_whole_number" if kind is int else "parameter.not_a_number"
        raise ParameterError(wrong, name=name, value=text) from None
