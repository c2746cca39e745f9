"""`triptych verify` on real files in real processes: what it prints, and that no file harms or holds it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path
from threading import Thread

import pytest

from tests.support_command_line import CommandLine, answer_of, fault_of
from triptych.verifying.cases import NAMES

CUT = """
def cut_tool_result(text, limit):
    if limit < 0:
        raise ValueError("limit 不能小于 0")
    if len(text) <= limit:
        return text
    head, tail = limit // 2, limit - limit // 2
    return text[:head] + f"\\n...中间省略{len(text) - limit}个字...\\n" + text[len(text) - tail:]
"""


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def written(cli: CommandLine, source: str) -> Path:
    path = cli.file.with_name("mine.py")
    path.write_text(source, "utf-8")
    return path


def verdict_on(cli: CommandLine, source: str, *args: object) -> str:
    """What is printed about a file that has a function of its own, which differs."""
    result = cli.run("verify", written(cli, source), *args)
    assert (result.exit_code, result.stderr) == (1, "")
    assert "\x1b" not in result.stdout
    return result.stdout


def passes(cli: CommandLine, source: str, *args: object) -> None:
    result = cli.run("verify", written(cli, source), *args)
    assert (result.exit_code, result.stderr) == (0, ""), result.stdout
    assert "✓ cut_tool_result" in result.stdout


class TestVerdicts:
    def test_right_functions(self, cli: CommandLine) -> None:
        passes(cli, CUT)
        result = cli.run("verify", cli.file.with_name("mine.py"))
        assert re.fullmatch(r"✓ cut_tool_result  \d{3} cases\nnot in .*mine\.py: .*\n", result.stdout)

    def test_a_difference_is_printed_so_that_it_can_be_read(self, cli: CommandLine) -> None:
        source = CUT.replace("text[len(text) - tail:]", "text[-tail:]")
        assert verdict_on(cli, source).splitlines()[:11] == [
            "✗ cut_tool_result  differs",
            "  input",
            '    text = "0"',
            "    limit = 0",
            "  the lesson",
            '  ≠ "\\n...中间省略1个字...\\n"',
            "  yours",
            '  ≠ "\\n...中间省略1个字...\\n0"',
            "  → with nothing to keep of the end, text[-0:] is the whole text",
            f"not in {cli.file.with_name('mine.py')}: {', '.join(NAMES[1:])}",
        ]

    def test_json(self, cli: CommandLine) -> None:
        source = CUT + "\ndef estimate_token(text):\n    return len(text)\n"
        told = answer_of(cli.run("verify", written(cli, source), "--json"), 1)
        right, wrong = told["functions"]
        assert right == {
            "name": "cut_tool_result",
            "called": "cut_tool_result",
            "cases": right["cases"],
            "passed": True,
            "first_difference": None,
        }
        assert right["cases"] > 100
        assert (wrong["name"], wrong["passed"]) == ("estimate_token", False)
        assert wrong["first_difference"] == {"input": {"text": "a"}, "ours": 0, "theirs": 1, "hint": None}
        assert "compact" in told["missing"]

    def test_other_names(self, cli: CommandLine) -> None:
        source = CUT.replace("cut_tool_result", "my_cut") + "\nmine = my_cut\n"
        result = cli.run("verify", written(cli, source), "--map", "my_cut=cut_tool_result")
        assert (result.exit_code, result.stdout.splitlines()[0][:28]) == (0, "✓ my_cut = cut_tool_result  ")
        told = answer_of(cli.run("verify", cli.file.with_name("mine.py"), "--map", "mine=cut_tool_result", "--json"))
        assert told["functions"][0]["called"] == "mine"

    def test_standard_input(self, cli: CommandLine) -> None:
        result = cli.run("verify", "-", stdin=CUT)
        assert (result.exit_code, result.stdout.splitlines()[1][:22]) == (0, "not in standard input:")
        assert "standard input:3 stops it" in fault_of(cli.run("verify", "-", stdin="a\nb\n("), 3)

    def test_long_values_are_cut_on_the_screen_and_whole_in_json(self, cli: CommandLine) -> None:
        source = "def cut_tool_result(text, limit):\n    return 'y' * 5000\n"
        (line,) = [line for line in verdict_on(cli, source).splitlines() if "yyy" in line]
        assert len(line) < 450
        told = answer_of(cli.run("verify", cli.file.with_name("mine.py"), "--json"), 1)
        assert told["functions"][0]["first_difference"]["theirs"] == "y" * 5000

    def test_the_help_says_that_the_file_is_executed(self, cli: CommandLine) -> None:
        told = " ".join(cli.shell("verify", "--help").stdout.decode().split())
        assert "FILE.py is executed, in a process of its own but with all your rights: run only what you trust." in told


class TestFilesThatCannotBeVerified:
    def test_none_of_the_functions(self, cli: CommandLine) -> None:
        said = fault_of(cli.run("verify", written(cli, "def other(): pass\n")), 2)
        assert all(name in said for name in ("--map", *NAMES))

    @pytest.mark.parametrize("value", ["my_cut", "my cut=cut_tool_result", "cut=no_such", "=cut_tool_result"])
    def test_a_map_that_is_none(self, value: str, cli: CommandLine) -> None:
        assert "--map" in fault_of(cli.run("verify", written(cli, CUT), "--map", value), 2)

    def test_a_mapped_function_that_is_missing(self, cli: CommandLine) -> None:
        assert "my_cut" in fault_of(cli.run("verify", written(cli, CUT), "--map", "my_cut=cut_tool_result"), 2)

    def test_no_such_file_a_folder_and_a_pipe(self, cli: CommandLine, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.py")
        for name in ("nothing.py", ".", "pipe.py"):
            assert str(tmp_path / name) in fault_of(cli.run("verify", tmp_path / name), 3)

    @pytest.mark.parametrize(
        ("source", "said"),
        [
            ("def cut_tool_result(text, limit:\n", "mine.py:1 stops it"),
            ("x = 1\ny = 1 / 0\n", "mine.py:2 stops it from being loaded: ZeroDivisionError: division by zero"),
            ("import sys; sys.exit(3)", "SystemExit: 3"),
            ("raise type('E\\x1b[2J\\n', (BaseException,), {'__str__': lambda self: 'a\\nb\\x07'})", "E␛[2J⏎: a⏎b␇"),
            ("\0", "null"),
            ("import os; os._exit(0)", "its process ended"),
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "its process ended"),
            ("name = input()", "EOFError"),
        ],
    )
    def test_a_file_that_cannot_be_loaded(self, source: str, said: str, cli: CommandLine) -> None:
        assert said in fault_of(cli.run("verify", written(cli, source)), 3)

    def test_no_number_of_seconds(self, cli: CommandLine) -> None:
        assert "--seconds" in fault_of(cli.run("verify", written(cli, CUT), "--seconds", "nan"), 2)

    def test_a_file_that_never_ends(self, cli: CommandLine) -> None:
        said = fault_of(cli.run("verify", written(cli, CUT + "while True: pass\n"), "--seconds", 1), 3)
        assert "no answer within 1 s" in said

    def test_what_was_defined_before_a_file_stopped_is_verified(self, cli: CommandLine) -> None:
        result = cli.run("verify", written(cli, CUT + "question = input('> ')\n"))
        assert result.exit_code == 0
        assert "✓ cut_tool_result" in result.stdout
        (said,) = result.stderr.splitlines()
        assert "mine.py:9 stopped it: EOFError" in said


class TestHostileFiles:
    def test_a_function_that_never_returns(self, cli: CommandLine) -> None:
        source = CUT + "\ndef estimate_token(text):\n    while True: pass\n"
        told = verdict_on(cli, source, "--seconds", 2)
        assert "✓ cut_tool_result" in told
        assert "  ≠ no answer within 2 s" in told

    @pytest.mark.parametrize(
        "ending", ["os._exit(0)", "os.kill(0, signal.SIGKILL)", "os.abort()", "os.closerange(0, 100)"]
    )
    def test_a_function_that_ends_its_process(self, ending: str, cli: CommandLine) -> None:
        source = f"import os, signal\ndef cut_tool_result(text, limit):\n    {ending}\n"
        assert "  ≠ its process ended" in verdict_on(cli, source)

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            ("Evil()", '{"not_json": "Evil"}'),
            ("[Evil()]", '{"not_json": "Evil"},'),
            ("Text(text)", '{"not_json": "Text"}'),
            ("float('nan')", '{"not_json": "nan"}'),
            ("10 ** 9999", '{"not_json": "int"}'),
            ("{1: 2}", '{"not_json": "dict"}'),
            ("cyclic()", "too deep"),
            ("[[0] * 1000] * 1000", '{"not_json": "too large"}'),
            ("'\\ud800 \\x1b[2J \\u202e'", '"‹U+D800› \\u001b[2J ‹U+202E›"'),
            ("(text for text in ())", '{"not_json": "generator"}'),
            ("sys.exit(0)", "SystemExit: 0"),
            ("later(text)", '{"not_json": "coroutine"}'),
        ],
    )
    def test_values_that_are_not_json(self, value: str, shown: str, cli: CommandLine) -> None:
        source = f"""
import sys

class Evil:
    def __getattribute__(self, name): sys.exit(1)
    __eq__ = __repr__ = __len__ = __iter__ = __hash__ = lambda self, *other: sys.exit(1)

class Text(str):
    __eq__ = __repr__ = __len__ = __iter__ = encode = lambda self, *other: sys.exit(1)

def cyclic():
    made = []
    made.append(made)
    return made

async def later(text): return text

def cut_tool_result(text, limit): return {value}
"""
        assert shown in verdict_on(cli, source)
        answer_of(cli.run("verify", cli.file.with_name("mine.py"), "--json"), 1)

    def test_what_it_prints_is_no_answer_and_is_not_shown(self, cli: CommandLine) -> None:
        passes(
            cli,
            CUT.replace(
                "):\n",
                """):
    import os, sys
    print('{"returned": "forged"}', flush=True)
    print("\\x1b[2J", file=sys.stderr, flush=True)
    for stream in range(12):
        try:
            os.write(stream, b'{"returned": "forged"}\\n' * 3)
        except OSError:
            pass
""",
                1,
            ),
        )

    @pytest.mark.parametrize(
        ("forged", "shown"),
        [
            ("{}", "  ≠ its process ended"),
            ('{"raised": 5, "text": []}', "  ≠ its process ended"),
            ("[" * 100_000, "  ≠ its process ended"),
            ('{"returned": NaN, "asked": 7}', "  ≠ asked the model: 7"),
        ],
    )
    def test_one_that_finds_the_way_to_answer_itself_harms_nobody(
        self, forged: str, shown: str, cli: CommandLine
    ) -> None:
        source = f"""
import sys
def cut_tool_result(text, limit):
    frame = sys._getframe()
    while frame.f_code.co_name != "serve":
        frame = frame.f_back
    frame.f_locals["replies"].write((frame.f_locals["request"]["nonce"] + ' ' + {forged!r} + '\\n').encode())
    frame.f_locals["replies"].flush()
"""
        assert shown in verdict_on(cli, source)
        answer_of(cli.run("verify", cli.file.with_name("mine.py"), "--json"), 1)

    @pytest.mark.parametrize(
        "forged", ["[]", '{"found": {}}', '{"found": [], "constants": {}, "stopped": {"line": []}}']
    )
    def test_one_that_answers_while_it_is_loaded_harms_nobody(self, forged: str, cli: CommandLine) -> None:
        source = f"""
import sys
frame = sys._getframe()
while frame.f_code.co_name != "serve":
    frame = frame.f_back
frame.f_locals["replies"].write((frame.f_locals["request"]["nonce"] + ' ' + {forged!r} + '\\n').encode())
"""
        assert "its process ended" in fault_of(cli.run("verify", written(cli, source)), 3)

    def test_a_gigabyte_of_output(self, cli: CommandLine) -> None:
        passes(cli, CUT + "\nimport os\nfor _ in range(1024): os.write(1, b'x' * (1 << 20))\n")

    def test_a_flood_in_place_of_an_answer_ends_it(self, cli: CommandLine) -> None:
        source = """
import os
def cut_tool_result(text, limit):
    while True:
        for stream in range(3, 12):
            try:
                os.write(stream, b"x" * 65536)
            except OSError:
                pass
"""
        assert "  ≠ its process ended" in verdict_on(cli, source)

    def test_more_memory_than_there_is(self, cli: CommandLine) -> None:
        verdict_on(cli, "def cut_tool_result(text, limit): return len(bytes(1 << 45))\n")

    def test_a_file_that_deletes_itself_and_what_it_is_given(self, cli: CommandLine) -> None:
        passes(
            cli,
            "import os; os.unlink(__file__)\n"
            + CUT
            + "\ndef turn_separation(messages):\n"
            + "    found = [i for i, m in enumerate(messages)\n"
            + "             if m['role'] == 'user' and not m['content'].startswith('<tool_response>')]\n"
            + "    return found\n",
        )
        source = "def turn_separation(messages):\n    messages.clear()\n    return []\n"
        assert "  ≠ changed what it was given to: []" in verdict_on(cli, source)

    def test_it_sees_no_key_no_home_and_no_terminal(self, cli: CommandLine) -> None:
        cli.environment |= {"OPENAI_API_KEY": "sk-canary", "MY_TOKEN": "canary"}
        source = """
import os
def cut_tool_result(text, limit):
    try:
        terminal = open("/dev/tty")
    except OSError:
        terminal = None
    return [dict(os.environ), os.path.expanduser("~"), os.listdir("."), terminal is None]
"""
        told = answer_of(cli.run("verify", written(cli, source), "--json"), 1)
        environment, home, files, no_terminal = told["functions"][0]["first_difference"]["theirs"]
        assert "canary" not in json.dumps(environment)
        assert home == environment["HOME"] != cli.environment["HOME"]
        assert files == []
        assert no_terminal
        assert not Path(home).exists(), "its folder is gone afterwards"

    def test_its_neighbours_can_be_imported_but_replace_nothing(self, cli: CommandLine) -> None:
        cli.file.with_name("my_words.py").write_text("NOTICE = '...'\n")
        cli.file.with_name("json.py").write_text("raise SystemExit\n")
        passes(cli, "import json, my_words\n" + CUT)

    def test_a_fork_is_ended_too_and_answers_nothing(self, cli: CommandLine, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        held: list[bytes] = []
        reader = Thread(target=lambda: held.append(pipe.read_bytes()), daemon=True)
        reader.start()
        source = f"""
import os, signal
if os.fork() == 0:
    held = open({str(pipe)!r}, "w")
    signal.pause()
"""
        passes(cli, source + CUT.replace("):\n", "):\n    __import__('os').fork()\n", 1))
        reader.join(timeout=20)
        assert held == [b""], "nobody holds the other end any more"

    def test_one_that_leaves_the_group_does_not_hold_the_program(self, cli: CommandLine, tmp_path: Path) -> None:
        left = tmp_path / "left"
        source = f"""
import os, time
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    open({str(left)!r}, "w").write(str(os.getpid()))
    os.write(write, b"x")
    time.sleep(60)
    os._exit(0)
os.read(read, 1)
"""
        try:
            passes(cli, source + CUT)
        finally:
            os.kill(int(left.read_text()), signal.SIGKILL)

    async def test_it_ends_when_the_program_is_killed(self, cli: CommandLine, tmp_path: Path) -> None:
        cli.environment["TMPDIR"] = str(tmp_path)  # nobody is left to remove its folder
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        source = (
            f"import time\ndef cut_tool_result(*given):\n    held = open({str(pipe)!r}, 'w')\n    time.sleep(1e6)\n"
        )
        process = await cli.started("verify", written(cli, source), "--seconds", 60)
        with await asyncio.to_thread(pipe.open, "rb") as running:
            process.kill()
            await process.wait()
            assert await asyncio.wait_for(asyncio.to_thread(running.read), 30) == b""

    async def test_ctrl_c_ends_it_with_all_it_started(self, cli: CommandLine, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        source = CUT.replace("):\n", f"):\n    held = open({str(pipe)!r}, 'w')\n    while True: pass\n", 1)
        process = await cli.started("verify", written(cli, source), "--seconds", 60)
        with await asyncio.to_thread(pipe.open, "rb") as running:  # opens when the function has opened it
            process.send_signal(signal.SIGINT)
            out, said = await process.communicate()
            assert (process.returncode, out, said) == (130, b"", b"triptych: cancelled\n")
            assert await asyncio.to_thread(running.read) == b""
