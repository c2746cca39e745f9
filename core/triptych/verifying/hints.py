"""What often is the cause where a function answers otherwise than the lesson's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from triptych.verifying.child import Answer

Hint = Literal[
    "signature", "changed_input", "minus_zero", "odd_limit", "keep_zero", "not_in_place", "keep_turns_zero", "nothing"
]


def hint_for(name: str, given: Mapping[str, Any], ours: Answer, theirs: Answer) -> Hint | None:
    """The likely cause of a difference, None where none of the classic ones fits."""
    if theirs.get("raised") == "TypeError" and "argument" in theirs["text"]:
        return "signature"
    if "changed" in theirs:
        return "changed_input"
    if "returned" not in theirs:
        return None
    returned = theirs["returned"]
    if name == "cut_tool_result":
        return _hint_for_cut(given["text"], given["limit"], returned)
    if name == "clean_old_tool_result" and returned == given["messages"]:
        return "keep_zero" if given["keep"] <= 0 else "not_in_place"
    if name == "pruner_tool_text" and given["keep_turns"] == 0:
        return "keep_turns_zero"
    return "nothing" if returned is None and ours.get("returned") is not None else None


def _hint_for_cut(text: str, limit: int, returned: object) -> Hint | None:
    if returned is None:
        return "nothing"
    if isinstance(returned, str) and text and returned.endswith(text) and returned != text and len(text) > limit:
        return "minus_zero"
    return "odd_limit" if limit > 0 and limit % 2 else None
