"""Policies of one's own: found by name, told apart from presets, and each fault told with its file and key."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.layers.clear import ClearParameters
from triptych.layers.summarize import SummarizeParameters
from triptych.layers.truncate import TruncateParameters
from triptych.policy import Policy, Trigger, policy_from_toml, preset, preset_names
from triptych.policy_files import LARGEST, as_toml, available, find, own_folder, own_path
from triptych.policy_tables import PolicyError

STAGES = 'stages = ["receive", "clear", "request", "tool", "truncate", "append", "answer", "save"]\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's policies, in a config folder of this test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own_folder().mkdir(parents=True)
    return own_folder()


def refused(name: str) -> tuple[str, dict[str, Any]]:
    with pytest.raises(PolicyError) as caught:
        find(name)
    return caught.value.reason.id, dict(caught.value.reason.values)


def test_a_policy_of_ones_own_is_found_by_its_file_name(folder: Path) -> None:
    (folder / "简短.toml").write_text(STAGES + "[truncate]\nlimit = 5", "utf-8-sig")
    assert find("简短").name == "简短"
    assert find("简短").truncate == TruncateParameters(limit=5)
    listed = available()
    assert [each.name for each in listed] == [*preset_names(), "简短"]
    assert [each.origin for each in listed] == ["preset"] * len(preset_names()) + ["own"]
    assert listed[-1].path == folder / "简短.toml"
    assert listed[-1].policy == find("简短")
    assert all(each.path.is_file() and each.reason is None for each in listed)


def test_without_a_folder_there_are_the_presets(folder: Path) -> None:
    folder.rmdir()
    assert [each.name for each in available()] == preset_names()
    assert find("lesson") == preset("lesson")
    folder.write_text("no folder")
    assert [each.name for each in available()] == preset_names()


def test_an_unknown_name_tells_those_there_are(folder: Path) -> None:
    (folder / "mine.toml").write_text(STAGES)
    for name in ("yours", "../mine", "", "mine.toml", "/etc/passwd", "a\x00b", "x" * 400):
        assert refused(name) == ("policy.unknown", {"policy": name, "known": ", ".join([*preset_names(), "mine"])})


def test_a_presets_name_is_the_preset_and_a_file_of_that_name_is_told(folder: Path) -> None:
    (folder / "lesson.toml").write_text(STAGES)
    assert find("lesson") == preset("lesson")
    (told,) = [each for each in available() if each.path == folder / "lesson.toml"]
    assert (told.origin, told.policy) == ("own", None)
    assert told.reason is not None
    assert told.reason.id == "policy.preset_name"
    assert told.reason.values == {"policy": str(folder / "lesson.toml")}
    with pytest.raises(PolicyError):
        own_path("robust")
    assert own_path("my-own 2") == folder / "my-own 2.toml"


@pytest.mark.parametrize(
    ("text", "reason", "values"),
    [
        ("[summarise]\nkeep_turns = 3", "policy.unknown_key_near", {"key": "summarise", "near": "summarize"}),
        ("[clear]\nkep = 3", "policy.unknown_key_near", {"key": "clear.kep", "near": "clear.keep"}),
        ("[clear]\nqqq = 3", "policy.unknown_key", {"key": "clear.qqq"}),
        ("name = 'other'", "policy.unknown_key", {"key": "name"}),
        ("edited = true", "policy.unknown_key", {"key": "edited"}),
        ("[clear]\nkeep = '3'", "policy.wrong_type", {"key": "clear.keep", "value": '"3"'}),
        ("clear = 3", "policy.wrong_type", {"key": "clear", "value": "3"}),
        ("[clear.keep]\nx = 3", "policy.wrong_type", {"key": "clear.keep", "value": "{…}"}),
        ("date = 2026-11-30", "policy.wrong_type", {"key": "date", "value": "2026-11-30"}),
        (
            "off = ['clean']",
            "policy.unknown_stage",
            {"stage": "clean", "known": "truncate, clear, prune, summarize"},
        ),
        ("[clear", "policy.not_toml", {}),
        ("x = " + "[" * 5000, "policy.not_toml", {}),
        ("a" + ".a" * 5000 + " = 1", "policy.unknown_key", {"key": "a"}),
        ("[clear]\nkeep = " + "9" * 5000, "policy.not_toml", {}),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_file_and_key(
    folder: Path, text: str, reason: str, values: dict[str, Any]
) -> None:
    (folder / "mine.toml").write_text(STAGES + text, "utf-8")
    told, with_values = refused("mine")
    assert told == reason
    assert with_values["policy"] == str(folder / "mine.toml")
    assert values.items() <= with_values.items()


def test_a_number_out_of_range_is_told_with_its_whole_key(folder: Path) -> None:
    (folder / "mine.toml").write_text(STAGES + "[summarize]\nkeep_turns = 0")
    reason, values = refused("mine")
    assert (reason, values["policy"]) == ("policy.unusable", str(folder / "mine.toml"))
    assert values["why"].id == "parameter.too_small"
    assert values["why"].values == {"name": "summarize.keep_turns", "value": 0, "least": 1}


def test_files_that_were_never_meant_to_be_read_cost_only_themselves(folder: Path) -> None:
    (folder / "huge.toml").write_bytes(b"# " + b"x" * LARGEST)
    (folder / "latin1.toml").write_bytes("note = 'é'".encode("latin-1"))
    (folder / "nul.toml").write_bytes(b"\x00" * 100)
    (folder / "folder.toml").mkdir()
    (folder / "loop.toml").symlink_to("loop.toml")
    (folder / "nowhere.toml").symlink_to("missing.toml")
    (folder / "zero.toml").symlink_to("/dev/zero")
    os.mkfifo(folder / "fifo.toml")
    (folder / ".hidden.toml").write_text(STAGES)
    (folder / "sound.toml").write_text(STAGES)
    own = {each.name: each for each in available() if each.origin == "own"}
    assert own.pop("sound").policy is not None
    assert sorted(own) == ["fifo", "folder", "huge", "latin1", "loop", "nowhere", "nul", "zero"]
    for each in own.values():
        assert each.policy is None
        assert each.reason is not None
        assert each.reason.values["policy"] == str(each.path)
    assert refused("huge")[0] == "policy.too_large"
    assert refused("fifo")[0] == "policy.unreadable"


# Writing one


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_can_be_written_and_read_again(name: str) -> None:
    assert policy_from_toml(as_toml(preset(name)), name) == preset(name)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(
    st.builds(TruncateParameters, notice=TEXTS, error_limit=st.none() | st.integers(0, 9), flavour=st.just("robust")),
    st.builds(ClearParameters, placeholder=TEXTS, exclude_tools=st.lists(TEXTS, max_size=2).map(tuple)),
    st.builds(SummarizeParameters, prompt=TEXTS, kept_share=st.floats(0, 1), request_tokens=st.none() | st.just(7)),
    st.builds(Trigger, window_share=st.none() | st.floats(1e-300, 1)),
    TEXTS,
)
def test_what_is_written_is_read_as_the_same(
    truncate: TruncateParameters,
    clear: ClearParameters,
    summarize: SummarizeParameters,
    trigger: Trigger,
    note: str,
) -> None:
    policy = replace(
        preset("robust"),
        truncate=truncate,
        clear=clear,
        summarize=summarize,
        trigger=trigger,
        note=note,
        off=("clear",),
    )
    assert policy_from_toml(as_toml(policy), "robust") == policy


def test_half_a_surrogate_pair_does_not_make_a_file_that_cannot_be_read() -> None:
    made = as_toml(replace(preset("robust"), note="a\ud800b"))
    assert policy_from_toml(made.encode().decode(), "robust").note == "a\ufffdb"


def test_a_written_policy_leaves_nothing_to_a_default() -> None:
    text = as_toml(preset("robust"))
    for layer in ("truncate", "clear", "summarize"):
        for field in fields(getattr(preset("robust"), layer)):
            assert f"\n{field.name} = " in text
    assert 'error_limit = "none"' in as_toml(replace_error_limit(preset("robust")))


def replace_error_limit(policy: Policy) -> Policy:
    assert policy.truncate is not None
    return replace(policy, truncate=replace(policy.truncate, error_limit=None))
