"""What a user has set, and where: flags over the environment over the config file over defaults."""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints
from urllib.parse import urlsplit

from triptych.layers.parameters import MOST, Flavour
from triptych.models.base import ChatModel, ModelError
from triptych.models.keys import OPENAI_URL, host_of, key_for
from triptych.reasons import TriptychError

if TYPE_CHECKING:
    from triptych.policy import Policy

DEFAULT_POLICY = "robust"
THEMES = ("dark", "light", "high-contrast", "monochrome")
"""The looks a workbench has; the first one where none is set."""
WITHOUT_COLOUR = "monochrome"
LANGUAGES = ("en", "zh-Hans", "zh-Hant")
"""What an interface speaks; a region may stand in place of a script, as in `zh_TW`."""
OLLAMA_PORT = 11434

_LEAST = {"limit": 0, "keep": 0, "keep_turns": 0, "window": 1}
_CHOICES = {"theme": THEMES}
_A_LANGUAGE = r"(?i:(en|zh)([-_](hans|hant|[a-z]{2}))*)([.@].*)?"
_YES_OR_NO = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


class SettingsError(TriptychError):
    """A value cannot be used, or the config file cannot be read; `source` or `path` and `key` say where."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. None: not set, so that the policy's or the model's own value holds.

    limit: layer 1's, in characters. keep: layer 2's, in results. keep_turns: layer 3's, in user turns.
    window: the model's context window in tokens. workspace: the folder that tools read.
    lang: one of LANGUAGES, or a locale of one of them. theme: one of THEMES. ascii: draw with ASCII signs only.
    keys: by the id of a binding the keys that run it instead of its own, as "key,key"; from the config file only.
    sources: for each name where its value comes from: "--model", "TRIPTYCH_MODEL", a config file's path, "default".
    """

    model: str | None = None
    base_url: str | None = None
    offline: bool = False
    policy: str = DEFAULT_POLICY
    limit: int | None = None
    keep: int | None = None
    keep_turns: int | None = None
    system: str | None = None
    window: int | None = None
    workspace: Path | None = None
    read_only: bool = False
    lang: str | None = None
    theme: str = THEMES[0]
    ascii: bool = False
    keys: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def source(self, name: str) -> str:
        """Where the value of `name` comes from."""
        return self.sources.get(name, "default")


_KINDS: Mapping[str, type] = {
    name: (get_args(hint) or (hint,))[0]
    for name, hint in get_type_hints(Settings).items()
    if name not in ("keys", "sources")
}
_WRONG_KIND = {
    str: "settings.not_text",
    Path: "settings.not_text",
    int: "settings.not_a_number",
    bool: "settings.not_yes_or_no",
}


def default_config_path() -> Path:
    """The config file of this user, whether or not it is there."""
    from platformdirs import user_config_path

    return user_config_path("triptych") / "config.toml"


def resolve(flags: Mapping[str, Any], environment: Mapping[str, str], config_path: Path) -> Settings:
    """The settings in force. Flags that are None were not given; a config file that is missing sets nothing.

    Raises SettingsError naming the flag, the variable, or the file and key that cannot be used.
    """
    ranked = (dict(_from_flags(flags)), dict(_from_environment(environment)), dict(_from_config(config_path)))
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    ranks: dict[str, int] = {}
    for name in (*_KINDS, "keys"):
        for rank, found in enumerate(ranked):
            if name in found:
                (values[name], sources[name]), ranks[name] = found[name], rank
                break
    # A model named in a stronger place than the wish to stay offline takes that wish back.
    if values.get("offline") and ranks.get("model", len(ranked)) < ranks["offline"]:
        values["offline"], sources["offline"] = False, sources["model"]
    return Settings(**values, sources=sources)


def preferred_language(flag: str | None, environment: Mapping[str, str], config_path: Path) -> str | None:
    """The language that was asked for, None where nobody did; what else is wrong with the settings is not looked at.

    Raises SettingsError when there is no such language.
    """
    if flag is not None:
        return str(_checked("lang", flag, "--lang"))
    if text := environment.get("TRIPTYCH_LANG", "").strip():
        return str(_checked("lang", text, "TRIPTYCH_LANG"))
    try:
        value = _config_table(config_path).get("lang")
    except SettingsError:
        return None
    return str(_checked("lang", value, f"{config_path}: lang")) if isinstance(value, str) else None


def turns_to_keep(settings: Settings, flavour: Flavour) -> int | None:
    """How many turns a layer is to keep, None where that is not set. Raises SettingsError where it cannot keep none."""
    turns = settings.keep_turns
    if turns == 0 and flavour == "lesson":
        raise SettingsError("settings.lesson_keeps_one", source=settings.source("keep_turns"))
    return turns


def with_numbers(policy: Policy, settings: Settings) -> Policy:
    """The policy with the numbers that are set. Raises SettingsError for one that its layer cannot have."""
    turns = turns_to_keep(settings, policy.summarize.flavour) if policy.summarize is not None else None
    return policy.with_options(limit=settings.limit, keep=settings.keep, keep_turns=turns)


def chosen_model(settings: Settings, environment: Mapping[str, str], *, pace: float = 0.0) -> ChatModel:
    """The model that a session talks to: the named one, or the offline model, which streams at `pace`.

    Raises SettingsError when the base URL is none, ModelError when the key is none.
    """
    if settings.offline or not settings.model:
        from triptych.models.offline import OfflineModel

        return OfflineModel(pace=pace) if settings.window is None else OfflineModel(settings.window, pace)
    from triptych.models.openai import OpenAIModel

    source = settings.source("base_url")
    try:
        host_of(settings.base_url or OPENAI_URL)
    except ModelError as error:
        raise SettingsError("settings.not_a_url", source=source, value=error.reason.values["base_url"]) from None
    flag_base_url = settings.base_url if source == "--base-url" else None
    key = key_for(settings.base_url, flag_base_url=flag_base_url, environment=environment)
    return OpenAIModel(
        name=settings.model,
        base_url=settings.base_url,
        api_key=key,
        key_source="OPENAI_API_KEY",
        window=settings.window,
    )


_Found = Iterator[tuple[str, tuple[Any, str]]]


def _from_flags(flags: Mapping[str, Any]) -> _Found:
    for name, value in flags.items():
        if value is not None:
            source = "--" + name.replace("_", "-")
            yield name, (_checked(name, value, source), source)


def _from_environment(environment: Mapping[str, str]) -> _Found:
    for name in _KINDS:
        source = "TRIPTYCH_" + name.upper()
        text = environment.get(source, "").strip()
        if name == "theme" and environment.get("NO_COLOR"):
            text, source = WITHOUT_COLOUR, "NO_COLOR"
        if not text and name == "base_url":
            text, source = _base_url_of_others(environment)
        if text:
            yield name, (_checked(name, _parsed(name, text, source), source), source)


def _base_url_of_others(environment: Mapping[str, str]) -> tuple[str, str]:
    """A base URL that was set for other programs too. Who has a key for OpenAI does not mean their own Ollama."""
    if url := environment.get("OPENAI_BASE_URL", "").strip():
        return url, "OPENAI_BASE_URL"
    host = environment.get("OLLAMA_HOST", "").strip()
    if not host or environment.get("OPENAI_API_KEY", "").strip():
        return "", ""
    return ollama_url(host), "OLLAMA_HOST"


def ollama_url(host: str) -> str:
    """The chat-completions URL of what `OLLAMA_HOST` holds: `host`, `host:port`, `:port` or a URL."""
    has_scheme = "://" in host
    try:
        url = urlsplit(host if has_scheme else f"http://{host}")
        port = url.port
    except ValueError:
        raise SettingsError("settings.not_a_url", source="OLLAMA_HOST", value=host) from None
    name = url.hostname or "127.0.0.1"
    if name == "0.0.0.0":  # where a server listens, nothing to connect to
        name = "127.0.0.1"
    shown = f"[{name}]" if ":" in name else name
    port = port or ({"https": 443}.get(url.scheme, 80) if has_scheme else OLLAMA_PORT)
    return f"{url.scheme}://{shown}:{port}{url.path.rstrip('/')}/v1"


def _parsed(name: str, text: str, source: str) -> Any:
    """A variable's text as a value of the kind that `name` needs."""
    kind = _KINDS[name]
    try:
        return _YES_OR_NO[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        raise SettingsError(_WRONG_KIND[kind], source=source, value=text) from None


def _from_config(path: Path) -> _Found:
    for key, value in _config_table(path).items():
        if key == "keys":
            yield key, (_keys(value, path), str(path))
            continue
        if key not in _KINDS:
            raise SettingsError("settings.unknown_key", path=str(path), key=key, known=", ".join((*_KINDS, "keys")))
        kind, place = _KINDS[key], f"{path}: {key}"
        # A path is written as a string; `true` is an int to Python, but no number to a reader.
        if type(value) is not (str if kind is Path else kind):
            raise SettingsError(_WRONG_KIND[kind], source=place, value=str(value))
        set_to: Any = path.parent / at_home(Path(str(value))) if kind is Path else value
        yield key, (_checked(key, set_to, place), str(path))


def _keys(table: Any, path: Path) -> Mapping[str, str]:
    """The table of keys; which ids and keys there are, the interface knows."""
    if not isinstance(table, dict):
        raise SettingsError("settings.not_a_table", source=f"{path}: keys", value=str(table))
    try:
        flat = dict(_flat(table))
    except RecursionError as error:
        raise SettingsError("settings.not_toml", path=str(path), detail=str(error)) from None
    for name, keys in flat.items():
        if not isinstance(keys, str) or not keys.strip():
            raise SettingsError("settings.not_text", source=f"{path}: keys.{name}", value=str(keys))
    return flat


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Ids hold dots, which TOML takes for tables in tables unless they stand in quotation marks."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _config_table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text_of(path))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise SettingsError("settings.unreadable", path=str(path), detail=error.strerror or str(error)) from None
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested too deeply
        raise SettingsError("settings.not_toml", path=str(path), detail=str(error)) from None


def _text_of(path: Path) -> str:
    """A file's text. A pipe or a device is not read, since that may never end."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError("not a regular file")
    return path.read_text("utf-8")


def _checked(name: str, value: Any, source: str) -> Any:
    least = _LEAST.get(name)
    if least is not None and value < least:
        raise SettingsError("settings.too_small", source=source, value=value, least=least)
    if least is not None and value > MOST:
        raise SettingsError("settings.too_large", source=source, most=MOST)
    if name == "lang" and not re.fullmatch(_A_LANGUAGE, value):
        raise SettingsError("settings.not_one_of", source=source, value=value, known=", ".join(LANGUAGES))
    choices = _CHOICES.get(name)
    if choices is not None and value not in choices:
        raise SettingsError("settings.not_one_of", source=source, value=value, known=", ".join(choices))
    return at_home(value) if isinstance(value, Path) else value


def at_home(path: Path) -> Path:
    """The path with a leading `~` or `~name` put in full; unchanged where nobody has that name."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path
