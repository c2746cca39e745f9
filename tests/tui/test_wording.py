"""Every reason that the source names has a sentence, and no sentence speaks of a value that is not given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest

import triptych
import triptych_tui
from triptych import checks
from triptych.layers.parameters import ParameterError
from triptych.models.base import ModelError
from triptych.policy_files import read
from triptych.policy_tables import PolicyError
from triptych.reasons import Reason, TriptychError
from triptych.settings import SettingsError, resolve
from triptych_tui.wording import FAULTS, PROBLEMS, SENTENCES, placeholders, say, variables_line

PACKAGES = (Path(triptych.__file__).parent, Path(triptych_tui.__file__).parent)
AN_ID = re.compile(r"[a-z_]+(\.[a-z_]+)?")


@dataclass(frozen=True)
class Site:
    """One place that makes a reason; `values` is None where only running it could tell."""

    place: str
    id: str
    values: frozenset[str] | None


def modules() -> dict[Path, ast.Module]:
    paths = [path for package in PACKAGES for path in sorted(package.rglob("*.py"))]
    return {path: ast.parse(path.read_text("utf-8")) for path in paths}


def error_names(trees: list[ast.Module]) -> set[str]:
    """TriptychError and everything that derives from it."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    names = {"TriptychError"}
    while more := {name for name, of in bases.items() if of & names} - names:
        names |= more
    return names


def sites() -> Iterator[Site]:
    trees = modules()
    errors = error_names(list(trees.values()))
    for path, tree in trees.items():
        if path.name in ("reasons.py", "journal_records.py"):  # what a reason is, and those that a file holds
            continue
        for scope in [*functions(tree), tree]:
            for call in own_calls(scope):
                name = call.func.id if isinstance(call.func, ast.Name) else ""
                if call.args and (name == "Reason" or name in errors):
                    place = f"{path.parent.name}/{path.name}:{call.lineno}"
                    if isinstance(call.args[0], ast.Attribute):
                        continue  # a reason that is passed on; it is found where it begins
                    ids = list(ids_in(call.args[0], scope, tree))
                    assert ids, f"{place}: which reason this is cannot be told"
                    values = dict_keys(call, scope) if name == "Reason" else keyword_names(call)
                    yield from (Site(place, reason_id, values) for reason_id in ids)


def functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def own_calls(scope: ast.AST) -> Iterator[ast.Call]:
    """The calls in a scope, not those of functions in it."""
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, ast.Call):
            yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from own_calls(child)


def assigned(name: str, scope: ast.AST, line: int) -> ast.expr | None:
    """What a name was given last before a line, or, in a module, at all."""
    given = [
        node
        for node in ast.walk(scope)
        if (isinstance(node, ast.Assign) and name in names_in(node.targets))
        or (isinstance(node, ast.AnnAssign) and name in names_in([node.target]))
    ]
    before = sorted((node for node in given if node.lineno <= line), key=lambda node: node.lineno)
    return before[-1].value if before else None


def names_in(targets: list[ast.expr]) -> set[str]:
    return {target.id for target in targets if isinstance(target, ast.Name)}


def ids_in(node: ast.expr, scope: ast.AST, tree: ast.Module) -> Iterator[str]:
    """The ids that an expression can be: constants, either branch of a choice, entries of a table, variables."""
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        if value := assigned(node.id, scope, node.lineno) or assigned(node.id, tree, node.lineno):
            yield from ids_in(value, scope, tree)
        elif isinstance(scope, ast.FunctionDef):
            for argument in arguments_for(node.id, scope, tree):
                if not isinstance(argument, ast.Name):  # one that is passed on is found where it begins
                    yield from ids_in(argument, scope, tree)
        return
    choices = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]
    for choice in choices:
        for part in ast.walk(choice):
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and AN_ID.fullmatch(part.value):
                yield part.value


def arguments_for(parameter: str, function: ast.FunctionDef, tree: ast.Module) -> Iterator[ast.expr]:
    """What the calls of a function in its module give for a parameter by position."""
    names = [argument.arg for argument in function.args.args if argument.arg != "self"]
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", "")) == function.name:
            yield call.args[names.index(parameter)]


def keyword_names(call: ast.Call) -> frozenset[str] | None:
    names = [keyword.arg for keyword in call.keywords]
    return None if None in names else frozenset(name for name in names if name)


def dict_keys(call: ast.Call, scope: ast.AST) -> frozenset[str] | None:
    given = call.args[1] if len(call.args) > 1 else next((k.value for k in call.keywords if k.arg == "values"), None)
    return frozenset() if given is None else keys_of(given, scope, call.lineno)


def keys_of(node: ast.expr, scope: ast.AST, line: int) -> frozenset[str] | None:
    if isinstance(node, ast.Name):
        value = assigned(node.id, scope, line)
        return None if value is None else keys_of(value, scope, line)
    if not isinstance(node, ast.Dict):
        return None
    keys: set[str] = set()
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            inner = keys_of(value, scope, line)
            if inner is None:
                return None
            keys |= inner
        elif isinstance(key, ast.Constant):
            keys.add(str(key.value))
    return frozenset(keys)


def templates(reason_id: str) -> list[str]:
    sentence = SENTENCES[reason_id]
    return [sentence] if isinstance(sentence, str) else [sentence.one, sentence.many]


SITES = list(sites())


def test_the_search_finds_reasons_of_every_kind() -> None:
    found = {site.id for site in SITES}
    assert {"clear.done", "clear.nothing_old", "truncate.already_cut", "policy.unknown", "model.timeout"} <= found
    assert {"settings.not_a_number", "edit.place_gone", "turn.calls"} <= found


def test_every_reason_has_a_sentence_and_every_sentence_a_reason() -> None:
    used = {site.id for site in SITES}
    without = {site.place: site.id for site in SITES if site.id not in SENTENCES}
    assert not without
    assert set(SENTENCES) - used == set()


@pytest.mark.parametrize("site", SITES, ids=lambda site: f"{site.id}@{site.place}")
def test_sentences_speak_only_of_values_that_are_given(site: Site) -> None:
    if site.values is None:
        return
    for template in templates(site.id):
        needed = placeholders(re.sub(r"\[[^][]*\]", "", template))
        assert needed <= site.values
    sentence = SENTENCES[site.id]
    assert isinstance(sentence, str) or sentence.by in site.values


def test_optional_parts_speak_of_values_that_are_given_somewhere() -> None:
    for reason_id in SENTENCES:
        given = [site.values for site in SITES if site.id == reason_id and site.values is not None]
        for template in templates(reason_id):
            assert placeholders(template) <= frozenset().union(*given) or len(given) == 0


@pytest.mark.parametrize("reason_id", sorted(SENTENCES))
@pytest.mark.parametrize("number", [0, 1, 2])
def test_every_sentence_can_be_said(reason_id: str, number: int) -> None:
    names = {name for template in templates(reason_id) for name in placeholders(template)}
    sentence = say(Reason(reason_id, dict.fromkeys(names, number)))
    assert sentence
    assert "{" not in sentence
    assert reason_id not in sentence


def test_the_layers_speak_as_the_lesson_does() -> None:
    assert say(Reason("decide.turns_over", {"turns": 4, "limit": 3})) == "4 user turns > 3, so summarize"
    nothing = Reason("clear.nothing_old", {"results": 3, "keep": 3, "cleared": 0})
    assert say(nothing) == "3 tool results, keep 3: nothing old to clear"
    one = Reason("clear.nothing_old", {"results": 1, "keep": 3, "cleared": 0})
    assert say(one) == "1 tool result, keep 3: nothing old to clear"


def test_robust_layers_speak_of_one_result_as_of_one() -> None:
    gained = Reason("clear.gained", {"results": 1, "keep": 0, "cleared": 1, "gain": 5029})
    assert say(gained) == "1 tool result, keep 0: 1 cleared, which saves ~5,029 tokens"
    assert say(Reason("clear.older_stay", {"results": 1, "keep": 0})).startswith("1 tool result, keep 0: it stays too")


def test_variables_are_shown_as_they_ran() -> None:
    numbers = Reason("truncate.cut_one", {}, {"len(text)": 182, "limit": 80, "start_count": 40})
    assert variables_line(numbers) == "len(text)=182 limit=80 start_count=40"
    lists = Reason("decide.turns_over", {}, {"user_idx": (1, 3, "… 9 …", 7), "cut": 3})
    assert variables_line(lists) == "user_idx=[1, 3, … 9 …, 7] cut=3"


def test_parts_without_a_value_are_left_out() -> None:
    bare = say(ModelError("model.server_error", host="h", status=500, retry_after=None, detail="").reason)
    assert bare == "h failed (500). The session is kept; try again."
    full = say(ModelError("model.server_error", host="h", status=500, retry_after=8.0, detail="overload").reason)
    assert full == "h failed (500): overload. The session is kept; try again in 8 s."
    both = {"tokens": 9000, "window": 8192}
    assert "~9,000 tokens > 8,192" in say(ModelError("model.context_length", **both).reason)


def test_text_from_outside_is_harmless_and_on_one_line() -> None:
    hostile = "\x1b]52;c;eA==\x07 [@click=app.quit]x[/]\n{host} \u202egnp" + "long " * 1000
    sentence = say(ModelError("model.refused", host="h", status=400, detail=hostile).reason)
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202e]", sentence)
    assert "[@click=app.quit]" in sentence
    assert "{host}" in sentence
    assert len(sentence) < 1000


def test_a_reason_inside_a_reason_is_said_too() -> None:
    inner = ModelError("model.timeout", host="h", seconds=300.0).reason
    assert say(Reason("summarize.failed", {"why": inner})).endswith(say(inner))


def test_an_id_nobody_knows_is_still_said() -> None:
    assert "elsewhere.odd" in say(TriptychError("elsewhere.odd", path="\x1b[2J").reason)
    assert "\x1b" not in say(TriptychError("elsewhere.odd", path="\x1b[2J").reason)


def test_numbers_out_of_range_say_which_and_how_far() -> None:
    sentence = say(ParameterError("parameter.too_small", name="limit", value=-1, least=0).reason)
    assert sentence.startswith("limit is -1, but must be at least 0")


STAGES = 'stages = ["receive", "clear", "request", "tool", "truncate", "append", "answer", "save"]\n'


@pytest.mark.parametrize(
    ("text", "next_step"),
    [
        ("stages = [", "Mend it, or take another."),
        (STAGES + "wibble = 1", "take it out."),
        (STAGES + "note_ = 1", "write “note” if that is meant."),
        ("", "add it."),
        (STAGES + 'off = ["clean"]', "known are truncate, clear, prune, summarize."),
        (STAGES.replace("request", "truncate", 1), "in this order: receive → request → tool → append → answer → save."),
        (STAGES.replace("clear", "truncate", 1), "move it, or take it out."),
        (STAGES + "[truncate]\nlimit = 9999999999", "must be at most 1,000,000,000. Nothing was changed."),
        ("#" * 300_000, "make it shorter, or take another."),
        (None, "Mend that, or take another."),
    ],
)
def test_what_is_wrong_with_a_policys_file_ends_with_what_to_do(
    tmp_path: Path, text: str | None, next_step: str
) -> None:
    path = tmp_path / "mine.toml"
    if text is None:
        path.mkdir()
    else:
        path.write_text(text)
    with pytest.raises(PolicyError) as caught:
        read(path)
    assert say(caught.value.reason).endswith(next_step)


def test_a_setting_out_of_range_says_how_far_it_may_go() -> None:
    with pytest.raises(SettingsError) as caught:
        resolve({"limit": 10**10}, {}, Path("none.toml"))
    assert say(caught.value.reason) == "--limit is too large: it must be at most 1,000,000,000."


def test_everything_that_checks_find_has_words() -> None:
    assert set(PROBLEMS) == set(get_args(checks.Kind))


def test_everything_that_readers_note_has_words() -> None:
    """Notes are made by a few calls, all with the word itself."""
    noted = {
        constant.value
        for path, tree in modules().items()
        if path.parent.name == "formats"
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and getattr(call.func, "attr", getattr(call.func, "id", "")) in ("_Bad", "_note", "Unreadable", "FormatError")
        for argument in [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "why")]
        for constant in ast.walk(argument)
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str) and "." not in constant.value
    }
    assert {"invalid_json", "cut_off", "no_role"} <= noted <= set(FAULTS)


@pytest.mark.parametrize("value", ["\x1b[31m", [1], {"a": 1}, None, 10**400])
def test_a_journal_that_was_tampered_with_ends_no_sentence_in_a_fault(value: object) -> None:
    for reason_id, sentence in SENTENCES.items():
        templates = (sentence,) if isinstance(sentence, str) else (sentence.one, sentence.many)
        for names in (set().union(*map(placeholders, templates)), set()):
            said = say(Reason(reason_id, dict.fromkeys(names, value)))
            assert said
            assert said.isprintable()
    assert variables_line(Reason("clear.done", variables={"\x1b[31m": value})).isprintable()
