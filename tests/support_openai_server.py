"""A real chat-completions server on the loopback interface that answers what a test tells it to.

In a test's own event loop:

    async with OpenAIServer([answer("Hello"), error(429, "slow down")]) as server:
        model = OpenAIModel(name="test", base_url=server.base_url)

A reply is a row of pieces, so that misbehaviour is spelled out: an Event holds the answer back until it is set, DROP
cuts the connection, bytes go out as they are. As a process of its own, for programs under test:
`serve(script, folder)`, or

    python -m tests.support_openai_server --port 0 --script FILE [--record FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from triptych.layers.summarize import SUMMARY_PROMPT
from triptych.messages import text_of

Chunk = dict[str, Any]


class Drop:
    """Cuts the connection in the middle of the answer."""


@dataclass(frozen=True, slots=True)
class Until:
    """Holds the answer until this many seconds after it began."""

    seconds: float


DROP = Drop()
DONE = "[DONE]"

Piece = Chunk | str | bytes | asyncio.Event | Until | Drop
"""A chunk, the raw text of an event's `data:` field, raw bytes of the body, a hold, or the end of the connection."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What one request is answered with."""

    pieces: Sequence[Piece] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came in; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    raw: bytes
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client went away before it had the whole answer."""

    @property
    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.raw)
        return body

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages


Respond = Callable[[Received], Reply]


# Chunks


def chunk(delta: Mapping[str, Any], finish_reason: str | None = None, **more: Any) -> Chunk:
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "test", "choices": [choice], **more}


def text_chunks(text: str, size: int = 5) -> list[Chunk]:
    """The text in pieces of `size` characters."""
    return [chunk({"content": text[start : start + size]}) for start in range(0, len(text), size)]


def call_chunk(
    index: int | None = None, id: str | None = None, name: str | None = None, arguments: str | None = None
) -> Chunk:
    """One piece of a tool call; what is None is left out."""
    function = {key: value for key, value in {"name": name, "arguments": arguments}.items() if value is not None}
    call = {"index": index, "id": id, "type": "function" if id else None, "function": function}
    return chunk({"tool_calls": [{key: value for key, value in call.items() if value is not None}]})


def call_chunks(index: int, id: str, name: str, arguments: str, size: int = 5) -> list[Chunk]:
    """A call as OpenAI streams it: id and name first, then the arguments in pieces of `size` characters."""
    pieces = [arguments[start : start + size] for start in range(0, len(arguments), size)]
    return [call_chunk(index, id, name, ""), *(call_chunk(index, arguments=piece) for piece in pieces)]


def finish_chunk(reason: str = "stop") -> Chunk:
    return chunk({}, reason)


def usage_chunk(prompt_tokens: int, completion_tokens: int = 0) -> Chunk:
    """Usage as it is reported last: without any choice."""
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    usage["total_tokens"] = prompt_tokens + completion_tokens
    return {**chunk({}), "choices": [], "usage": usage}


# Replies


@dataclass(frozen=True, slots=True)
class Call:
    id: str
    name: str
    arguments: str


def answer(
    text: str = "",
    calls: Sequence[Call] = (),
    *,
    usage: tuple[int, int] | None = None,
    finish: str | None = None,
) -> Reply:
    """A whole and sound answer."""
    pieces: list[Piece] = [chunk({"role": "assistant", "content": None if calls else ""}), *text_chunks(text)]
    for index, call in enumerate(calls):
        pieces += call_chunks(index, call.id, call.name, call.arguments)
    pieces.append(finish_chunk(finish or ("tool_calls" if calls else "stop")))
    if usage:
        pieces.append(usage_chunk(*usage))
    return Reply([*pieces, DONE])


def error(status: int, message: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> Reply:
    """A refusal with OpenAI's error body; `more` are further keys of it, such as `code`."""
    body = json.dumps({"error": {"message": message, **more}}).encode()
    return Reply([body], status, {"Content-Type": "application/json", **(headers or {})})


def redirect(location: str, status: int = 307) -> Reply:
    return Reply([], status, {"Location": location})


def cut_after(reply: Reply, size: int) -> Reply:
    """The same reply, its connection dropped after `size` bytes of the body."""
    body = b"".join(_bytes_of(piece) for piece in reply.pieces if not isinstance(piece, asyncio.Event | Until | Drop))
    return Reply([body[:size], DROP], reply.status, reply.headers)


def stalled(reply: Reply, after: int) -> Reply:
    """The same reply, never going on after its first `after` pieces."""
    return Reply([*reply.pieces[:after], asyncio.Event()], reply.status, reply.headers)


def paced(reply: Reply, rate: float) -> Reply:
    """The same reply, `rate` pieces a second."""
    pieces = [each for number, piece in enumerate(reply.pieces) for each in (Until(number / rate), piece)]
    return Reply(pieces, reply.status, reply.headers)


def dripped(reply: Reply, seconds: float, size: int = 9) -> Reply:
    """The same reply over so many seconds, a few bytes at a time, wherever that parts lines and characters."""
    body = b"".join(_bytes_of(piece) for piece in reply.pieces if not isinstance(piece, asyncio.Event | Until | Drop))
    drops = [body[start : start + size] for start in range(0, len(body), size)]
    return paced(Reply(drops, reply.status, reply.headers), len(drops) / seconds)


def _bytes_of(piece: Chunk | str | bytes) -> bytes:
    if isinstance(piece, bytes):
        return piece
    data = piece if isinstance(piece, str) else json.dumps(piece)
    return f"data: {data}\n\n".encode()


# The server


class OpenAIServer:
    """Serves until its context ends. Replies come from a list, in order, or from a function of the request."""

    def __init__(self, replies: Sequence[Reply] | Respond = (), *, port: int = 0) -> None:
        self.requests: list[Received] = []
        self.port = port
        self._respond = replies if callable(replies) else _in_order(replies)
        self._arrived = asyncio.Condition()
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def request(self, number: int = 1) -> Received:
        """The first request, the second …, waited for."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= number)
        return self.requests[number - 1]

    async def quiet(self) -> None:
        """Wait until every connection is closed: a client that holds one open keeps this from returning."""
        while self._connections:
            await asyncio.wait(self._connections)

    async def __aenter__(self) -> OpenAIServer:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            try:
                received = await _read_request(reader)
                async with self._arrived:
                    self.requests.append(received)
                    self._arrived.notify_all()
                await _send(self._reply_to(received), received, reader, writer)
            finally:
                writer.close()

    def _reply_to(self, received: Received) -> Reply:
        if not received.path.endswith("/chat/completions"):
            return error(404, f"nothing is served at {received.path}")
        return self._respond(received)


def _in_order(replies: Sequence[Reply]) -> Respond:
    left = deque(replies)
    return lambda _: left.popleft() if left else error(500, "the script has no more answers")


async def _read_request(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    request_line, *lines = head.rstrip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(request_line.split()[1], headers, raw)


async def _send(reply: Reply, received: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send the body in HTTP chunks, so that a dropped connection differs from the end of an answer."""
    head = [f"HTTP/1.1 {reply.status} -", "Transfer-Encoding: chunked", "Connection: close"]
    head += [f"{name}: {value}" for name, value in reply.headers.items()]
    writer.write("\r\n".join([*head, "", ""]).encode())
    gone = asyncio.create_task(_gone(reader))
    began = monotonic()
    try:
        for piece in reply.pieces:
            if isinstance(piece, asyncio.Event):
                await _first_of(piece.wait(), gone)
            elif isinstance(piece, Until):
                await _first_of(asyncio.sleep(began + piece.seconds - monotonic()), gone)
            elif isinstance(piece, Drop):
                return
            elif data := _bytes_of(piece):
                writer.write(b"%x\r\n%s\r\n" % (len(data), data))
            await writer.drain()
            if gone.done():
                received.disconnected.set()
                return
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    except ConnectionError:
        received.disconnected.set()
    finally:
        gone.cancel()


async def _gone(reader: asyncio.StreamReader) -> None:
    """Returns when the client has closed the connection."""
    with suppress(ConnectionError):
        await reader.read()


async def _first_of(waiting: Any, gone: asyncio.Task[None]) -> None:
    held = asyncio.create_task(waiting)
    try:
        await asyncio.wait({held, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        held.cancel()


# A process of its own


class Script:
    """Answers from plain data, in order: `{"text": …}`, `{"tool_calls": [{"name", "arguments"}]}`, both in one,
    `{"status": 429, "message": …, "headers": …}`, or `{"text": …, "stall": true}`, which never goes on after its text.
    With `"rate": N` a text comes in N pieces a second.

    A request for a summary gets the next `{"summary": …}` instead, or a sentence with the number of lines it was given.
    """

    def __init__(self, script: Sequence[Mapping[str, Any]]) -> None:
        self._answers = deque(item for item in script if "summary" not in item)
        self._summaries = deque(item["summary"] for item in script if "summary" in item)
        self._calls = 0

    def __call__(self, received: Received) -> Reply:
        first, last = received.messages[0], received.messages[-1]
        usage = (len(received.raw) // 4, 0)
        if first.get("role") == "system" and text_of(first).startswith(SUMMARY_PROMPT):
            lines = len(text_of(last).splitlines())
            text = self._summaries.popleft() if self._summaries else f"Summary of {lines} lines."
            return answer(text, usage=usage)
        if not self._answers:
            return error(500, "the script has no more answers")
        item = self._answers.popleft()
        if "status" in item:
            return error(item["status"], item.get("message", ""), headers=item.get("headers"))
        text = item.get("text", "")
        reply = answer(text, [self._call(call) for call in item.get("tool_calls", ())], usage=usage)
        reply = stalled(reply, 1 + len(text_chunks(text))) if item.get("stall") else reply
        return paced(reply, item["rate"]) if "rate" in item else reply

    def _call(self, call: Mapping[str, Any]) -> Call:
        self._calls += 1
        arguments = call.get("arguments", {})
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        return Call(call.get("id", f"call_{self._calls}"), call["name"], text)


@contextmanager
def serve(script: Sequence[Mapping[str, Any]], folder: Path) -> Iterator[tuple[str, Path]]:
    """A server process for `script`: its base URL, and the file that gets each request's body as a line of JSON."""
    script_file, record = folder / "script.json", folder / "requests.jsonl"
    script_file.write_text(json.dumps(script), encoding="utf-8")
    record.touch()
    command = [sys.executable, "-m", __name__, "--script", str(script_file), "--record", str(record)]
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1", record
        finally:
            process.terminate()


def recorded(respond: Respond, file: Path) -> Respond:
    """The same answers, each request's body appended to `file` as a line of JSON."""

    def record(received: Received) -> Reply:
        with file.open("ab") as lines:
            lines.write(received.raw + b"\n")
        return respond(received)

    return record


async def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    respond: Respond = Script(json.loads(options.script.read_text(encoding="utf-8")))
    if options.record:
        respond = recorded(respond, options.record)
    async with OpenAIServer(respond, port=options.port) as server:
        print(server.port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main())
