"""`triptych config`: which value comes from where."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support_command_line import CommandLine, answer_of, fault_of

KEY = "sk-secret-0123456789"


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def write_config(line: CommandLine, text: str) -> None:
    line.config.parent.mkdir(parents=True)
    line.config.write_text(text, "utf-8")


def test_path_names_the_file_whether_or_not_it_is_there(line: CommandLine) -> None:
    assert line.run("config", "path").stdout.strip() == str(line.config)
    assert answer_of(line.run("config", "path", "--json")) == {"version": 1, "path": str(line.config), "exists": False}
    write_config(line, 'theme = "light"')
    assert answer_of(line.run("config", "path", "--json"))["exists"] is True


def test_show_tells_value_and_source(line: CommandLine) -> None:
    write_config(line, 'theme = "light"\nkeep = 2\n[keys]\nlayer.truncate = "f6"\n"undo" = "ctrl+z"\n')
    line.environment["TRIPTYCH_KEEP"] = "5"
    answer = answer_of(line.run("config", "show", "--json"))
    settings = answer["settings"]
    assert settings["theme"] == {"value": "light", "source": str(line.config)}
    assert settings["keep"] == {"value": 5, "source": "TRIPTYCH_KEEP"}
    assert settings["ascii"] == {"value": False, "source": "default"}
    assert settings["keys"] == {"value": {"layer.truncate": "f6", "undo": "ctrl+z"}, "source": str(line.config)}
    assert answer["path"] == str(line.config)
    words = line.run("config", "show").stdout.splitlines()
    assert any(row.split() == ["keep", "5", "TRIPTYCH_KEEP"] for row in words)
    assert any(row.split() == ["keys.undo", "ctrl+z", str(line.config)] for row in words)


def test_no_color_is_the_source_of_the_monochrome_theme(line: CommandLine) -> None:
    write_config(line, 'theme = "light"')
    line.environment["NO_COLOR"] = "1"
    theme = answer_of(line.run("config", "show", "--json"))["settings"]["theme"]
    assert theme == {"value": "monochrome", "source": "NO_COLOR"}


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_key_is_never_shown(line: CommandLine, options: list[str]) -> None:
    line.environment |= {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://me:hidden@example.org/v1"}
    said = line.run("config", "show", *options).stdout
    assert KEY not in said
    assert KEY[:6] not in said
    assert "hidden" not in said
    assert "https://example.org/v1" in said
    answer = answer_of(line.run("config", "show", "--json"))
    assert answer["openai_api_key"] == {"set": True, "source": "OPENAI_API_KEY"}
    del line.environment["OPENAI_API_KEY"]
    answer = answer_of(line.run("config", "show", "--json"))
    assert answer["openai_api_key"] == {"set": False, "source": None}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('theme = "purple"', "high-contrast"),
        ("ascii = 1", "ascii"),
        ('keys = "x"', "keys"),
        ("[keys]\nundo = 3", "keys.undo"),
        ('[keys]\nnope = "f7"', "nope"),
        ('[keys]\nundo = "ctrl+nothing"', "ctrl+nothing"),
        ('[keys]\nundo = "i"', "prompt"),
        ('[keys]\nquit = "x"', "quit"),
    ],
)
def test_a_bad_config_is_one_sentence(line: CommandLine, text: str, named: str) -> None:
    write_config(line, text)
    said = fault_of(line.run("config", "show"), 2)
    assert named in said
    assert "config.toml" in said


def test_looks_can_be_set_by_variables_and_are_checked(line: CommandLine) -> None:
    line.environment |= {"TRIPTYCH_THEME": "high-contrast", "TRIPTYCH_ASCII": "1"}
    settings = answer_of(line.run("config", "show", "--json"))["settings"]
    assert settings["theme"] == {"value": "high-contrast", "source": "TRIPTYCH_THEME"}
    assert settings["ascii"] == {"value": True, "source": "TRIPTYCH_ASCII"}
    assert "--theme" in fault_of(line.run(line.file, "--theme", "purple"), 2)


def test_the_workbench_refuses_a_bad_config_before_it_draws(line: CommandLine) -> None:
    write_config(line, '[keys]\nnope = "f7"')
    assert "nope" in fault_of(line.run(line.file), 2)
