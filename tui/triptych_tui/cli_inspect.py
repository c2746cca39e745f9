"""Commands that look at a saved session: `context` and `check`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from triptych.entries import Entry, Summary
from triptych.messages import Message, carries_result, native, pictures_in, role_of, text_of, tool_calls, turn_starts
from triptych_tui.cli_support import (
    as_json,
    entries_in,
    print_json,
    print_lines,
    read_session,
    setting,
    settings_for,
    shown,
    table,
)
from triptych_tui.i18n import N_, _, ngettext
from triptych_tui.picture_words import behind_labels, picture_facts, picture_label

if TYPE_CHECKING:
    from triptych.checks import Problem
    from triptych.formats import Reading

PREVIEW = 80
"""Characters of a message that are shown of it."""


@click.command(help=N_("Tokens by role, mark and entry."))
@click.argument("file", metavar="FILE")
@setting("--policy", metavar="P", help=N_("Whose estimator counts."))
@setting("--window", type=int, metavar="N", help=N_("The model's context window in tokens."))
@as_json
def context(file: str, policy: str | None, window: int | None, json_wanted: bool) -> None:
    from triptych.policy_files import find
    from triptych.tokens import ESTIMATORS, TokenCounter

    settings = settings_for(policy=policy, window=window)
    counter = TokenCounter(ESTIMATORS[find(settings.policy).estimator])
    entries = entries_in(file, read_session(file))
    tokens = counter.entry_tokens(entries)
    marked = [(mark.name, tokens[index]) for index, entry in enumerate(entries) if (mark := entry.newest_mark)]
    answer = {
        "estimator": counter.estimator.name,
        "window": settings.window,
        "total": sum(tokens),
        "by_role": _summed([(role_of(entry.message), tokens[index]) for index, entry in enumerate(entries)]),
        "by_mark": _summed(marked),
        "entries": [_entry_json(index, entry, tokens[index]) for index, entry in enumerate(entries)],
    }
    if json_wanted:
        print_json(answer)
    else:
        print_lines(_context_lines(answer))


@click.command(help=N_("What an API would refuse, and what could not be read."))
@click.argument("file", metavar="FILE")
@as_json
@click.pass_context
def check(ctx: click.Context, file: str, json_wanted: bool) -> None:
    from triptych.checks import problems

    reading = read_session(file)
    found = problems(reading.messages, reading.replaced_characters)
    facts = _facts(reading, entries_in(file, reading))
    if json_wanted:
        print_json(
            {
                **facts,
                "problems": [
                    {"kind": each.kind, "severity": each.severity, "message": each.message, "detail": each.detail}
                    for each in found
                ],
                "unreadable": [{"line": each.line, "reason": each.reason} for each in reading.unreadable],
            }
        )
    else:
        print_lines(_check_lines(facts, found, reading))
    ctx.exit(1 if any(each.severity == "error" for each in found) else 0)


def _summed(parts: Sequence[tuple[str, int]]) -> dict[str, int]:
    sums: defaultdict[str, int] = defaultdict(int)
    for name, tokens in parts:
        sums[name] += tokens
    return dict(sums)


def _entry_json(index: int, entry: Entry, tokens: int) -> dict[str, Any]:
    mark = entry.newest_mark
    return {
        "index": index,
        "role": role_of(entry.message),
        "tokens": tokens,
        "measured": False,
        "mark": mark.name if mark else None,
        "guessed": mark.guessed if mark else False,
        "preview": _preview(entry.message),
        "pictures": picture_facts(entry.message),
    }


def _preview(message: Message) -> str:
    """The first words of a message, or the first call."""
    message = native(message)
    text = " ".join(text_of(message)[: 4 * PREVIEW].split())
    calls = "" if text else "; ".join(f"→ {call.name}({call.arguments[:PREVIEW]})" for call in tool_calls(message))
    return (text or " ".join(calls.split()))[:PREVIEW]


def _context_lines(answer: Mapping[str, Any]) -> list[str]:
    entries = answer["entries"]
    size = ngettext("{count} message", "{count} messages", len(entries)).format(count=len(entries))
    head = _("{size}, ~{tokens} tokens by the estimator {estimator}").format(
        size=size, tokens=f"{answer['total']:,}", estimator=answer["estimator"]
    )
    if answer["window"]:
        share = f"{answer['total'] / answer['window']:.0%}"
        head += _(", {share} of the window's {window}").format(share=share, window=f"{answer['window']:,}")
    by_role = [(role, f"~{tokens:,}") for role, tokens in answer["by_role"].items()]
    by_mark = [(mark, f"~{tokens:,}") for mark, tokens in answer["by_mark"].items()]
    rows = [(each["index"], each["role"], f"~{each['tokens']:,}", _marked(each), _words(each)[:60]) for each in entries]
    return [
        head,
        *(["", *table(by_role, right=(1,))] if by_role else []),
        *(["", *table(by_mark, right=(1,))] if by_mark else []),
        "",
        *table(rows, right=(0, 2)),
    ]


def _words(entry: Mapping[str, Any]) -> str:
    """The labels of an entry's pictures and its first words."""
    return behind_labels(list(map(picture_label, entry["pictures"])), entry["preview"])


def _marked(entry: Mapping[str, Any]) -> str:
    """The mark's name, with a question mark where it is guessed."""
    return f"{entry['mark'] or ''}{'?' if entry['guessed'] else ''}"


def _facts(reading: Reading, entries: Sequence[Entry]) -> dict[str, Any]:
    messages = reading.messages
    return {
        "format": reading.format,
        "messages": len(messages),
        "turns": len(turn_starts(messages)),
        "tool_calls": sum(len(tool_calls(native(message))) for message in messages),
        "tool_results": sum(map(carries_result, messages)),
        "pictures": sum(map(pictures_in, messages)),
        "compactions": sum(entry.has_mark(Summary) for entry in entries),
        "by_role": dict(Counter(map(role_of, messages))),
    }


def _check_lines(facts: Mapping[str, Any], found: Sequence[Problem], reading: Reading) -> list[str]:
    from triptych_tui.wording import fault_in_words, problem_in_words

    by_role = ", ".join(f"{shown(role)} {count}" for role, count in facts["by_role"].items())
    lines = table(
        [
            (_("format"), facts["format"]),
            (_("messages"), f"{facts['messages']} ({by_role})"),
            (_("turns"), facts["turns"]),
            (_("tool calls"), facts["tool_calls"]),
            (_("tool results"), facts["tool_results"]),
            (_("pictures"), facts["pictures"]),
            (_("compactions"), facts["compactions"]),
        ]
    )
    severities = {"error": _("error"), "note": _("note")}
    problems = [
        (
            severities[each.severity],
            "" if each.message is None else _("message {index}").format(index=each.message),
            problem_in_words(each.kind),
            each.detail[:PREVIEW],
        )
        for each in found
    ]
    unreadable = [
        (_("line {number}").format(number=each.line), fault_in_words(each.reason)) for each in reading.unreadable
    ]
    if not problems and not unreadable:
        return [*lines, "", _("An API would accept this list.")]
    return [
        *lines,
        *(["", *table(problems)] if problems else []),
        *(["", _("Left out or altered while reading:"), *table(unreadable)] if unreadable else []),
    ]
