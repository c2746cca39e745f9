"""Where requests go, and which key may go there."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from triptych.models.base import ModelError

OPENAI_URL = "https://api.openai.com/v1"
"""Where requests go when no base URL is given."""

_OPENAI_HOST = "api.openai.com"
_DEFAULT_PORTS = {"http": 80, "https": 443}


def host_of(base_url: str) -> str:
    """Host and port as they may be shown: without the user name and password that an address can hold."""
    return _split(base_url).netloc.rpartition("@")[2]


def key_for(base_url: str | None, *, flag_base_url: str | None = None, environment: Mapping[str, str]) -> str | None:
    """The OpenAI key where it may go to `base_url` (None: OpenAI itself), else None.

    It goes to OpenAI's own hosts over https, to the server in `OPENAI_BASE_URL`, and to the server of a `--base-url`
    given on the same command line (`flag_base_url`); a base URL from a config file alone never gets it.
    """
    key = environment.get("OPENAI_API_KEY", "").strip()
    if not key:
        return None
    origin = _origin(base_url or OPENAI_URL)
    if _is_openai(origin):
        return key
    trusted = (flag_base_url, environment.get("OPENAI_BASE_URL", "").strip())
    return key if any(url and _origin(url) == origin for url in trusted) else None


def is_openai(base_url: str) -> bool:
    """Whether a base URL is OpenAI's own, over https."""
    return _is_openai(_origin(base_url))


def same_server(one: str, other: str) -> bool:
    """Whether two base URLs lead to the same program: scheme, host and port are the same."""
    return _origin(one) == _origin(other)


def usable_key(api_key: str | None, host: str) -> str | None:
    """The key, None for an empty one. Raises ModelError when no header can carry it."""
    if api_key and not (api_key.isascii() and api_key.isprintable()):
        # The error of whoever tried to send it would quote it.
        raise ModelError("model.key_unusable", host=host)
    return api_key or None


def _is_openai(origin: tuple[str, str, int | None]) -> bool:
    scheme, host, port = origin
    return scheme == "https" and port == 443 and (host == _OPENAI_HOST or host.endswith("." + _OPENAI_HOST))


def _origin(base_url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: another port is another program, and plain http is readable on the way."""
    url = _split(base_url)
    return url.scheme, url.hostname or "", url.port or _DEFAULT_PORTS.get(url.scheme)


def _split(base_url: str) -> SplitResult:
    try:
        url = urlsplit(base_url)
        sound = url.scheme in _DEFAULT_PORTS and bool(url.hostname) and (url.port or 1) > 0
    except ValueError:
        sound = False
    if not sound:
        raise ModelError("model.bad_base_url", base_url=base_url.rpartition("@")[2])
    return url
