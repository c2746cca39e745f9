"""`triptych verify`: someone's own layer functions, held against the lesson's."""

from __future__ import annotations

import json
import math
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from triptych.settings import SettingsError
from triptych_tui.cli_support import (
    FILE,
    STANDARD_INPUT,
    USAGE,
    Fault,
    as_json,
    option,
    print_json,
    print_lines,
    shown,
    standard_input,
)
from triptych_tui.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from triptych.verifying.comparing import Difference, Loaded, SourceFile, Verdict

LARGEST = 4 << 20
"""Bytes of a file that is still taken for someone's own functions."""

LONGEST_TEXT, MOST_LINES = 400, 24
"""Characters of a text, and lines of a value, that are shown; JSON has all of them."""

HINTS = {
    "signature": N_("the lesson calls it as {name}({arguments})"),
    "changed_input": N_("it changes what it was given; make a new list, and new messages where they change"),
    "minus_zero": N_("with nothing to keep of the end, text[-0:] is the whole text"),
    "odd_limit": N_("of an odd limit the end keeps the one character more: limit - limit // 2"),
    "keep_zero": N_("with keep 0 all results are old, but results[:-0] is none of them"),
    "not_in_place": N_("nothing was cleared in the messages it was given; change those, or return the new list"),
    "keep_turns_zero": N_("turns[-0] is the first turn, so nothing is older: the lesson prunes nothing then"),
    "nothing": N_("it returns nothing; a return may be missing"),
}

NO_ANSWER = {
    "time": N_("no answer within {seconds} s"),
    "ended": N_("its process ended"),
}


@click.command(
    help=N_(
        "Hold your own layer functions in FILE.py against the lesson's, on the published vectors and on generated "
        "inputs, and show the smallest input that makes a difference. FILE.py is executed, in a process of its own but "
        "with all your rights: run only what you trust."
    ),
    short_help=N_("Your own layer functions against the lesson's."),
)
@click.argument("file", metavar="FILE.py")
@option(
    "--map",
    "maps",
    multiple=True,
    metavar="THEIRS=OURS",
    help=N_("Your name for one of the lesson's functions; may be repeated."),
)
@option(
    "--seconds",
    type=click.FloatRange(0, 3600, min_open=True),
    default=10,
    metavar="N",
    help=N_("How long each function may take; 10 by itself."),
)
@as_json
@click.pass_context
def verify(ctx: click.Context, file: str, maps: tuple[str, ...], seconds: float, json_wanted: bool) -> None:
    from triptych.verifying.comparing import Verification

    if math.isnan(seconds):  # which is in every range
        raise SettingsError("settings.not_a_number", source="--seconds", value="nan")
    called = _called(maps)
    with Verification(_source(file), called, seconds) as verification:
        loaded = verification.load()
        _check(file, loaded, called, seconds)
        verdicts = verification.verdicts(loaded.found)
        told = list(verdicts) if json_wanted else list(_told(verdicts, seconds))
    missing = [name for name in _known() if name not in loaded.found]
    if json_wanted:
        print_json({"functions": [_as_json(verdict) for verdict in told], "missing": missing})
    elif missing:
        print_lines([_("not in {file}: {names}").format(file=_name(file), names=", ".join(missing))])
    ctx.exit(0 if all(verdict.passed for verdict in told) else 1)


def _known() -> tuple[str, ...]:
    from triptych.verifying.cases import NAMES

    return NAMES


def _name(file: str) -> str:
    return _("standard input") if file == STANDARD_INPUT else shown(file)


def _called(maps: tuple[str, ...]) -> dict[str, str]:
    """The file's names by the lesson's."""
    called = {}
    for each in maps:
        theirs, equals, ours = each.partition("=")
        if not equals or not theirs.isidentifier():
            raise Fault(USAGE, _("--map {value} is not of the form THEIRS=OURS").format(value=shown(each)))
        if ours not in _known():
            sentence = _("--map {value}: the lesson's functions are {known}")
            raise Fault(USAGE, sentence.format(value=shown(each), known=", ".join(_known())))
        called[ours] = theirs
    return called


def _source(file: str) -> SourceFile:
    """The file as it is now. Raises OSError."""
    from triptych.verifying.comparing import SourceFile

    if file == STANDARD_INPUT:
        return SourceFile("<stdin>", standard_input())
    path = Path(file)
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # reading a folder says by itself what is wrong
        raise Fault(FILE, _("{file} is no regular file; name a Python file").format(file=_name(file)))
    with path.open("rb") as opened:
        source = opened.read(LARGEST + 1)
    if len(source) > LARGEST:
        raise Fault(FILE, _("{file} is too large to be a file of functions; name another").format(file=_name(file)))
    return SourceFile(str(path.absolute()), source)


def _check(file: str, loaded: Loaded, called: Mapping[str, str], seconds: float) -> None:
    """Go on only with a file that has something to verify; say on standard error where it did not get to its end."""
    if loaded.no_answer is not None:
        why = _(NO_ANSWER[loaded.no_answer]).format(seconds=f"{seconds:g}")
        sentence = _("{file} could not be loaded: {why}; what it runs by itself belongs under if __name__ == {main}")
        raise Fault(FILE, sentence.format(file=_name(file), why=why, main='"__main__"'))
    if loaded.stopped is not None:
        place = _name(file) + (f":{loaded.stopped.line}" if loaded.stopped.line is not None else "")
        error = f"{loaded.stopped.error}: {loaded.stopped.text}"[:LONGEST_TEXT]
        if not loaded.found:
            sentence = _("{place} stops it from being loaded: {error}; mend that")
            raise Fault(FILE, sentence.format(place=place, error=shown(error)))
        sentence = _("triptych: {place} stopped it: {error}; what it had defined until then is verified")
        click.echo(sentence.format(place=place, error=shown(error)), err=True)
    for ours, theirs in called.items():
        if ours not in loaded.found:
            sentence = _("{file} has no function {name}; check --map")
            raise Fault(USAGE, sentence.format(file=_name(file), name=shown(theirs)))
    if not loaded.found:
        sentence = _("{file} has none of the lesson's functions: {known}; name yours with --map THEIRS=OURS")
        raise Fault(USAGE, sentence.format(file=_name(file), known=", ".join(_known())))


def _as_json(verdict: Verdict) -> dict[str, Any]:
    first = verdict.difference
    return {
        "name": verdict.name,
        "called": verdict.called,
        "cases": verdict.cases,
        "passed": verdict.passed,
        "first_difference": None
        if first is None
        else {
            "input": first.given,
            "ours": _value(first.ours),
            "theirs": _value(first.theirs),
            "hint": _hint(verdict.name, first),
        },
    }


def _value(answer: Mapping[str, Any]) -> Any:
    """What was returned, where there is no more to say."""
    return answer["returned"] if set(answer) == {"returned"} else answer


def _hint(name: str, difference: Difference) -> str | None:
    if difference.hint is None:
        return None
    return _(HINTS[difference.hint]).format(name=name, arguments=", ".join(_arguments(name, difference.given)))


def _arguments(name: str, given: Mapping[str, Any]) -> list[str]:
    special = {"compact": ["messages", "complete"], "save_session": ["history", "path"], "load_session": ["path"]}
    return special.get(name, list(given))


def _told(verdicts: Iterator[Verdict], seconds: float) -> Iterator[Verdict]:
    """Print each verdict as it comes."""
    for verdict in verdicts:
        name = verdict.name if verdict.called == verdict.name else f"{verdict.called} = {verdict.name}"
        if (difference := verdict.difference) is None:
            cases = ngettext("{count} case", "{count} cases", verdict.cases).format(count=verdict.cases)
            print_lines([f"✓ {name}  {cases}"])
        else:
            print_lines(
                [_("✗ {name}  differs").format(name=name), *_difference_lines(verdict.name, difference, seconds)]
            )
        yield verdict


def _difference_lines(name: str, difference: Difference, seconds: float) -> Iterator[str]:
    """The input, both answers with a sign at the lines that only one of them has, and the hint."""
    yield "  " + _("input")
    for argument, value in difference.given.items():
        yield from (f"    {row}" for row in _value_rows(f"{argument} = ", value))
    ours, theirs = (list(_answer_rows(answer, seconds)) for answer in (difference.ours, difference.theirs))
    for title, rows, others in ((_("the lesson"), ours, theirs), (_("yours"), theirs, ours)):
        yield f"  {title}"
        yield from (f"    {row}" if row in others else f"  ≠ {row}" for row in rows)
    if (hint := _hint(name, difference)) is not None:
        yield f"  → {hint}"


def _answer_rows(answer: Mapping[str, Any], seconds: float) -> Iterator[str]:
    if "no_answer" in answer:
        yield _(NO_ANSWER[answer["no_answer"]]).format(seconds=f"{seconds:g}")
    elif "raised" in answer:
        yield shown(f"{answer['raised']}: {answer['text']}"[:LONGEST_TEXT])
    else:
        yield from _value_rows("", answer["returned"])
        if "asked" in answer:
            yield from _value_rows(_("asked the model: "), answer["asked"])
        if "changed" in answer:
            yield from _value_rows(_("changed what it was given to: "), answer["changed"])


def _value_rows(before: str, value: Any) -> list[str]:
    """A value as JSON that can be read: a line for each message of a list, long texts and lists cut."""
    if not isinstance(value, list) or not any(isinstance(item, dict | list) for item in value):
        return [before + _one_line(value)]
    rows = [f"  {_one_line(item)}," for item in value[:MOST_LINES]]
    if hidden := len(value) - len(rows):
        rows.append("  " + ngettext("… {count} more", "… {count} more", hidden).format(count=hidden))
    return [f"{before}[", *rows, "]"]


def _one_line(value: Any) -> str:
    text, half = json.dumps(value, ensure_ascii=False), LONGEST_TEXT // 2
    return shown(text if len(text) <= LONGEST_TEXT else f"{text[:half]} … {text[-half:]}")
