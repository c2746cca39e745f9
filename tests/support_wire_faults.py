"""Everything that goes wrong between us and an endpoint, in one table: what a server does, and what then must be.

A row is one question. The session it is asked in begins with `TALK`; the tools are those of the sample workspace.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.support_desk import questions
from tests.support_openai_server import (
    DONE,
    DROP,
    Call,
    Piece,
    Reply,
    answer,
    call_chunk,
    chunk,
    cut_after,
    dripped,
    error,
    finish_chunk,
    redirect,
    stalled,
    text_chunks,
    usage_chunk,
)
from triptych.entries import Entry
from triptych.messages import tool_calls

TALK = questions(2)
QUESTION = "next"
PATIENCE = 0.3
"""Seconds of silence after which the model of a row with `is_impatient` gives up."""
CLOSED = "[interrupted: the turn ended before this tool answered] STOPPED"


@dataclass(frozen=True)
class Fault:
    """What the server answers to the requests of one question, and all that comes of it.

    outcome: how the turn ends, or the id of the reason it fails with. waits: seconds before each further try.
    added: what the question adds to the list, as `told` tells it; nothing where it is taken back.
    seen: words in the rows above the prompt, or in the chat where there are none. stage: words in the stage bar.
    no_server: nobody listens until the question has failed.
    """

    replies: Sequence[Reply]
    outcome: str
    added: Sequence[str] = ()
    seen: Sequence[str] = ()
    stage: str = "stopped"
    waits: Sequence[float] = ()
    no_server: bool = False
    is_impatient: bool = False

    @property
    def fails(self) -> bool:
        return self.outcome.startswith("model.")


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def told(entry: Entry) -> str:
    """An entry in a line: role, calls or text, and its mark."""
    message = entry.message
    calls = [f"{call.id}:{call.name}({call.arguments[:20]})" for call in tool_calls(message)]
    text = message["content"] or ""
    words = [message["role"], *calls, *([text if len(text) < 80 else f"{len(text)} characters"] if text else [])]
    return " ".join([*words, *(mark.name.upper().replace("INTERRUPTED", "STOPPED") for mark in entry.marks)])


def _failed(reason: str, *seen: str, replies: Sequence[Reply], **more: object) -> Fault:
    return replace(Fault(replies, f"model.{reason}", seen=seen), **more)  # type: ignore[arg-type]


def _answered(text: str, *before: str, replies: Sequence[Reply], **more: object) -> Fault:
    added = (f"user {QUESTION}", *before, f"assistant {text}")
    return replace(Fault(replies, "answered", added, (text,), "last turn"), **more)  # type: ignore[arg-type]


def _called(*results: str, calls: Reply, text: str = "I see.", **more: object) -> Fault:
    """A question whose calls are answered so, and then an answer."""
    return _answered(text, *results, replies=[calls, answer(text)], **more)


def _shut(reason: str) -> str:
    """What a reader of the second row learns when nothing of the question was kept."""
    return f"{reason} · the list and the file are as before"


def _ten_calls(ids: Sequence[str]) -> str:
    return "assistant " + " ".join(f'{each}:read_file({{"path": "nowhere.md)' for each in ids)


BUSY = error(500, "out of memory")
EVERY_WAIT = (2.0, 4.0, 8.0, 16.0)
MISSING = "error: there is no file or folder 'nowhere.md'"
TEN = [Call(f"id_{n}", "read_file", '{"path": "nowhere.md"}') for n in range(10)]
TEN_CALLS = _ten_calls([call.id for call in TEN])
HUGE = json.dumps({"path": "x" * 5_000_000})
HUGE_CALL: list[Piece] = [
    call_chunk(0, "a", "read_file", ""),
    *(call_chunk(0, arguments=HUGE[start : start + 65_536]) for start in range(0, len(HUGE), 65_536)),
]
CUT_CALLS: list[Piece] = [
    call_chunk(0, "a", "list_files", "{}"),
    call_chunk(1, "b", "read_file", '{"path": "nowh'),
]
HALF = [*text_chunks("Half an answ")]

FAULTS: dict[str, Fault] = {
    "connection refused": _failed(
        "unreachable", "No connection", "cannot be reached", replies=[], no_server=True, waits=EVERY_WAIT
    ),
    "401": _failed("key_rejected", "401 from", "the key was rejected", replies=[error(401, "no")], stage=_shut("401")),
    "404": _failed(
        "not_found", "404 from", "it does not know the model m: no such model", replies=[error(404, "no such model")]
    ),
    "429 that says when": _answered(
        "Now.", replies=[error(429, "slow down", headers={"Retry-After": "7"}), answer("Now.")], waits=(7,)
    ),
    "429 that does not say when": _answered("Now.", replies=[error(429, "slow down"), answer("Now.")], waits=(2,)),
    "429 without end": _failed(
        "rate_limited",
        "429 from",
        "it allows no more requests for now: slow down",
        replies=[error(429, "slow down", headers={"Retry-After": "0"})] * 5,
        waits=(1, 1, 1, 1),
        stage=_shut("429"),
    ),
    "no quota": _failed(
        "no_quota",
        "the account has nothing left to spend: pay first",
        replies=[error(429, "pay first", code="insufficient_quota")],
    ),
    "500 three times": _answered("Now.", replies=[BUSY, BUSY, BUSY, answer("Now.")], waits=(2, 4, 8)),
    "500 without end": _failed(
        "server_error", "500 from", "the fault is the server's: out of memory", replies=[BUSY] * 5, waits=EVERY_WAIT
    ),
    "too long": _failed(
        "context_length",
        "Too long",
        "the request does not fit the context window",
        "F4 L3 summarize",
        replies=[error(400, "too many", code="context_length_exceeded")],
    ),
    "cut before anything was said": _answered("Now.", replies=[Reply([DROP]), answer("Now.")], waits=(2,)),
    "cut after 400 bytes": _failed("cut_off", "Cut off", replies=[cut_after(answer("Half an answer"), 400)]),
    "cut in the midst of calls": _failed("cut_off", "Cut off", replies=[Reply([*CUT_CALLS, DROP])]),
    "cut after a tool was run": _failed(
        "cut_off",
        "Cut off",
        replies=[answer(calls=[TEN[0]]), Reply([*HALF, DROP])],
        added=("user next", 'assistant id_0:read_file({"path": "nowhere.md)', f"tool {MISSING}"),
        stage="stopped · what had come is kept",
    ),
    "silent from the beginning": _answered(
        "Awake.", replies=[stalled(answer("Never."), 0), answer("Awake.")], waits=(2,), is_impatient=True
    ),
    "silent in the midst of it": _failed(
        "timeout", "No answer", "was silent for 0.3 s", replies=[stalled(Reply([*HALF, DONE]), 2)], is_impatient=True
    ),
    "slower than the patience for silence": _answered(
        "Drop by drop, 一滴一滴.", replies=[dripped(answer("Drop by drop, 一滴一滴."), PATIENCE * 2)], is_impatient=True
    ),
    "a chunk that is no JSON": _failed(
        "bad_stream", "Nonsense from", "cannot be read", replies=[Reply([*HALF, '{"choices": [{"del'])]
    ),
    "an error among the chunks": _failed(
        "stream_error", "it broke off its answer: tilt", replies=[Reply([*HALF, {"error": {"message": "tilt"}}])]
    ),
    "no finish reason": _failed("cut_off", "Cut off", replies=[Reply([*HALF, DONE])]),
    "nothing but empty choices": _failed(
        "cut_off", "Cut off", replies=[Reply([{"choices": []}, {"choices": []}, DONE])] * 5, waits=EVERY_WAIT
    ),
    "empty choices in between": _answered(
        "All of it.", replies=[Reply([{"choices": []}, *text_chunks("All of it."), finish_chunk(), usage_chunk(9, 1)])]
    ),
    "nothing but usage": _failed("cut_off", "Cut off", replies=[Reply([usage_chunk(9, 1), DONE])]),
    "an empty answer": _failed("empty", "An empty answer", "neither said nor called", replies=[answer("")]),
    "nothing before the length limit": _failed(
        "empty_cut_off", "An empty answer", "came to its length limit", replies=[answer("", finish="length")]
    ),
    "nothing before the content filter": _failed(
        "empty_filtered", "the content filter stopped m", replies=[answer("", finish="content_filter")]
    ),
    "cut at the length limit": Fault(
        [answer("Half an answ", finish="length")],
        "cut_off",
        ("user next", "assistant Half an answ"),
        ("The answer ends where the model's length limit cut it.",),
        "last turn",
    ),
    "calls cut at the length limit": Fault(
        [Reply([*CUT_CALLS, finish_chunk("length"), DONE])],
        "cut_off",
        (
            "user next",
            'assistant a:list_files({}) b:read_file({"path": "nowh)',
            f"tool {CLOSED}",
            f"tool {CLOSED}",
        ),
        ("The answer ends where the model's length limit cut it.",),
        "last turn",
    ),
    "stopped by the content filter": Fault(
        [answer("Half an answ", finish="content_filter")],
        "filtered",
        ("user next", "assistant Half an answ"),
        ("content filter stopped the answer",),
        "last turn",
    ),
    "two calls with one id": _called(
        "assistant a:list_files([]) a:read_file({})",
        "tool error: the arguments must be a JSON object; nothing was run",
        'tool error: "path" is needed, and must be a string',
        calls=answer(calls=[Call("a", "list_files", "[]"), Call("a", "read_file", "{}")]),
    ),
    "calls all at index 0": _called(
        TEN_CALLS,
        *[f"tool {MISSING}"] * 10,
        calls=Reply(
            [*(call_chunk(0, call.id, call.name, call.arguments) for call in TEN), finish_chunk("tool_calls"), DONE]
        ),
    ),
    "calls all at index 0 without ids": _called(
        _ten_calls([f"call_{n}" for n in range(1, 11)]),
        *[f"tool {MISSING}"] * 10,
        calls=Reply([*(call_chunk(0, "", call.name, call.arguments) for call in TEN), finish_chunk("stop"), DONE]),
    ),
    "ten calls at once": _called(TEN_CALLS, *[f"tool {MISSING}"] * 10, calls=answer(calls=TEN)),
    "arguments that are no JSON": _called(
        'assistant a:read_file({"path": "welcome.tx)',
        "tool error: the arguments are not valid JSON; nothing was run",
        calls=answer(calls=[Call("a", "read_file", '{"path": "welcome.txt"')]),
    ),
    "5 MB of arguments": _called(
        'assistant a:read_file({"path": "xxxxxxxxxx)',
        "tool 232 characters",
        calls=Reply([*HUGE_CALL, finish_chunk("tool_calls"), DONE]),
    ),
    "a web page": _failed(
        "bad_stream",
        "Nonsense from",
        "check the base URL",
        replies=[Reply([b"<html>Welcome to the hotel</html>"], headers={"Content-Type": "text/html"})],
    ),
    "an answer that does not stream": _failed(
        "bad_stream",
        "Nonsense from",
        replies=[Reply([json.dumps(chunk({"content": "Hi"})).encode()], headers={"Content-Type": "application/json"})],
    ),
    "sent on to another host": _failed(
        "redirected",
        "307 from",
        "it sends on to another address, http://elsewhere.invalid/v1; nothing was sent there",
        replies=[redirect("http://elsewhere.invalid/v1")],
    ),
}
