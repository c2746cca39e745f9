"""The token rules written down once more on their own, and the numbers that a workbench shows.

    estimate = int(cjk * 1.3 + others / 3.5), cut once for a whole list; parts by the largest remainder.

It shares no code with the product, so that every number on screen can be held against a request as it was received.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from triptych_tui.app import TriptychApp

Message = Mapping[str, Any]

PREFIX = "[以下是此前对话的摘要]"
ACKNOWLEDGEMENT = "好的，我已了解之前的进展，继续。"


def weight(text: str) -> Fraction:
    """Tokens of a text, not yet cut."""
    cjk = len(re.findall("[\u4e00-\u9fff\u3000-\u303f\uff00-\uffef]", text))
    return cjk * Fraction(13, 10) + (len(text) - cjk) / Fraction(7, 2)


def message_weight(message: Message) -> Fraction:
    calls = [call["function"] for call in message.get("tool_calls", ())]
    return weight(message["content"] or "") + sum(weight(call["name"]) + weight(call["arguments"]) for call in calls)


def estimate(messages: Iterable[Message]) -> int:
    return int(sum(map(message_weight, messages), Fraction()))


def tools_estimate(tools: Sequence[Mapping[str, Any]]) -> int:
    return int(weight(json.dumps(list(tools), ensure_ascii=False))) if tools else 0


def shares(weights: Sequence[Fraction | int], total: int) -> list[int]:
    """`total` in whole parts in proportion to the weights, what cutting leaves over going to the largest remainders."""
    exact = [Fraction(weight) * total / sum(weights) for weight in weights]
    parts = [int(share) for share in exact]
    by_remainder = sorted(range(len(parts)), key=lambda index: parts[index] - exact[index])
    for index in by_remainder[: total - sum(parts)]:
        parts[index] += 1
    return parts


def row_tokens(messages: Sequence[Message]) -> list[int]:
    return shares([message_weight(message) for message in messages], estimate(messages))


def letter_of(message: Message) -> str:
    """The letter under which a message is counted: a summary and its acknowledgement together."""
    content = message["content"] or ""
    is_summary = message["role"] == "user" and content.startswith(PREFIX)
    return "Σ" if is_summary or content == ACKNOWLEDGEMENT else message["role"][0].upper()


def by_letter(messages: Sequence[Message], tokens: Sequence[int]) -> dict[str, int]:
    parts: dict[str, int] = {}
    for message, count in zip(messages, tokens, strict=True):
        parts[letter_of(message)] = parts.get(letter_of(message), 0) + count
    return parts


# What the screen shows


def lines_of(app: TriptychApp, selector: str) -> list[str]:
    """The lines of one widget as they are on screen, cut out by cells."""
    region = app.screen.query_one(selector).region
    strips = app.screen._compositor.render_strips()[region.y : region.bottom]
    return ["".join(segment.text for segment in strip.crop(region.x, region.right)) for strip in strips]


def number(text: str) -> int:
    return int(text.replace(",", ""))


def shown_rows(app: TriptychApp) -> list[int]:
    """The tokens of the rows of the messages pane, that of the tools first."""
    rows = [re.search(r" ([\d,]+)  .{10} ?$", line) for line in lines_of(app, "#messages") if line.strip()]
    return [number(row[1]) for row in rows if row]


def shown_total(app: TriptychApp) -> str:
    """The total of the messages pane with its mark."""
    found = re.search(r"total (\S+)", lines_of(app, "#messages-header")[0])
    assert found
    return found[1]
