"""The process in which someone's file runs, and how the answer of a function is put down: standard library only.

It is run by its path, since an isolated interpreter need not know this package; the other side imports `answer_of`, so
that the lesson's functions are called in the very same way. Requests and replies are JSON, one a line; a reply begins
with the nonce of its request, so that nothing the file prints can pass for one.

What the file's functions return may be anything. Only values whose type is exactly one of JSON's are looked into, so
that no method of a foreign class is ever called.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from json import dumps, loads
from math import isfinite
from pathlib import Path
from threading import Thread
from time import sleep
from types import ModuleType
from typing import Any

Answer = dict[str, Any]
"""`returned`, or `raised` and `text`. Of `compact` also `asked`, the requests without their instructions. Where a
function changed its first argument though the lesson's does not, `changed` is what became of that."""

CONSTANTS = {"TOOL_RESULT_PLACEHOLDER": str, "DEFAULT_KEEP_TURNS": int}
"""Constants of the lesson that a file may set differently."""

MAY_CHANGE = ("clean_old_tool_result",)
MAY_WORK_IN_PLACE = (*MAY_CHANGE, "rebuild", "compact", "pruner_tool_text")
"""Functions that make a list: where they return None, the list they were given is the answer."""

NOT_JSON = "not_json"
MOST_VALUES, DEEPEST, LONGEST_INTEGER, LONGEST_TEXT = 100_000, 40, 4000, 500_000
MEMORY, FILE_SIZE = 2 << 30, 64 << 20
"""Bytes that the process may have, and write into one file."""

_name_of_type = type.__dict__["__name__"].__get__


def answer_of(
    function: Callable[..., Any],
    name: str,
    given: Mapping[str, Any],
    folder: Path,
    caught: type[BaseException] = BaseException,
) -> Answer:
    """Call `function` as the lesson's function `name` is called, and put down what came of it, `caught` errors too."""
    arguments: list[Any] = list(deepcopy(dict(given)).values())
    before = plain(arguments[0])
    answer: Answer = {}
    try:
        returned = _called(function, name, arguments, folder, answer)
    except caught as error:
        return {"raised": _name_of_type(type(error)), "text": _text_of(error)}
    if returned is None and name in MAY_WORK_IN_PLACE:
        returned = arguments[0]
    answer["returned"] = plain(returned)
    if name not in MAY_CHANGE and returned is not arguments[0] and (after := plain(arguments[0])) != before:
        answer["changed"] = after
    return answer


def _called(function: Callable[..., Any], name: str, arguments: list[Any], folder: Path, answer: Answer) -> Any:
    path = folder / "session.json"
    if name == "compact":
        asked = answer["asked"] = []

        def complete(request: Any) -> Any:
            asked.append(_without_instructions(plain(request)))
            return arguments[1]

        return function(arguments[0], complete)
    if name == "save_session":
        path.unlink(missing_ok=True)
        function(arguments[0], path)
        return path.read_bytes().decode("utf-8", "backslashreplace") if path.is_file() else None
    if name == "load_session":
        path.write_bytes(arguments[0].encode("utf-8"))
        return function(path)
    return function(*arguments)


def _without_instructions(request: Any) -> Any:
    """A request for a summary without the text of its system message, which the article leaves to its reader."""
    if not isinstance(request, list):
        return request
    return [
        {"role": "system"} if isinstance(message, dict) and message.get("role") == "system" else message
        for message in request
    ]


def _text_of(error: BaseException) -> str:
    try:
        text = str(error)
        return text[:1000] if type(text) is str else ""
    except BaseException:
        return ""


def plain(value: Any) -> Any:
    """The value in JSON's own kinds; what has none becomes an object that names it under `not_json`."""
    try:
        return _plain(value, [MOST_VALUES, LONGEST_TEXT], 0)
    except OverflowError:
        return {NOT_JSON: "too large"}


def _plain(value: Any, room: list[int], depth: int) -> Any:
    kind = type(value)
    room[0] -= 1
    room[1] -= len(value) if kind is str else 0
    if min(room) < 0:
        raise OverflowError
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        return value if value.bit_length() <= LONGEST_INTEGER else {NOT_JSON: "int"}
    if kind is float:
        return value if isfinite(value) else {NOT_JSON: repr(value)}
    if kind in (list, tuple, dict) and depth == DEEPEST:
        return {NOT_JSON: "too deep"}
    if kind in (list, tuple):
        return [_plain(item, room, depth + 1) for item in value]
    if kind is dict and all(type(key) is str for key in value):
        room[1] -= sum(map(len, value))
        return {key: _plain(item, room, depth + 1) for key, item in value.items()}
    return {NOT_JSON: _name_of_type(kind)}


def load(source: bytes, path: str, names: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Execute the file. Returns what it defined, and the reply: the `names` that are functions, its constants, and
    where and by which error it `stopped`, or None."""
    module = ModuleType("verified_file")
    module.__file__ = path
    sys.modules[module.__name__] = module
    sys.argv = [path]
    sys.path.append(str(Path(path).parent))  # last: its neighbours must not stand in for the standard library
    defined, stopped = vars(module), None
    try:
        exec(compile(source, path, "exec", dont_inherit=True), defined)
    except BaseException as error:
        stopped = {"error": _name_of_type(type(error)), "text": _text_of(error), "line": _line_in(path, error)}
    constants = {name: defined[name] for name, kind in CONSTANTS.items() if type(defined.get(name)) is kind}
    found = [name for name in names if callable(defined.get(name))]
    return defined, {"found": found, "constants": plain(constants), "stopped": stopped}


def _line_in(path: str, error: BaseException) -> int | None:
    if isinstance(error, SyntaxError) and error.filename == path:
        return error.lineno if type(error.lineno) is int else None
    line, frame = None, error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == path:
            line = frame.tb_lineno
        frame = frame.tb_next
    return line


def serve(parent: int, cpu_seconds: int) -> None:
    """Answer requests of the process `parent` until there are no more."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    _limit(cpu_seconds)
    Thread(target=_end_with, args=(parent,), daemon=True).start()
    this_process, folder, defined = os.getpid(), Path.cwd(), dict[str, Any]()
    for line in requests:
        request = loads(line)
        if "source" in request:
            source = request["source"].encode("latin-1")
            defined, reply = load(source, request["path"], request["names"])
        else:
            reply = answer_of(defined[request["called"]], request["name"], request["given"], folder)
        if os.getpid() != this_process:  # the file has forked, and this is the fork
            os._exit(0)
        replies.write(f"{request['nonce']} {dumps(reply)}\n".encode())
        replies.flush()


def _end_with(parent: int) -> None:
    """End this process and what it has started when nobody waits any more: a function may sleep for ever."""
    while os.getppid() == parent:
        sleep(0.5)
    os.kill(0, signal.SIGKILL)


def _limit(cpu_seconds: int) -> None:
    with suppress(ImportError):
        import resource

        limits = {"RLIMIT_AS": MEMORY, "RLIMIT_FSIZE": FILE_SIZE, "RLIMIT_CORE": 0, "RLIMIT_CPU": cpu_seconds}
        for name, most in limits.items():
            with suppress(AttributeError, ValueError, OSError):  # not every system has each, or lets it be lowered
                resource.setrlimit(getattr(resource, name), (most, most))


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:]))
