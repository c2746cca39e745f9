"""`triptych compare`: one session under several policies, in numbers that can be worked out apart."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tests.support_command_line import MESSAGES, CommandLine, answer_of, fault_of, saved
from tests.support_desk import Desk, read
from tests.support_openai_server import OpenAIServer, answer, error, stalled
from tests.support_replay import SYSTEM, Held, asked, billed_again, call, log, long_session, tokens_of
from tests.support_scripted_model import asks_for, says
from tests.support_terminal import Terminal
from triptych.layers.summarize import SUMMARY_PREFIX
from triptych.policy import Policy, policy_from_toml, preset
from triptych.storage.journal import journal_path

MASKING = """
stages = ["receive", "clear", "request", "tool", "append", "answer", "save"]
note = "approximates: keeps the newest results"
[clear]
keep = 2
placeholder = "[omitted]"
"""


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    line = CommandLine(tmp_path)
    own = line.config.parent / "policies"
    own.mkdir(parents=True)
    (own / "observation-masking-of-my-own.toml").write_text(MASKING, "utf-8")
    line.file.write_text(saved(long_session(14)), "utf-8")
    return line


def policies(*names: str) -> list[str]:
    return [argument for name in names for argument in ("--policy", name)]


def told_of(cli: CommandLine, *args: object) -> dict[str, Any]:
    return answer_of(cli.run("compare", cli.file, *args, "--json"))


def held(messages: Sequence[dict[str, Any]], policy: Policy) -> Held:
    """The session as the real agent holds it under the policy."""
    session = Held(messages, policy, 8192)
    asyncio.run(session.hold())
    return session


def in_a_desk(file: Path) -> Desk:
    """A session in a file with its journal: four questions with a result each, by the lesson's policy."""
    desk = Desk([SYSTEM], preset("lesson"), outputs=[log(number) for number in range(4)], file=file)

    async def ask_all() -> None:
        for number in range(4):
            summary = [says("They read.")] * (number == 3)
            await desk.ask(f"read {number}", *summary, asks_for(read("a")), says("done"))

    asyncio.run(ask_all())
    return desk


def test_each_policy_in_numbers(cli: CommandLine) -> None:
    messages = long_session(14)
    before = {path: path.read_bytes() for path in cli.file.parent.rglob("*") if path.is_file()}
    told = told_of(cli, *policies("lesson", "robust", "observation-masking-of-my-own"))
    assert {path: path.read_bytes() for path in cli.file.parent.rglob("*") if path.is_file()} == before
    assert (told["from"], told["messages"], told["questions"]) == ("start", len(messages), 14)
    assert (told["window"], told["window_from"], told["estimator"]) == (8192, "offline", "meowgent")
    assert (told["originals"], told["shortened_before"], told["summaries"]) == ("list", 0, "offline")
    masking = policy_from_toml(MASKING, "masking")
    for each, policy in zip(told["policies"], (preset("lesson"), preset("robust"), masking), strict=True):
        real = held(messages, policy)
        assert each["before"] == {"messages": len(messages), "tokens": tokens_of(messages)}
        assert each["after"] == {"messages": len(real.messages), "tokens": tokens_of(real.messages)}
        assert (each["requests"], each["model_calls"]) == (len(real.requests), real.summaries)
        assert each["peak_tokens"] == max(map(tokens_of, real.requests))
        assert each["rebilled_tokens"] == billed_again(real.requests)
        cleared = sum(message["content"] == "[omitted]" for message in real.messages)
        assert policy is not masking or each["cleared"] == cleared > 0
    lesson, robust, own = told["policies"]
    assert lesson["truncated"] == sum(len(m["content"]) > 80 for m in messages if m["role"] == "tool")
    assert (lesson["model_calls"], lesson["failed_summaries"]) == (11, 0)
    assert (robust["model_calls"], robust["summary_tokens"], own["summarized"]) == (0, 0, 0)
    assert (lesson["flavour"], robust["flavour"]) == ("lesson", "robust")
    assert [act["question"] for act in lesson["acts"] if act["stage"] == "summarize"] == list(range(4, 15))
    assert set(lesson) == {
        *("policy", "flavour", "applied", "reason", "before", "after", "kept_prefix", "edits", "model_calls", "stages"),
        *("requests", "peak_tokens", "over_window", "rebilled_tokens", "summary_tokens", "failed_summaries"),
        *("truncated", "cleared", "pruned", "summarized", "removed", "acts"),
    }


def test_from_now_is_what_run_does(cli: CommandLine) -> None:
    names = ("lesson", "robust", "meowgent")
    told = told_of(cli, *policies(*names), "--from", "now")
    for name, each in zip(names, told["policies"], strict=True):
        alone = answer_of(cli.run("run", cli.file, "--policy", name, "--json"))
        assert {key: alone[key] for key in alone if key in each} == {key: each[key] for key in each if key in alone}
        assert (each["requests"], each["peak_tokens"]) == (1, each["after"]["tokens"])
    start = told_of(cli, *policies(*names))
    assert start["policies"][0]["rebilled_tokens"] > told["policies"][0]["rebilled_tokens"]
    assert start["policies"][2]["pruned"] > 0
    assert told["policies"][2]["pruned"] == 0  # it prunes after an answer


def test_originals_come_from_the_journal_where_there_is_one(cli: CommandLine) -> None:
    cli.file.unlink()
    desk = in_a_desk(cli.file)
    whole = told_of(cli, *policies("robust"))
    assert (whole["originals"], whole["shortened_before"], whole["messages"]) == ("journal", 0, 17)
    said = [message for number in range(4) for message in asked(number, log(number))]
    results = [message for message in said if message["role"] == "tool"]
    assert whole["policies"][0]["before"]["tokens"] > tokens_of(results)
    assert "from the session's journal" in cli.run("compare", cli.file, *policies("robust")).stdout
    journal_path(cli.file).unlink()
    told = told_of(cli, *policies("robust"))
    assert (told["originals"], told["messages"]) == ("list", len(desk.messages))
    assert told["shortened_before"] == sum(entry.marks != () for entry in desk.entries) - 1  # the acknowledgement
    shown = cli.run("compare", cli.file, *policies("robust")).stdout
    assert "only the list in the file is known" in shown
    assert "stay so" in shown


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
@pytest.mark.parametrize("origin", ["start", "now"])
def test_a_table_fits_80_columns(language: str, origin: str, cli: CommandLine) -> None:
    names = policies("lesson", "robust", "meowgent", "observation-masking-of-my-own")
    shown = cli.run("compare", cli.file, *names, "--from", origin, "--lang", language)
    assert (shown.exit_code, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert "observation-" in shown.stdout
    told = told_of(cli, *names, "--from", origin)
    for each in told["policies"]:
        assert f"~{each['after']['tokens']:,}" in shown.stdout
        assert f"~{each['rebilled_tokens']:,}" in shown.stdout
    (fewest,) = {"en": ["fewest"], "zh-Hans": ["最少"], "zh-Hant": ["最少"]}[language]
    least = min(each["after"]["tokens"] for each in told["policies"])
    assert f"~{least:,} {fewest}" in shown.stdout
    assert "best" not in shown.stdout
    assert "\x1b" not in shown.stdout


def test_bars_are_to_scale_and_can_be_ascii(cli: CommandLine) -> None:
    table = cli.run("compare", cli.file, *policies("lesson", "meowgent")).stdout.splitlines()
    told = told_of(cli, *policies("lesson", "meowgent"))
    at = next(at for at, line in enumerate(table) if line.startswith("tokens "))
    bars = [len(bar) for bar in table[at + 1].split() if set(bar) == {"█"}]
    tokens = [each["after"]["tokens"] for each in told["policies"]]
    whole = told["policies"][0]["before"]["tokens"]
    assert bars == [max(1, round(number / whole * 30)) for number in tokens]
    cli.environment |= {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = cli.shell("compare", cli.file, *policies("lesson", "meowgent"))
    assert done.returncode == 0
    assert b"##" in done.stdout
    assert b"?" not in done.stdout


def test_one_estimator_counts_for_all(cli: CommandLine) -> None:
    assert "decide by theirs" not in cli.run("compare", cli.file, *policies("lesson", "robust")).stdout
    shown = cli.run("compare", cli.file, *policies("lesson", "codex"))
    assert "tokens by meowgent" in shown.stdout
    assert "decide by theirs" in shown.stdout
    alone, both = (told_of(cli, *policies(*names), "--window", 1000) for names in (["codex"], ["lesson", "codex"]))
    assert both["policies"][1]["acts"][0]["question"] == alone["policies"][0]["acts"][0]["question"]
    assert both["policies"][1]["before"] == both["policies"][0]["before"] != alone["policies"][0]["before"]


class TestUnusualSessions:
    def test_one_that_never_began(self, cli: CommandLine) -> None:
        cli.file.write_text(saved([SYSTEM]), "utf-8")
        (each,) = told_of(cli, *policies("lesson"))["policies"]
        assert (each["applied"], each["requests"], each["rebilled_tokens"], each["peak_tokens"]) == (False, 0, 0, 0)
        for origin in ("start", "now"):
            assert cli.run("compare", cli.file, *policies("lesson", "robust"), "--from", origin).exit_code == 0

    def test_standard_input_without_a_system_message_and_with_open_calls_at_its_end(self, cli: CommandLine) -> None:
        messages = [*asked(1, log(1)), *asked(2, log(2)), *asked(2, log(2)), *asked(3, "x", "y")[:3]]
        messages[-2] = {**messages[-2], "tool_calls": [call("call_0"), call("call_0"), call("")]}
        told = answer_of(cli.run("compare", "-", *policies("lesson", "robust"), "--json", stdin=saved(messages)))
        assert [each["requests"] for each in told["policies"]] == [7, 7]
        assert told["questions"] == 4
        assert "standard input" in cli.run("compare", "-", *policies("lesson"), stdin=saved(messages)).stdout

    def test_files_that_hold_nothing(self, cli: CommandLine, tmp_path: Path) -> None:
        for content in (b"", b"{", b"\x00\x01", b'[\n{"role":\n'):
            cli.file.write_bytes(content)
            fault_of(cli.run("compare", cli.file, *policies("lesson")), 3)
        fault_of(cli.run("compare", tmp_path / "none.json", *policies("lesson")), 3)

    def test_one_with_thousands_of_messages(self, cli: CommandLine) -> None:
        cli.file.write_text(saved(long_session(300)), "utf-8")
        told = told_of(cli, *policies("observation-masking-of-my-own", "meowgent"))
        assert [each["requests"] for each in told["policies"]] == [525, 525]


class TestUsage:
    def test_one_to_four_policies_that_exist(self, cli: CommandLine) -> None:
        assert "one to 4" in fault_of(cli.run("compare", cli.file), 2)
        fault_of(cli.run("compare", cli.file, *policies(*["lesson"] * 5)), 2)
        assert "robust" in fault_of(cli.run("compare", cli.file, *policies("lesson", "none")), 2)
        fault_of(cli.run("compare", cli.file, *policies("lesson"), "--from", "middle"), 2)
        fault_of(cli.run("compare", cli.file, *policies("lesson"), "--window", "0"), 2)

    def test_the_users_language(self, cli: CommandLine) -> None:
        assert "一到 4 条" in fault_of(cli.run("compare", cli.file, "--lang", "zh-Hans"), 2)

    def test_summaries_by_a_model_need_one(self, cli: CommandLine) -> None:
        assert "--model" in fault_of(cli.run("compare", cli.file, *policies("lesson"), "--summaries", "model"), 2)


class TestByAModel:
    async def test_what_is_sent_where_is_said_first(self, cli: CommandLine) -> None:
        cli.file.write_text(saved(MESSAGES), "utf-8")
        async with OpenAIServer([answer("They read.")]) as server:
            endpoint = ("--summaries", "model", "--model", "test", "--base-url", server.base_url)
            done = await cli.beside("compare", cli.file, *policies("lesson"), *endpoint, "--json")
            asked = await server.request()
        assert done.returncode == 0
        assert done.stderr.decode() == f"at most 4 requests for summaries go to 127.0.0.1:{server.port}\n"
        told = json.loads(done.stdout)
        assert (told["summaries"], told["policies"][0]["model_calls"]) == ("model", 1)
        summary = {"role": "user", "content": SUMMARY_PREFIX + "They read."}
        read_and_written = tokens_of([*asked.messages, {"content": "They read."}])
        assert told["policies"][0]["summary_tokens"] == read_and_written
        assert tokens_of([summary]) < told["policies"][0]["after"]["tokens"]

    async def test_an_endpoint_that_refuses_is_exit_code_4(self, cli: CommandLine) -> None:
        async with OpenAIServer([error(401, "no")]) as server:
            endpoint = ("--summaries", "model", "--model", "test", "--base-url", server.base_url)
            done = await cli.beside("compare", cli.file, *policies("lesson", "robust"), *endpoint)
        assert (done.returncode, done.stdout) == (4, b"")
        assert done.stderr.decode().splitlines()[-1].startswith("triptych: ")

    async def test_ctrl_c_is_one_line(self, cli: CommandLine) -> None:
        async with OpenAIServer([stalled(answer("Too late"), 1)]) as server:
            endpoint = ("--summaries", "model", "--model", "test", "--base-url", server.base_url)
            process = await cli.started("compare", cli.file, *policies("lesson"), *endpoint, "--yes")
            await server.request()
            process.send_signal(signal.SIGINT)
            out, said = await process.communicate()
        assert (process.returncode, out) == (130, b"")
        assert said.decode().splitlines()[1:] == ["triptych: cancelled"]

    def test_whoever_sits_there_is_asked(self, cli: CommandLine) -> None:
        nobody = ("--summaries", "model", "--model", "test", "--base-url", "http://127.0.0.1:9/v1")
        argv = [sys.executable, "-m", "triptych_tui", "compare", str(cli.file), *policies("lesson"), *nobody]
        script = " ".join(argv) + "; echo left with $?"
        with Terminal(["sh", "-c", script], env=cli.environment, cols=100) as terminal:
            terminal.wait_for("[y/N]")
            terminal.send("n\r")
            screen = terminal.wait_for("left with")
        assert "left with 130" in screen
        assert "127.0.0.1:9" in screen
