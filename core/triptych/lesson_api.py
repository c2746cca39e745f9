"""The lessons' functions under their own names, thin over the layers, for readers who compare with the articles.

From the lesson on truncating, clearing and summarizing: `cut_tool_result`, `clean_old_tool_result`,
`classify_old_and_kept_msgs`, `render_for_summary`, `compact`, `rebuild`, `save_session`, `load_session`. From the
lesson on pruning and estimating: `estimate_token`, `images_token`, `turn_separation`, `pruner_tool_text`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from triptych.edits import apply
from triptych.entries import entries_from, messages_of
from triptych.layers import clear, prune, summarize, truncate
from triptych.layers.parameters import LESSON_ERRORS
from triptych.layers.summarize import BLANK_PRINTED, DONE_PRINTED, SUMMARY_PROMPT
from triptych.messages import Message, turn_starts
from triptych.storage.atomic import replace_file
from triptych.tokens import PICTURE_TOKENS, MeowgentEstimator, TokenCounter

MAX_CHAR_NUMBER = 80
KEEP_RECENT_TOOL_RESULTS = 2
DEFAULT_KEEP_TURNS = 3
TOOL_RESULT_PLACEHOLDER = clear.RECOMMENDED_PLACEHOLDER
SESSION_FILE = Path.home() / ".lyrj-agent" / "sessions" / "default.json"

__all__ = [
    "DEFAULT_KEEP_TURNS",
    "KEEP_RECENT_TOOL_RESULTS",
    "MAX_CHAR_NUMBER",
    "SESSION_FILE",
    "SUMMARY_PROMPT",
    "TOOL_RESULT_PLACEHOLDER",
    "classify_old_and_kept_msgs",
    "clean_old_tool_result",
    "compact",
    "cut_tool_result",
    "estimate_token",
    "images_token",
    "load_session",
    "pruner_tool_text",
    "rebuild",
    "render_for_summary",
    "save_session",
    "turn_separation",
]

_COUNTER = TokenCounter(MeowgentEstimator())


def cut_tool_result(text: str, limit: int = MAX_CHAR_NUMBER) -> str:
    """Layer 1: `text` with its middle cut out when it has more than `limit` characters."""
    if limit < 0:
        raise ValueError(LESSON_ERRORS["limit"])
    made = truncate.cut(text, _cut_at(limit))
    return text if made is None else made.text


@lru_cache(maxsize=8)
def _cut_at(limit: int) -> truncate.TruncateParameters:
    return truncate.TruncateParameters(limit=limit)


def clean_old_tool_result(
    messages: list[Message], keep: int = KEEP_RECENT_TOOL_RESULTS, placeholder: str | None = None
) -> None:
    """Layer 2, in place as published: all tool results but the last `keep` become the placeholder."""
    if placeholder is None:
        placeholder = TOOL_RESULT_PLACEHOLDER
    for index in clear.old_results(clear.tool_results(messages), keep):
        messages[index]["content"] = placeholder


def classify_old_and_kept_msgs(
    messages: Sequence[Message], keep_turns: int = DEFAULT_KEEP_TURNS
) -> tuple[list[Message], list[Message]] | None:
    """Layer 3's split: `(old, kept)`, or None when there are no more than `keep_turns` user messages."""
    if keep_turns <= 0:
        raise ValueError(LESSON_ERRORS["keep_turns"])
    cut = summarize.split(messages, keep_turns)
    return None if cut is None else (list(messages[1:cut]), list(messages[cut:]))


def render_for_summary(msgs: Sequence[Message]) -> str:
    """Old messages as the text that the summarizer reads."""
    return summarize.render(msgs)


def rebuild(messages: Sequence[Message], keep_turns: int, summary: str | None) -> list[Message]:
    """The list after layer 3 with this summary; unchanged when nothing is old or the summary is blank."""
    if keep_turns <= 0:
        raise ValueError(LESSON_ERRORS["keep_turns"])
    entries = entries_from(messages)
    planned = summarize.plan(entries, summarize.SummarizeParameters(keep_turns=keep_turns), _COUNTER, len(entries))
    if isinstance(planned, summarize.SummaryPlan):
        return messages_of(apply(entries, planned.with_summary(summary or "").edits))
    return list(messages)


def compact(
    messages: Sequence[Message],
    complete: Callable[[list[Message]], str | None],
    keep_turns: int = DEFAULT_KEEP_TURNS,
) -> list[Message]:
    """Layer 3 whole: ask `complete(messages)` for a summary and rebuild the list with it.

    Says what it did in the lesson's words, on standard output.
    """
    parts = classify_old_and_kept_msgs(messages, keep_turns)
    if parts is None:
        return list(messages)
    old, _ = parts
    summary = complete(
        [{"role": "system", "content": SUMMARY_PROMPT}, {"role": "user", "content": render_for_summary(old)}]
    )
    if not summary or not summary.strip():
        print(BLANK_PRINTED)
        return list(messages)
    print(DONE_PRINTED.format(count=len(old)))
    return rebuild(messages, keep_turns, summary)


def save_session(history: Sequence[Message], path: str | Path = SESSION_FILE) -> None:
    """Write the list as the lesson saves it, atomically."""
    replace_file(Path(path), json.dumps(list(history), indent=2, ensure_ascii=False).encode("utf-8"))


def load_session(path: str | Path = SESSION_FILE) -> list[Message]:
    """Read a saved list. Raises ValueError unless it starts with a system message."""
    history: Any = json.loads(Path(path).read_text("utf-8"))
    if not isinstance(history, list) or not history or not isinstance(history[0], dict):
        raise ValueError("会话文件必须包含以 system 消息开头的消息列表")
    if history[0].get("role") != "system":
        raise ValueError("会话文件必须包含以 system 消息开头的消息列表")
    return history


def estimate_token(text: str) -> int:
    """Estimated tokens: `int(cjk * 1.3 + others / 3.5)`."""
    return _COUNTER.tokens(_COUNTER.estimator.weight(text))


def images_token(images: Sequence[Any] | None = None) -> int:
    """Estimated tokens of pictures: 800 each."""
    return PICTURE_TOKENS * len(images or ())


def turn_separation(history_messages: Sequence[Message]) -> list[int]:
    """The indices of the user messages that start turns."""
    return turn_starts(history_messages)


_turn_separation = turn_separation


def pruner_tool_text(history_messages: Sequence[Message], keep_turns: int = 2) -> list[Message]:
    """Layer 2 of the second lesson: results before the newest `keep_turns` turns, pruned, as a new list."""
    entries = entries_from(history_messages)
    parameters = prune.PruneParameters(keep_turns=max(keep_turns, 0))
    return messages_of(apply(entries, prune.plan(entries, parameters, _COUNTER).edits))
