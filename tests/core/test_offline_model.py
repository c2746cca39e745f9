"""The offline model: what it understands, that it knows its messages and nothing else, and that it says so."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support_offline_model import FILES, SCHEMAS, Class, Reply, answer, reply
from tests.support_strategies import TEXTS, any_lists, junk_lists
from triptych.layers.prune import PruneParameters, prune
from triptych.layers.summarize import ACKNOWLEDGEMENT, ROBUST_ACKNOWLEDGEMENT, ROBUST_PREFIX, SUMMARY_PREFIX
from triptych.lesson_api import cut_tool_result, pruner_tool_text
from triptych.messages import Message, tool_calls
from triptych.models.base import Finish, ModelError, TextDelta, ToolCallDelta, UsageReport
from triptych.models.offline import OfflineModel
from triptych.tokens import MeowgentEstimator, TokenCounter

CLEARED = "[旧工具结果已清理, 如有需要请重新调用工具]"
UNKNOWN = {
    "en": "Nothing in my context answers this.",
    "zh-Hans": "我的上下文里没有能回答这个问题的内容。",
    "zh-Hant": "我的上下文裡沒有能回答這個問題的內容。",
}


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def read_call(call_id: str, path: str) -> Message:
    function = {"name": "read_file", "arguments": json.dumps({"path": path}, ensure_ascii=False)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "function": function}]}


def result(call_id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def read(path: str, text: str) -> list[Message]:
    """A file that was read some time ago."""
    return [user(f"Read {path}"), read_call("c", path), result("c", text), {"role": "assistant", "content": "Read."}]


@pytest.fixture
def lesson(tmp_path: Path) -> Class:
    return Class(tmp_path, FILES)


# What it understands

READS = {
    "Read harbour.txt and tides.txt": ["harbour.txt", "tides.txt"],
    "please open harbour.txt, tides.txt, and notes/menu_zh.txt.": ["harbour.txt", "tides.txt", "notes/menu_zh.txt"],
    "What's in the file notes/menu_zh.txt?": ["notes/menu_zh.txt"],
    "what does harbour.txt say about the tide?": ["harbour.txt"],
    "Can you show me “my notes.txt”?": ["my notes.txt"],
    "I'd like you to read tides.txt": ["tides.txt"],
    "And tides.txt?": ["tides.txt"],
    "读一下 港口.txt 和 潮汐.txt": ["港口.txt", "潮汐.txt"],
    "读一下港口.txt和潮汐.txt": ["港口.txt", "潮汐.txt"],
    "港口.txt里写了什么？": ["港口.txt"],
    "能不能看一下港口.txt？": ["港口.txt"],
    "請讀取 notes/燈塔.txt": ["notes/燈塔.txt"],
    "請幫我打開燈塔.txt": ["燈塔.txt"],
    "Read ../../etc/passwd": ["../../etc/passwd"],
    "Read /etc/passwd and harbour.txt.": ["/etc/passwd", "harbour.txt"],
    "What does /harbour.txt say?": ["/harbour.txt"],
    "open ~/.ssh/id_rsa": ["~/.ssh/id_rsa"],
    "Show me .git/config, please": [".git/config"],
    "Open “C:\\Windows\\win.ini”": ["C:\\Windows\\win.ini"],
    "读/etc/passwd的内容": ["/etc/passwd"],
    "請讀取 ../notes/燈塔.txt": ["../notes/燈塔.txt"],
}
LISTS = {
    "Which files are there?": {},
    "list all files please": {},
    "ls": {},
    "What is in the notes folder?": {"path": "notes"},
    "有哪些文件？": {},
    "看看 notes 目录里有什么": {"path": "notes"},
    "列出檔案": {},
    "目錄裡有什麼？": {},
    "list the files in ../..": {"path": "../.."},
    "list files in ..": {"path": ".."},
    "Which files are in /etc?": {"path": "/etc"},
    "列出 /etc 里的文件": {"path": "/etc"},
}
SEARCHES = {
    "search for lantern": {"query": "lantern"},
    "Find the word lantern in all files": {"query": "lantern"},
    "Which files mention the lantern?": {"query": "lantern"},
    'Search "fuel oil" in notes/': {"query": "fuel oil", "path": "notes"},
    "搜索 燃料": {"query": "燃料"},
    "哪些文件提到燃料？": {"query": "燃料"},
    "搜尋「燈油」這個詞": {"query": "燈油"},
    "search for root in /etc/passwd": {"query": "root", "path": "/etc/passwd"},
}


@pytest.mark.parametrize(("text", "paths"), READS.items())
def test_every_named_file_is_read_in_one_answer(text: str, paths: list[str]) -> None:
    said = answer(text)
    assert [(name, json.loads(arguments)) for name, arguments in said.calls] == [
        ("read_file", {"path": path}) for path in paths
    ]
    assert said.deltas[-1] == Finish("tool_calls")


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        *((text, "list_files", found) for text, found in LISTS.items()),
        *((text, "search_files", found) for text, found in SEARCHES.items()),
    ],
)
def test_files_are_listed_and_searched(text: str, name: str, arguments: dict[str, str]) -> None:
    assert [(called, json.loads(raw)) for called, raw in answer(text).calls] == [(name, arguments)]


def test_arguments_keep_chinese_characters_as_they_are() -> None:
    assert answer("讀 燈塔.txt").calls == [("read_file", '{"path": "燈塔.txt"}')]


@pytest.mark.parametrize(
    "text", ["I am in the office 24/7", "他和/或她住在海边", "Is 3/4 more than 1/2?", "/help", "/clear"]
)
def test_a_slash_makes_no_path(text: str) -> None:
    assert not answer(text).calls


@pytest.mark.parametrize("text", ["Read harbour.txt", "有哪些文件？", "搜尋 燈塔"])
def test_without_tools_in_the_request_none_is_called(text: str) -> None:
    said = answer(text, schemas=())
    assert not said.calls
    assert said.text


def test_only_the_offered_tool_is_called() -> None:
    only_list = [schema for schema in SCHEMAS if schema["function"]["name"] == "list_files"]
    assert answer("Which files are there?", schemas=only_list).calls == [("list_files", "{}")]
    assert not answer("Read harbour.txt", schemas=only_list).calls


def test_call_ids_go_on_from_the_calls_that_are_there_and_never_repeat() -> None:
    older = [user("Read a.txt"), read_call("call_1", "a.txt"), result("call_1", "A")]
    said = reply([*older, user("Read b.txt and c.txt")])
    assert [call.id for call in tool_calls(said.message)] == ["call_2", "call_3"]
    assert [call.id for call in tool_calls(answer("Read b.txt and c.txt").message)] == ["call_0", "call_1"]


def test_a_name_without_its_folder_is_the_one_file_that_is_called_so(lesson: Class) -> None:
    lesson.ask("Which files are there?")
    lesson.ask("請讀 燈塔.txt")
    assert lesson.calls == [("read_file", '{"path": "notes/燈塔.txt"}')]
    lesson.ask("Read the harbour file")
    assert lesson.calls == [("read_file", '{"path": "harbour.txt"}')]
    lesson.ask("Read ../harbour.txt")
    assert lesson.calls == [("read_file", '{"path": "../harbour.txt"}')]


# What it says of results


def test_a_file_is_described_by_its_lines_and_its_first_one(lesson: Class) -> None:
    assert lesson.ask("Read tides.txt") == "tides.txt has 2 lines and begins “High water is at 05:12 and at 17:40.”."
    assert lesson.ask("請讀取 notes/燈塔.txt") == "notes/燈塔.txt 共 2 行，開頭是「燈塔的看守人是溫述禾。」。"
    assert lesson.ask("读一下 tides.txt").startswith("tides.txt 共 2 行，开头是“High water")


def test_every_one_of_several_results_is_described(lesson: Class) -> None:
    lines = lesson.ask("Read harbour.txt, tides.txt and nothing.txt").splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["harbour.txt", "tides.txt"]
    assert "nothing.txt" in lines[2]
    assert "there is no file or folder" in lines[2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Read ../../etc/passwd",
            "../../etc/passwd: the tool refused: “error: '../../etc/passwd' is outside the workspace”.",
        ),
        ("读一下 /etc/passwd", "/etc/passwd：工具拒绝了：“error: '/etc/passwd' is outside the workspace”。"),
        ("請讀取 nothing.txt", "nothing.txt：工具拒絕了：「error: there is no file or folder 'nothing.txt'」。"),
    ],
)
def test_a_refusal_is_seen_and_called_one(lesson: Class, text: str, said: str) -> None:
    assert lesson.ask(text) == said
    assert lesson.calls
    assert lesson.ask("What is outside the workspace?") == UNKNOWN["en"]


def test_listings_and_hits_are_described(lesson: Class) -> None:
    assert lesson.ask("Which files are there?") == "Files here, 3: harbour.txt, tides.txt, notes/燈塔.txt."
    assert lesson.ask("search for lamp") == (
        "Lines with “lamp”: 1. The first, harbour.txt:2: “Old Zhou repaired the lamp at noon.”."
    )
    assert lesson.ask("搜索 龙舟") == "没有一行含有“龙舟”。"


@pytest.mark.parametrize(
    ("content", "missing"),
    [
        (cut_tool_result("a" * 90, 80), "the middle was left out"),
        ("first\nsecond\n... [省略前期工具 read_file 的部分輸出]\nlast", "the middle was left out"),
        ("first\nsecond\n[12 lines omitted]", "the end was left out"),
        ("first\nsec\n[... 12 characters omitted ...]\nast", "the middle was left out"),
        ("", "a.txt holds nothing at all"),
        (CLEARED, "The result for a.txt was cleared"),
    ],
)
def test_what_is_missing_from_a_result_is_said(content: str, missing: str) -> None:
    said = reply([user("Read a.txt"), read_call("c", "a.txt"), result("c", content)]).text
    assert missing in said
    assert "省略" not in said
    assert "omitted" not in said


LISTING = "\n".join(f"harbour/log_{number}.txt  ({number} bytes)" for number in range(10, 30))
HITS = "\n".join(f"harbour/log_{number}.txt:1: The lamp was lit {number} times." for number in range(10, 30))


def called(tool: str, arguments: dict[str, str], text: str) -> list[Message]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": function}]},
        result("c", text),
    ]


def test_lines_that_a_notice_cut_are_no_files_and_no_hits() -> None:
    whole = set(re.findall(r"\S+(?=  \()", LISTING))
    for limit in range(110, 190):
        said = reply([user("Which files are there?"), *called("list_files", {}, cut_tool_result(LISTING, limit))]).text
        names = said.removesuffix("; the middle was left out.").split(": ")[1].split(", ")
        assert set(names) <= whole
        assert len(names) >= 2
        hits = called("search_files", {"query": "lamp"}, cut_tool_result(HITS, limit))
        said = reply([user("search for lamp"), *hits]).text
        assert "“The lamp was lit" in said
        assert "times.”" in said
        assert said.endswith("Here the middle was left out.")


@pytest.mark.parametrize(("tool", "text"), [("list_files", LISTING), ("search_files", HITS)])
def test_nothing_but_cut_lines_is_not_taken_for_nothing(tool: str, text: str) -> None:
    said = reply([user("Which files are there?"), *called(tool, {}, cut_tool_result(text, 8))]).text
    assert said == "Not one whole line is left here: the middle was left out."


def test_a_pruned_listing_keeps_its_whole_lines() -> None:
    older = [user("Which files are there?"), *called("list_files", {}, LISTING), user("Thanks")]
    listing = prune(LISTING, "list_files", PruneParameters.lesson())
    assert listing
    said = reply([older[0], *called("list_files", {}, listing)]).text
    assert said == (
        "Of the files here I have 5: harbour/log_10.txt, harbour/log_11.txt, harbour/log_12.txt, harbour/log_28.txt, "
        "harbour/log_29.txt; the middle was left out."
    )


def test_half_a_name_from_a_listing_is_no_file_to_read() -> None:
    listing = [user("Which files are there?"), *called("list_files", {}, cut_tool_result(LISTING, 67))]
    said = reply([*listing, {"role": "assistant", "content": "Listed."}, user("Read all the files")])
    assert [json.loads(arguments)["path"] for _, arguments in said.calls] == [
        "harbour/log_10.txt",
        "harbour/log_29.txt",
    ]


def test_results_in_the_text_protocol_are_results() -> None:
    block = "<tool_response>\n[工具 read_file 執行結果]：\n燃料還剩四十公升。\n</tool_response>"
    assert "「燃料還剩四十公升。」" in reply([user("請讀檔案"), user(block)]).text
    said = reply([user("請讀檔案"), user(block), {"role": "assistant", "content": "讀了"}, user("燃料還剩多少？")]).text
    assert said == "「燃料還剩四十公升。」 —— 訊息 1，工具執行結果（read_file）。"


# What it knows

TOLD = [
    ("My name is Lin and I am allergic to peanuts", "What is my name?", "user"),
    ("My name is Lin and I am allergic to peanuts", "Am I allergic to anything?", "user"),
    ("I'm Lin, by the way.", "Who am I?", "user"),
    ("Remember: order 7731 must not be charged twice", "What's my order number?", "user"),
    ("The meeting starts at 14:30 on Friday.", "When does the meeting start?", "user"),
    ("我叫小林，对花生过敏", "我叫什么名字？", "用户"),
    ("我叫小林，对花生过敏", "我对什么过敏？", "用户"),
    ("记住：订单 7731 不能重复扣款", "我的订单号是多少？", "用户"),
    ("我叫小林，對花生過敏", "我對什麼過敏？", "使用者"),
    ("記住：訂單 7731 不能重複扣款", "哪個訂單不能重複扣款？", "使用者"),
]


@pytest.mark.parametrize(("fact", "question", "who"), TOLD)
def test_a_fact_told_is_quoted_with_its_place(fact: str, question: str, who: str) -> None:
    said = reply([{"role": "system", "content": "Be brief."}, user(fact), *_acknowledged(fact), user(question)]).text
    assert fact in said
    assert "1" in said
    assert who in said


@pytest.mark.parametrize(("fact", "question", "who"), TOLD)
def test_a_fact_that_is_gone_from_the_messages_is_not_known(fact: str, question: str, who: str) -> None:
    told = [{"role": "system", "content": "Be brief."}, user(fact), *_acknowledged(fact), user(question)]
    said = reply([told[0], *told[2:]]).text
    assert said in UNKNOWN.values()


def _acknowledged(fact: str) -> list[Message]:
    return [{"role": "assistant", "content": answer(fact).text}]


@pytest.mark.parametrize("fact", [fact for fact, _, _ in TOLD])
def test_an_acknowledgement_repeats_nothing(fact: str) -> None:
    said = answer(fact).text
    words = [word.strip(".,，：:") for word in fact.split()] if fact.isascii() else [fact[i : i + 2] for i in (2, 4, 6)]
    assert said
    assert not [word for word in words if len(word) > 4 and word in said]


@pytest.mark.parametrize(
    ("question", "script"),
    [
        ("What is the capital of France?", "en"),
        ("What is my favourite colour?", "en"),
        ("What's my cat's name?", "en"),
        ("法国的首都是哪里？", "zh-Hans"),
        ("我的生日是哪天？", "zh-Hans"),
        ("我的生日是哪一天？", "zh-Hans"),
        ("誰是市長？", "zh-Hant"),
    ],
)
def test_an_unrelated_question_is_not_answered(question: str, script: str) -> None:
    told = ["The ship's name is Aurora.", "My dog's name is Rex.", "我的狗叫旺财", "船的名字叫极光", "The door is red."]
    assert answer(*told, question).text == UNKNOWN[script]


def test_the_newest_of_equal_sentences_is_quoted() -> None:
    assert answer("My code is 1111.", "My code is 2222.", "What is my code?").text == (
        "“My code is 2222.” — message 1, user."
    )


def test_questions_asked_before_and_own_phrases_are_no_answers() -> None:
    messages = [user("Who repaired the lamp?"), {"role": "assistant", "content": UNKNOWN["en"]}]
    assert reply([*messages, user("Who repaired the lamp?")]).text == UNKNOWN["en"]


ACKNOWLEDGED = {"role": "assistant", "content": "好的，我已了解之前的进展，继续。"}


@pytest.mark.parametrize("question", ["What is my name?", "我叫什么名字？", "我叫什麼名字？"])
@pytest.mark.parametrize(
    "summary",
    [
        "What is my name?",
        "Open:\n- What is my name?",
        "未决：\n- 我叫什么名字？",
        "未決：\n- 我叫什麼名字？",
        "Facts:\n- What is my name?\n- Nothing in my context answers this.",
        "Facts:\n- The ship is called Aurora.\n\nOpen:\n- The name of the user is not known.\n- 用户的名字没有说。",
        "Open: the user's name was not given.",
        "**Open questions**\n- The user's name\n**Next steps**\n1. Ask for the user's name.",
        "- 未决: 用户的名字\n- 下一步: 问用户叫什么名字",
        "## 未決\n- 使用者的名字，我叫什麼名字",
    ],
)
def test_a_question_in_a_summary_is_no_answer_to_itself(summary: str, question: str) -> None:
    messages = [user("[以下是此前对话的摘要]\n" + summary), ACKNOWLEDGED, user(question)]
    assert reply(messages).text in UNKNOWN.values()


def test_no_question_of_a_file_or_of_the_system_prompt_is_an_answer(tmp_path: Path) -> None:
    lesson = Class(
        tmp_path, {"form.txt": "Greeting\n“Who repaired the lamp?”\nWho repaired the lamp? Write it here.\n"}
    )
    lesson.messages[0]["content"] = "Who repaired the lamp?"
    lesson.ask("Read form.txt")
    assert lesson.ask("Who repaired the lamp?") == UNKNOWN["en"]


def test_what_an_earlier_answer_could_not_answer_is_not_quoted_from_it(lesson: Class) -> None:
    lesson.ask("Read harbour.txt")
    assert "Harbour log" in lesson.ask("What does harbour.txt say about the mayor?")
    lesson.results[0]["content"] = CLEARED
    lesson.messages[4]["content"] = "I have read it."
    assert "Harbour log" not in lesson.ask("What is of the third of May?")


def test_a_facts_line_that_begins_like_a_heading_is_known() -> None:
    summary = user("[以下是此前对话的摘要]\nFacts:\n- Open: nine to five on Mondays.\n- The user is called Lin.")
    assert reply([summary, ACKNOWLEDGED, user("What is my name?")]).text == (
        "“The user is called Lin.” — message 0, summary."
    )


def test_an_answer_given_before_is_known_from_where_it_was_taken() -> None:
    told = [user("The code is 4417."), {"role": "assistant", "content": "“The code is 4417.” — message 0, user."}]
    assert reply([*told, user("What is the code?")]).text == "“The code is 4417.” — message 0, user."


def test_a_file_is_asked_for_what_it_says(lesson: Class) -> None:
    assert lesson.ask("What does harbour.txt say about the lamp?") == (
        "“Old Zhou repaired the lamp at noon.” — message 3, tool result (harbour.txt)."
    )
    assert lesson.ask("Who repaired the lamp?").endswith("message 3, tool result (harbour.txt).")
    assert lesson.calls == []
    assert lesson.ask("Read tides.txt and tell me when the bar can be crossed").startswith("“The bar can be crossed")
    said = lesson.ask("What does tides.txt say about the mayor?")
    assert said.startswith("Nothing in message 9, tool result (tides.txt) answers this.")


@pytest.mark.parametrize(
    ("prefix", "acknowledgement"),
    [
        (SUMMARY_PREFIX, ACKNOWLEDGEMENT),
        (ROBUST_PREFIX, ROBUST_ACKNOWLEDGEMENT),
        (ROBUST_PREFIX, "I have read lamp.txt."),
    ],
)
def test_a_summary_is_named_as_the_source(prefix: str, acknowledgement: str) -> None:
    summary = user(
        prefix + "Facts:\n- The user is called Lin.\n- Order 7731 is paid.\nOpen:\n- What is my phone number?"
    )
    list_after = [summary, {"role": "assistant", "content": acknowledgement}]
    assert reply([*list_after, user("What is my name?")]).text == "“The user is called Lin.” — message 0, summary."
    assert reply([*list_after, user("What is my phone number?")]).text == UNKNOWN["en"]
    assert reply([*list_after, user("What do you understand?")]).text in (UNKNOWN["en"], answer("Who are you?").text)
    assert reply(list_after).text == answer("…").text, "nobody has asked yet"


# What a layer took away


def test_the_truncated_middle_cannot_be_answered() -> None:
    text = "The log begins.\n" + "Calm sea.\n" * 20 + "Old Zhou repaired the lamp.\n" + "Calm sea.\n" * 20 + "The end."
    question = user("Who repaired the lamp?")
    assert "Old Zhou" in reply([*read("log.txt", text), question]).text
    said = reply([*read("log.txt", cut_tool_result(text, 80)), question]).text
    assert said.startswith(UNKNOWN["en"] + " Not whole any more: message 2 (log.txt, cut).")


@pytest.mark.parametrize(
    ("question", "state"),
    [("When did boat 5 come in?", "pruned"), ("谁是船长？", "已裁剪"), ("誰是船長？", "已裁剪")],
)
def test_a_pruned_result_is_called_pruned(question: str, state: str) -> None:
    whole = "\n".join(f"Boat {number} came in at {number}:00." for number in range(1, 10))
    pruned = prune(whole, "read_file", PruneParameters.lesson())
    assert pruned
    said = reply([*read("log.txt", pruned), user(question)]).text
    assert state in said
    assert "cut" not in said
    assert "截" not in said


def test_a_pruned_result_is_known_only_by_what_is_left() -> None:
    lines = [f"Boat {number} came in at {number}:00." for number in range(1, 10)]
    block = "<tool_response>\n[工具 read_file 執行結果]：\n" + "\n".join(lines) + "\n</tool_response>"
    older = [user("Read the list"), user(block), user("Thanks"), user("Thanks again")]
    older = pruner_tool_text(older, keep_turns=1)
    assert "“Boat 2 came in at 2:00.”" in reply([*older, user("When did boat 2 come in?")]).text
    assert "Boat" not in reply([*older, user("When did boat 5 come in?")]).text


@pytest.mark.parametrize(
    "placeholder",
    [
        CLEARED,
        "[Old tool result content cleared]",
        "[Old result of read_file cleared: 1,234 characters. Call it again if you need it.]",
        "[Previous: used read_file]",
        "[cleared]",
        "[interrupted: the turn was cancelled before this tool answered]",
    ],
)
@pytest.mark.parametrize(
    "question", ["What was the old tool result?", "旧工具结果是什么？", "Which content was cleared?"]
)
def test_a_placeholder_is_never_quoted(placeholder: str, question: str) -> None:
    said = reply([*read("harbour.txt", placeholder), user(question)])
    assert not said.calls
    assert placeholder not in said.text


@pytest.mark.parametrize(
    "text",
    [
        "What does harbour.txt say about the lamp?",
        "Read harbour.txt again",
        "Look at the cleared result again",
        "read it again",
        "Look at message 3 again",
        "再读一次",
        "重新读取被清理的结果",
        "請再看一次訊息 3",
    ],
)
def test_what_was_cleared_is_read_again_when_asked(lesson: Class, text: str) -> None:
    lesson.ask("Read harbour.txt")
    lesson.results[0]["content"] = CLEARED
    lesson.ask(text)
    assert lesson.calls == [("read_file", '{"path": "harbour.txt"}')]
    assert "Old Zhou repaired the lamp" in lesson.ask("Who repaired the lamp?")


def test_all_that_was_cleared_is_read_again_each_once(lesson: Class) -> None:
    for text in ("Read harbour.txt", "Read tides.txt", "Read harbour.txt"):
        lesson.ask(text)
    for message in lesson.results:
        message["content"] = CLEARED
    lesson.ask("Look at the cleared results again")
    assert [json.loads(arguments)["path"] for _, arguments in lesson.calls] == ["harbour.txt", "tides.txt"]


SAMPLES = Path(str(files("triptych_assets")))
FACTS: list[dict[str, Any]] = tomllib.loads((SAMPLES / "workspace_facts.toml").read_text("utf-8"))["facts"]
READ_IN = {"en": "Read {}", "zh-Hans": "读一下 {}", "zh-Hant": "請讀取 {}"}


def _sample_answer(fact: dict[str, Any], limit: int | None = None) -> tuple[str, str]:
    """The answer to the fact's question, and the text it was taken from."""
    lesson = Class(SAMPLES / "workspace")
    lesson.ask(READ_IN[fact["language"]].format(fact["file"]))
    if limit is not None:
        lesson.results[0]["content"] = cut_tool_result(lesson.results[0]["content"], limit)
    return lesson.ask(fact["question"]), lesson.results[0]["content"]


def test_a_class_gets_most_facts_of_the_sample_workspace_and_none_that_was_cut_away() -> None:
    found = [fact for fact in FACTS if fact["answer"] in _sample_answer(fact)[0]]
    assert len(found) >= 0.9 * len(FACTS)
    for fact in FACTS:
        said, text = _sample_answer(fact, 4000)
        assert fact["answer"] in text or fact["answer"] not in said


# Languages


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Hello there!", "offline model"),
        ("What can you do?", "offline model"),
        ("Write me a poem", "offline model"),
        ("你能做什么？", "离线模型"),
        ("写一首诗", "离线模型"),
        ("你會做什麼？", "離線模型"),
        ("幫我寫一首詩", "離線模型"),
    ],
)
def test_anything_else_is_told_what_it_can_do(text: str, word: str) -> None:
    assert word in answer(text).text


def test_the_newest_message_decides_language_and_script() -> None:
    assert "message 2" in answer("記住這個", "记住这个", "Remember this").text
    assert "消息 1" in answer("Remember this", "记住这个").text
    assert "訊息 1" in answer("Remember this", "記住這個").text


def test_what_layers_put_in_tells_no_language() -> None:
    summary = user("[以下是此前对话的摘要]\nGoal:\n- Read welcome.txt")
    assert reply([summary, ACKNOWLEDGED, user("42")]).text.startswith("I am the offline model")
    assert answer("Hello there!", CLEARED).text.startswith("Which file?")
    for prefix in (SUMMARY_PREFIX, ROBUST_PREFIX):
        assert reply([user(prefix + "目标：\n- 读 welcome.txt"), user("42")]).text.startswith("我是离线模型")


def test_a_message_that_could_be_either_script_follows_the_one_before() -> None:
    assert answer("我叫小林", "好").text.startswith("我是离线模型")
    assert answer("記住這個", "好").text.startswith("我是離線模型")


# The protocol


def test_it_streams_word_by_word_and_chinese_by_character() -> None:
    assert [delta.text for delta in answer("Who is it?").deltas if isinstance(delta, TextDelta)][:3] == [
        "Nothing",
        " in",
        " my",
    ]
    pieces = [delta.text for delta in answer("谁是船长？").deltas if isinstance(delta, TextDelta)]
    assert pieces[:4] == ["我", "的", "上", "下"]


def test_at_a_pace_the_same_is_said() -> None:
    messages = [user("Who is it?")]
    assert reply(messages, model=OfflineModel(pace=0.0001)) == reply(messages)


def test_usage_is_the_estimate_of_the_whole_request_and_of_the_answer() -> None:
    counter = TokenCounter(MeowgentEstimator())
    messages = [user("讀 燈塔.txt and tides.txt")]
    said = reply(messages)
    usage = next(delta for delta in said.deltas if isinstance(delta, UsageReport))
    weight = counter.message_weight(messages[0]) + counter.schemas_weight(SCHEMAS)
    assert usage.prompt_tokens == counter.tokens(weight)
    assert usage.completion_tokens == counter.tokens(counter.message_weight(said.message))


def test_a_request_larger_than_the_window_is_refused() -> None:
    messages = [user("字" * 100)]
    with pytest.raises(ModelError) as refused:
        reply(messages, schemas=(), model=OfflineModel(window=129))
    assert refused.value.reason.id == "model.context_length"
    assert refused.value.reason.values == {"tokens": 130, "window": 129}
    assert reply(messages, schemas=(), model=OfflineModel(window=130)).text


def test_it_says_what_it_is() -> None:
    model = OfflineModel()
    assert (model.name, model.offline, model.window) == ("offline", True, 8192)


def _assert_well_formed(said: Reply) -> None:
    finishes = [delta for delta in said.deltas if isinstance(delta, Finish)]
    assert len(finishes) == 1
    assert said.deltas[-1] == finishes[0]
    assert sum(isinstance(delta, UsageReport) for delta in said.deltas) == 1
    assert finishes[0].reason == ("tool_calls" if said.calls else "stop")
    assert bool(said.text.strip()) != bool(said.calls)
    for _, arguments in said.calls:
        assert isinstance(json.loads(arguments), dict)
    ids = [delta.id for delta in said.deltas if isinstance(delta, ToolCallDelta) and delta.id is not None]
    assert len(ids) == len(set(ids)) == len(said.calls)


ASKED = st.one_of(TEXTS, st.sampled_from([*READS, *LISTS, *SEARCHES, *(question for _, question, _ in TOLD)]))


@given(any_lists(), ASKED)
def test_any_list_gets_one_well_formed_answer_and_always_the_same(messages: list[Message], text: str) -> None:
    for asked in (messages, [*messages, user(text)]):
        before = json.dumps(asked)
        said = reply(asked)
        _assert_well_formed(said)
        assert reply(json.loads(before)) == said
        assert json.dumps(asked) == before


@given(junk_lists(), st.lists(st.sampled_from([*SCHEMAS, {}, {"function": 3}, {"name": "read_file"}]), max_size=3))
def test_odd_messages_and_schemas_do_no_harm(messages: list[Message], schemas: list[dict[str, Any]]) -> None:
    _assert_well_formed(reply([*messages, user("Read harbour.txt again. What is my name?")], schemas))


@given(
    st.lists(
        st.sampled_from(["“", "”", " — ", "[", "省略", "...", "\n", "a/", "什么", "list ", "1.", "你好"]), max_size=9
    )
)
def test_whatever_is_repeated_a_thousand_times_is_answered(pieces: list[str]) -> None:
    for role in ("user", "assistant", "tool"):
        _assert_well_formed(reply([{"role": role, "content": "".join(pieces) * 1000}, user("What is my name?")]))
