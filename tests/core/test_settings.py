"""Where a value comes from, and what is said when it cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from triptych.models.base import ModelError
from triptych.models.offline import OfflineModel
from triptych.models.openai import OpenAIModel
from triptych.settings import (
    Settings,
    SettingsError,
    chosen_model,
    default_config_path,
    preferred_language,
    resolve,
)

KEY = "sk-test-0123456789"


def config(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, "utf-8")
    return path


def refusal(
    folder: Path, *, flags: dict[str, Any] | None = None, environment: dict[str, str] | None = None, text: str = ""
) -> tuple[str, dict[str, Any]]:
    with pytest.raises(SettingsError) as caught:
        resolve(flags or {}, environment or {}, config(folder, text))
    return caught.value.reason.id, dict(caught.value.reason.values)


def test_nothing_set_gives_the_defaults(tmp_path: Path) -> None:
    settings = resolve({}, {}, tmp_path / "missing" / "config.toml")
    assert settings == Settings()
    assert (settings.policy, settings.source("policy")) == ("robust", "default")


def test_flags_win_over_the_environment_over_the_file(tmp_path: Path) -> None:
    path = config(tmp_path, 'model = "file"\nlimit = 1\nkeep = 1\nread_only = true')
    environment = {"TRIPTYCH_MODEL": "variable", "TRIPTYCH_LIMIT": "2"}
    settings = resolve({"model": "flag", "limit": None}, environment, path)
    assert (settings.model, settings.limit, settings.keep, settings.read_only) == ("flag", 2, 1, True)
    assert settings.source("model") == "--model"
    assert settings.source("limit") == "TRIPTYCH_LIMIT"
    assert settings.source("keep") == str(path)
    assert settings.source("window") == "default"


def test_flags_are_named_as_they_are_typed(tmp_path: Path) -> None:
    settings = resolve({"keep_turns": 2, "base_url": "http://h/v1"}, {}, tmp_path / "none.toml")
    assert settings.source("keep_turns") == "--keep-turns"
    assert settings.source("base_url") == "--base-url"


def test_zero_and_false_are_values_too(tmp_path: Path) -> None:
    path = config(tmp_path, "limit = 80\nread_only = true")
    settings = resolve({"limit": 0}, {"TRIPTYCH_READ_ONLY": "no"}, path)
    assert (settings.limit, settings.read_only) == (0, False)
    assert settings.source("read_only") == "TRIPTYCH_READ_ONLY"


def test_an_empty_variable_is_not_set(tmp_path: Path) -> None:
    settings = resolve({}, {"TRIPTYCH_MODEL": "  ", "OPENAI_BASE_URL": ""}, tmp_path / "none.toml")
    assert settings == Settings()


class TestBaseUrl:
    def test_the_openai_variable_sets_it_but_chooses_no_model(self, tmp_path: Path) -> None:
        environment = {"OPENAI_BASE_URL": "http://localhost:8080/v1"}
        settings = resolve({}, environment, config(tmp_path, 'base_url = "http://file/v1"'))
        assert (settings.base_url, settings.source("base_url")) == ("http://localhost:8080/v1", "OPENAI_BASE_URL")
        assert isinstance(chosen_model(settings, environment), OfflineModel)

    def test_our_own_variable_wins_over_it(self, tmp_path: Path) -> None:
        environment = {"TRIPTYCH_BASE_URL": "http://ours/v1", "OPENAI_BASE_URL": "http://theirs/v1"}
        assert resolve({}, environment, tmp_path / "none.toml").base_url == "http://ours/v1"

    @pytest.mark.parametrize(
        ("host", "url"),
        [
            ("gpu", "http://gpu:11434/v1"),
            ("gpu:9000", "http://gpu:9000/v1"),
            (":9000", "http://127.0.0.1:9000/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:80", "http://127.0.0.1:80/v1"),
            ("http://gpu", "http://gpu:80/v1"),
            ("https://gpu/ollama/", "https://gpu:443/ollama/v1"),
            ("[::1]:9000", "http://[::1]:9000/v1"),
        ],
    )
    def test_ollamas_variable_as_ollama_reads_it(self, host: str, url: str, tmp_path: Path) -> None:
        settings = resolve({}, {"OLLAMA_HOST": host}, tmp_path / "none.toml")
        assert (settings.base_url, settings.source("base_url")) == (url, "OLLAMA_HOST")

    def test_who_has_an_openai_key_does_not_mean_their_own_ollama(self, tmp_path: Path) -> None:
        environment = {"OLLAMA_HOST": "gpu", "OPENAI_API_KEY": KEY}
        assert resolve({}, environment, tmp_path / "none.toml").base_url is None

    def test_a_host_that_is_none_is_said(self, tmp_path: Path) -> None:
        reason, values = refusal(tmp_path, environment={"OLLAMA_HOST": "gpu:many"})
        assert (reason, values["source"]) == ("settings.not_a_url", "OLLAMA_HOST")


class TestModel:
    def chosen(self, flags: dict[str, Any], environment: dict[str, str], path: Path) -> Any:
        return chosen_model(resolve(flags, environment, path), environment)

    def test_a_name_chooses_the_openai_model(self, tmp_path: Path) -> None:
        model = self.chosen({"model": "m", "window": 9000}, {}, tmp_path / "none.toml")
        assert isinstance(model, OpenAIModel)
        assert (model.name, model.window, model.host) == ("m", 9000, "api.openai.com")

    def test_without_a_name_the_offline_model_answers_in_its_window(self, tmp_path: Path) -> None:
        assert self.chosen({}, {}, tmp_path / "none.toml").window == 8192
        assert self.chosen({"window": 100}, {}, tmp_path / "none.toml").window == 100

    def test_offline_wins_over_a_name_given_beside_it_or_below(self, tmp_path: Path) -> None:
        path = config(tmp_path, 'model = "file"')
        assert self.chosen({"offline": True, "model": "flag"}, {}, path).offline
        assert self.chosen({"offline": True}, {"TRIPTYCH_MODEL": "m"}, path).offline
        assert self.chosen({}, {"TRIPTYCH_OFFLINE": "1", "TRIPTYCH_MODEL": "m"}, path).offline

    def test_a_name_on_the_command_line_wins_over_offline_in_the_file(self, tmp_path: Path) -> None:
        path = config(tmp_path, "offline = true")
        assert self.chosen({}, {}, path).offline
        assert not self.chosen({"model": "flag"}, {}, path).offline

    def test_a_base_url_that_is_none_is_said_with_its_source_and_without_its_password(self, tmp_path: Path) -> None:
        settings = resolve({"model": "m"}, {"TRIPTYCH_BASE_URL": "ftp://me:secret@h/v1"}, tmp_path / "none.toml")
        with pytest.raises(SettingsError) as caught:
            chosen_model(settings, {})
        assert caught.value.reason.values["source"] == "TRIPTYCH_BASE_URL"
        assert "secret" not in str(caught.value)

    def test_a_key_that_no_header_can_carry_is_said_without_the_key(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError) as caught:
            self.chosen({"model": "m"}, {"OPENAI_API_KEY": "sk-\nsecret"}, tmp_path / "none.toml")
        assert "secret" not in str(caught.value)

    def test_the_key_is_not_among_the_settings(self, tmp_path: Path) -> None:
        settings = resolve({"model": "m"}, {"OPENAI_API_KEY": KEY}, tmp_path / "none.toml")
        assert KEY not in repr(settings)
        assert KEY not in repr(chosen_model(settings, {"OPENAI_API_KEY": KEY}))


class TestWorkspace:
    def test_a_path_in_the_file_starts_at_the_file(self, tmp_path: Path) -> None:
        assert resolve({}, {}, config(tmp_path, 'workspace = "notes"')).workspace == tmp_path / "notes"

    def test_a_tilde_is_the_home_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/home/someone")
        assert resolve({}, {}, config(tmp_path, 'workspace = "~/notes"')).workspace == Path("/home/someone/notes")
        environment = {"TRIPTYCH_WORKSPACE": "~/notes"}
        assert resolve({}, environment, tmp_path / "none.toml").workspace == Path("/home/someone/notes")


class TestRefused:
    @pytest.mark.parametrize(
        ("name", "value", "least"), [("limit", -1, 0), ("keep", -1, 0), ("keep_turns", -1, 0), ("window", 0, 1)]
    )
    def test_numbers_out_of_range(self, name: str, value: int, least: int, tmp_path: Path) -> None:
        flag = "--" + name.replace("_", "-")
        expected = {"value": value, "least": least}
        assert refusal(tmp_path, flags={name: value}) == ("settings.too_small", {"source": flag, **expected})
        variable = "TRIPTYCH_" + name.upper()
        said = refusal(tmp_path, environment={variable: str(value)})
        assert said == ("settings.too_small", {"source": variable, **expected})
        place = f"{tmp_path / 'config.toml'}: {name}"
        said = refusal(tmp_path, text=f"{name} = {value}")
        assert said == ("settings.too_small", {"source": place, **expected})

    def test_numbers_that_nothing_can_be_reckoned_with(self, tmp_path: Path) -> None:
        for name in ("limit", "keep", "keep_turns", "window"):
            flag = "--" + name.replace("_", "-")
            said = refusal(tmp_path, flags={name: 10**400})
            assert said == ("settings.too_large", {"source": flag, "most": 1_000_000_000})

    @pytest.mark.parametrize(
        ("variable", "value", "reason"),
        [
            ("TRIPTYCH_LIMIT", "many", "settings.not_a_number"),
            ("TRIPTYCH_WINDOW", "9" * 5000, "settings.not_a_number"),
            ("TRIPTYCH_OFFLINE", "maybe", "settings.not_yes_or_no"),
        ],
    )
    def test_variables_of_the_wrong_kind(self, variable: str, value: str, reason: str, tmp_path: Path) -> None:
        assert refusal(tmp_path, environment={variable: value}) == (reason, {"source": variable, "value": value})

    @pytest.mark.parametrize(
        ("key", "text", "reason"),
        [
            ("limit", "limit = true", "settings.not_a_number"),
            ("limit", 'limit = "80"', "settings.not_a_number"),
            ("model", "model = 4", "settings.not_text"),
            ("workspace", "workspace = []", "settings.not_text"),
            ("offline", "offline = 1", "settings.not_yes_or_no"),
        ],
    )
    def test_keys_of_the_wrong_kind(self, key: str, text: str, reason: str, tmp_path: Path) -> None:
        said, values = refusal(tmp_path, text=text)
        assert (said, values["source"]) == (reason, f"{tmp_path / 'config.toml'}: {key}")

    def test_a_key_that_is_not_known(self, tmp_path: Path) -> None:
        reason, values = refusal(tmp_path, text="modle = 'm'")
        assert (reason, values["key"], values["path"]) == (
            "settings.unknown_key",
            "modle",
            str(tmp_path / "config.toml"),
        )
        assert "model" in values["known"]

    @pytest.mark.parametrize("data", [b"model = ", b"\xff\xfe", b"model = 'a'\nmodel = 'b'"])
    def test_a_file_that_is_not_toml(self, data: bytes, tmp_path: Path) -> None:
        path = tmp_path / "config.toml"
        path.write_bytes(data)
        with pytest.raises(SettingsError) as caught:
            resolve({}, {}, path)
        assert caught.value.reason.id == "settings.not_toml"
        assert caught.value.reason.values["path"] == str(path)

    def test_a_file_that_cannot_be_read(self, tmp_path: Path) -> None:
        (tmp_path / "config.toml").mkdir()
        with pytest.raises(SettingsError) as caught:
            resolve({}, {}, tmp_path / "config.toml")
        assert caught.value.reason.id == "settings.unreadable"


def test_the_config_file_follows_the_systems_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert default_config_path().name == "config.toml"
    assert default_config_path().parent.name == "triptych"


@pytest.mark.parametrize("name", ["en", "zh-Hans", "zh-Hant", "zh_CN", "zh_TW.UTF-8", "ZH-hant", "zh", "en_GB"])
def test_languages_may_be_named_as_locales_are(tmp_path: Path, name: str) -> None:
    assert resolve({"lang": name}, {}, tmp_path / "none.toml").lang == name


@pytest.mark.parametrize("name", ["fr", "zhx", "zh-Latn", "english", ""])
def test_a_language_that_there_is_not_is_refused(tmp_path: Path, name: str) -> None:
    found = refusal(tmp_path, flags={"lang": name})
    assert found == ("settings.not_one_of", {"source": "--lang", "value": name, "known": "en, zh-Hans, zh-Hant"})


def test_the_language_is_known_before_anything_else_is_right(tmp_path: Path) -> None:
    path = config(tmp_path, 'lang = "zh-Hant"\nlimit = "many"')
    assert preferred_language(None, {}, path) == "zh-Hant"
    assert preferred_language(None, {"TRIPTYCH_LANG": "en", "TRIPTYCH_LIMIT": "many"}, path) == "en"
    assert preferred_language("zh_CN", {"TRIPTYCH_LANG": "en"}, path) == "zh_CN"
    assert preferred_language(None, {}, config(tmp_path, "lang =")) is None
