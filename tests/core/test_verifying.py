"""Someone's functions beside the lesson's: right ones pass, each classic fault is found and shown small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triptych import lesson_api
from triptych.verifying.cases import NAMES, cases_of
from triptych.verifying.comparing import Difference, SourceFile, Verdict, Verification
from triptych.verifying.shrinking import shrunk

RIGHT = (Path(__file__).parents[1] / "data" / "functions" / "right.py").read_text("utf-8")
CLEARED = """
    for message in old:
        message["content"] = PLACEHOLDER
"""


def changed(*changes: tuple[str, str]) -> str:
    """The right file with something in it put otherwise."""
    source = RIGHT
    for right, wrong in changes:
        assert right in source
        source = source.replace(right, wrong)
    return source


def verdict(source: str, name: str) -> Verdict:
    with Verification(SourceFile("mine.py", source.encode()), {}, seconds=60) as verification:
        found = verification.load().found
        (only,) = verification.verdicts({name: found[name]})
    return only


def difference(source: str, name: str) -> Difference:
    found = verdict(source, name).difference
    assert found is not None
    return found


def test_a_ctrl_c_while_the_lessons_function_works_is_not_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_text: str, _limit: int) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(lesson_api, "cut_tool_result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        verdict(RIGHT, "cut_tool_result")


def test_right_functions_pass_on_every_case() -> None:
    with Verification(SourceFile("mine.py", RIGHT.encode()), {}, seconds=60) as verification:
        loaded = verification.load()
        verdicts = list(verification.verdicts(loaded.found))
    assert (loaded.stopped, loaded.no_answer) == (None, None)
    assert {each.name: each.difference for each in verdicts} == dict.fromkeys(NAMES)
    assert [each.cases for each in verdicts] == [len(cases_of(each.name)) for each in verdicts]
    assert {each.name: each.called for each in verdicts}["turn_separation"] == "_turn_separation"


@pytest.mark.parametrize("name", NAMES)
def test_cases_are_the_same_each_time_and_each_is_another(name: str) -> None:
    cases = [json.dumps(given) for given in cases_of(name)]
    assert cases == [json.dumps(given) for given in cases_of(name)]
    assert len(set(cases)) == len(cases) >= 7


@pytest.mark.parametrize(
    ("right", "wrong", "name", "hint", "given"),
    [
        ('end = text[-tail:] if tail else ""', "end = text[-tail:]", "cut_tool_result", "minus_zero", ("0", 0)),
        ("tail = limit - head", "tail = head", "cut_tool_result", "odd_limit", ("01", 1)),
        ("head = limit // 2", "head = limit - limit // 2", "cut_tool_result", "odd_limit", ("01", 1)),
        ("if limit < 0:", "if False:", "cut_tool_result", None, ("", -1)),
        ("len(text) <= limit", "len(text) < limit", "cut_tool_result", None, ("", 0)),
        ("len(text) <= limit", "limit >= 0", "cut_tool_result", None, ("0", 0)),
        ("(text, limit=LIMIT)", "(text)", "cut_tool_result", "signature", ("", 0)),
        ("return int(cjk", "return round(cjk", "estimate_token", None, ("aa",)),
        ('"\\uff00" <=', '"\\uff01" <=', "estimate_token", None, ("\uff00",)),
        ("800 * len(images)", "765 * len(images)", "images_token", None, (["a.png"],)),
    ],
)
def test_a_classic_fault_is_shown_by_the_smallest_input(
    right: str, wrong: str, name: str, hint: str | None, given: tuple[object, ...]
) -> None:
    found = difference(changed((right, wrong)), name)
    assert found.hint == hint
    assert tuple(found.given.values()) == given
    assert found.ours != found.theirs


def roles(found: Difference) -> str:
    (messages, *_others) = found.given.values()
    return "".join(message["role"][0] for message in messages)


@pytest.mark.parametrize(
    ("right", "wrong", "name", "hint", "kept"),
    [
        ("results[:-keep] if keep > 0 else results", "results[:-keep]", "clean_old_tool_result", "keep_zero", "sat"),
        (CLEARED, "\n    del old\n", "clean_old_tool_result", "not_in_place", "satt"),
        ("len(users) <= keep_turns", "len(users) < keep_turns", "classify_old_and_kept_msgs", None, "su"),
        ("messages[1:cut], ", "messages[:cut], ", "classify_old_and_kept_msgs", None, "suu"),
        ('in message.get("tool_calls") or []', "in []", "render_for_summary", None, "at"),
        ("not summary or not summary.strip()", "not summary", "rebuild", None, "suu"),
        ("return rebuild(messages", "rebuild(messages", "compact", None, "suuuu"),
        ("indent=2, ensure_ascii", "indent=4, ensure_ascii", "save_session", None, "s"),
        (
            'pruned.append({**message, "content": content})',
            'message["content"] = content\n        pruned.append(message)',
            "pruner_tool_text",
            "changed_input",
            "suu",
        ),
        (
            "boundary = turns[-keep_turns]",
            "boundary = len(history_messages) if keep_turns == 0 else turns[-keep_turns]",
            "pruner_tool_text",
            "keep_turns_zero",
            "su",
        ),
    ],
)
def test_a_fault_in_conversations_is_shown_by_a_short_one(
    right: str, wrong: str, name: str, hint: str | None, kept: str
) -> None:
    found = difference(changed((right, wrong)), name)
    assert found.hint == hint
    assert roles(found) == kept


@pytest.mark.parametrize(
    ("right", "other", "name"),
    [
        (CLEARED, CLEARED + "    return messages\n", "clean_old_tool_result"),
        (
            CLEARED,
            "\n    return [{**m, 'content': PLACEHOLDER} if any(m is each for each in old) else m for m in messages]\n",
            "clean_old_tool_result",
        ),
        ("return messages[1:cut], messages[cut:]", "return [messages[1:cut], messages[cut:]]", "rebuild"),
        ("    return pruned\n", "    history_messages[:] = pruned\n", "pruner_tool_text"),
        ("PLACEHOLDER = ", "TOOL_RESULT_PLACEHOLDER = PLACEHOLDER = 'gone'  # ", "clean_old_tool_result"),
        ("PLACEHOLDER = ", "PLACEHOLDER = 'I am Iron Man'  # ", "clean_old_tool_result"),
        ("DEFAULT_KEEP_TURNS = 3", "DEFAULT_KEEP_TURNS = 2", "compact"),
        (
            '{"role": "user", "content": f"[以下是此前对话的摘要]\\n{summary}"}',
            'dict(content=f"[以下是此前对话的摘要]\\n{summary}", role="user")',
            "rebuild",
        ),
    ],
)
def test_what_is_right_in_another_way_passes(right: str, other: str, name: str) -> None:
    assert verdict(changed((right, other)), name).difference is None


def test_an_error_is_compared_by_its_type_and_text() -> None:
    told = difference(changed(('ValueError("limit 不能小于 0")', 'ValueError("negative")')), "cut_tool_result")
    assert told.ours == {"raised": "ValueError", "text": "limit 不能小于 0"}
    assert told.theirs == {"raised": "ValueError", "text": "negative"}
    told = difference(changed(('ValueError("limit', 'TypeError("limit')), "cut_tool_result")
    assert told.theirs["raised"] == "TypeError"


def test_a_summary_request_is_compared_without_its_instructions() -> None:
    assert verdict(changed(("Summarize.", "Anything.")), "compact").passed
    told = difference(changed(('"content": render_for_summary(parts[0])', '"content": ""')), "compact")
    assert told.ours["returned"] == told.theirs["returned"]
    assert told.ours["asked"] == [[{"role": "system"}, {"role": "user", "content": "[user] q1"}]]


def test_shrinking_keeps_the_system_message_and_every_result_with_its_call() -> None:
    given = max(cases_of("clean_old_tool_result"), key=lambda each: len(each["messages"]))
    seen = []

    def differs(candidate: dict[str, object]) -> bool:
        seen.append(candidate)
        return "tool" in {message["role"] for message in candidate["messages"]}  # type: ignore[attr-defined]

    smallest = shrunk(given, differs)["messages"]
    assert [message["role"] for message in smallest] == ["system", "assistant", "tool"]
    assert len(smallest[1]["tool_calls"]) == 1
    assert all(candidate["messages"][0]["role"] == "system" for candidate in seen)  # type: ignore[index]
