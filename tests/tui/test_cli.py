"""The command line as a shell sees it: exit codes, one line for what goes wrong, JSON and nothing else."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support_command_line import MESSAGES, CommandLine, answer_of, fault_of, saved, turn
from tests.support_desk import Desk, read
from tests.support_openai_server import OpenAIServer, answer, stalled
from tests.support_scripted_model import asks_for, says
from triptych.lesson_api import rebuild
from triptych.policy import preset
from triptych.storage.journal import journal_path


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


class TestProcess:
    """What only a process of its own can show."""

    def test_neither_importing_nor_help_loads_what_is_heavy(self, cli: CommandLine) -> None:
        script = (
            "import sys\nimport triptych_tui.cli as cli\n"
            "try: cli.main(['--help'])\nexcept SystemExit as exit: assert exit.code == 0\n"
            "print('heavy:', [name for name in ('textual', 'openai', 'httpx', 'httpx2') if name in sys.modules])"
        )
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=cli.environment)
        assert done.stdout.startswith("Usage: triptych")
        assert done.stdout.splitlines()[-1] == "heavy: []"

    def test_a_missing_file(self, cli: CommandLine, tmp_path: Path) -> None:
        said = fault_of(cli.shell(tmp_path / "none.json"), 3)
        assert "none.json" in said
        assert "--new" in said

    def test_a_folder_an_empty_file_and_a_broken_one(self, cli: CommandLine, tmp_path: Path) -> None:
        fault_of(cli.shell(tmp_path), 3)
        (tmp_path / "empty.json").write_bytes(b"")
        fault_of(cli.shell(tmp_path / "empty.json"), 3)
        (tmp_path / "broken.json").write_bytes(b'[\n{"role":\n')
        said = fault_of(cli.shell(tmp_path / "broken.json"), 3)
        assert "broken.json" in said
        assert "line 1" in said or "line 2" in said

    def test_usage(self, cli: CommandLine) -> None:
        assert "--help" in fault_of(cli.shell("--nothing"), 2)
        assert "lesson" in fault_of(cli.shell(cli.file, "--policy", "none"), 2)
        fault_of(cli.shell(cli.file, "--workspace", cli.file.parent / "none"), 2)

    def test_without_a_terminal_the_workbench_says_so(self, cli: CommandLine) -> None:
        before = cli.file.read_bytes()
        assert "terminal" in fault_of(cli.shell(cli.file), 2)
        assert "terminal" in fault_of(cli.shell(), 2)
        assert "terminal" in fault_of(cli.shell("-", stdin=before), 2)
        assert cli.file.read_bytes() == before

    def test_nothing_is_created_or_moved_where_the_workbench_cannot_start(
        self, cli: CommandLine, tmp_path: Path
    ) -> None:
        own = cli.default_session
        own.parent.mkdir(parents=True)
        own.write_bytes(b"broken")
        fault_of(cli.shell(), 2)
        fault_of(cli.shell("--new", tmp_path / "new.json"), 2)
        assert [path.name for path in own.parent.iterdir()] == ["default.json"]
        assert not (tmp_path / "new.json").exists()

    def test_json_in_any_locale(self, cli: CommandLine, tmp_path: Path) -> None:
        path = tmp_path / "会话.json"
        path.write_text(saved([{"role": "system", "content": "简短"}]), "utf-8")
        cli.environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
        done = cli.shell("context", path, "--json")
        assert (done.returncode, done.stderr) == (0, b"")
        assert json.loads(done.stdout.decode("utf-8"))["entries"][0]["preview"] == "简短"
        assert cli.shell("context", path).returncode == 0

    def test_standard_output_that_is_closed_is_no_fault(self, cli: CommandLine) -> None:
        for args in (["compare", cli.file, "--policy", "lesson"], ["policies", "show", "lesson", "--toml"]):
            command = ["sh", "-c", 'exec "$@" >&-', "sh", *cli.argv(*args)]
            done = subprocess.run(command, capture_output=True, check=False, env=cli.environment)
            assert (done.returncode, done.stderr) == (0, b"")

    def test_who_closes_the_pipe_early_sees_no_error(self, cli: CommandLine) -> None:
        cli.file.write_text(saved([MESSAGES[0], *(turn(1) * 2000)]), "utf-8")
        pipe = subprocess.PIPE
        with subprocess.Popen(cli.argv("context", cli.file), stdout=pipe, stderr=pipe, env=cli.environment) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait() == 141

    async def test_ctrl_c_while_the_model_writes(self, cli: CommandLine) -> None:
        before = cli.file.read_bytes()
        async with OpenAIServer([stalled(answer("Too late"), 1)]) as server:
            endpoint = ("--model", "test", "--base-url", server.base_url)
            process = await cli.started("apply", "summarize", cli.file, "--in-place", *endpoint)
            await server.request()
            process.send_signal(signal.SIGINT)
            out, said = await process.communicate()
        assert (process.returncode, out, said) == (130, b"", b"triptych: cancelled\n")
        assert cli.file.read_bytes() == before


class TestDefaultCommand:
    def test_help_shows_opens_options_and_the_commands(self, cli: CommandLine) -> None:
        for args in (["--help"], ["--model", "m", "--help"]):
            shown = cli.run(*args).stdout
            assert "--read-only" in shown
            assert "policies" in shown
            assert "triptych open" not in shown

    @pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
    def test_each_command_is_said_whole(self, cli: CommandLine, language: str) -> None:
        assert "..." not in cli.run("--lang", language, "--help").stdout

    def test_what_is_not_built_is_not_offered(self, cli: CommandLine) -> None:
        shown = cli.run("--help").stdout
        assert not any(word in shown for word in ("--step", "replay"))

    def test_version(self, cli: CommandLine) -> None:
        result = cli.run("--version")
        assert result.exit_code == 0
        assert result.stdout.startswith("triptych 0.")

    def test_a_first_argument_that_is_no_command_is_a_file(self, cli: CommandLine) -> None:
        assert "checks" in fault_of(cli.run("checks"), 3)

    def test_a_file_named_like_a_command(
        self, cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("check").write_text(saved(MESSAGES), "utf-8")
        assert "terminal" in fault_of(cli.run("./check"), 2)
        assert "terminal" in fault_of(cli.run("--", "check"), 2)
        assert "FILE" in fault_of(cli.run("check"), 2)

    def test_a_command_is_only_that_as_the_first_argument(self, cli: CommandLine) -> None:
        fault_of(cli.run("--offline", "check"), 3)

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            ("--limit", "-1"),
            ("--keep", "-1"),
            ("--keep-turns", "-1"),
            ("--window", "0"),
            ("--window", str(10**400)),
            ("--limit", "many"),
        ],
    )
    def test_numbers_out_of_range(self, option: str, value: str, cli: CommandLine) -> None:
        assert option in fault_of(cli.run(cli.file, option, value), 2)

    def test_a_variable_out_of_range_is_named(self, cli: CommandLine) -> None:
        cli.environment["TRIPTYCH_KEEP_TURNS"] = "-1"
        assert "TRIPTYCH_KEEP_TURNS" in fault_of(cli.run(cli.file), 2)

    def test_no_turn_at_all_is_kept_only_by_robust_layers(self, cli: CommandLine) -> None:
        said = fault_of(cli.run(cli.file, "--policy", "lesson", "--keep-turns", "0"), 2)
        assert "--keep-turns is 0, but the lesson's layers keep at least 1" in said
        assert "terminal" in fault_of(cli.run(cli.file, "--policy", "robust", "--keep-turns", "0"), 2)
        cli.environment["TRIPTYCH_KEEP_TURNS"] = "0"
        assert cli.run("run", cli.file, "--policy", "robust").exit_code == 0
        assert "TRIPTYCH_KEEP_TURNS is 0" in fault_of(cli.run("run", cli.file, "--policy", "nami"), 2)

    def test_a_config_file_that_is_wrong_is_named_with_its_key(self, cli: CommandLine) -> None:
        path = cli.config
        path.parent.mkdir(parents=True)
        path.write_text("limits = 3")
        said = fault_of(cli.run(cli.file), 2)
        assert str(path) in said
        assert "limits" in said

    def test_a_base_url_that_is_none(self, cli: CommandLine) -> None:
        assert "--base-url" in fault_of(cli.run(cli.file, "--model", "m", "--base-url", "localhost"), 2)

    def test_a_file_and_a_new_one_exclude_each_other(self, cli: CommandLine) -> None:
        fault_of(cli.run(cli.file, "--new", cli.file), 2)

    def test_new_never_touches_what_is_there(self, cli: CommandLine) -> None:
        before = cli.file.read_bytes()
        fault_of(cli.run("--new", cli.file), 3)
        assert cli.file.read_bytes() == before

    @pytest.mark.parametrize("folder", ["", ".", "/"])
    def test_a_folder_without_a_name_is_no_file(self, folder: str, cli: CommandLine) -> None:
        assert "is a folder" in fault_of(cli.run(folder), 3)
        assert "is a folder" in fault_of(cli.run("--new", folder), 3)
        assert "is a folder" in fault_of(cli.run("apply", "clear", cli.file, "-o", folder), 3)
        assert "is a folder" in fault_of(cli.run("run", cli.file, "-o", folder), 3)

    def test_no_lock_is_left_beside_a_folder(self, cli: CommandLine, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        before = sorted(tmp_path.iterdir())
        fault_of(cli.run("apply", "clear", cli.file, "-o", tmp_path / "folder"), 3)
        assert sorted(tmp_path.iterdir()) == before

    def test_what_was_given_is_not_said_at_any_length(self, cli: CommandLine) -> None:
        said = fault_of(cli.run("apply", "x" * 100_000), 2)
        assert len(said) < 2000
        assert said.endswith("--help\n")

    def test_hostile_names_are_shown_harmlessly(self, cli: CommandLine) -> None:
        said = fault_of(cli.run("\x1b]0;gone\x07\u202egnp.nosj\nx"), 3)
        assert not any(character in said for character in "\x1b\x07\u202e")


class TestCheck:
    def test_a_sound_list(self, cli: CommandLine) -> None:
        told = answer_of(cli.run("check", cli.file, "--json"))
        assert told == {
            "version": 1,
            "format": "lesson",
            "messages": 17,
            "turns": 4,
            "tool_calls": 4,
            "tool_results": 4,
            "pictures": 0,
            "compactions": 0,
            "by_role": {"system": 1, "user": 4, "assistant": 8, "tool": 4},
            "problems": [],
            "unreadable": [],
        }

    def test_errors_are_exit_code_1(self, cli: CommandLine, tmp_path: Path) -> None:
        path = tmp_path / "orphan.json"
        path.write_text(saved([MESSAGES[0], {"role": "tool", "tool_call_id": "c9", "content": "x"}]), "utf-8")
        told = answer_of(cli.run("check", path, "--json"), 1)
        expected = {"kind": "orphan_result", "severity": "error", "message": 1, "detail": "c9"}
        assert told["problems"] == [expected]
        shown = cli.run("check", path)
        assert (shown.exit_code, shown.stderr) == (1, "")
        assert "c9" in shown.stdout

    def test_notes_are_not(self, cli: CommandLine, tmp_path: Path) -> None:
        path = tmp_path / "bare.json"
        path.write_text('[{"role": "user", "content": "hello"}]')
        told = answer_of(cli.run("check", path, "--json"))
        assert [problem["kind"] for problem in told["problems"]] == ["no_system"]

    def test_what_could_not_be_read_is_told_by_line(self, cli: CommandLine, tmp_path: Path) -> None:
        path = tmp_path / "damaged.json"
        path.write_text('[\n{"role": "user", "content": "a"},\n{"role": },\n{"role": "user", "content": "b"}\n]')
        told = answer_of(cli.run("check", path, "--json"))
        assert told["messages"] == 2
        assert told["unreadable"] == [{"line": 3, "reason": "invalid_json"}]
        assert "line 3" in cli.run("check", path).stdout

    def test_a_summary_counts_as_a_compaction(self, cli: CommandLine, tmp_path: Path) -> None:
        path = tmp_path / "summed.json"
        path.write_text(saved(rebuild(MESSAGES, 2, "What was said")), "utf-8")
        assert answer_of(cli.run("check", path, "--json"))["compactions"] == 1

    def test_standard_input(self, cli: CommandLine) -> None:
        assert answer_of(cli.run("check", "-", "--json", stdin=saved(MESSAGES)))["messages"] == 17
        assert "standard input" in fault_of(cli.run("check", "-", stdin="nothing"), 3)


class TestContext:
    def test_parts_add_up(self, cli: CommandLine) -> None:
        told = answer_of(cli.run("context", cli.file, "--json"))
        assert told["estimator"] == "meowgent"
        assert told["window"] is None
        assert sum(told["by_role"].values()) == told["total"] == sum(entry["tokens"] for entry in told["entries"])
        assert told["by_mark"] == {}
        first, second, third = told["entries"][:3]
        assert first == {
            "index": 0, "role": "system", "tokens": 3, "measured": False, "mark": None, "guessed": False,
            "preview": "Be brief.", "pictures": [],
        }  # fmt: skip
        assert second["preview"] == "Read file 1"
        assert "read_file" in third["preview"]

    def test_marks_are_guessed_without_a_journal(self, cli: CommandLine, tmp_path: Path) -> None:
        path = tmp_path / "summed.json"
        path.write_text(saved(rebuild(MESSAGES, 2, "What was said")), "utf-8")
        told = answer_of(cli.run("context", path, "--json"))
        assert (told["entries"][1]["mark"], told["entries"][1]["guessed"]) == ("summary", True)
        assert set(told["by_mark"]) == {"summary", "acknowledgement"}
        assert "summary?" in cli.run("context", path).stdout

    def test_a_window_gives_a_share(self, cli: CommandLine) -> None:
        assert answer_of(cli.run("context", cli.file, "--window", 1000, "--json"))["window"] == 1000
        assert "%" in cli.run("context", cli.file, "--window", 1000).stdout
        plain = cli.run("context", cli.file).stdout
        assert "%" not in plain
        assert "by the estimator meowgent" in plain.splitlines()[0]

    def test_hostile_text_is_shown_harmlessly_and_read_back_whole(self, cli: CommandLine, tmp_path: Path) -> None:
        hostile = "\x1b]52;c;eA==\x07 \x9b31m \u202egnp\u200b [@click=app.quit]x[/]"
        path = tmp_path / "hostile.json"
        path.write_text(saved([{"role": "system", "content": hostile}]), "utf-8")
        assert answer_of(cli.run("context", path, "--json"))["entries"][0]["preview"] == " ".join(hostile.split())
        for args in (["context", path], ["context", path, "--json"]):
            out = cli.run(*args).stdout
            assert not any(character in out for character in "\x1b\x07\x9b\u202e\u200b")


class TestLists:
    def test_the_sessions_path_follows_the_systems_folders(self, cli: CommandLine) -> None:
        path = answer_of(cli.run("sessions", "path", "--json"))["path"]
        assert path == str(cli.default_session)
        assert cli.run("sessions", "path").stdout == path + "\n"

    def test_policies(self, cli: CommandLine) -> None:
        names = [policy["name"] for policy in answer_of(cli.run("policies", "list", "--json"))["policies"]]
        assert {"lesson", "meowgent", "nami"} <= set(names)
        assert all(name in cli.run("policies", "list").stdout for name in names)

    def test_policies_are_told_of_in_the_language_of_the_interface(self, cli: CommandLine) -> None:
        told = {each: cli.run("--lang", each, "policies", "list").stdout for each in ("en", "zh-Hans", "zh-Hant")}
        own = ("lesson", "meowgent", "nami", "robust")
        lines = {each: [line for line in text.splitlines() if line.startswith(own)] for each, text in told.items()}
        assert all(len(each) == len(own) for each in lines.values())
        assert not set(lines["en"]) & set(lines["zh-Hans"]) | set(lines["zh-Hans"]) & set(lines["zh-Hant"])

    def test_one_policy(self, cli: CommandLine) -> None:
        policy = answer_of(cli.run("policies", "show", "lesson", "--json"))["policy"]
        assert policy["truncate"]["limit"] == 80
        assert policy["prune"] is None
        trigger = policy["trigger"]
        assert [key for key in trigger if trigger[key]] == ["turns"]
        assert trigger["turns"] == 3
        assert "truncate.limit" in cli.run("policies", "show", "lesson").stdout
        assert preset("codex").note in cli.run("policies", "show", "codex").stdout
        chinese = cli.run("policies", "show", "codex", "--lang", "zh-Hans").stdout
        assert "近似：" in chinese
        assert preset("codex").note not in chinese
        assert preset("codex").source in chinese, "names and addresses stay"

    def test_a_policy_of_ones_own(self, cli: CommandLine) -> None:
        folder = cli.config.parent / "policies"
        assert str(folder) in cli.run("policies", "list").stdout
        folder.mkdir(parents=True)
        text = cli.run("policies", "show", "robust", "--toml").stdout
        (folder / "mine.toml").write_text(text.replace("keep_turns = 3", "keep_turns = 7"), "utf-8")
        (folder / "broken.toml").write_text(text.replace("keep_turns", "keep_turn"), "utf-8")
        assert answer_of(cli.run("policies", "show", "mine", "--json"))["policy"]["summarize"]["keep_turns"] == 7
        listed = {each["name"]: each for each in answer_of(cli.run("policies", "list", "--json"))["policies"]}
        assert (listed["mine"]["origin"], listed["lesson"]["origin"]) == ("own", "preset")
        assert listed["mine"]["path"] == str(folder / "mine.toml")
        assert "summarize.keep_turns" in listed["broken"]["error"]["text"]
        table = cli.run("policies", "list").stdout
        assert str(folder / "mine.toml") in table
        assert "write “summarize.keep_turns”" in table
        assert "summarize.keep_turn" in fault_of(cli.run("policies", "show", "broken"), 2)
        (folder / "mine.toml").write_text(text.replace('estimator = "meowgent"', 'estimator = "chars4"'), "utf-8")
        cli.config.write_text('policy = "mine"', "utf-8")
        assert answer_of(cli.run("context", cli.file, "--json"))["estimator"] == "chars4"

    def test_a_policy_with_hostile_texts_is_printed_as_a_harmless_file(self, cli: CommandLine) -> None:
        folder = cli.config.parent / "policies"
        folder.mkdir(parents=True)
        text = cli.run("policies", "show", "robust", "--toml").stdout
        note = r'note = "\u001b[2J\u009b31m\u0085\u2028\u202e\ufeff\U000e0041水"'
        (folder / "mine.toml").write_text(re.sub("(?m)^note = .*", lambda _: note, text), "utf-8")
        cli.environment["LC_ALL"], cli.environment["PYTHONIOENCODING"] = "C", "ascii"

        made = cli.shell("policies", "show", "mine", "--toml").stdout

        assert made.decode().replace("\n", "").isprintable()
        (folder / "copy.toml").write_bytes(made)
        told = [answer_of(cli.run("policies", "show", name, "--json"))["policy"]["note"] for name in ("mine", "copy")]
        assert told == ["\x1b[2J\x9b31m\x85\u2028\u202e\ufeff\U000e0041水"] * 2

    def test_an_unknown_policy_names_the_known_ones(self, cli: CommandLine) -> None:
        assert "meowgent" in fault_of(cli.run("policies", "show", "none"), 2)


async def test_context_tells_marks_as_the_journal_remembers_them(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    desk = Desk([{"role": "system", "content": "s"}], preset("lesson"), outputs=["x" * 500], file=path)
    await desk.ask("go", asks_for(read("a")), says("done"))

    def marks() -> list[tuple[str, bool]]:
        told = answer_of(cli.run("context", path, "--json"))["entries"]
        return [(each["mark"], each["guessed"]) for each in told if each["mark"]]

    assert marks() == [("truncated", False)]
    journal_path(path).unlink()
    assert marks() == [("truncated", True)]
