"""`triptych apply`: what each layer answers, and what is written."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support_command_line import MESSAGES, CommandLine, answer_of, fault_of, saved, turn
from tests.support_openai_server import OpenAIServer, answer, error
from triptych.checks import problems
from triptych.layers.clear import RECOMMENDED_PLACEHOLDER
from triptych.layers.summarize import ACKNOWLEDGEMENT, ROBUST_ACKNOWLEDGEMENT, ROBUST_PREFIX, SUMMARY_PREFIX
from triptych.lesson_api import cut_tool_result, rebuild
from triptych.storage.session_lock import SessionLock


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def lesson(cli: CommandLine) -> CommandLine:
    """With `--flavour lesson`."""
    cli.environment["TRIPTYCH_FLAVOUR"] = "lesson"
    return cli


DATA = Path(__file__).parents[1] / "data"


def results_file(folder: Path, *texts: str) -> Path:
    """A session with a turn for every result."""
    messages = [MESSAGES[0]]
    for number, text in enumerate(texts):
        question, call, result, reply = turn(number)
        messages += [question, call, {**result, "content": text}, reply]
    path = folder / "results.json"
    path.write_text(saved(messages), "utf-8")
    return path


def errors(messages: list[dict[str, Any]]) -> Counter[str]:
    """What an API would refuse, by kind."""
    return Counter(problem.kind for problem in problems(messages) if problem.severity == "error")


def cleared(characters: int) -> str:
    return f"[Old result of read_file cleared: {characters} characters. Call it again if you need it.]"


def results_in(told: dict[str, Any]) -> list[str]:
    return [message["content"] for message in told["messages"] if message["role"] == "tool"]


class TestRobust:
    """The default flavour."""

    def test_truncate_counts_the_notice(self, cli: CommandLine) -> None:
        told = answer_of(cli.run("apply", "truncate", cli.file, "--limit", 80, "--json"))
        assert (told["layer"], told["flavour"], told["applied"]) == ("truncate", "robust", True)
        assert results_in(told)[0] == "1" * 23 + "\n[... 154 characters omitted ...]\n" + "1" * 23
        told = answer_of(cli.run("apply", "truncate", cli.file, "--limit", 80, "--head-share", 1, "--json"))
        assert results_in(told)[0] == "1" * 46 + "\n[... 154 characters omitted ...]\n"
        assert answer_of(cli.run("apply", "truncate", cli.file, "--json"))["reason"]["id"] == "truncate.none_to_shorten"

    def test_truncate_counts_lines_or_bytes(self, cli: CommandLine, tmp_path: Path) -> None:
        path = results_file(tmp_path, "\n".join(f"第 {number} 行" for number in range(100)))
        told = answer_of(cli.run("apply", "truncate", path, "--unit", "lines", "--limit", 5, "--json"))
        assert results_in(told) == ["第 0 行\n第 1 行\n[... 96 lines omitted ...]\n第 98 行\n第 99 行"]
        told = answer_of(cli.run("apply", "truncate", path, "--unit", "bytes", "--limit", 100, "--json"))
        assert 90 <= len(results_in(told)[0].encode()) <= 100

    def test_an_error_message_is_never_cut_shorter_than_a_result(self, cli: CommandLine, tmp_path: Path) -> None:
        path = results_file(tmp_path, "error: " + "x" * 20_000, "y" * 20_000)
        told = answer_of(cli.run("apply", "truncate", path, "--limit", 10_000, "--json"))
        assert [len(text) for text in results_in(told)] == [10_000, 10_000]

    def test_clear(self, cli: CommandLine, tmp_path: Path) -> None:
        path = results_file(tmp_path, "a" * 3000, "ok", "b" * 3000, "c" * 3000)
        told = answer_of(cli.run("apply", "clear", path, "--keep", 1, "--json"))
        assert results_in(told) == [cleared(3000), "ok", cleared(3000), "c" * 3000]
        assert [edit["mark"] for edit in told["edits"]] == ["cleared"] * 2
        words = ("--keep", 1, "--placeholder", "[{tool} {arguments}]", "--json")
        assert results_in(answer_of(cli.run("apply", "clear", path, *words)))[0] == '[read_file {"path": "0.txt"}]'
        told = answer_of(cli.run("apply", "clear", path, "--keep", 1, "--exclude-tool", "read_file", "--json"))
        assert told["reason"]["id"] == "clear.nothing_old"
        small = answer_of(cli.run("apply", "clear", cli.file, "--keep", 1, "--json"))
        assert small["reason"]["id"] == "clear.too_little"

    def test_prune(self, cli: CommandLine, tmp_path: Path) -> None:
        path = results_file(tmp_path, "a" * 400, "\n".join("abcdefg"), "b" * 400)
        told = answer_of(cli.run("apply", "prune", path, "--keep-turns", 1, "--json"))
        pruned = "a" * 50 + " ... [省略前期工具 read_file 的部分輸出] " + "a" * 50
        assert results_in(told) == [pruned, "\n".join("abcdefg"), "b" * 400]
        told = answer_of(cli.run("apply", "prune", path, "--max-lines", 5, "--max-characters", 100, "--json"))
        assert told["applied"]

    def test_summarize_with_a_given_text(self, cli: CommandLine) -> None:
        args = ("apply", "summarize", cli.file, "--keep-turns", 2, "--json", "--summary")
        told = answer_of(cli.run(*args, "Two files."))
        assert (told["flavour"], told["model_calls"]) == ("robust", 0)
        assert told["messages"] == [
            MESSAGES[0],
            {"role": "user", "content": ROBUST_PREFIX + "Two files."},
            {"role": "assistant", "content": ROBUST_ACKNOWLEDGEMENT},
            *MESSAGES[9:],
        ]
        told = answer_of(cli.run(*args, "long " * 999))
        assert (told["applied"], told["reason"]["id"]) == (False, "summarize.not_smaller")
        assert told["messages"] == MESSAGES

    def test_a_summary_in_pieces_counts_its_requests_and_says_how_far_it_is(
        self, cli: CommandLine, tmp_path: Path
    ) -> None:
        path = results_file(tmp_path, *["One line of the harbour log of the third of May.\n" * 40] * 8)
        done = cli.run("apply", "summarize", path, "--window", 2000, "--keep-turns", 1, "--json")
        told = json.loads(done.stdout)
        assert (done.exit_code, told["applied"]) == (0, True)
        calls = told["model_calls"]
        assert calls > 1
        assert done.stderr.splitlines() == [f"summary, piece {number} of {calls}" for number in range(1, calls + 1)]
        whole = answer_of(cli.run("apply", "summarize", path, "--window", 99_999, "--keep-turns", 1, "--json"))
        assert whole["model_calls"] == 1

    async def test_summarize_by_an_endpoint(self, cli: CommandLine) -> None:
        async with OpenAIServer([answer("They read files.")]) as server:
            endpoint = ("--model", "test", "--base-url", server.base_url)
            done = await cli.beside("apply", "summarize", cli.file, "--focus", "names", "--json", *endpoint)
            request = await server.request()
        assert (done.returncode, done.stderr) == (0, b"")
        assert json.loads(done.stdout)["messages"][1]["content"] == ROBUST_PREFIX + "They read files."
        assert request.messages[0]["content"].endswith("\nHeed above all: names")
        assert "<conversation>" in request.messages[1]["content"]

    @pytest.mark.parametrize("layer", ["truncate", "clear", "prune", "summarize"])
    def test_no_sample_does_harm(self, layer: str, cli: CommandLine) -> None:
        numbers = {"truncate": ("--limit", 20), "clear": ("--keep", 0), "prune": ("--keep-turns", 1)}
        for path in sorted([*DATA.glob("malformed/*"), *DATA.glob("openai_chat/handmade_*")]):
            before = path.read_bytes()
            done = cli.run("apply", layer, path, *numbers.get(layer, ("--keep-turns", 1)), "--json")
            assert path.read_bytes() == before
            if done.exit_code:
                assert path.name in fault_of(done, 3)
                continue
            told = answer_of(done)
            assert told["after"]["tokens"] <= told["before"]["tokens"]
            whole = answer_of(cli.run("apply", "truncate", path, "--limit", 10**9, "--json"))
            assert errors(told["messages"]) <= errors(whole["messages"])


@pytest.mark.usefixtures("lesson")
class TestLesson:
    def test_truncate(self, cli: CommandLine) -> None:
        told = answer_of(cli.run("apply", "truncate", cli.file, "--limit", 80, "--json"))
        assert (told["layer"], told["flavour"], told["applied"], told["model_calls"]) == ("truncate", "lesson", True, 0)
        assert results_in(told) == [cut_tool_result(str(number) * 200, 80) for number in (1, 2, 3, 4)]
        assert told["kept_prefix"]["messages"] == 3
        assert [edit["index"] for edit in told["edits"]] == [3, 7, 11, 15]
        assert told["after"]["tokens"] < told["before"]["tokens"]
        assert told["reason"]["id"] == "truncate.cut_many"
        assert told["reason"]["text"].startswith("4 tool results > 80 characters")
        assert told["written"] is None

    def test_truncate_tells_the_lessons_variables(self, cli: CommandLine, tmp_path: Path) -> None:
        path = tmp_path / "one.json"
        path.write_text(saved([MESSAGES[0], *turn(1)]), "utf-8")
        told = answer_of(cli.run("apply", "truncate", path, "--limit", 80, "--json"))
        assert told["reason"]["variables"] == {"len(text)": 200, "limit": 80, "start_count": 40}
        assert "len(text)=200 limit=80 start_count=40" in cli.run("apply", "truncate", path, "--limit", 80).stdout

    def test_a_head_share(self, cli: CommandLine) -> None:
        told = answer_of(cli.run("apply", "truncate", cli.file, "--limit", 10, "--head-share", "0.2", "--json"))
        assert told["messages"][3]["content"].startswith("11\n")

    def test_clear(self, cli: CommandLine) -> None:
        told = answer_of(cli.run("apply", "clear", cli.file, "--keep", 1, "--json"))
        assert results_in(told) == [RECOMMENDED_PLACEHOLDER] * 3 + ["4" * 200]
        edit = told["edits"][0]
        assert (edit["index"], edit["removed"], edit["inserted"], edit["mark"]) == (3, 1, 1, "cleared")
        assert edit["reason"] == told["reason"]
        assert set(told["reason"]) == {"id", "values", "variables", "text"}

    def test_clear_with_a_placeholder_and_without_a_tool(self, cli: CommandLine) -> None:
        told = answer_of(cli.run("apply", "clear", cli.file, "--keep", 0, "--placeholder", "gone", "--json"))
        assert results_in(told) == ["gone"] * 4
        told = answer_of(cli.run("apply", "clear", cli.file, "--keep", 0, "--exclude-tool", "read_file", "--json"))
        assert told["applied"] is False

    def test_nothing_to_do_says_why(self, cli: CommandLine) -> None:
        told = answer_of(cli.run("apply", "clear", cli.file, "--keep", 4, "--json"))
        assert told["applied"] is False
        assert told["edits"] == []
        assert told["messages"] == MESSAGES
        assert told["kept_prefix"] == told["before"] == told["after"]
        assert told["reason"]["text"] == "4 tool results, keep 4: nothing old to clear"
        assert "nothing was written" in cli.run("apply", "clear", cli.file, "--keep", 4).stdout

    def test_numbers_that_json_does_not_have_are_null(self, cli: CommandLine) -> None:
        cli.file.write_text('[{"role": "system", "content": "s", "weight": NaN, "more": [-Infinity, 1.5]}]')
        out = cli.run("apply", "clear", cli.file, "--json").stdout
        message = json.loads(out, parse_constant=pytest.fail)["messages"][0]
        assert message == {"role": "system", "content": "s", "weight": None, "more": [None, 1.5]}

    def test_prune(self, cli: CommandLine) -> None:
        told = answer_of(cli.run("apply", "prune", cli.file, "--keep-turns", 1, "--max-characters", 150, "--json"))
        assert [edit["mark"] for edit in told["edits"]] == ["pruned"] * 3
        assert told["messages"][15] == MESSAGES[15]

    def test_summarize_with_a_given_text_asks_no_model(self, cli: CommandLine) -> None:
        told = answer_of(
            cli.run("apply", "summarize", cli.file, "--keep-turns", 2, "--summary", "Two files.", "--json")
        )
        assert told["model_calls"] == 0
        assert told["messages"] == rebuild(MESSAGES, 2, "Two files.")
        assert told["reason"]["variables"] == {"user_idx": [1, 5, 9, 13], "cut": 9}
        assert told["edits"] == [{"index": 1, "removed": 8, "inserted": 2, "mark": "summary", "reason": told["reason"]}]

    def test_summarize_by_the_offline_model(self, cli: CommandLine) -> None:
        told = answer_of(cli.run("apply", "summarize", cli.file, "--keep-turns", 2, "--json"))
        assert (told["model_calls"], told["applied"]) == (1, True)
        assert told["messages"][1]["content"].startswith(SUMMARY_PREFIX)
        assert told["messages"][2]["content"] == ACKNOWLEDGEMENT

    def test_a_blank_summary_changes_nothing(self, cli: CommandLine) -> None:
        told = answer_of(cli.run("apply", "summarize", cli.file, "--summary", "  ", "--json"))
        assert (told["applied"], told["reason"]["id"]) == (False, "summarize.blank")

    async def test_summarize_by_an_endpoint(self, cli: CommandLine) -> None:
        async with OpenAIServer([answer("They read files.")]) as server:
            cli.environment |= {"OPENAI_BASE_URL": server.base_url, "TRIPTYCH_MODEL": "test"}
            cli.environment["OPENAI_API_KEY"] = "sk-canary"
            done = await cli.beside("apply", "summarize", cli.file, "--focus", "names", "--json")
            request = await server.request()
        assert (done.returncode, done.stderr) == (0, b"")
        assert json.loads(done.stdout)["messages"][1]["content"] == SUMMARY_PREFIX + "They read files."
        assert request.body["model"] == "test"
        assert "names" in request.messages[0]["content"]
        assert request.headers["authorization"] == "Bearer sk-canary"

    async def test_what_the_next_try_waits_for_is_said_beside_the_answer(self, cli: CommandLine) -> None:
        busy = error(503, "busy \x1b[2J", headers={"Retry-After": "0"})
        async with OpenAIServer([busy, answer("They read files.")]) as server:
            endpoint = ("--model", "test", "--base-url", server.base_url)
            done = await cli.beside("apply", "summarize", cli.file, "--json", *endpoint)
        assert done.returncode == 0
        assert json.loads(done.stdout)["messages"][1]["content"] == SUMMARY_PREFIX + "They read files."
        (line,) = done.stderr.decode().splitlines()
        assert line.startswith(f"503 from 127.0.0.1:{server.port} · ")
        assert line.endswith("busy ␛[2J · retry 2/5 in 1 s")

    async def test_an_endpoint_that_refuses_is_exit_code_4(self, cli: CommandLine) -> None:
        before = cli.file.read_bytes()
        async with OpenAIServer([error(401, "bad key sk-canary")]) as server:
            cli.environment["OPENAI_API_KEY"] = "sk-canary"
            endpoint = ("--model", "test", "--base-url", server.base_url)
            said = fault_of(await cli.beside("apply", "summarize", cli.file, "--in-place", *endpoint), 4)
        assert "sk-canary" not in said
        assert cli.file.read_bytes() == before

    def test_numbers_from_the_environment(self, cli: CommandLine) -> None:
        cli.environment |= {"TRIPTYCH_KEEP": "3", "TRIPTYCH_PLACEHOLDER": "gone"}
        assert len(answer_of(cli.run("apply", "clear", cli.file, "--json"))["edits"]) == 1
        assert answer_of(cli.run("apply", "clear", cli.file, "--json"))["messages"][3]["content"] == "gone"


class TestUsage:
    @pytest.mark.parametrize(
        "args",
        [
            ("truncate", "--limit", "-1"),
            ("truncate", "--head-share", "2"),
            ("truncate", "--head-share", "nan"),
            ("truncate", "--unit", "words"),
            ("truncate", "--unit", "characters", "--flavour", "lesson"),
            ("clear", "--keep", "-1"),
            ("prune", "--keep-turns", "-1"),
            ("prune", "--keep-turns", "0", "--flavour", "lesson"),
            ("prune", "--max-lines", "-1"),
            ("prune", "--max-characters", "-1"),
            ("summarize", "--keep-turns", "-1"),
            ("summarize", "--keep-turns", "0", "--flavour", "lesson"),
            ("clear", "--flavour", "none"),
            ("clear", "--nothing"),
        ],
    )
    def test_parameters_that_cannot_be(self, args: tuple[str, ...], cli: CommandLine) -> None:
        fault_of(cli.run("apply", args[0], cli.file, *args[1:]), 2)

    def test_robust_layers_can_keep_no_turn_whole(self, cli: CommandLine) -> None:
        args = ("--keep-turns", 0, "--flavour", "robust", "--json")
        told = answer_of(cli.run("apply", "summarize", cli.file, *args, "--summary", "S."))
        assert [message["role"] for message in told["messages"]] == ["system", "user", "assistant"]
        assert cli.run("apply", "prune", cli.file, *args).exit_code == 0

    def test_no_layer_named(self, cli: CommandLine) -> None:
        fault_of(cli.run("apply"), 2)

    def test_what_the_lesson_does_not_have_is_said(self, cli: CommandLine) -> None:
        said = fault_of(cli.run("apply", "truncate", cli.file, "--flavour", "lesson", "--unit", "lines"), 2)
        assert "the lesson flavour counts characters and has no --unit" in said


@pytest.mark.usefixtures("lesson")
class TestWriting:
    def test_without_being_asked_nothing_is_written(self, cli: CommandLine) -> None:
        before = cli.file.read_bytes()
        assert cli.run("apply", "clear", cli.file).exit_code == 0
        assert cli.file.read_bytes() == before
        assert [path.name for path in cli.file.parent.iterdir()] == [cli.file.name]

    def test_in_place_as_the_lesson_saves(self, cli: CommandLine) -> None:
        told = answer_of(cli.run("apply", "clear", cli.file, "--keep", 1, "--in-place", "--json"))
        assert cli.file.read_text("utf-8") == saved(told["messages"])
        assert told["written"] == str(cli.file)

    def test_in_place_with_nothing_to_do_leaves_the_file_alone(self, cli: CommandLine) -> None:
        before = cli.file.stat()
        assert answer_of(cli.run("apply", "clear", cli.file, "--keep", 4, "--in-place", "--json"))["written"] is None
        assert (cli.file.stat().st_ino, cli.file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)

    def test_out_is_written_and_overwritten(self, cli: CommandLine, tmp_path: Path) -> None:
        before, out = cli.file.read_bytes(), tmp_path / "out.json"
        for keep in (1, 4):
            told = answer_of(cli.run("apply", "clear", cli.file, "--keep", keep, "-o", out, "--json"))
            assert out.read_text("utf-8") == saved(told["messages"])
        assert cli.file.read_bytes() == before

    def test_a_list_that_is_not_ours_is_not_overwritten(self, cli: CommandLine, tmp_path: Path) -> None:
        path = tmp_path / "theirs.json"
        path.write_text(saved(MESSAGES[1:]), "utf-8")
        before = path.read_bytes()
        fault_of(cli.run("apply", "clear", path, "--in-place"), 3)
        fault_of(cli.run("apply", "clear", path, "-o", path), 3)
        assert path.read_bytes() == before
        assert cli.run("apply", "clear", path, "-o", tmp_path / "ours.json").exit_code == 0

    def test_a_damaged_list_is_not_overwritten(self, cli: CommandLine, tmp_path: Path) -> None:
        path = tmp_path / "damaged.json"
        path.write_text(saved(MESSAGES)[:-20], "utf-8")
        before = path.read_bytes()
        fault_of(cli.run("apply", "clear", path, "--keep", 0, "--in-place"), 3)
        assert path.read_bytes() == before

    def test_where_nothing_can_be_written(self, cli: CommandLine, tmp_path: Path) -> None:
        assert "out.json" in fault_of(cli.run("apply", "clear", cli.file, "-o", cli.file / "out.json"), 3)
        fault_of(cli.run("apply", "clear", cli.file, "-o", tmp_path), 3)

    def test_what_is_open_in_a_window_is_not_written(self, cli: CommandLine) -> None:
        before, window = cli.file.read_bytes(), SessionLock(cli.file)
        window.take()
        said = fault_of(cli.run("apply", "clear", cli.file, "--keep", 1, "--in-place"), 3)
        assert "is open in a window and was not written" in said
        assert cli.file.read_bytes() == before
        window.release()
        assert answer_of(cli.run("apply", "clear", cli.file, "--keep", 1, "--in-place", "--json"))["written"]

    def test_out_and_in_place_exclude_each_other(self, cli: CommandLine, tmp_path: Path) -> None:
        fault_of(cli.run("apply", "clear", cli.file, "--in-place", "-o", tmp_path / "out.json"), 2)

    def test_standard_input_cannot_be_written_back(self, cli: CommandLine, tmp_path: Path) -> None:
        fault_of(cli.run("apply", "clear", "-", "--in-place", stdin=saved(MESSAGES)), 2)
        out = tmp_path / "out.json"
        assert cli.run("apply", "clear", "-", "-o", out, stdin=saved(MESSAGES)).exit_code == 0
        assert len(json.loads(out.read_bytes())) == 17

    @pytest.mark.parametrize("command", [("check",), ("context",), ("apply", "clear")])
    def test_files_that_cannot_be_read(self, command: tuple[str, ...], cli: CommandLine, tmp_path: Path) -> None:
        fault_of(cli.run(*command, tmp_path / "none.json", "--json"), 3)
        fault_of(cli.run(*command, tmp_path, "--json"), 3)
        (tmp_path / "null.json").write_text("null")
        assert "null.json" in fault_of(cli.run(*command, tmp_path / "null.json", "--json"), 3)
