"""Chat lists for property tests: sound ones, and junk; and an oracle for soundness that is independent of the core."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from triptych.messages import Message

ALWAYS = settings(max_examples=max(100, settings().max_examples))
"""For what is always true: more examples than are usual here."""

NOTICES = (
    "\n...中间省略102个字...\n",
    "[旧工具结果已清理, 如有需要请重新调用工具]",
    "I am Iron Man",
    "... [省略前期工具 grep 的部分輸出]",
    "[以下是此前对话的摘要]\n",
    "<tool_response>\n[工具 read_file 執行結果]：\n",
    "\n</tool_response>",
)

# No lone surrogates: a list that holds one cannot be saved by anybody, and readers replace them.
CHARACTERS = st.characters(exclude_categories=["Cs"])

SHORT_TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=12),
    st.text("你好，今天讀取文件配置。", max_size=12),
    st.sampled_from(["", " ", "\n", "🙂🏽👩‍👩‍👧", "e\u0301", "かな", "a\x00b", *NOTICES]),
)

LONG_TEXTS = st.one_of(
    st.builds(lambda text, times: text * times, st.text(CHARACTERS, min_size=1, max_size=6), st.integers(10, 90)),
    st.builds("\n".join, st.lists(SHORT_TEXTS, min_size=5, max_size=12)),
    st.builds(lambda parts: "".join(parts), st.lists(st.sampled_from([*NOTICES, "x" * 90, "字" * 90]), max_size=5)),
)

TEXTS = st.one_of(SHORT_TEXTS, LONG_TEXTS)

PARTS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
    st.builds(lambda text: {"type": "refusal", "refusal": text}, SHORT_TEXTS),
    st.just({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}),
    st.just({"type": "input_audio", "input_audio": {}}),
)

CONTENTS = st.one_of(TEXTS, st.lists(PARTS, max_size=3))
ANSWERS = CONTENTS.filter(bool)  # an empty assistant message is refused

EXTRAS = st.dictionaries(st.sampled_from(["name", "x_extra", "reasoning_content", "标记"]), SHORT_TEXTS, max_size=2)

TOOL_NAMES = st.sampled_from(["read_file", "grep", "list-file", "查找", ""])

# Few ids, so that they repeat within a list and restart; some servers send empty ones.
CALL_IDS = st.sampled_from(["call_0", "call_1", "call_2", "call_3", ""])


@st.composite
def _ordered(draw: st.DrawFn, message: Message) -> Message:
    """The message with extra keys, its keys in any order."""
    whole = {**message, **draw(EXTRAS)}
    return {key: whole[key] for key in draw(st.permutations(list(whole)))}


@st.composite
def tool_rounds(draw: st.DrawFn) -> list[Message]:
    """An assistant message with calls, and all their results, in any order."""
    ids = draw(st.lists(CALL_IDS, min_size=1, max_size=4))
    calls = [
        {
            "id": call_id,
            "type": "function",
            "function": {
                "name": draw(TOOL_NAMES),
                "arguments": draw(st.sampled_from(["{}", '{"path": "配置.txt"}', "{"])),
            },
        }
        for call_id in ids
    ]
    content = draw(st.one_of(st.none(), CONTENTS))
    asking = draw(_ordered({"role": "assistant", "content": content, "tool_calls": calls}))
    results = [
        draw(_ordered({"role": "tool", "tool_call_id": call_id, "content": draw(CONTENTS)}))
        for call_id in draw(st.permutations(ids))
    ]
    return [asking, *results]


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """A question, rounds of tool calls, most often an answer."""
    messages = [draw(_ordered({"role": "user", "content": draw(CONTENTS)}))]
    for tool_round in draw(st.lists(tool_rounds(), max_size=2)):
        messages += tool_round
    if draw(st.integers(0, 4)):
        messages.append(draw(_ordered({"role": "assistant", "content": draw(ANSWERS)})))
    return messages


@st.composite
def chat_lists(draw: st.DrawFn, max_turns: int = 6) -> list[Message]:
    """A list as an API accepts it: a system message, then turns; every call is answered right after it."""
    messages = [draw(_ordered({"role": "system", "content": draw(SHORT_TEXTS)}))]
    for turn in draw(st.lists(turns(), max_size=max_turns)):
        messages += turn
    return messages


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False), SHORT_TEXTS)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(SHORT_TEXTS, inner, max_size=3)),
    max_leaves=6,
)
ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool", "function", "exit"])
_JUNK_CALLS = st.one_of(
    JSON,
    st.fixed_dictionaries(
        {},
        optional={
            "id": st.one_of(CALL_IDS, JSON),
            "function": st.one_of(
                JSON, st.fixed_dictionaries({}, optional={"name": JSON, "arguments": st.one_of(SHORT_TEXTS, JSON)})
            ),
        },
    ),
)
_JUNK_PARTS = st.one_of(JSON, PARTS, st.fixed_dictionaries({"type": JSON}, optional={"text": JSON}))


def junk_messages() -> st.SearchStrategy[Message]:
    """JSON objects that look more or less like messages."""
    return st.one_of(
        st.dictionaries(SHORT_TEXTS, JSON, max_size=4),
        st.fixed_dictionaries(
            {},
            optional={
                "role": st.one_of(ROLES, ROLES, JSON),
                "content": st.one_of(CONTENTS, st.lists(_JUNK_PARTS, max_size=3), JSON),
                "tool_calls": st.one_of(st.lists(_JUNK_CALLS, max_size=3), JSON),
                "tool_call_id": st.one_of(CALL_IDS, JSON),
                "function_call": JSON,
            },
        ),
    )


def junk_lists() -> st.SearchStrategy[list[Message]]:
    """Any list of JSON objects."""
    return st.lists(junk_messages(), max_size=12)


def any_lists() -> st.SearchStrategy[list[Message]]:
    return st.one_of(chat_lists(), junk_lists())


def faults(messages: list[Message]) -> list[str]:
    """What an API would refuse: orphan results, calls not answered right after them, empty assistant messages."""
    found: list[str] = []
    open_ids: Counter[str] = Counter()
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            call_id = message["tool_call_id"]
            if open_ids[call_id]:
                open_ids[call_id] -= 1
            else:
                found.append(f"message {index} answers no open call")
            continue
        if open_ids.total():
            found.append(f"calls are unanswered before message {index}")
        calls: list[Any] = message.get("tool_calls") or []
        if message["role"] == "assistant" and not calls and not message["content"]:
            found.append(f"message {index} is an empty answer")
        open_ids = Counter(call["id"] for call in calls)
    if open_ids.total():
        found.append("calls are unanswered at the end")
    return found
