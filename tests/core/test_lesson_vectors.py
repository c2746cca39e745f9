"""The lesson flavour answers to the letter what the published code answers: every vector, by both ways in.

Lists are compared as JSON text, so that the order of keys counts.
"""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from triptych import lesson_api
from triptych.edits import apply
from triptych.entries import Acknowledgement, Cleared, Entry, Pruned, Summary, Truncated, entries_from, messages_of
from triptych.layers import clear, prune, summarize, truncate
from triptych.layers.parameters import ParameterError
from triptych.layers.plan import Plan
from triptych.messages import Message, turn_starts
from triptych.tokens import MeowgentEstimator, TokenCounter
from triptych_assets import FOLDER

FILE = FOLDER / "conformance" / "lesson_vectors.json"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text("utf-8"))
COUNTER = TokenCounter(MeowgentEstimator())


def cases(function: str) -> Any:
    """Parametrizes a test with every vector of a function."""
    vectors = VECTORS[function]
    ids = [str(vector.get("why", number)) for number, vector in enumerate(vectors)]
    return pytest.mark.parametrize("case", vectors, ids=ids)


def exact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def whole(text: str) -> str:
    """A pattern for exactly this text."""
    return f"^{re.escape(text)}$"


def applied(entries: tuple[Entry, ...], plan: Plan) -> list[Message]:
    """The messages after a plan, which announced their number rightly and changed nothing by being made."""
    after = apply(entries, plan.edits)
    assert plan.after == COUNTER.count(after)
    return messages_of(after)


def test_no_function_of_the_vectors_is_forgotten() -> None:
    known = {"truncate", "clear", "split", "render", "rebuild", "estimate", "meowgent_turns", "meowgent_prune", "save"}
    assert set(VECTORS) == known
    assert all(VECTORS.values())


@cases("truncate")
def test_truncate(case: dict[str, Any]) -> None:
    text, limit = case["text"], case["limit"]
    result = {"role": "tool", "tool_call_id": "call_0", "content": text}
    if "error" in case:
        with pytest.raises(ValueError, match=whole(case["error"])):
            lesson_api.cut_tool_result(text, limit)
        with pytest.raises(ParameterError) as refused:
            truncate.TruncateParameters(limit=limit)
        assert refused.value.reason.values["name"] == "limit"
        return
    assert lesson_api.cut_tool_result(text, limit) == case["result"]
    entries = entries_from([result])
    plan = truncate.plan(entries, truncate.TruncateParameters(limit=limit), COUNTER)
    assert exact(applied(entries, plan)) == exact([{**result, "content": case["result"]}])
    marked = apply(entries, plan.edits)[0].has_mark(Truncated)
    assert marked == (len(text) > limit)


@cases("clear")
def test_clear(case: dict[str, Any]) -> None:
    messages = copy.deepcopy(case["messages"])
    assert lesson_api.clean_old_tool_result(messages, case["keep"], placeholder=case["placeholder"]) is None
    assert exact(messages) == exact(case["result"])

    entries = entries_from(case["messages"])
    parameters = clear.ClearParameters(keep=case["keep"], placeholder=case["placeholder"])
    plan = clear.plan(entries, parameters, COUNTER)
    assert exact(applied(entries, plan)) == exact(case["result"])
    after = apply(entries, plan.edits)
    changed = [before is not now for before, now in zip(entries, after, strict=True)]
    assert changed == [entry.has_mark(Cleared) for entry in after]


@cases("clear")
def test_clear_takes_the_placeholder_from_the_constant(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson_api, "TOOL_RESULT_PLACEHOLDER", case["placeholder"])
    messages = copy.deepcopy(case["messages"])
    lesson_api.clean_old_tool_result(messages, case["keep"])
    assert exact(messages) == exact(case["result"])


def test_clear_writes_even_an_empty_placeholder() -> None:
    messages: list[Message] = [{"role": "tool", "tool_call_id": "a", "content": "found"}]
    lesson_api.clean_old_tool_result(messages, 0, placeholder="")
    assert messages == [{"role": "tool", "tool_call_id": "a", "content": ""}]


@cases("split")
def test_split(case: dict[str, Any]) -> None:
    messages, keep_turns = case["messages"], case["keep_turns"]
    if "error" in case:
        for call in (
            lambda: lesson_api.classify_old_and_kept_msgs(messages, keep_turns),
            lambda: lesson_api.rebuild(messages, keep_turns, "summary"),
            lambda: lesson_api.compact(messages, lambda _: "summary", keep_turns),
        ):
            with pytest.raises(ValueError, match=whole(case["error"])):
                call()
        with pytest.raises(ParameterError) as refused:
            summarize.SummarizeParameters(keep_turns=keep_turns)
        assert refused.value.reason.values["name"] == "keep_turns"
        return
    parts = lesson_api.classify_old_and_kept_msgs(messages, keep_turns)
    expected = case["result"]
    assert exact(parts) == exact(expected and [expected["old"], expected["kept"]])

    entries = entries_from(messages)
    planned = summarize.plan(entries, summarize.SummarizeParameters(keep_turns=keep_turns), COUNTER, len(entries))
    if expected is None:
        assert isinstance(planned, Plan)
        assert planned.edits == ()
    else:
        assert isinstance(planned, summarize.SummaryPlan)
        assert exact(messages_of(planned.old)) == exact(expected["old"])
        assert exact(messages[planned.cut :]) == exact(expected["kept"])
        assert planned.request[1]["content"] == lesson_api.render_for_summary(expected["old"])


@cases("render")
def test_render(case: dict[str, Any]) -> None:
    assert lesson_api.render_for_summary(case["messages"]) == case["result"]
    assert summarize.render(case["messages"]) == case["result"]


@cases("rebuild")
def test_rebuild(case: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    messages, keep_turns, summary = case["messages"], case["keep_turns"], case["summary"]
    untouched = exact(messages)
    assert exact(lesson_api.rebuild(messages, keep_turns, summary)) == exact(case["result"])

    asked: list[list[Message]] = []

    def complete(request: list[Message]) -> str:
        asked.append(request)
        return summary

    assert exact(lesson_api.compact(messages, complete, keep_turns)) == exact(case["result"])
    parts = lesson_api.classify_old_and_kept_msgs(messages, keep_turns)
    if parts is None:
        assert asked == []
        assert capsys.readouterr().out == ""
    else:
        assert [message["role"] for message in asked[0]] == ["system", "user"]
        assert asked[0][1]["content"] == lesson_api.render_for_summary(parts[0])
        blank = not (summary or "").strip()
        done = f"[上下文压缩] 已将 {len(parts[0])} 条旧消息整理为摘要.\n"
        assert capsys.readouterr().out == ("摘要为空, 保留原对话.\n" if blank else done)
    assert exact(messages) == untouched

    entries = entries_from(messages)
    planned = summarize.plan(entries, summarize.SummarizeParameters(keep_turns=keep_turns), COUNTER, len(entries))
    plan = planned.with_summary(summary or "") if isinstance(planned, summarize.SummaryPlan) else planned
    assert exact(applied(entries, plan)) == exact(case["result"])
    if plan.edits:
        made = apply(entries, plan.edits)[1:3]
        assert made[0].marks == (Summary(of=tuple(range(1, planned.cut))),)  # type: ignore[union-attr]
        assert made[1].marks == (Acknowledgement(),)


def test_a_list_without_system_message_gets_its_summary_even_where_nothing_is_old(
    capsys: pytest.CaptureFixture[str],
) -> None:
    messages: list[Message] = [{"role": "user", "content": "一"}, {"role": "user", "content": "二"}]
    made: list[Message] = [
        {"role": "user", "content": "[以下是此前对话的摘要]\n摘要"},
        {"role": "assistant", "content": "好的，我已了解之前的进展，继续。"},
    ]
    expected = [messages[0], *made, messages[1]]
    assert lesson_api.classify_old_and_kept_msgs(messages, 1) == ([], messages[1:])
    assert exact(lesson_api.rebuild(messages, 1, "摘要")) == exact(expected)
    assert exact(lesson_api.compact(messages, lambda _: "摘要", 1)) == exact(expected)
    assert capsys.readouterr().out == "[上下文压缩] 已将 0 条旧消息整理为摘要.\n"
    assert lesson_api.rebuild(messages, 1, " ") == messages


@cases("estimate")
def test_estimate(case: dict[str, Any]) -> None:
    assert lesson_api.estimate_token(case["text"]) == case["result"]
    entries = entries_from([{"role": "user", "content": case["text"]}])
    assert COUNTER.count(entries).tokens == case["result"]


@cases("meowgent_turns")
def test_turns(case: dict[str, Any]) -> None:
    assert lesson_api.turn_separation(case["messages"]) == case["result"]
    assert lesson_api._turn_separation(case["messages"]) == case["result"]
    assert turn_starts(case["messages"]) == case["result"]


@cases("meowgent_prune")
def test_prune(case: dict[str, Any]) -> None:
    messages, keep_turns = case["messages"], case["keep_turns"]
    untouched = exact(messages)
    assert exact(lesson_api.pruner_tool_text(messages, keep_turns)) == exact(case["result"])
    assert exact(messages) == untouched

    entries = entries_from(messages)
    plan = prune.plan(entries, prune.PruneParameters(keep_turns=keep_turns), COUNTER)
    assert exact(applied(entries, plan)) == exact(case["result"])
    after = apply(entries, plan.edits)
    changed = [before is not now for before, now in zip(entries, after, strict=True)]
    assert changed == [entry.has_mark(Pruned) for entry in after]


@cases("save")
def test_save(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    lesson_api.save_session(case["messages"], path)
    assert path.read_bytes() == case["text"].encode()
    assert exact(lesson_api.load_session(path)) == exact(case["messages"])


@pytest.mark.parametrize(
    "text", ["[]", "{}", "null", '"system"', "[1]", '[{"role": "user", "content": "q"}]', '[{"content": "s"}]']
)
def test_loading_refuses_what_is_no_session(text: str, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=whole("会话文件必须包含以 system 消息开头的消息列表")):
        lesson_api.load_session(path)


def test_pictures_count_800_each() -> None:
    assert [lesson_api.images_token(), lesson_api.images_token(None), lesson_api.images_token(["a", "b"])] == [
        0,
        0,
        1600,
    ]


def test_the_published_defaults() -> None:
    assert (lesson_api.MAX_CHAR_NUMBER, lesson_api.KEEP_RECENT_TOOL_RESULTS, lesson_api.DEFAULT_KEEP_TURNS) == (
        80,
        2,
        3,
    )
    assert lesson_api.TOOL_RESULT_PLACEHOLDER == "[旧工具结果已清理, 如有需要请重新调用工具]"
