"""Policies: presets load, and a file that says something impossible is told where."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from triptych.entries import entries_from
from triptych.layers.clear import RECOMMENDED_PLACEHOLDER, ClearParameters
from triptych.layers.parameters import ParameterError
from triptych.layers.prune import PruneParameters
from triptych.layers.summarize import SummarizeParameters
from triptych.layers.truncate import TruncateParameters
from triptych.policy import (
    LAYER_STAGES,
    LAYERS,
    Policy,
    Trigger,
    decide,
    policy_from_toml,
    preset,
    preset_names,
)
from triptych.policy_tables import PolicyError
from triptych.tokens import Measured

STAGES = '["receive", "clear", "decide", "summarize", "request", "tool", "truncate", "append", "answer", "save"]'


def refusal(text: str) -> tuple[str, dict[str, Any]]:
    """The reason why a policy file called `mine` is refused."""
    with pytest.raises(PolicyError) as refused:
        policy_from_toml(text, "mine")
    return refused.value.reason.id, dict(refused.value.reason.values)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_loads_and_says_where_it_comes_from(name: str) -> None:
    policy = preset(name)
    assert policy.name == name
    assert policy.source
    assert policy.date
    for layer in LAYERS:
        assert policy.runs(layer) == (getattr(policy, layer) is not None)
        assert policy.runs(layer) <= (layer in policy.stages)
    assert all(policy.runs(stage) for stage in policy.stages if stage not in LAYER_STAGES)


def test_the_presets_of_the_lessons_are_there() -> None:
    assert {"lesson", "meowgent", "nami"} <= set(preset_names())


def test_the_lesson_preset_is_the_article() -> None:
    policy = preset("lesson")
    assert policy.truncate == TruncateParameters.lesson() == TruncateParameters(limit=80)
    assert policy.clear == ClearParameters.lesson() == ClearParameters(keep=2, placeholder=RECOMMENDED_PLACEHOLDER)
    assert policy.summarize == SummarizeParameters.lesson() == SummarizeParameters(keep_turns=3)
    assert policy.prune is None
    assert (policy.trigger, policy.max_tool_rounds) == (Trigger(turns=3), 25)


def test_meowgent_prunes_after_the_answer() -> None:
    policy = preset("meowgent")
    assert policy.prune == PruneParameters.lesson()
    assert policy.stages.index("answer") < policy.stages.index("prune") < policy.stages.index("save")
    assert policy.trigger == Trigger(window_share=0.9)


def test_an_unknown_policy_names_the_known_ones() -> None:
    with pytest.raises(PolicyError) as refused:
        preset("lessons")
    assert refused.value.reason.id == "policy.unknown"
    assert refused.value.reason.values == {"policy": "lessons", "known": ", ".join(preset_names())}


@pytest.mark.parametrize("name", ["", "..", "../policies/lesson", "lesson.toml", "/etc/passwd"])
def test_a_path_is_no_policy_name(name: str) -> None:
    with pytest.raises(PolicyError):
        preset(name)


def test_a_file_of_ones_own() -> None:
    policy = policy_from_toml(
        f'stages = {STAGES}\n[truncate]\nlimit = 5\nhead_share = 1\n[clear]\nexclude_tools = ["todo"]', "mine"
    )
    assert policy.name == "mine"
    assert policy.truncate == TruncateParameters(limit=5, head_share=1)
    assert policy.clear == ClearParameters(exclude_tools=("todo",))
    assert policy.summarize is None
    assert not policy.runs("summarize")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("colour = 1", "colour"),
        ("[truncate]\nlimits = 80", "truncate.limits"),
        ("[summarise]\nkeep_turns = 3", "summarise"),
        ("[trigger]\nshare = 0.5", "trigger.share"),
    ],
)
def test_an_unknown_key_is_named_with_its_table(text: str, key: str) -> None:
    reason, values = refusal(with_stages(text))
    assert reason in ("policy.unknown_key", "policy.unknown_key_near")
    assert (values["policy"], values["key"]) == ("mine", key)


@pytest.mark.parametrize(
    ("text", "key", "given", "expected"),
    [
        ('[truncate]\nlimit = "80"', "truncate.limit", "text", "int"),
        ("[truncate]\nlimit = 80.0", "truncate.limit", "float", "int"),
        ("[truncate]\nlimit = true", "truncate.limit", "bool", "int"),
        ('[truncate]\nhead_share = "half"', "truncate.head_share", "text", "float"),
        ("[clear]\nplaceholder = 3", "clear.placeholder", "int", "text"),
        ('[clear]\nexclude_tools = "todo"', "clear.exclude_tools", "text", "texts"),
        ("[clear]\nexclude_tools = [1]", "clear.exclude_tools", "list", "texts"),
        ("[clear]\nkeep_errors = 1", "clear.keep_errors", "int", "bool"),
        ("[trigger]\nturns = 2026-11-30", "trigger.turns", "date", "int"),
        ("truncate = 80", "truncate", "int", "table"),
        ("clear = [1]", "clear", "list", "table"),
        ("estimator = {name = 'x'}", "estimator", "table", "text"),
        ("max_tool_rounds = '25'", "max_tool_rounds", "text", "int"),
        ('max_tool_rounds = "none"', "max_tool_rounds", "text", "int"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(text: str, key: str, given: str, expected: str) -> None:
    reason, values = refusal(with_stages(text))
    assert (reason, values["policy"], values["key"]) == ("policy.wrong_type", "mine", key)
    assert (values["given"].id, values["expected"].id) == (f"policy.kind_{given}", f"policy.kind_{expected}")


def test_a_number_that_may_be_missing_can_be_said_to_be() -> None:
    text = with_stages('[truncate]\nflavour = "robust"\nerror_limit = "none"\n[trigger]\nturns = "none"')
    policy = policy_from_toml(text, "mine")
    assert policy.truncate == replace(TruncateParameters.robust(), error_limit=None)
    assert policy.trigger == Trigger()


def with_stages(text: str) -> str:
    return f"stages = {STAGES}\n{text}"


def test_stages_of_the_wrong_type_are_named() -> None:
    for stages in ('"receive"', "[1]", "7"):
        reason, values = refusal(f"stages = {stages}")
        assert (reason, values["key"]) == ("policy.wrong_type", "stages")


def test_missing_stages_are_named() -> None:
    assert refusal("max_tool_rounds = 3") == ("policy.missing_key", {"policy": "mine", "key": "stages"})


def test_an_unknown_stage_is_named() -> None:
    stages = STAGES.replace("clear", "clean")
    reason, values = refusal(f"stages = {stages}")
    assert (reason, values["key"], values["stage"]) == ("policy.unknown_stage", "stages", "clean")
    assert set(values["known"].split(", ")) >= {"receive", "clear", "save"}
    assert "pin" not in values["known"], "a stage of the history, which no turn goes through"


@pytest.mark.parametrize(
    "stages",
    [
        "[]",
        STAGES.replace('"save"', '"clear"'),
        STAGES.replace('"request", "tool"', '"tool", "request"'),
        STAGES.replace('"answer"', '"answer", "answer"'),
    ],
)
def test_stages_out_of_order_or_missing_are_refused_with_the_order_that_is_due(stages: str) -> None:
    reason, values = refusal(f"stages = {stages}")
    assert reason == "policy.stages"
    assert values["expected"] == "receive → request → tool → append → answer → save"


@pytest.mark.parametrize(
    "stages",
    [
        STAGES.replace('"receive", "clear"', '"receive"').replace('"tool"', '"tool", "clear"'),
        STAGES.replace('"truncate", ', "").replace('"receive"', '"receive", "truncate"'),
        STAGES.replace('"clear", ', "").replace('"receive"', '"clear", "receive"'),
        STAGES.replace('"save"', '"save", "clear"').replace('"receive", "clear"', '"receive"'),
    ],
)
def test_a_layer_at_a_place_where_it_would_never_run_is_refused(stages: str) -> None:
    reason, _ = refusal(f"stages = {stages}")
    assert reason == "policy.misplaced_stage"


def test_text_that_is_no_toml_is_refused_with_its_place() -> None:
    reason, values = refusal("max_tool_rounds = 3\nstages = [,]\n")
    assert reason == "policy.not_toml"
    assert values["policy"] == "mine"
    assert "line 2" in values["detail"]


def test_an_unknown_estimator_is_named() -> None:
    text = with_stages('estimator = "tiktoken"')
    expected = {"policy": "mine", "estimator": "tiktoken", "known": "meowgent, chars4"}
    assert refusal(text) == ("policy.estimator", expected)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[truncate]\nlimit = -1", "truncate.limit"),
        ("[summarize]\nkeep_turns = 0", "summarize.keep_turns"),
        ("max_tool_rounds = 0", "max_tool_rounds"),
        ("[trigger]\nturns = 0", "trigger.turns"),
        ("[trigger]\nwindow_share = 1.5", "trigger.window_share"),
        ("[trigger]\nwindow_share = nan", "trigger.window_share"),
        ('[truncate]\nunit = "words"', "truncate.unit"),
    ],
)
def test_a_number_out_of_range_is_named(text: str, name: str) -> None:
    reason, values = refusal(with_stages(text))
    assert (reason, values["policy"]) == ("policy.unusable", "mine")
    assert values["why"].values["name"] == name


@pytest.mark.parametrize("other", ["turns = 3", "tokens = 9", "messages = 9", "on_overflow_only = true"])
def test_two_triggers_at_once_are_refused(other: str) -> None:
    reason, values = refusal(with_stages(f"[trigger]\n{other}\nwindow_share = 0.5"))
    assert (reason, values["why"].id) == ("policy.unusable", "parameter.two_triggers")
    keys = {f"trigger.{other.split()[0]}", "trigger.window_share"}
    assert set(values["why"].values["names"].split(", ")) == keys


# Options


def test_options_change_the_numbers_they_name() -> None:
    policy = preset("lesson").with_options(limit=5, keep=0, keep_turns=7)
    assert policy.truncate == TruncateParameters(limit=5)
    assert policy.clear == ClearParameters(keep=0)
    assert policy.summarize == SummarizeParameters(keep_turns=7)
    assert policy.trigger == Trigger(turns=7)


def test_options_change_the_numbers_of_the_robust_policy_too() -> None:
    robust = preset("robust")
    policy = robust.with_options(limit=10_000, keep=0, keep_turns=7)
    assert policy.truncate == replace(TruncateParameters.robust(), limit=10_000, error_limit=10_000)
    assert policy.clear == replace(ClearParameters.robust(), keep=0)
    assert policy.summarize == replace(SummarizeParameters.robust(), keep_turns=7)
    assert policy.trigger == robust.trigger
    assert robust.with_options(limit=80).truncate == replace(TruncateParameters.robust(), limit=80)


def test_options_that_are_not_given_change_nothing() -> None:
    for name in preset_names():
        assert preset(name).with_options() == preset(name)


def test_keep_turns_leaves_a_trigger_by_share_alone() -> None:
    policy = preset("nami").with_options(keep_turns=7)
    assert policy.summarize == SummarizeParameters(keep_turns=7)
    assert policy.trigger == preset("nami").trigger


def test_keep_turns_is_what_is_kept_whatever_the_policy_counted_by() -> None:
    for name in ("langchain", "strands", "gemini-cli"):
        changed = preset(name).with_options(keep_turns=4).summarize
        assert changed is not None
        assert (changed.keep_turns, changed.keep_messages, changed.keep_part) == (4, None, None)


def test_options_for_layers_that_are_off_are_passed_over() -> None:
    bare = replace(preset("lesson"), truncate=None, clear=None, summarize=None)
    assert bare.with_options(limit=1, keep=1, keep_turns=1) == bare


def test_an_option_out_of_range_is_named() -> None:
    for option in ({"limit": -1}, {"keep_turns": 0}):
        with pytest.raises(ParameterError) as refused:
            preset("lesson").with_options(**option)
        assert refused.value.reason.values["name"] == next(iter(option))


# Triggers


def users(count: int) -> Any:
    return entries_from([{"role": "user", "content": str(number)} for number in range(count)])


@pytest.mark.parametrize(("turns", "due"), [(3, False), (4, True)])
def test_by_turns(turns: int, due: bool) -> None:
    decision = decide(preset("lesson"), users(turns), Measured(0, "estimated"), None)
    assert decision.due == due
    assert decision.reason.id == ("decide.turns_over" if due else "decide.turns_within")
    assert decision.reason.values == {"turns": turns, "limit": 3}
    assert decision.reason.variables["user_idx"] == tuple(range(turns))
    assert decision.reason.variables.get("cut") == (1 if due else None)


@pytest.mark.parametrize(("tokens", "due"), [(749, False), (750, True)])
def test_by_share_of_the_window(tokens: int, due: bool) -> None:
    decision = decide(preset("nami"), users(9), Measured(tokens, "measured"), 1000)
    assert decision.due == due
    assert decision.reason.values == {"tokens": tokens, "threshold": 750, "window": 1000, "kind": "measured"}


def test_a_reserve_is_never_more_than_half_of_the_window() -> None:
    trigger = Trigger(window_share=0.9, reserve_tokens=300)
    assert [trigger.threshold(window) for window in (10_000, 1000, 500, 10)] == [9000, 700, 250, 5]
    assert Trigger(turns=3).threshold(1000) is None


def test_by_share_of_an_unknown_window_and_by_hand_and_off() -> None:
    size = Measured(10**9, "measured")
    by_hand = replace(preset("lesson"), trigger=Trigger())
    off: Policy = replace(preset("lesson"), summarize=None)
    decisions = [decide(policy, users(9), size, None) for policy in (preset("nami"), by_hand, off)]
    assert [decision.due for decision in decisions] == [False] * 3
    assert [decision.reason.id for decision in decisions] == [
        "decide.window_unknown",
        "decide.by_hand_only",
        "decide.layer_off",
    ]


def test_a_layer_that_is_switched_off_keeps_its_parameters_and_its_place() -> None:
    lesson = preset("lesson")
    off = lesson.switched("truncate")
    assert not off.runs("truncate")
    assert off.has("truncate")
    assert off.truncate == lesson.truncate
    assert off.switched("truncate") == lesson
    assert not preset("meowgent").has("truncate")


def test_layers_switched_off_in_a_file_must_be_layers() -> None:
    text = 'stages = ["receive", "request", "tool", "append", "answer", "save"]\noff = ["request"]\n'
    with pytest.raises(PolicyError) as caught:
        policy_from_toml(text, "mine")
    assert caught.value.reason.values["stage"] == "request"
