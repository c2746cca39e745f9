"""Asking an OpenAI-compatible server about itself: is it well, which models has it, how large is its window really."""

from __future__ import annotations

import asyncio
import importlib
import json
import socket
from collections.abc import Iterator, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from triptych.models.base import ModelError
from triptych.models.failures import detail, status_failure
from triptych.models.keys import host_of, is_openai, usable_key

if TYPE_CHECKING:
    from httpx2 import AsyncClient

PATIENCE = 5.0
"""Seconds in which a server must have answered a question about itself."""

LARGEST_ANSWER = 8_000_000
"""Bytes of an answer that are read: a list of some 50,000 models."""

ServerKind = Literal["openai", "ollama", "llama.cpp", "vllm", ""]
"""Which program answers; "" is one that is not known."""


class Listing(NamedTuple):
    """What a server says of itself.

    models: their names, as the server sorts them. milliseconds: how long it took to name them.
    windows: in tokens, of the models whose entry in the list tells it.
    """

    models: tuple[str, ...]
    kind: ServerKind
    milliseconds: int
    windows: Mapping[str, int]


def unlisted(listing: Listing, model: str) -> bool:
    """Whether a server does not name this model; some answer for models they do not name.

    llama.cpp with its one model answers to any name.
    """
    if listing.kind == "llama.cpp" and len(listing.models) == 1:
        return False
    names = (model, _tagged(model)) if listing.kind == "ollama" else (model,)
    return not any(name in listing.models for name in names)


class Endpoint:
    """One server, asked with one key. Every question raises ModelError when it cannot be answered."""

    def __init__(self, base_url: str, api_key: str | None = None, *, patience: float = PATIENCE) -> None:
        """Raises ModelError when base URL or key can be none."""
        self.host = host_of(base_url)
        self._base_url = base_url.rstrip("/")
        self._api_key = usable_key(api_key, self.host)
        self._patience = patience

    def __repr__(self) -> str:
        return f"{type(self).__name__}(host={self.host!r})"

    async def listing(self) -> Listing:
        """The server's models and what kind of server it is: a health check that runs no model."""
        async with await self._client() as client:
            began = monotonic()
            body = await self._ask(client, "/models")
            milliseconds = round((monotonic() - began) * 1000)
            entries = _model_entries(body)
            if entries is None:
                raise ModelError("endpoint.not_openai", host=self.host)
            windows = {name: window for name, entry in entries.items() if (window := _window_in(entry))}
            kind = _kind_by_list(entries) or await self._kind_by_asking(client)
            return Listing(tuple(entries), kind, milliseconds, windows)

    async def window(self, listing: Listing, model: str) -> int | None:
        """The context window in tokens that requests to `model` have, None where the server does not tell.

        Never what the model could have at most: Ollama and llama.cpp mostly run with less, and cut or refuse the rest.
        """
        if model in listing.windows or listing.kind in ("openai", "vllm", ""):
            return listing.windows.get(model)
        async with await self._client() as client:
            if listing.kind == "llama.cpp":
                return _window_of_slot(await self._try(client, "/props"))
            loaded = _window_of_loaded(await self._try(client, "/api/ps"), model)
            return loaded or _window_of_modelfile(await self._try(client, "/api/show", {"model": model}))

    async def _kind_by_asking(self, client: AsyncClient) -> ServerKind:
        if is_openai(self._base_url):
            return "openai"
        if isinstance(_field(await self._try(client, "/api/version"), "version"), str):
            return "ollama"
        return "llama.cpp" if _field(await self._try(client, "/props"), "default_generation_settings") else ""

    # Failures are raised outside the except blocks: the exceptions they come from hold the request and so the key.

    async def _client(self) -> AsyncClient:
        httpx2 = await asyncio.to_thread(importlib.import_module, "httpx2")  # the openai client's own HTTP library
        headers = {"Accept-Encoding": "identity"}  # what is not packed cannot grow when it is unpacked
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        try:
            client: AsyncClient = await asyncio.to_thread(  # it reads certificates
                httpx2.AsyncClient, headers=headers, follow_redirects=False, timeout=self._patience
            )
        except Exception as error:  # a proxy of a kind the HTTP library cannot use
            said = detail(str(error), self._api_key)
        else:
            return client
        raise ModelError("model.no_connection", host=self.host, detail=said)

    async def _try(self, client: AsyncClient, path: str, question: Mapping[str, str] | None = None) -> object:
        """The answer from beside the chat completions, None where there is none."""
        try:
            return await self._ask(client, path, question, base=self._base_url.removesuffix("/v1"))
        except ModelError:
            return None

    async def _ask(
        self, client: AsyncClient, path: str, question: Mapping[str, str] | None = None, *, base: str = ""
    ) -> object:
        try:
            async with asyncio.timeout(self._patience):
                method = "GET" if question is None else "POST"
                async with client.stream(method, (base or self._base_url) + path, json=question) as response:
                    raw = bytearray()
                    async for piece in response.aiter_raw():
                        raw += piece
                        if len(raw) > LARGEST_ANSWER:
                            break
                    status, headers = response.status_code, dict(response.headers)
        except Exception as error:
            failure = self._failure(error)
        else:
            if status < 300:
                return _parsed(raw)
            failure = self._refusal(status, _parsed(raw), headers)
        raise failure

    def _refusal(self, status: int, body: object, headers: Mapping[str, str]) -> ModelError:
        if status in (401, 403):
            return ModelError("endpoint.key_rejected" if self._api_key else "endpoint.key_wanted", host=self.host)
        if status in (404, 405):
            return ModelError("endpoint.not_openai", host=self.host)
        return status_failure(status, body, headers, model="", host=self.host, secret=self._api_key)

    def _failure(self, error: Exception) -> ModelError:
        from httpx2 import ProtocolError, TimeoutException

        causes = list(_causes(error))
        if any(isinstance(cause, TimeoutError | TimeoutException) for cause in causes):
            return ModelError("endpoint.slow", host=self.host, seconds=self._patience)
        if any(isinstance(cause, socket.gaierror) for cause in causes):
            return ModelError("endpoint.no_such_host", host=self.host)
        if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
            return ModelError("endpoint.refused", host=self.host)
        if isinstance(error, ProtocolError):  # what answers speaks no HTTP
            return ModelError("endpoint.not_openai", host=self.host)
        said = detail(str(error) or type(error).__name__, self._api_key)
        return ModelError("endpoint.unreachable", host=self.host, detail=said)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what it comes from; a host with several addresses fails with a group."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]


# What servers answer. Every value is looked at before it is used: each of them may be anything.


def _parsed(raw: bytearray) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _field(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _entries(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _model_entries(body: object) -> dict[str, object] | None:
    """Models by their names, from OpenAI's `data` or Ollama's `models`; None where the answer is no list of models."""
    found = body if isinstance(body, list) else _field(body, "data")
    if found is None:
        found = _field(body, "models")
    if not isinstance(found, list):
        return None
    named = ((_field(entry, "id") or _field(entry, "model") or _field(entry, "name"), entry) for entry in found)
    return {name: entry for name, entry in named if isinstance(name, str) and _can_be_sent(name)}


def _can_be_sent(name: str) -> bool:
    """Lone surrogates, which JSON escapes can smuggle in, cannot go back into any request."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return bool(name.strip())


def _kind_by_list(entries: Mapping[str, object]) -> ServerKind:
    for entry in entries.values():
        if _tokens(_field(entry, "max_model_len")):
            return "vllm"
        if _field(entry, "owned_by") == "llamacpp":
            return "llama.cpp"
    return ""


def _window_in(entry: object) -> int | None:
    """vLLM's and llama.cpp's way to tell it in the list; `n_ctx_train` beside the latter is what could be at most."""
    return _tokens(_field(entry, "max_model_len")) or _tokens(_field(_field(entry, "meta"), "n_ctx"))


def _window_of_slot(props: object) -> int | None:
    """What one request of llama.cpp has; a router that serves several models says 0."""
    return _tokens(_field(_field(props, "default_generation_settings"), "n_ctx"))


def _window_of_loaded(running: object, model: str) -> int | None:
    """What Ollama has loaded a model with."""
    for entry in _entries(_field(running, "models")):
        names = {_tagged(name) for key in ("model", "name") if isinstance(name := _field(entry, key), str)}
        if _tagged(model) in names:
            return _tokens(_field(entry, "context_length"))
    return None


def _tagged(model: str) -> str:
    return model if ":" in model.rpartition("/")[2] else f"{model}:latest"


def _window_of_modelfile(shown: object) -> int | None:
    """The `num_ctx` that a model of Ollama is loaded with, where its maker set one: a line of its parameters."""
    parameters = _field(shown, "parameters")
    for line in parameters.splitlines() if isinstance(parameters, str) else ():
        match line.split():
            case ["num_ctx", number] if number.isdecimal():
                return _tokens(int(number[:12]))
    return None


def _tokens(value: object) -> int | None:
    """A window in tokens, None for what can be none."""
    return value if type(value) is int and 0 < value < 1_000_000_000 else None
