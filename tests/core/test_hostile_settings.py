"""A config file and folder names that were never meant to be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from triptych.settings import SettingsError, resolve

NOBODY = "~no-such-user-4417/notes"


def test_a_home_of_nobody_is_a_folder_like_any_other(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    assert resolve({}, {"TRIPTYCH_WORKSPACE": NOBODY}, config).workspace == Path(NOBODY)
    config.write_text(f'workspace = "{NOBODY}"', "utf-8")
    assert resolve({}, {}, config).workspace == tmp_path / NOBODY


@pytest.mark.parametrize("text", ["x = " + "[" * 5000, "keys" + ".a" * 5000 + ' = "x"'])
def test_a_config_file_that_is_nested_too_deeply_is_refused(tmp_path: Path, text: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(text, "utf-8")
    with pytest.raises(SettingsError) as caught:
        resolve({}, {}, config)
    assert caught.value.reason.id == "settings.not_toml"


def test_a_config_file_that_never_ends_is_not_read(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    os.mkfifo(config)
    with pytest.raises(SettingsError) as caught:
        resolve({}, {}, config)
    assert caught.value.reason.id == "settings.unreadable"
