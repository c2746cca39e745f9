"""Layer 1, robust: what a reader of the shorter result notices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from tests.support_strategies import TEXTS
from triptych.edits import apply
from triptych.entries import Entry, entries_from
from triptych.layers import truncate
from triptych.layers.cutting import clip_lines, shortened
from triptych.layers.parameters import ParameterError
from triptych.layers.truncate import TruncateParameters
from triptych.messages import text_of
from triptych.tokens import ESTIMATORS, TokenCounter

COUNTER = TokenCounter(ESTIMATORS["chars4"])
FAMILY = "👩\u200d👩\u200d👧\u200d👦"
GRAPHEMES = st.sampled_from(["a", "字", "e\u0301", FAMILY, "🇩🇪", "🙂🏽", "각", "\r\n", "a" + "\u0301" * 30, "क्षि"])


def robust(**changes: object) -> TruncateParameters:
    values = {"limit": 100, "notice": "\n[... {omitted} {unit} omitted ...]\n", "flavour": "robust", **changes}
    return TruncateParameters(**values)  # type: ignore[arg-type]


def talk(content: object, *, tool: str = "grep", **extra: object) -> tuple[Entry, ...]:
    call = {"id": "c", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    return entries_from(
        [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": content, **extra},
        ]
    )


def cut(entries: tuple[Entry, ...], parameters: TruncateParameters, **how: bool) -> tuple[object, str]:
    """The result's content afterwards, and the reason's id."""
    plan = truncate.plan(entries, parameters, COUNTER, [2], **how)
    return apply(entries, plan.edits)[2].message["content"], plan.reason.id


def starts_of(text: str) -> set[int]:
    """Where a cut parts no grapheme."""
    starts, at = {0}, 0
    for grapheme in iter_graphemes(text):
        at += len(grapheme)
        starts.add(at)
    return starts


@given(
    st.lists(GRAPHEMES, max_size=60).map("".join),
    st.integers(0, 60),
    st.floats(0, 1),
    st.sampled_from(["characters", "bytes"]),
)
def test_a_cut_never_falls_inside_a_grapheme(text: str, limit: int, share: float, unit: str) -> None:
    made = shortened([text], limit, unit, share, lambda omitted: f"<{omitted}>")  # type: ignore[arg-type]
    if made is None:
        return
    (short,) = made
    at = max((at for at in (short.rfind("<"), short.find("...")) if at >= 0), default=-1)
    if at < 0:
        assert len(short) <= 2  # no room for any notice
        return
    head, tail = short[:at], short[at:].removeprefix("...").split(">")[-1]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert {len(head), len(text) - len(tail)} <= starts_of(text)


@given(TEXTS, st.integers(0, 50))
def test_no_line_is_longer_than_asked_for(text: str, longest: int) -> None:
    clipped = clip_lines(text, longest)
    assert all(len(line) <= longest for line in clipped.split("\n"))
    assert clipped.count("\n") == text.count("\n") or len(text) <= longest
    assert clip_lines(clipped, longest) == clipped


def test_the_limit_is_for_the_whole_result_notice_included() -> None:
    content, reason = cut(talk("x" * 1000), robust())
    assert reason == "truncate.shortened_characters"
    assert content == "x" * 32 + "\n[... 935 characters omitted ...]\n" + "x" * 33


def test_the_defaults() -> None:
    parameters = TruncateParameters.robust()
    assert (parameters.limit, parameters.head_share, parameters.error_limit) == (4000, 0.5, 8000)
    content, _ = cut(talk("y" * 10_000), parameters)
    assert 3990 <= len(str(content)) <= 4000
    assert cut(talk("error: " + "y" * 7000), parameters)[1] == "truncate.within_limit"


def test_a_result_barely_over_the_limit_stays_where_nothing_is_gained() -> None:
    whole = "字" * 10 + "x" * 95  # the notice is all Latin, but 1 character less saves no token
    assert cut(talk("x" * 101), robust(notice="x" * 101))[0] == "x" * 48 + "..." + "x" * 49
    counter = TokenCounter(ESTIMATORS["meowgent"])
    parameters = robust(limit=104, notice="…字字字字字字字字字字字字字字字字字字字字字字字字字字字字…")
    plan = truncate.plan(talk(whole), parameters, counter, [2])
    assert plan.edits == ()
    assert plan.reason.id == "truncate.saves_nothing"


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 20])
def test_a_limit_too_small_for_the_notice_still_holds(limit: int) -> None:
    content, _ = cut(talk("abcdefghij" * 10), robust(limit=limit))
    assert len(str(content)) <= limit


def test_lines_are_counted_and_the_notice_has_one_of_its_own() -> None:
    content, _ = cut(talk("\n".join(f"line {n}" for n in range(50))), robust(limit=5, unit="lines"))
    assert content == "line 0\nline 1\n[... 46 lines omitted ...]\nline 48\nline 49"


def test_bytes_are_counted() -> None:
    content, _ = cut(talk("字" * 200), robust(unit="bytes"))
    assert len(str(content).encode()) <= 100
    assert str(content).startswith("字" * 10)
    assert " bytes omitted" in str(content)


def test_the_head_alone_with_the_tools_name() -> None:
    parameters = robust(head_share=1.0, notice="[{tool}: {omitted} more]")
    content, _ = cut(talk("abc" * 100), parameters)
    assert str(content).startswith("abcabc")
    assert str(content).endswith(f"[grep: {300 - (len(str(content)) - len('[grep: 222 more]'))} more]")


def test_a_long_line_gives_way_to_dots_though_the_whole_is_short_enough() -> None:
    content, _ = cut(talk("short\n" + "y" * 90), robust(max_line=20))
    assert content == "short\n" + "y" * 17 + "..."


@pytest.mark.parametrize("failed", [{"failed": True}, {}])
def test_an_error_message_has_a_limit_of_its_own(failed: dict[str, bool]) -> None:
    parameters = robust(error_limit=300)
    text = "x" * 200 if failed else "error: " + "x" * 200
    assert cut(talk(text), parameters, **failed) == (text, "truncate.within_limit")
    assert cut(talk("x" * 200), parameters)[1] == "truncate.shortened_characters"
    assert cut(talk("x" * 200, is_error=True), parameters)[1] == "truncate.within_limit"


def test_a_list_is_cut_over_its_text_parts_and_other_parts_stay() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    parts = [
        {"type": "text", "text": "a" * 80, "x": 1},
        picture,
        {"type": "text", "text": "b" * 80},
        {"type": "text", "text": "c" * 80},
    ]
    content, _ = cut(talk(parts), robust())
    assert isinstance(content, list)
    first, second, last = content
    assert first["text"].startswith("aaa")
    assert first["text"].endswith("characters omitted ...]\n")
    assert first["x"] == 1
    assert second == picture
    assert set(last["text"]) == {"c"}
    assert len(text_of({"content": content})) <= 100


def test_of_a_list_with_no_room_one_empty_text_stays() -> None:
    assert cut(talk([{"type": "text", "text": "a" * 80}]), robust(limit=0))[0] == [{"type": "text", "text": ""}]


def test_one_result_larger_than_any_window() -> None:
    content, _ = cut(talk("word " * 2_000_000), TruncateParameters.robust())
    assert len(str(content)) <= 4000


def test_a_pinned_result_and_one_cut_before_stay() -> None:
    entries = talk("x" * 500)
    pinned = (*entries[:2], Entry(2, entries[2].message, pinned=True))
    assert truncate.plan(pinned, robust(), COUNTER).reason.id == "truncate.pinned"
    once = apply(entries, truncate.plan(entries, robust(), COUNTER).edits)
    again = truncate.plan(once, robust(limit=50), COUNTER)
    assert (again.edits, again.reason.id) == ((), "truncate.already_cut")


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"unit": "words"}, "unit"),
        ({"flavour": "x"}, "flavour"),
        ({"max_line": 0}, "max_line"),
        ({"error_limit": -1}, "error_limit"),
    ],
)
def test_a_parameter_that_cannot_be_is_named(wrong: dict[str, object], name: str) -> None:
    with pytest.raises(ParameterError) as refused:
        robust(**wrong)
    assert refused.value.reason.values["name"] == name
