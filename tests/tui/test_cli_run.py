"""`triptych run`: what a policy does at the next question, stage by stage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.support_command_line import MESSAGES, CommandLine, answer_of, fault_of, saved, turn
from tests.support_openai_server import OpenAIServer, answer, error
from triptych.layers.clear import RECOMMENDED_PLACEHOLDER
from triptych.layers.summarize import SUMMARY_PREFIX
from triptych.lesson_api import clean_old_tool_result, cut_tool_result, rebuild
from triptych.storage.session_lock import SessionLock

QUESTION = {"role": "user", "content": "And the fifth?"}


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def by_the_lesson(summary: str) -> list[dict[str, object]]:
    """MESSAGES as the lesson's own functions leave them at a fifth question."""
    cut = [
        {**each, "content": cut_tool_result(each["content"], 80)} if each["role"] == "tool" else dict(each)
        for each in [*MESSAGES, QUESTION]
    ]
    clean_old_tool_result(cut, 2, placeholder=RECOMMENDED_PLACEHOLDER)
    return rebuild(cut, 3, summary)


def test_the_lesson_stage_by_stage(cli: CommandLine) -> None:
    told = answer_of(cli.run("run", cli.file, "--policy", "lesson", "--summary", "Four files.", "--json"))
    assert (told["policy"], told["flavour"], told["applied"], told["model_calls"]) == ("lesson", "lesson", True, 0)
    assert [(each["stage"], each["applied"]) for each in told["stages"]] == [
        ("truncate", True),
        ("clear", True),
        ("decide", False),
        ("summarize", True),
    ]
    assert told["stages"][2]["reason"]["text"] == "5 user turns > 3, so summarize"
    assert told["reason"] == told["stages"][3]["reason"]
    assert [*told["messages"], QUESTION] == by_the_lesson("Four files.")
    assert told["before"]["messages"] == len(MESSAGES)
    assert told["after"]["messages"] == len(told["messages"])
    assert told["kept_prefix"]["messages"] == 1
    assert [(edit["index"], edit["removed"], edit["inserted"], edit["mark"]) for edit in told["edits"]] == [
        (1, 8, 2, "summary"),
        (11, 1, 1, "truncated"),
        (15, 1, 1, "truncated"),
    ]
    assert told["edits"][1]["reason"]["id"] == "truncate.cut_many"
    assert (told["window"], told["window_from"], told["written"]) == (8192, "offline", None)
    assert set(told) == {
        *("version", "policy", "flavour", "applied", "reason", "before", "after", "kept_prefix", "edits"),
        *("model_calls", "stages", "estimator", "window", "window_from", "written", "messages"),
    }


def test_a_question_that_waits_is_the_next_one(cli: CommandLine) -> None:
    text = saved([*MESSAGES, QUESTION])
    told = answer_of(cli.run("run", "-", "--policy", "lesson", "--summary", "Four files.", "--json", stdin=text))
    assert told["messages"] == by_the_lesson("Four files.")


def test_nothing_to_do_says_why_and_leaves_the_list(cli: CommandLine) -> None:
    told = answer_of(cli.run("run", cli.file, "--policy", "robust", "--window", 100_000, "--json"))
    assert (told["applied"], told["flavour"], told["edits"], told["messages"]) == (False, "robust", [], MESSAGES)
    assert told["reason"]["id"] == "decide.share_within"
    assert told["kept_prefix"] == told["before"] == told["after"]
    assert (told["window"], told["window_from"]) == (100_000, "given")


def test_calls_without_results_are_closed_and_a_blank_summary_changes_nothing(cli: CommandLine) -> None:
    cli.file.write_text(saved([*MESSAGES, *turn(5)[:2]]), "utf-8")
    told = answer_of(cli.run("run", cli.file, "--policy", "lesson", "--summary", " ", "--json"))
    assert [each["stage"] for each in told["stages"]] == ["truncate", "clear", "decide", "summarize", "repair"]
    assert [each["reason"]["id"] for each in told["stages"][3:]] == ["summarize.blank", "repair.done"]
    assert told["messages"][-1]["tool_call_id"] == "c5"


def test_the_numbers_in_force_are_those_that_are_set(cli: CommandLine) -> None:
    cli.environment |= {"TRIPTYCH_POLICY": "lesson", "TRIPTYCH_KEEP": "4", "TRIPTYCH_LIMIT": "500"}
    cli.environment |= {"TRIPTYCH_KEEP_TURNS": "9"}
    assert answer_of(cli.run("run", cli.file, "--json"))["messages"] == MESSAGES


def test_written_only_where_that_is_asked_for(cli: CommandLine, tmp_path: Path) -> None:
    before, out = cli.file.read_bytes(), tmp_path / "out.json"
    said = cli.run("run", cli.file, "--policy", "lesson", "-o", out)
    assert (said.exit_code, cli.file.read_bytes()) == (0, before)
    assert str(out) in said.stdout.replace("\n", "")
    told = answer_of(cli.run("run", cli.file, "--policy", "lesson", "--json"))
    assert json.loads(out.read_text("utf-8")) == told["messages"]
    assert told["model_calls"] == 1
    assert told["messages"][1]["content"].startswith(SUMMARY_PREFIX)
    lock = SessionLock(out)
    lock.take()
    fault_of(cli.run("run", cli.file, "--policy", "lesson", "-o", out), 3)
    lock.release()
    cli.file.write_text(saved(MESSAGES[1:]), "utf-8")
    fault_of(cli.run("run", cli.file, "--policy", "lesson", "-o", cli.file), 3)


async def test_an_endpoint_writes_the_summary_or_ends_it_with_exit_code_4(cli: CommandLine) -> None:
    async with OpenAIServer([answer("They read."), error(401, "no")]) as server:
        endpoint = ("--policy", "lesson", "--model", "test", "--base-url", server.base_url)
        done = await cli.beside("run", cli.file, "--json", *endpoint)
        assert json.loads(done.stdout)["messages"][1]["content"] == SUMMARY_PREFIX + "They read."
        fault_of(await cli.beside("run", cli.file, *endpoint), 4)


def test_where_the_window_is_unknown_turns_decide_as_in_the_workbench(cli: CommandLine) -> None:
    unknown = ("run", cli.file, "--policy", "robust", "--model", "test", "--base-url", "http://127.0.0.1:9/v1")
    told = answer_of(cli.run(*unknown, "--json"))
    assert (told["window"], told["window_from"]) == (None, "unknown")
    assert told["reason"]["id"] == "decide.turns_within"
    assert "--window" in cli.run(*unknown).stdout.splitlines()[0]
    assert answer_of(cli.run(*unknown, "--window", 9000, "--json"))["window_from"] == "given"


def test_what_cannot_be(cli: CommandLine, tmp_path: Path) -> None:
    assert "lesson" in fault_of(cli.run("run", cli.file, "--policy", "none"), 2)
    fault_of(cli.run("run", tmp_path / "none.json"), 3)
    (tmp_path / "broken.json").write_bytes(b'[\n{"role":\n')
    fault_of(cli.run("run", tmp_path / "broken.json"), 3)
    assert cli.run("run", cli.file, "--policy", "none", "--lang", "zh-Hans").stderr.count("\n") == 1


@pytest.mark.parametrize(("language", "words"), [("en", "decide"), ("zh-Hans", "判断"), ("zh-Hant", "判斷")])
def test_the_stages_in_words(language: str, words: str, cli: CommandLine) -> None:
    shown = cli.run("run", cli.file, "--policy", "lesson", "--lang", language).stdout
    assert words in shown
    assert all(name in shown for name in ("L1", "L2", "L3"))
    assert max(map(cell_len, shown.splitlines())) <= 80
