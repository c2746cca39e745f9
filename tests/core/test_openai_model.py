"""The model behind an OpenAI-compatible endpoint, against a real server on the loopback interface."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import subprocess
import sys
import traceback
from collections.abc import Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support_openai_server import (
    DONE,
    DROP,
    OpenAIServer,
    Piece,
    Reply,
    answer,
    chunk,
    cut_after,
    error,
    finish_chunk,
    redirect,
    serve,
    stalled,
    text_chunks,
    usage_chunk,
)
from triptych.layers.summarize import SUMMARY_PROMPT
from triptych.messages import ToolCall, tool_calls
from triptych.models.assemble import AnswerBuilder
from triptych.models.base import Delta, Finish, ModelError, Request, TextDelta, UsageReport
from triptych.models.keys import key_for
from triptych.models.openai import OpenAIModel
from triptych.tokens import Usage

KEY = "sk-canary-0123456789abcdef"
QUESTION = Request(({"role": "user", "content": "Hi"},))
SCHEMA = {"type": "function", "function": {"name": "list_files", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine's own settings reaches a request."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in ("API_KEY", "BASE_URL", "ORG_ID", "PROJECT_ID", "CUSTOM_HEADERS", "ADMIN_KEY"):
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)


async def collect(model: OpenAIModel, request: Request = QUESTION) -> list[Delta]:
    return [delta async for delta in model.stream(request)]


async def ask(reply: Reply, request: Request = QUESTION) -> AnswerBuilder:
    """The whole answer to one request."""
    builder = AnswerBuilder()
    async with OpenAIServer([reply]) as server:
        for delta in await collect(OpenAIModel(name="m", base_url=server.base_url), request):
            builder.add(delta)
    return builder


async def failure_of(reply: Reply, *, seconds: float = 30) -> tuple[str, dict[str, Any]]:
    """Id and values of the error that one request ends in."""
    async with OpenAIServer([reply]) as server:
        model = OpenAIModel(name="m", base_url=server.base_url, api_key=KEY, key_source="the test", timeout=seconds)
        with pytest.raises(ModelError) as caught:
            await collect(model)
        assert_no_key_in(caught.value)
        values = dict(caught.value.reason.values)
        assert values.pop("host", host_and_port(server)) == host_and_port(server)
        assert len(server.requests) == 1
        return caught.value.reason.id, values


def host_and_port(server: OpenAIServer) -> str:
    return f"127.0.0.1:{server.port}"


def assert_no_key_in(raised: BaseException) -> None:
    """Neither what is printed of an error nor anything hanging on it holds the key."""
    assert raised.__cause__ is None
    assert raised.__context__ is None
    report = traceback.TracebackException.from_exception(raised, capture_locals=True)
    locals_of_the_core = [frame.locals for frame in report.stack if frame.filename != __file__]
    assert locals_of_the_core
    assert KEY not in str(locals_of_the_core) + str(raised) + repr(raised) + repr(vars(raised))


# Answers


async def test_text_arrives_piece_by_piece_with_finish_and_usage() -> None:
    async with OpenAIServer([answer("Hello, world", usage=(12, 3))]) as server:
        deltas = await collect(OpenAIModel(name="m", base_url=server.base_url))
    assert deltas == [
        TextDelta("Hello"),
        TextDelta(", wor"),
        TextDelta("ld"),
        Finish("stop"),
        UsageReport(12, 3),
    ]


async def test_a_piece_is_there_before_the_answer_is_complete() -> None:
    go_on = asyncio.Event()
    reply = Reply([*text_chunks("first"), go_on, *text_chunks("then"), finish_chunk(), DONE])
    async with OpenAIServer([reply]) as server:
        deltas = OpenAIModel(name="m", base_url=server.base_url).stream(QUESTION)
        assert await anext(deltas) == TextDelta("first")
        go_on.set()
        assert [delta async for delta in deltas] == [TextDelta("then"), Finish("stop")]


async def test_calls_without_index_or_id_in_one_chunk_are_two_calls() -> None:
    both = chunk({"tool_calls": [{"function": {"name": name, "arguments": "{}"}} for name in ("one", "two")]})
    builder = await ask(Reply([both, finish_chunk("stop"), DONE]))
    assert tool_calls(builder.message()) == (ToolCall("call_1", "one", "{}"), ToolCall("call_2", "two", "{}"))


async def test_what_is_no_piece_of_the_answer_is_passed_over() -> None:
    pieces: list[Piece] = [
        b": a comment\n\n",
        chunk({"role": "assistant"}),
        chunk({"content": None}),
        chunk({"content": ""}),
        chunk({"function_call": {"name": "old", "arguments": "{}"}}),
        {"choices": []},
        {"choices": None},
        *text_chunks("yes"),
        finish_chunk(),
        usage_chunk(5, 1),
    ]
    builder = await ask(Reply(pieces))
    assert builder.message() == {"role": "assistant", "content": "yes"}
    assert builder.usage == Usage(5, 1)


@pytest.mark.parametrize(
    ("sent", "understood"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("tool_calls", "tool_calls"),
        ("eos", "stop"),
    ],
)
async def test_finish_reasons(sent: str, understood: str) -> None:
    assert (await ask(answer("x", finish=sent))).finish == understood


async def test_a_complete_answer_stays_complete_when_the_connection_breaks_after_it() -> None:
    builder = await ask(Reply([*text_chunks("all of it"), finish_chunk(), DROP]))
    assert (builder.text, builder.finish) == ("all of it", "stop")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "content", "tool_calls", "function", "usage", "finish_reason", "index", "error"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(values=st.lists(json_values, min_size=5, max_size=10))
@settings(max_examples=10, deadline=None)
def test_no_chunk_whatever_its_shape_breaks_more_than_its_answer(values: list[Any]) -> None:
    reasons = set()

    async def ask_each() -> None:
        replies = [Reply([json.dumps(value), finish_chunk()]) for value in values]
        async with OpenAIServer(replies) as server:
            model = OpenAIModel(name="m", base_url=server.base_url)
            for _ in replies:
                builder = AnswerBuilder()
                try:
                    for delta in await collect(model):
                        builder.add(delta)
                except ModelError as raised:
                    reasons.add(raised.reason.id)
                json.dumps(builder.message(), ensure_ascii=False).encode()

    asyncio.run(ask_each())
    assert reasons <= {"model.stream_error", "model.bad_stream"}


# Requests


async def test_messages_and_tools_go_out_exactly_as_given() -> None:
    messages = (
        {"content": "你好 🐈", "role": "system", "x_unknown": {"b": 1, "a": [1.0, None]}},
        {
            "role": "user",
            "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "d"}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": "no json", "name": "f"}}]},
        {"role": "tool", "tool_call_id": "", "content": ""},
    )
    async with OpenAIServer([answer("ok"), answer("ok")]) as server:
        model = OpenAIModel(name="some-model", base_url=server.base_url)
        await collect(model, Request(messages, (SCHEMA,)))
        await collect(model, QUESTION)
        with_tools, without_tools = (request.body for request in server.requests)
    assert json.dumps(with_tools["messages"]) == json.dumps(list(messages))
    assert with_tools["tools"] == [SCHEMA]
    assert with_tools["model"] == "some-model"
    assert with_tools["stream_options"] == {"include_usage": True}
    assert "tools" not in without_tools


async def test_one_model_asks_many_times_and_at_once() -> None:
    async with OpenAIServer(lambda received: answer(received.messages[0]["content"])) as server:
        model = OpenAIModel(name="m", base_url=server.base_url)
        requests = [Request(({"role": "user", "content": str(number)},)) for number in range(5)]
        answers = await asyncio.gather(*(collect(model, request) for request in requests))
    assert [deltas[0] for deltas in answers] == [TextDelta(str(number)) for number in range(5)]


@pytest.mark.parametrize("content", ["half a cat \ud83d", float("nan")])
async def test_a_message_that_json_cannot_carry_is_refused_before_it_is_sent(content: Any) -> None:
    async with OpenAIServer() as server:
        with pytest.raises(ModelError) as caught:
            await collect(
                OpenAIModel(name="m", base_url=server.base_url, api_key=KEY),
                Request(({"role": "user", "content": content},)),
            )
        assert caught.value.reason.id == "model.unsendable"
        assert_no_key_in(caught.value)
        assert server.requests == []


# Leaving


async def test_closing_the_stream_closes_the_connection() -> None:
    async with OpenAIServer([stalled(answer("Hello"), after=2)]) as server:
        async with aclosing(OpenAIModel(name="m", base_url=server.base_url).stream(QUESTION)) as deltas:
            assert await anext(deltas) == TextDelta("Hello")
        await asyncio.wait_for(server.requests[0].disconnected.wait(), 10)


@pytest.mark.parametrize("after", [0, 2])
async def test_cancelling_closes_the_connection(after: int) -> None:
    async with OpenAIServer([stalled(answer("Hello"), after)]) as server:
        task = asyncio.create_task(collect(OpenAIModel(name="m", base_url=server.base_url)))
        received = await server.request()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(received.disconnected.wait(), 10)


# Failures


@pytest.mark.parametrize(
    ("reply", "reason", "values"),
    [
        (error(401, f"Incorrect API key provided: {KEY}"), "model.key_rejected", {"status": 401, "source": "the test"}),
        (error(403, "no"), "model.key_rejected", {"status": 403, "source": "the test"}),
        (error(404, "no model m"), "model.not_found", {"model": "m", "status": 404, "detail": "no model m"}),
        (error(400, "bad\nfield"), "model.refused", {"status": 400, "detail": "bad field"}),
        (error(422, "x" * 1000), "model.refused", {"status": 422, "detail": "x" * 300}),
        (error(408, "late"), "model.server_error", {"status": 408, "retry_after": None, "detail": "late"}),
        (error(409, "busy"), "model.server_error", {"status": 409, "retry_after": None, "detail": "busy"}),
        (error(402, "no money"), "model.no_quota", {"status": 402, "detail": "no money"}),
        (error(429, "spent", code="insufficient_quota"), "model.no_quota", {"status": 429, "detail": "spent"}),
        (error(418, f"your key is {KEY}!"), "model.refused", {"status": 418, "detail": "your key is …!"}),
        (
            error(429, "slow down", headers={"Retry-After": "7.5"}),
            "model.rate_limited",
            {"status": 429, "retry_after": 7.5, "detail": "slow down"},
        ),
        (error(429, ""), "model.rate_limited", {"status": 429, "retry_after": None, "detail": ""}),
        (
            error(429, "", headers={"Retry-After": "9" * 30}),
            "model.rate_limited",
            {"status": 429, "retry_after": None, "detail": ""},
        ),
        (
            error(429, "", headers={"Retry-After": "soon"}),
            "model.rate_limited",
            {"status": 429, "retry_after": None, "detail": ""},
        ),
        (
            error(503, "busy", headers={"Retry-After": "-3"}),
            "model.server_error",
            {"status": 503, "retry_after": 0.0, "detail": "busy"},
        ),
        (
            Reply([b'{"error": "as Ollama says it"}'], 500),
            "model.server_error",
            {"status": 500, "retry_after": None, "detail": "as Ollama says it"},
        ),
        (
            Reply([b"<html>Bad gateway</html>"], 502),
            "model.server_error",
            {"status": 502, "retry_after": None, "detail": "<html>Bad gateway</html>"},
        ),
        (
            Reply([b'{"detail": "Not Found"}'], 404),
            "model.not_found",
            {"model": "m", "status": 404, "detail": "Not Found"},
        ),
        (Reply([b'[{"error": 1}]'], 400), "model.refused", {"status": 400, "detail": ""}),
        (Reply([b'{"error": {"message": [1], "code": {}}}'], 400), "model.refused", {"status": 400, "detail": ""}),
        (
            Reply([b'{"error": ' + b"[" * 5000], 400),
            "model.refused",
            {"status": 400, "detail": '{"error": ' + "[" * 290},
        ),
    ],
)
async def test_refusals(reply: Reply, reason: str, values: dict[str, Any]) -> None:
    assert await failure_of(reply) == (reason, values)


@pytest.mark.parametrize(
    "reply",
    [
        error(400, "Too much.", code="context_length_exceeded"),
        error(400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.", code=400),
        error(
            400, "the request exceeds the available context size, try increasing it", type="exceed_context_size_error"
        ),
        error(500, "the request exceeds the available context size", code=500, type="exceed_context_size_error"),
        error(400, "prompt too long; exceeded max context length by 812 tokens"),
        error(400, "Requested tokens (2285) exceed context window of 2048"),
        error(400, "prompt is too long: 209353 tokens > 199999 maximum"),
        error(400, "Range of input length should be [1, 129024]"),
        error(413, "Please reduce the length of the messages or completion."),
        Reply([b"<html>Request Entity Too Large</html>"], 413),
        error(400, "The decoder prompt (length 40000) is longer than the maximum model length of 32768."),
        error(400, "max_tokens must be at least 1, got -77.", type="BadRequestError"),
        error(429, "Request too large for m on tokens per min (TPM): Limit 10000, Requested 12000."),
        Reply([json.dumps({"error": {"message": "Context size has been exceeded."}})]),
    ],
)
async def test_a_request_too_long_for_the_model(reply: Reply) -> None:
    reason, values = await failure_of(reply)
    assert reason == "model.context_length"
    assert values["detail"]


async def test_retry_after_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    _, values = await failure_of(error(429, "", headers={"Retry-After": later}))
    assert 3000 < values["retry_after"] <= 3600


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        (text_chunks("half an ans"), "model.cut_off"),
        ([*text_chunks("half an ans"), DONE], "model.cut_off"),
        ([], "model.cut_off"),
        ([b"<html>some other program</html>"], "model.cut_off"),
        ([*text_chunks("half"), DROP], "model.cut_off"),
        ([*text_chunks("half"), '{"choices": [{"del'], "model.bad_stream"),
        ([*text_chunks("half"), b"data: \xff\xfe\n\n"], "model.bad_stream"),
        ([*text_chunks("half"), "[" * 100_000], "model.bad_stream"),
    ],
)
async def test_answers_that_break_off(pieces: Sequence[Piece], reason: str) -> None:
    assert await failure_of(Reply(pieces)) == (reason, {})


async def test_an_answer_cut_in_the_middle_of_a_chunk() -> None:
    assert await failure_of(cut_after(answer("Hello"), 200)) == ("model.cut_off", {})


async def test_a_connection_closed_instead_of_an_answer() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ModelError) as caught:
            await collect(OpenAIModel(name="m", base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY))
    assert caught.value.reason.id == "model.unreachable"
    assert_no_key_in(caught.value)


@pytest.mark.parametrize(
    ("body", "reason", "values"),
    [
        ({"message": f"out of memory {KEY}"}, "model.stream_error", {"detail": "out of memory …"}),
        ({"message": "upstream", "code": 502}, "model.server_error", {"status": 502, "retry_after": None}),
        ({"message": "too fast", "code": "429"}, "model.rate_limited", {"status": 429, "retry_after": None}),
        ({"message": "?", "code": "rate_limit"}, "model.stream_error", {"detail": "?"}),
        ("plain words", "model.stream_error", {"detail": "plain words"}),
    ],
)
async def test_errors_in_the_middle_of_an_answer(body: Any, reason: str, values: dict[str, Any]) -> None:
    found, found_values = await failure_of(Reply([*text_chunks("half"), {"error": body}]))
    assert (found, found_values) == (reason, {"detail": found_values["detail"], **values})


@pytest.mark.parametrize("after", [0, 2])
async def test_silence(after: int) -> None:
    reason, values = await failure_of(stalled(answer("Hello"), after), seconds=0.3)
    assert (reason, values) == ("model.timeout", {"seconds": 0.3})


async def test_nobody_listens() -> None:
    with socket.socket() as taken:  # bound, not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ModelError) as caught:
            await collect(OpenAIModel(name="m", base_url=f"http://{host}/v1", api_key=KEY))
    assert caught.value.reason.id == "model.unreachable"
    assert caught.value.reason.values["host"] == host
    assert_no_key_in(caught.value)


@pytest.mark.parametrize("broken", [cut_after(error(500, "busy"), 10), stalled(error(500, "busy"), after=0)])
async def test_a_refusal_that_breaks_off(broken: Reply) -> None:
    reason, values = await failure_of(broken, seconds=0.3)
    assert reason == "model.unreachable"
    assert values["detail"]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_redirects_are_not_followed_and_carry_the_key_nowhere(status: int) -> None:
    async with OpenAIServer([answer("mine now")]) as other:
        target = f"{other.base_url}/chat/completions"
        assert await failure_of(redirect(target, status)) == ("model.redirected", {"status": status, "target": target})
        assert other.requests == []


@pytest.mark.parametrize("base_url", ["localhost:11434", "ftp://host/v1", "http://", "http://[::1", "http://h:99999"])
def test_an_address_that_is_none(base_url: str) -> None:
    with pytest.raises(ModelError) as caught:
        OpenAIModel(name="m", base_url=base_url)
    assert (caught.value.reason.id, caught.value.reason.values["base_url"]) == ("model.bad_base_url", base_url)


@pytest.mark.parametrize("proxy", [f"carrier-pigeon://user:{KEY}@proxy", "socks9://proxy:1080"])
async def test_a_proxy_of_an_unknown_kind(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(ModelError) as caught:
        await collect(OpenAIModel(name="m", base_url="http://127.0.0.1:9/v1", api_key=KEY))
    assert caught.value.reason.id == "model.no_connection"
    assert "proxy" in caught.value.reason.values["detail"]
    assert_no_key_in(caught.value)


# The key


async def test_the_key_is_sent_as_a_bearer_token() -> None:
    async with OpenAIServer([answer("ok")]) as server:
        await collect(OpenAIModel(name="m", base_url=server.base_url, api_key=KEY))
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_without_a_key_nothing_of_the_environment_goes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID"):
        monkeypatch.setenv(f"OPENAI_{name}", KEY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {KEY}")
    async with OpenAIServer([answer("ok")]) as server:
        assert await collect(OpenAIModel(name="m", base_url=server.base_url))
        assert KEY not in str(server.requests[0].headers)


async def test_the_key_is_in_no_log_and_no_repr(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with OpenAIServer([answer("ok"), error(401, KEY)]) as server:
        url = server.base_url.replace("http://", "http://user:secret@")
        model = OpenAIModel(name="m", base_url=url, api_key=KEY)
        await collect(model)
        with pytest.raises(ModelError) as caught:
            await collect(model)
        assert repr(model) == f"OpenAIModel(name='m', host='{host_and_port(server)}')"
    assert "secret" not in str(caught.value)
    assert KEY not in caplog.text


@pytest.mark.parametrize("key", [f"{KEY}\n{KEY}", f"{KEY}é"])
def test_a_key_that_no_header_can_carry(key: str) -> None:
    with pytest.raises(ModelError) as caught:
        OpenAIModel(name="m", base_url="http://127.0.0.1:9/v1", api_key=key)
    assert (caught.value.reason.id, dict(caught.value.reason.values)) == ("model.key_unusable", {"host": "127.0.0.1:9"})
    assert KEY not in str(caught.value)


LOCAL = "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("base_url", "flag", "variable", "given"),
    [
        (None, None, None, True),
        ("https://api.openai.com/v1", None, None, True),
        ("https://eu.api.openai.com/v1", None, None, True),
        ("https://api.openai.com:443/v1", None, None, True),
        ("http://api.openai.com/v1", None, None, False),
        ("https://api.openai.com.example.net/v1", None, None, False),
        ("https://notapi.openai.com/v1", None, None, False),
        ("https://api.openai.com@example.net/v1", None, None, False),
        ("https://api.openai.com:8443/v1", None, None, False),
        (LOCAL, None, None, False),
        (LOCAL, LOCAL, None, True),
        (LOCAL, None, LOCAL, True),
        (LOCAL, None, "http://127.0.0.1:8000/other/", True),
        (LOCAL, None, "http://127.0.0.1:8001/v1", False),
        (LOCAL, None, "https://127.0.0.1:8000/v1", False),
        (LOCAL, "http://elsewhere/v1", "http://nowhere/v1", False),
        (LOCAL, LOCAL, "http://nowhere/v1", True),
        ("HTTPS://Gateway.Example/v1", None, "https://gateway.example", True),
    ],
)
def test_where_the_key_may_go(base_url: str | None, flag: str | None, variable: str | None, given: bool) -> None:
    environment = {"OPENAI_API_KEY": f" {KEY}\n", **({"OPENAI_BASE_URL": variable} if variable else {})}
    assert key_for(base_url, flag_base_url=flag, environment=environment) == (KEY if given else None)


def test_no_key_is_none() -> None:
    assert key_for(None, environment={}) is None
    assert key_for(None, environment={"OPENAI_API_KEY": " "}) is None


async def test_the_key_reaches_a_server_only_when_it_was_named() -> None:
    async with OpenAIServer([answer("ok"), answer("ok")]) as server:
        environment = {"OPENAI_API_KEY": KEY}
        for flag in (server.base_url, None):
            key = key_for(server.base_url, flag_base_url=flag, environment=environment)
            await collect(OpenAIModel(name="m", base_url=server.base_url, api_key=key))
        named, unnamed = (request.headers["authorization"] for request in server.requests)
    assert named == f"Bearer {KEY}"
    assert KEY not in unnamed


# Loading, and the server as a process of its own


def test_importing_and_building_the_model_loads_no_client_library() -> None:
    code = (
        "import sys; from triptych.models.openai import OpenAIModel; OpenAIModel(name='m', api_key='k');"
        "print([name for name in sys.modules if name.partition('.')[0] in ('openai', 'httpx', 'httpx2', 'pydantic')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_the_server_process_answers_from_its_script(tmp_path: Path) -> None:
    script: list[dict[str, Any]] = [
        {"tool_calls": [{"name": "read_file", "arguments": {"path": "你好.md"}}]},
        {"summary": "What was said."},
        {"text": "Done."},
        {"status": 503, "message": "busy"},
    ]
    summary = Request(({"role": "system", "content": SUMMARY_PROMPT}, {"role": "user", "content": "one\ntwo"}))
    builders = []
    with serve(script, tmp_path) as (base_url, record):
        model = OpenAIModel(name="m", base_url=base_url)
        for request in (QUESTION, summary, summary, QUESTION):
            builders.append(AnswerBuilder())
            for delta in await collect(model, request):
                builders[-1].add(delta)
        with pytest.raises(ModelError):
            await collect(model)
        requests = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert tool_calls(builders[0].message()) == (ToolCall("call_1", "read_file", '{"path": "你好.md"}'),)
    assert [builder.text for builder in builders[1:]] == ["What was said.", "Summary of 2 lines.", "Done."]
    assert all(builder.usage and builder.usage.prompt_tokens for builder in builders)
    assert [request["messages"][0]["content"] for request in requests[:2]] == ["Hi", SUMMARY_PROMPT]
