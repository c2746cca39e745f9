"""What a connection to a model consists of, the servers one can pick, and what is said of the one that is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from triptych.models.endpoint import Listing
from triptych.models.keys import OPENAI_URL, host_of
from triptych.reasons import Reason
from triptych.settings import OLLAMA_PORT, SettingsError, ollama_url
from triptych_tui.glyphs import Glyphs
from triptych_tui.i18n import _, ngettext
from triptych_tui.plain import plain
from triptych_tui.spans import Row, Span
from triptych_tui.untrusted import clean, fit, wrap
from triptych_tui.wording import say

OPENAI_KEY = "OPENAI_API_KEY"
SERVER_NAMES = {"openai": "OpenAI", "ollama": "Ollama", "llama.cpp": "llama.cpp", "vllm": "vLLM"}


@dataclass(frozen=True, slots=True)
class Connection:
    """Where questions go, as the user named it. `key_source` is where the key comes from, "" without one.

    `window` is the one that the user set, in tokens; None: what the server tells counts.
    """

    base_url: str
    model: str
    key: str | None = field(default=None, repr=False)
    key_source: str = ""
    window: int | None = None

    @property
    def host(self) -> str:
        return host_of(self.base_url)


class Server(NamedTuple):
    """A base URL that can be picked, and what it is called."""

    name: str
    base_url: str


def servers(environment: Mapping[str, str]) -> list[Server]:
    """What can be picked: the usual addresses, or those that the environment names instead."""
    try:
        ollama = ollama_url(environment.get("OLLAMA_HOST", "").strip() or f"localhost:{OLLAMA_PORT}")
    except SettingsError:
        ollama = f"http://localhost:{OLLAMA_PORT}/v1"
    known = [
        Server("OpenAI", OPENAI_URL),
        Server("Ollama", ollama),
        Server("vLLM", "http://localhost:8000/v1"),
        Server("llama.cpp", "http://localhost:8080/v1"),
    ]
    other = environment.get("OPENAI_BASE_URL", "").strip()
    is_known = any(other == each.base_url for each in known)
    return known if is_known or not other else [Server("OPENAI_BASE_URL", other), *known]


def without_login(text: str) -> str:
    """A base URL without the user name and password that it may hold; anything else as it is."""
    scheme, separator, rest = text.partition("://")
    host, slash, path = rest.partition("/")
    return "".join([scheme, separator, host.rpartition("@")[2], slash, path])


@dataclass(frozen=True, slots=True)
class Health:
    """How things stand with the server that the fields name. `asking`: its answer is waited for."""

    host: str = ""
    asking: bool = False
    problem: Reason | None = None
    listing: Listing | None = None
    model: str = ""
    window: int | None = None
    window_typed: bool = False

    def rows(self, glyphs: Glyphs, width: int) -> list[Row]:
        """One sentence of what is wrong, or what is well in figures; then what to know of the window."""
        host = fit(clean(self.host, newlines=False), 40)
        rows: list[Row] = []
        if self.asking:
            rows.append(
                Row([Span(glyphs.ellipsis + " ", "accent", "b"), Span(_("asking {host}").format(host=host), "muted")])
            )
        elif self.listing is not None:
            name = SERVER_NAMES.get(self.listing.kind, "")
            facts = [name] if name else []
            facts += [host, _("{milliseconds} ms").format(milliseconds=f"{self.listing.milliseconds:,}")]
            count = len(self.listing.models)
            facts.append(ngettext("{count} model", "{count} models", count).format(count=f"{count:,}"))
            rows += _sentence(plain("✓"), plain(" · ").join(facts), "accent", width)
        if self.problem is not None:
            rows += _sentence(glyphs.fault, say(self.problem), "error", width)
        if self.listing is not None and self.model and self.problem is None and not self.asking:
            rows += [Row([Span("  "), Span(line, "muted")]) for line in wrap(self._window_words(), max(width - 2, 10))]
        return rows

    def _window_words(self) -> str:
        if self.window is not None:
            words = _("window {window} tokens, as typed") if self.window_typed else _("window {window} tokens")
            return words.format(window=f"{self.window:,}")
        if self.listing is not None and self.listing.kind == "ollama":
            return _("window unknown until Ollama has loaded the model: asked again after the first answer")
        return _("window unknown: the server does not tell; type it if you know it")


def _sentence(sign: str, text: str, ink: str, width: int) -> list[Row]:
    lines = wrap(text, max(width - 2, 10))
    return [
        Row([Span(f"{sign} " if not number else "  ", ink, "b"), Span(line, "text")])
        for number, line in enumerate(lines)
    ]


def matching(names: Sequence[str], typed: str) -> Sequence[str]:
    """The names that hold every word of what was typed."""
    words = typed.lower().split()
    return [name for name in names if all(word in name.lower() for word in words)] if words else names
