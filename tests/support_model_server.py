"""Real servers on the loopback interface that tell what they serve, each in its own way.

    async with ModelServer(ollama(["llama3.2:latest"], loaded={"llama3.2:latest": 4096})) as server: …

They answer questions too, as `OpenAIServer` does. `server.asked` lists the paths that were asked for.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.support_openai_server import OpenAIServer, Received, Reply, Respond

Route = Reply | Callable[[Received], Reply]
Routes = dict[str, Route]


def as_json(value: object, status: int = 200) -> Reply:
    return Reply([json.dumps(value).encode()], status, {"Content-Type": "application/json"})


def models(names: Sequence[str], **more: Any) -> Reply:
    """The list of models in OpenAI's shape; `more` stands in each entry."""
    return as_json({"object": "list", "data": [{"id": name, "object": "model", **more} for name in names]})


def never() -> Reply:
    """A reply that does not begin its body."""
    return Reply([asyncio.Event()])


def ollama(
    names: Sequence[str], *, loaded: Mapping[str, int] | None = None, modelfile: Mapping[str, str] | None = None
) -> Routes:
    """Ollama: what is `loaded` with which context length, and the parameters in each `modelfile`."""
    running = [
        {"name": name, "model": name, "size": 6_591_830_464, "context_length": length}
        for name, length in (loaded or {}).items()
    ]

    def show(received: Received) -> Reply:
        name = received.body["model"]
        shown = {"model_info": {"llama.context_length": 131072}, "details": {"family": "llama"}}
        return as_json({**shown, "parameters": (modelfile or {}).get(name, "")})

    return {
        "/v1/models": models(names, owned_by="library"),
        "/api/version": as_json({"version": "0.34.2"}),
        "/api/ps": as_json({"models": running}),
        "/api/show": show,
    }


def llama_cpp(name: str, slot: int, *, in_list: bool = True) -> Routes:
    """llama.cpp with `slot` tokens for each request; older ones do not tell them in the list."""
    meta = {"n_ctx_train": 131072, **({"n_ctx": slot} if in_list else {})}
    return {
        "/v1/models": models([name], owned_by="llamacpp", meta=meta),
        "/props": as_json({"default_generation_settings": {"n_ctx": slot}, "total_slots": 4}),
    }


def vllm(name: str, window: int) -> Routes:
    return {"/v1/models": models([name], owned_by="vllm", root=name, max_model_len=window)}


class ModelServer(OpenAIServer):
    """Serves these routes, and chat completions as `OpenAIServer` does."""

    def __init__(self, routes: Routes, replies: Sequence[Reply] | Respond = ()) -> None:
        super().__init__(replies)
        self.routes = routes

    @property
    def asked(self) -> list[str]:
        return [received.path for received in self.requests]

    def _reply_to(self, received: Received) -> Reply:
        route = self.routes.get(received.path)
        if route is None:
            return super()._reply_to(received)
        return route if isinstance(route, Reply) else route(received)
