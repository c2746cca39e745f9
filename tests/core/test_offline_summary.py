"""The offline model's summaries: bounded, the user's facts first, and nothing in them that was not said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given

from tests.support_offline_model import FILES, Class, answer, reply
from tests.support_strategies import TEXTS, any_lists
from triptych.layers.rendering import request
from triptych.layers.summarize import ACKNOWLEDGEMENT, ROBUST_PROMPT, SUMMARY_PREFIX, SUMMARY_PROMPT, render
from triptych.lesson_api import compact, estimate_token
from triptych.messages import Message, text_of


def summarized(messages: Sequence[Message], prompt: str = SUMMARY_PROMPT) -> str:
    return asked_for_summary(render(messages), prompt)


def asked_for_summary(rendering: str, prompt: str = SUMMARY_PROMPT) -> str:
    said = reply([{"role": "system", "content": prompt}, {"role": "user", "content": rendering}])
    assert not said.calls
    return said.text


def told(*facts: str) -> list[Message]:
    """Facts, each acknowledged by the offline model itself."""
    messages: list[Message] = []
    for fact in facts:
        messages += [{"role": "user", "content": fact}, {"role": "assistant", "content": answer(fact).text}]
    return messages


def long_file(lines: int) -> str:
    return "Harbour log of the third of May.\n" + "\n".join(
        f"Boat {n} came in at {n}:00, calm sea." for n in range(lines)
    )


def after_reading(text: str) -> list[Message]:
    call = {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "log.txt"}'}}
    return [
        {"role": "user", "content": "Read log.txt"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": text},
        {"role": "assistant", "content": f"log.txt has {len(text.splitlines())} lines."},
    ]


@pytest.mark.parametrize(
    ("facts", "sections"),
    [
        (["My name is Lin.", "We decided to use port 8443."], ["Decisions:", "Facts:", "Files:"]),
        (["我叫小林，对花生过敏", "我们决定用 8443 端口"], ["决定：", "事实：", "文件："]),
        (["我叫小林，對花生過敏", "我們決定用 8443 埠"], ["決定：", "事實：", "檔案："]),
    ],
)
def test_sections_are_in_the_conversations_language(facts: list[str], sections: list[str]) -> None:
    summary = summarized([*after_reading(long_file(60)), *told(*facts)])
    lines = summary.splitlines()
    assert [line for line in lines if line in sections] == sections
    assert lines[lines.index(sections[0]) + 1] == f"- {facts[1]}"
    assert lines[lines.index(sections[1]) + 1] == f"- {facts[0]}"
    assert "- log.txt: Harbour log of the third of May." in lines


def test_where_space_is_short_the_users_facts_come_first() -> None:
    facts = [
        "My name is Lin.",
        "The code of the door is 4417.",
        "I am allergic to peanuts, to shellfish and to the smell of tar.",
    ]
    summary = summarized([*after_reading(long_file(3)), *told(*facts)])
    assert all(fact in summary for fact in facts)
    assert "Harbour log" not in summary


def test_acknowledgements_become_no_facts() -> None:
    summary = summarized(told("My name is Lin and I am allergic to peanuts", "Remember: order 7731 is paid"))
    assert summary == "Facts:\n- Remember: order 7731 is paid\n- My name is Lin and I am allergic to peanuts"


def test_an_open_question_stays_open_and_an_answered_one_does_not() -> None:
    messages = told("My name is Lin.")
    for question in ("Who is the mayor?", "What is my name?"):
        messages.append({"role": "user", "content": question})
        messages.append({"role": "assistant", "content": reply(messages).text})
    summary = summarized([*messages, *after_reading(long_file(60))])
    assert "Open:\n- Who is the mayor?" in summary
    assert "What is my name" not in summary


def test_a_tiny_talk_becomes_one_short_sentence() -> None:
    talk = [{"role": "user", "content": "我叫小林"}, {"role": "assistant", "content": "你好, 小林"}]
    assert summarized(talk) == "我叫小林"
    assert summarized([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}])


def test_an_earlier_summary_is_carried_along() -> None:
    earlier = "Decisions:\n- Paint the door blue.\nFacts:\n- The user is called Lin."
    messages = [
        {"role": "user", "content": SUMMARY_PREFIX + earlier},
        {"role": "assistant", "content": ACKNOWLEDGEMENT},
        *told("My phone number is 555-0199."),
    ]
    summary = summarized([*messages, *after_reading(long_file(60))])
    assert "Decisions:\n- Paint the door blue.\n" in summary
    assert "- The user is called Lin." in summary
    assert "555-0199" in summary
    assert ACKNOWLEDGEMENT not in summary


def after_summary(earlier: str) -> list[Message]:
    return [
        {"role": "user", "content": SUMMARY_PREFIX + earlier},
        {"role": "assistant", "content": ACKNOWLEDGEMENT},
    ]


EARLIER = "Goal:\n- Read welcome.txt\nFiles:\n- welcome.txt: Welcome to Heron Bay.\nOpen:\n- What is my name?"


def test_a_summary_of_a_summary_says_the_same_in_the_same_language() -> None:
    assert summarized(after_summary(EARLIER)) == EARLIER


@pytest.mark.parametrize(
    ("earlier", "carried"),
    [
        ("Goal: Read welcome.txt", "Goal:\n- Read welcome.txt"),
        ("事实：\n- My name is Lin.", "Facts:\n- My name is Lin."),
        ("What is my name?", "Open:\n- What is my name?"),
        (
            "目标：\n- 读 welcome.txt\n下一步：\n- 问用户要哪一份",
            "目标：\n- 读 welcome.txt\n下一步：\n- 问用户要哪一份",
        ),
        ("目標: 讀燈塔.txt\n未決: 誰是看守人？", "目標：\n- 讀燈塔.txt\n未決：\n- 誰是看守人？"),
        (
            "## Decisions\n- Paint it blue.\n## Next steps\n1. Buy paint.",
            "Decisions:\n- Paint it blue.\nNext:\n- Buy paint.",
        ),
    ],
)
def test_sections_of_an_earlier_summary_are_kept_in_the_language_of_its_items(earlier: str, carried: str) -> None:
    assert summarized(after_summary(earlier)) == carried


def test_every_section_of_an_earlier_summary_outlives_a_long_file() -> None:
    earlier = EARLIER + "\nFacts:\n" + "\n".join(f"- The code of door {n} is {n * 37}." for n in range(12))
    summary = summarized([*after_summary(earlier), *after_reading(long_file(60))])
    for line in ("Goal:", "- Read welcome.txt", "- welcome.txt: Welcome to Heron Bay.", "Open:\n- What is my name?"):
        assert line in summary
    assert "事实" not in summary


def test_notices_alone_do_not_make_a_talk_chinese() -> None:
    cleared = {
        "role": "user",
        "content": "<tool_response>\n[工具 read_file 執行結果]：\nHarbour log 3\n</tool_response>",
    }
    pruned = {
        "role": "assistant",
        "content": "... [省略前期工具 read_file 的部分輸出] The log is of 3 May, says Ann Old.",
    }
    for messages in ([cleared, pruned], [*after_summary("My name is Lin."), cleared]):
        assert "事实" not in summarized([*messages, *after_reading(long_file(60))[1:]])


def test_an_open_question_that_was_answered_since_is_open_no_more() -> None:
    messages = [*after_summary(EARLIER), *told("My name is Lin.")]
    messages.append({"role": "user", "content": "What is my name?"})
    messages.append({"role": "assistant", "content": reply(messages).text})
    summary = summarized(messages)
    assert "- My name is Lin." in summary
    assert "What is my name?" not in summary


def test_a_users_fact_outlives_ten_questions_and_every_summary() -> None:
    messages = told("My name is Lin.")
    for round_of_talk in range(3):
        for number in range(10):
            messages.append({"role": "user", "content": f"Who keeps key {round_of_talk}{number}?"})
            messages.append({"role": "assistant", "content": reply(messages).text})
        messages = after_summary(summarized(messages))
    assert "Facts:\n- My name is Lin.\n" in messages[0]["content"]
    said = reply([*messages, {"role": "user", "content": "What is my name?"}]).text
    assert said == "“My name is Lin.” — message 0, summary."


def test_notices_and_placeholders_are_not_carried_along() -> None:
    for content in (
        "[旧工具结果已清理, 如有需要请重新调用工具]",
        "Harbour log\n...中间省略3000个字...\nThe end of 3 May",
    ):
        summary = summarized([*after_reading(content), *told("My name is Lin and I live in Heron Bay since 1999.")])
        assert "清理" not in summary
        assert "省略" not in summary
        assert "log.txt" in summary


def test_it_loses_things() -> None:
    facts = [f"The code of door {number} is {number * 37}." for number in range(200)]
    summary = summarized(told(*facts))
    assert facts[-1] in summary
    assert facts[0] not in summary


def test_a_focus_after_the_prompt_and_a_fence_around_the_text_change_nothing() -> None:
    rendering = render(told("My name is Lin.", "The code of the door is 4417."))
    plain = asked_for_summary(rendering)
    assert asked_for_summary(f"<old>\n{rendering}", SUMMARY_PROMPT + "\nFocus: the door") == plain


def test_a_fact_survives_layer_3_and_is_found_in_the_summary() -> None:
    messages: list[Message] = [{"role": "system", "content": "Be brief."}, *told("My name is Lin.")]
    for text in ("The door is red.", "The gate is green.", "The roof is brown."):
        messages += told(text)
    shorter = compact(messages, lambda request: reply(request).text)
    assert len(shorter) == len(messages)
    said = reply([*shorter, {"role": "user", "content": "What is my name?"}]).text
    assert said == "“My name is Lin.” — message 1, summary."


# For the robust layer


def updated(*piece: str, so_far: str = "") -> str:
    """The summary of a rendered piece of a conversation, with the summary so far."""
    said = reply(request(ROBUST_PROMPT, so_far, "\n".join(piece)))
    assert not said.calls
    return said.text


LOG = "Harbour log of the third of May. Boat 7 came in at 7:00, calm sea. Boat 8 came in at 8:00, calm sea."


def test_a_result_is_told_from_others_by_its_calls_number() -> None:
    calls = ('[call 1] read_file({"path": "log.txt"})', '[call 2] read_file({"path": "menu.txt"})')
    summary = updated(*calls, "[result 2 of read_file] Soup of the day: 4.20.", f"[result 1 of read_file] {LOG}")
    assert "- log.txt: Harbour log of the third of May." in summary
    assert "- menu.txt: Soup of the day: 4.20." in summary


def test_a_result_whose_call_stood_in_an_earlier_piece_is_still_a_result() -> None:
    summary = updated(f"[result 3 of read_file] {LOG}", '[call 4] read_file({"path": "menu.txt"})', "[user] Thanks")
    assert "Harbour log of the third of May." in summary
    assert "menu.txt" not in summary


@pytest.mark.parametrize(
    ("so_far", "told", "sections"),
    [
        ("Facts:\n- My name is Lin.", "We decided to use port 8443.", ["Decisions:", "Facts:", "Files:"]),
        ("事实：\n- 我叫小林", "我们决定用 8443 端口", ["决定：", "事实：", "文件："]),
        ("事實：\n- 我叫小林", "我們決定用 8443 埠", ["決定：", "事實：", "檔案："]),
    ],
)
def test_the_summary_so_far_is_updated_in_its_language(so_far: str, told: str, sections: list[str]) -> None:
    conversation = [f"[user] {told}", '[call 1] read_file({"path": "log.txt"})', f"[result 1 of read_file] {LOG * 5}"]
    summary = updated(*conversation, so_far=so_far)
    assert [line for line in summary.splitlines() if not line.startswith("- ")] == sections
    assert f"- {told}" in summary
    assert so_far.splitlines()[1] in summary
    assert "log.txt" in summary


def test_what_is_known_grows_with_what_is_told_and_ends_at_600_tokens() -> None:
    summary, sizes = "", []
    for day in range(60):
        facts = [f"[user] The code of door {number} on day {day} is {number * 37 + day}." for number in range(12)]
        summary = updated(*facts, so_far=summary)
        sizes.append(estimate_token(summary))
    assert sizes[1] > sizes[0]
    assert 500 < sizes[-1] <= 600


@given(any_lists())
def test_a_summary_is_bounded_whatever_was_said(messages: list[Message]) -> None:
    rendering = render(messages)
    summary = asked_for_summary(rendering)
    assert summary.strip()
    earlier = [message for message in messages if text_of(message).startswith(SUMMARY_PREFIX.strip())]
    assert estimate_token(summary) <= min(
        600, max(48, estimate_token(rendering) // 10, estimate_token(render(earlier)))
    )


@given(TEXTS)
def test_any_text_can_be_summarized(text: str) -> None:
    for times in (1, 300):
        summary = asked_for_summary(text * times)
        assert summary.strip()
        assert estimate_token(summary) <= 600


def test_a_whole_class_shrinks_to_a_tenth(tmp_path: Path) -> None:
    lesson = Class(tmp_path, {**FILES, "log.txt": long_file(200)})
    for text in ("My name is Lin.", "Read log.txt and harbour.txt", "Who repaired the lamp?", "Which files are there?"):
        lesson.ask(text)
    rendering = render(lesson.messages[1:])
    summary = summarized(lesson.messages[1:])
    assert estimate_token(summary) <= estimate_token(rendering) / 10
    assert "My name is Lin." in summary
    assert "harbour.txt: Harbour log of the third of May." in summary
