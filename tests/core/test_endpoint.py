"""What an endpoint says of itself: its models, the window it runs with, and what is wrong with it."""

from __future__ import annotations

import asyncio
import socket
import traceback
from typing import Any

import pytest

from tests.support_model_server import ModelServer, Routes, as_json, llama_cpp, models, never, ollama, vllm
from tests.support_openai_server import Reply, redirect
from triptych.models.base import ModelError
from triptych.models.endpoint import LARGEST_ANSWER, Endpoint, unlisted

KEY = "sk-canary-0123456789"


async def told(routes: Routes, model: str) -> tuple[str, int | None]:
    """What kind of server it is and the window it tells for a model."""
    async with ModelServer(routes) as server:
        endpoint = Endpoint(server.base_url)
        listing = await endpoint.listing()
        return listing.kind, await endpoint.window(listing, model)


async def failure(routes: Routes, *, key: str | None = None, patience: float = 5.0) -> ModelError:
    async with ModelServer(routes) as server:
        with pytest.raises(ModelError) as caught:
            await Endpoint(server.base_url, key, patience=patience).listing()
    return caught.value


@pytest.mark.parametrize(
    "body",
    [
        {"object": "list", "data": [{"id": "one"}, {"id": "two"}]},
        {"models": [{"name": "one", "model": "one"}, {"name": "two"}]},
        [{"id": "one"}, {"id": "two"}],
        {"data": [{"id": "one"}, {"id": 7}, None, "x", {"id": ""}, {"id": "\ud800"}, {}, {"id": "two"}, {"id": "one"}]},
    ],
)
async def test_models_are_listed_in_every_usual_shape(body: object) -> None:
    async with ModelServer({"/v1/models": as_json(body)}) as server:
        listing = await Endpoint(server.base_url + "/").listing()
    assert listing.models == ("one", "two")
    assert listing.milliseconds >= 0
    assert listing.kind == ""


async def test_a_list_of_many_models_is_read_whole() -> None:
    names = [f"maker/model-{number}" for number in range(10_000)]
    async with ModelServer({"/v1/models": models(names)}) as server:
        listing = await Endpoint(server.base_url).listing()
    assert listing.models == tuple(names)


@pytest.mark.parametrize(
    ("routes", "model", "kind", "window"),
    [
        (ollama(["a:latest"], loaded={"a:latest": 4096}, modelfile={"a": "num_ctx 8192"}), "a", "ollama", 4096),
        (ollama(["a:latest"], modelfile={"a": "stop <|im_end|>\nnum_ctx   8192"}), "a", "ollama", 8192),
        (ollama(["a:latest"], loaded={"b:latest": 2048}), "a", "ollama", None),
        (ollama(["hub.org:5000/a:latest"], loaded={"hub.org:5000/a:latest": 1024}), "hub.org:5000/a", "ollama", 1024),
        (llama_cpp("a.gguf", 2048), "a.gguf", "llama.cpp", 2048),
        (llama_cpp("a.gguf", 2048, in_list=False), "a.gguf", "llama.cpp", 2048),
        (llama_cpp("a.gguf", 0), "a.gguf", "llama.cpp", None),
        (vllm("org/a", 32768), "org/a", "vllm", 32768),
        ({"/v1/models": models(["a"]), "/props": llama_cpp("a", 512)["/props"]}, "a", "llama.cpp", 512),
        ({"/v1/models": models(["a"], context_length=131072)}, "a", "", None),
    ],
)
async def test_the_window_is_what_the_server_runs_with(
    routes: Routes, model: str, kind: str, window: int | None
) -> None:
    assert await told(routes, model) == (kind, window)


@pytest.mark.parametrize("value", [True, -1, 0, "4096", 4096.0, 10**30, None, [4096]])
async def test_what_can_be_no_window_is_none(value: Any) -> None:
    assert (await told({"/v1/models": models(["a"], max_model_len=value)}, "a"))[1] is None
    running = as_json({"models": [{"name": "a:latest", "context_length": value}, 3, None]})
    assert (await told({**ollama(["a:latest"]), "/api/ps": running}, "a"))[1] is None
    assert (await told({**ollama(["a:latest"]), "/api/show": as_json({"parameters": value})}, "a"))[1] is None


async def test_a_model_is_known_with_and_without_its_tag() -> None:
    async with ModelServer(ollama(["llama3.2:latest", "qwen3:4b"])) as server:
        listing = await Endpoint(server.base_url).listing()
    assert not unlisted(listing, "llama3.2")
    assert not unlisted(listing, "qwen3:4b")
    assert unlisted(listing, "qwen3")


async def test_llama_cpp_answers_to_any_name_unless_it_has_several_models() -> None:
    async with ModelServer(llama_cpp("/models/a.gguf", 2048)) as server:
        endpoint = Endpoint(server.base_url)
        listing = await endpoint.listing()
        assert not unlisted(listing, "any")
        assert await endpoint.window(listing, "any") == 2048
        server.routes["/v1/models"] = models(["a", "b"], owned_by="llamacpp")
        assert unlisted(await endpoint.listing(), "any")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (as_json({"error": {"message": "no"}}, 401), "endpoint.key_wanted"),
        (as_json({"error": {"message": "no"}}, 403), "endpoint.key_wanted"),
        (as_json({"error": "not found"}, 404), "endpoint.not_openai"),
        (as_json({"models": "many"}), "endpoint.not_openai"),
        (as_json("hello"), "endpoint.not_openai"),
        (Reply([b"<html>It works!</html>"]), "endpoint.not_openai"),
        (Reply([b"[" * 100_000]), "endpoint.not_openai"),
        (Reply([b" " * (LARGEST_ANSWER + 1), asyncio.Event()]), "endpoint.not_openai"),
        (redirect("http://elsewhere.example/v1/models"), "model.redirected"),
        (as_json({"error": {"message": "loading"}}, 503), "model.server_error"),
    ],
)
async def test_what_is_wrong_is_one_reason(reply: Reply, reason: str) -> None:
    assert (await failure({"/v1/models": reply})).reason.id == reason


async def test_a_server_that_stalls_is_slow() -> None:
    assert (await failure({"/v1/models": never()}, patience=0.05)).reason.id == "endpoint.slow"


async def test_nothing_listens_and_no_such_host() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for host in ("127.0.0.1", "localhost"):
        with pytest.raises(ModelError) as caught:
            await Endpoint(f"http://{host}:{port}/v1").listing()
        assert caught.value.reason.id == "endpoint.refused"
    with pytest.raises(ModelError) as caught:
        await Endpoint("http://no-such-host.invalid/v1").listing()
    assert caught.value.reason.id in ("endpoint.no_such_host", "endpoint.unreachable")


async def test_what_speaks_no_http_is_no_endpoint() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        await reader.readline()
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ModelError) as caught:
            await Endpoint(f"http://127.0.0.1:{port}/v1", patience=2.0).listing()
    assert caught.value.reason.id == "endpoint.not_openai"


async def test_the_key_goes_where_it_was_given_for_and_into_no_reason() -> None:
    async with ModelServer({"/v1/models": models(["a"])}) as other:
        async with ModelServer({"/v1/models": redirect(f"{other.base_url}/models")}) as server:
            with pytest.raises(ModelError):
                await Endpoint(server.base_url, KEY).listing()
            assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert other.requests == []
        await Endpoint(other.base_url).listing()
        assert "authorization" not in other.requests[0].headers


@pytest.mark.parametrize("status", [401, 429, 500])
async def test_a_server_that_repeats_the_key_is_not_quoted(status: int) -> None:
    error = await failure({"/v1/models": as_json({"error": {"message": f"bad key {KEY}"}}, status)}, key=KEY)
    assert error.reason.id != "endpoint.key_wanted"
    assert KEY not in "".join([str(error), repr(error), *traceback.format_exception(error)])
    assert KEY not in repr(Endpoint("http://127.0.0.1/v1", KEY))


def test_a_key_that_no_header_can_carry_is_refused() -> None:
    with pytest.raises(ModelError) as caught:
        Endpoint("http://127.0.0.1/v1", "sk-\n")
    assert caught.value.reason.id == "model.key_unusable"


async def test_openai_itself_and_known_servers_are_asked_nothing_needless() -> None:
    async with ModelServer(vllm("a", 1024)) as server:
        endpoint = Endpoint(server.base_url)
        await endpoint.window(await endpoint.listing(), "a")
    assert server.asked == ["/v1/models"]
