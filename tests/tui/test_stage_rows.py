"""The stage bar: where a turn is, why, and what the last one did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest
from rich.cells import cell_len

from triptych.edits import Edit
from triptych.entries import Entry, Repaired
from triptych.events import StageEntered, TurnEnded
from triptych.layers.plan import Plan
from triptych.policy import preset
from triptych.reasons import Reason
from triptych.stages import Stage
from triptych.timeline import Step
from triptych.tokens import Count, Usage
from triptych_tui.glyphs import ASCII, UNICODE
from triptych_tui.hand_run import HandRun
from triptych_tui.i18n import set_language
from triptych_tui.layer_words import ROBUST_LAYERS
from triptych_tui.spans import Span, width_of
from triptych_tui.stage_rows import (
    Moment,
    after_layer,
    after_turn,
    before_turn,
    by_hand,
    compact_row,
    compact_rows,
    in_turn,
    stage_rows,
)
from triptych_tui.wording import SENTENCES, placeholders

LESSON = preset("lesson")
DUE = Reason("decide.turns_over", {"turns": 4, "limit": 3}, {"user_idx": (1, 3, 7), "cut": 3})
REQUEST = Reason("turn.request", {"messages": 15, "tokens": 2425, "tools": 311})


def text(spans: Sequence[Span]) -> str:
    return "".join(span.text for span in spans)


def rows(moment: Moment, width: int = 120) -> tuple[str, str]:
    above, below = stage_rows(moment, width, UNICODE)
    return text(above), text(below)


def pill(moment: Moment, width: int = 120) -> Span:
    (lit,) = [span for span in stage_rows(moment, width, UNICODE)[0] if span.ground]
    return lit


def step(stage: Stage, before: int, after: int, changed: int = 1) -> Step:
    entries = tuple(Entry(number, {"role": "tool", "content": ""}) for number in range(changed))
    edits = (Edit(0, None, entries, entries),)
    counts = Count(9, before), Count(9, after)
    return Step(1, None, stage, edits, Reason("clear.done"), *counts, action=1, at=datetime(2026, 1, 1, tzinfo=UTC))


def test_what_is_over_is_joined_otherwise_than_what_comes() -> None:
    above, _below = rows(in_turn(LESSON, StageEntered("request", REQUEST, "model", 2)))
    assert above == (
        " receive ─ L2 clear ─ decide ─ L3 summarize ─  request  ╌ tool ╌ L1 truncate ╌ append ╌ answer ╌ save"
    )


def test_the_reason_hangs_under_the_present_stage() -> None:
    above, below = rows(in_turn(LESSON, StageEntered("decide", DUE, "program")))
    assert (
        below == " " * above.index(" decide ") + "╰ program · 4 user turns > 3, so summarize · user_idx=[1, 3, 7] cut=3"
    )


def test_a_reason_that_is_too_long_there_is_moved_left_and_cut_only_at_last() -> None:
    moment = in_turn(LESSON, StageEntered("request", REQUEST, "model", 2))
    whole = "╰ model · 2nd request this turn · 15 messages, ~2,425 tokens + 311 for tools"
    for width in (104, 90, 79):
        below = rows(moment, width)[1]
        assert below.strip() == whole
        assert cell_len(below) == width - 1
    assert rows(moment, 60)[1] == " " + whole[:57] + "…"


@pytest.mark.parametrize(
    ("number", "ordinal"), [(2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (21, "21st")]
)
def test_a_further_request_of_the_turn_says_which_it_is(number: int, ordinal: str) -> None:
    below = rows(in_turn(LESSON, StageEntered("request", REQUEST, "model", number)))[1]
    assert f" · {ordinal} request this turn · " in below
    assert "request this turn" not in rows(in_turn(LESSON, StageEntered("request", REQUEST, "model", 1)))[1]


def test_the_present_stage_is_lit_in_its_layers_ink_or_in_the_accent() -> None:
    assert pill(in_turn(LESSON, StageEntered("clear", Reason("clear.done"), "program")))[1:] == ("on_block", "b", "l2")
    assert pill(in_turn(LESSON, StageEntered("decide", DUE, "program"))).ground == "accent"


def test_a_stage_that_waits_says_so() -> None:
    moment = in_turn(LESSON, StageEntered("decide", DUE, "program"), waiting=True)
    assert pill(moment).text == " ❚❚ decide "
    assert "╰ waiting here · program · 4 user turns" in rows(moment)[1]
    assert "❚❚ decide  L3 ○ ○ L1 ○ ○ ○  4 user turns" in text(compact_row(moment, 80, UNICODE))


def test_a_fault_is_red_and_has_a_sign() -> None:
    summarizing = in_turn(LESSON, StageEntered("summarize", Reason("summarize.failed", {"why": DUE}), "program"))
    assert pill(summarizing) == Span(" ! L3 summarize ", "on_block", "b", "error")
    asking = in_turn(LESSON, StageEntered("request", REQUEST, "model", 1))
    failed = after_turn(asking, TurnEnded("failed", Reason("model.server_error", {"status": 503})), [])
    assert pill(failed) == Span(" ! request ", "on_block", "b", "error")
    assert "╰ stopped: 503 · the list and the file are as before" in rows(failed)[1]
    kept = after_turn(asking, TurnEnded("failed", Reason("model.cut_off")), [step("append", 650, 700)])
    assert "╰ stopped · what had come is kept" in rows(kept)[1]


def test_a_turn_that_is_over_tells_what_the_layers_did() -> None:
    asking = in_turn(LESSON, StageEntered("save", Reason("turn.saving"), "program"))
    steps = [
        step("clear", 900, 700, 2),
        step("truncate", 700, 650),
        step("append", 650, 700),
        step("truncate", 700, 690),
    ]
    above, below = rows(after_turn(asking, TurnEnded("answered"), steps))
    assert "╌" not in above
    assert below == " last turn  L2 clear 2 (-200 tok)  ·  L1 truncate 2 (-60 tok)"
    assert rows(after_turn(asking, TurnEnded("answered"), []))[1] == " last turn  no layer changed anything"
    assert text(compact_row(after_turn(asking, TurnEnded("answered"), steps), 80, UNICODE)) == (
        "● L2 ● L3 ● ● L1 ● ● ●  last turn  L2 2 (-200) · L1 2 (-60)"
    )


def test_a_turn_in_which_the_list_was_repaired_says_so() -> None:
    asking = in_turn(LESSON, StageEntered("save", Reason("turn.saving"), "program"))
    closed = Entry(9, {"role": "tool", "content": "[no result]"}, (Repaired(),))
    steps = [step("repair", 34, 31), replace(step("repair", 31, 42), edits=(Edit(1, 0, (), (closed,)),))]
    ended = after_turn(asking, TurnEnded("answered"), steps)
    assert rows(ended)[1] == " last turn  repair 2 (+8 tok)"
    assert text(compact_row(ended, 80, UNICODE)).endswith("last turn  repair 2 (+8)")


def test_a_turn_that_was_cancelled_stays_where_it_was() -> None:
    asking = in_turn(LESSON, StageEntered("request", REQUEST, "model", 1))
    above, below = rows(after_turn(asking, TurnEnded("cancelled", Reason("turn.cancelled")), []))
    assert above.count("─") == 3
    assert below.startswith(" last turn ")


def test_a_save_that_failed_stays_lit_although_the_turn_was_answered() -> None:
    saving = in_turn(LESSON, StageEntered("save", Reason("turn.saving"), "program")).failed()
    ended = after_turn(saving, TurnEnded("answered"), [])
    assert pill(ended).text == " ! save "
    assert "last turn" in rows(ended)[1]


def test_before_the_first_turn_nothing_is_over() -> None:
    above, below = rows(before_turn(LESSON))
    assert "─" not in above
    assert below == " ready"


def test_only_stages_that_run_are_shown() -> None:
    without = replace(LESSON, clear=None, summarize=None)
    assert rows(before_turn(without))[0] == (
        " receive ╌ decide ╌ request ╌ tool ╌ L1 truncate ╌ append ╌ answer ╌ save"
    )
    assert "L2 prune" in rows(before_turn(preset("meowgent")))[0]


def test_a_layer_run_by_hand_is_lit_although_the_policy_has_it_not() -> None:
    planned = Plan("truncate", (), Reason("truncate.no_results"), Count(1, 1), Count(1, 1))
    moment = by_hand(preset("meowgent"), HandRun("truncate", LESSON.truncate, "lesson", planned))  # type: ignore[arg-type]
    assert pill(moment).text == " L1 truncate "
    assert "─" not in rows(moment)[0]
    assert "by hand · preview · nothing has changed yet" in rows(moment)[1]
    assert rows(after_layer(LESSON, [step("truncate", 90, 40)]))[1] == " done by hand  L1 truncate 1 (-50 tok)"


def test_in_a_narrow_terminal_all_is_one_row_of_dots() -> None:
    moment = in_turn(LESSON, StageEntered("request", REQUEST, "model", 2))
    assert text(compact_row(moment, 80, UNICODE)) == "● L2 ● L3  request  ○ L1 ○ ○ ○  2nd request · 15 messages"


def test_names_move_together_before_they_become_dots() -> None:
    moment = in_turn(LESSON, StageEntered("request", REQUEST, "model", 1))
    assert "─L2 clear─decide─" in rows(moment, 100)[0]
    assert rows(moment, 70)[0].startswith(" ● L2 ● L3  request  ○")


@pytest.mark.parametrize("width", [1, 2, 5, 20, 43, 79, 80, 99, 100, 120, 200])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_no_row_is_wider_than_there_is_room(width: int, glyphs: object) -> None:
    for moment in (before_turn(LESSON), in_turn(LESSON, StageEntered("save", DUE, "program"), waiting=True)):
        assert all(width_of(row) <= width for row in stage_rows(moment, width, glyphs))  # type: ignore[arg-type]
        assert width_of(compact_row(moment, width, glyphs)) <= width  # type: ignore[arg-type]


def test_after_a_turn_the_models_own_count_of_its_last_request_stands_bare() -> None:
    asking = in_turn(LESSON, StageEntered("save", Reason("turn.saving"), "program"))
    steps = [
        replace(step("request", 650, 700), usage=Usage(1103, 40)),
        replace(step("answer", 700, 750), usage=Usage(1187, 42)),
    ]
    over = after_turn(asking, TurnEnded("answered"), steps)
    assert rows(over)[1] == " last turn  no layer changed anything  ·  measured 1,187 tokens read, 42 written"
    set_language("zh_Hans")
    try:
        assert rows(over)[1] == " 上一轮  没有一层改动了内容  ·  实测读入 1,187 token，写出 42"
    finally:
        set_language("en")


def test_what_was_measured_is_read_whole_or_not_at_all_although_the_layers_have_much_to_say() -> None:
    asking = in_turn(LESSON, StageEntered("save", Reason("turn.saving"), "program"))
    steps = [
        step("clear", 9900, 7700, 12),
        step("summarize", 7700, 6600, 14),
        step("truncate", 6600, 5500),
        replace(step("answer", 5500, 5600), usage=Usage(11870, 4200)),
    ]
    ended = after_turn(asking, TurnEnded("answered"), steps)
    assert rows(ended, 160)[1].startswith(" last turn  L2 clear 12 (-2,200 tok)  ·  L3 summarize 14 ")
    assert rows(ended, 120)[1] == (
        " last turn  L2 12 (-2,200) · L3 14 (-1,100) · L1 1 (-1,100)  ·  measured 11,870 tokens read, 4,200 written"
    )
    assert rows(ended, 100)[1] == " last turn  L2 12 (-2,200) · L3 14 (-1,100) · L1 1 (-1,100)", "or not at all"


def told(reason_id: str) -> Reason:
    """A reason of a layer with values of a long session."""
    template = SENTENCES[reason_id]
    named = placeholders((template if isinstance(template, str) else template.many).translate({91: None, 93: None}))
    return Reason(reason_id, {name: LONG_SESSION.get(name) for name in named})


LONG_SESSION = {
    **dict.fromkeys(("length", "old_tokens", "gain"), 14_028),
    **dict.fromkeys(("result_length", "limit", "minimum", "new_tokens"), 4_000),
    **dict.fromkeys(("results", "cleared", "turns", "old", "pruned", "percent", "replaced", "messages"), 24),
    **dict.fromkeys(("keep", "keep_turns"), 3),
    "tokens": 61_440,
    "threshold": 98_304,
    "from_tokens": 100_000,
    "window": 131_072,
    "kind": "estimated",
    "flaw": Reason("summary.echo"),
}


@pytest.mark.parametrize("language", ["en", "zh_Hans", "zh_Hant"])
def test_what_robust_layers_say_is_whole_in_80_columns(language: str) -> None:
    """In one row at least the first clause, in the rows of step mode all of it."""
    robust, cut = preset("robust"), []
    set_language(language)
    try:
        for reason_id in (each for each in ROBUST_LAYERS if each.partition(".")[0] in (*robust.stages, "prune")):
            event = StageEntered(cast(Stage, reason_id.partition(".")[0]), told(reason_id), "program")
            moment = in_turn(robust, event)
            rows = [compact_row(moment, 75, UNICODE), *compact_rows(moment._replace(waiting=True), 80, UNICODE)]
            cut += [text(row) for row in rows if "…" in text(row)]
    finally:
        set_language("en")
    assert not cut
