"""Function by function: is the answer of a file's function the lesson's, and where is it not?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from types import TracebackType
from typing import Any

from triptych import lesson_api
from triptych.layers.clear import RECOMMENDED_PLACEHOLDER
from triptych.verifying.cases import NAMES, Given, cases_of
from triptych.verifying.child import Answer, answer_of
from triptych.verifying.hints import Hint, hint_for
from triptych.verifying.process import ChildProcess, NoAnswerError
from triptych.verifying.shrinking import shrunk

EXAMPLE_PLACEHOLDER = "I am Iron Man"
"""The one of the article's example; a file that sets no constant may have it in its code."""

ALSO_CALLED = {"turn_separation": "_turn_separation"}
"""Names that the articles use as well."""

SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class SourceFile:
    """Someone's file as it was read: it may be gone, or another, while it is verified."""

    path: str
    source: bytes


@dataclass(frozen=True, slots=True)
class Stopped:
    """Loading a file did not get to its end: the error's type and text, and its line where that is known."""

    error: str
    text: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file defines: `found` are the lesson's names with the file's own; `stopped` is None where all was well.

    no_answer: why there is nothing to say of it, `ended` or `time`.
    """

    found: Mapping[str, str]
    stopped: Stopped | None = None
    no_answer: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """The smallest input that was found to make a difference, both answers, and what often is the cause of such."""

    given: Given
    ours: Answer
    theirs: Answer
    hint: Hint | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one function: the lesson's name, the file's, and on how many inputs it was tried."""

    name: str
    called: str
    cases: int
    difference: Difference | None

    @property
    def passed(self) -> bool:
        return self.difference is None


class Verification:
    """Someone's file in a process of its own, and the lesson's functions beside it. Use it as a context manager.

    called: the file's names for functions of the lesson, by the lesson's name, where they are others.
    seconds: the time that loading, and every function, may take.
    """

    def __init__(self, file: SourceFile, called: Mapping[str, str], seconds: float = SECONDS) -> None:
        self._file = file
        self._called = called
        self._seconds = seconds
        self._child: ChildProcess | None = None
        self._folder = TemporaryDirectory(prefix="triptych-verify-")
        self._constants: Mapping[str, Any] = {}

    def __enter__(self) -> Verification:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end_child()
        self._folder.cleanup()

    def load(self) -> Loaded:
        """Execute the file, and say what of the lesson is in it."""
        wanted = {name: [self._called[name]] if name in self._called else _names_of(name) for name in NAMES}
        try:
            reply = self._loaded([each for names in wanted.values() for each in names])
        except NoAnswerError as error:
            return Loaded({}, no_answer=_cause(error))
        self._constants = reply["constants"]
        first = {name: [each for each in names if each in reply["found"]][:1] for name, names in wanted.items()}
        at = reply["stopped"]
        stopped = Stopped(at["error"], at["text"], at["line"]) if at is not None else None
        return Loaded({name: called for name, names in first.items() for called in names}, stopped)

    def verdicts(self, found: Mapping[str, str]) -> Iterator[Verdict]:
        """Try function after function."""
        for name, called in found.items():
            yield self._verdict(name, called)

    def _verdict(self, name: str, called: str) -> Verdict:
        deadline = monotonic() + self._seconds
        cases = cases_of(name)
        for number, given in enumerate(cases, 1):
            ours, theirs = self._ours(name, given), self._theirs(name, called, given, deadline)
            if not same(ours, theirs):
                return Verdict(name, called, number, self._smallest(name, called, given, ours, theirs, deadline))
        return Verdict(name, called, len(cases), None)

    def _smallest(
        self, name: str, called: str, given: Given, ours: Answer, theirs: Answer, deadline: float
    ) -> Difference:
        known = {_text(given): (ours, theirs)}

        def differs(candidate: Given) -> bool:
            if monotonic() > deadline:
                return False
            answers = self._ours(name, candidate), self._theirs(name, called, candidate, deadline)
            known[_text(candidate)] = answers
            return "no_answer" not in answers[1] and not same(*answers)

        # A file's content without a part of it is another case; and what gives no answer takes its time to do so.
        if name != "load_session" and "no_answer" not in theirs:
            given = shrunk(given, differs)
        ours, theirs = known[_text(given)]
        return Difference(given, ours, theirs, hint_for(name, given, ours, theirs))

    def _ours(self, name: str, given: Given) -> Answer:
        function: Callable[..., Any] = getattr(lesson_api, name)
        if name == "clean_old_tool_result":
            function = partial(function, placeholder=self._placeholder())
        if name == "compact" and "DEFAULT_KEEP_TURNS" in self._constants:
            function = partial(function, keep_turns=self._constants["DEFAULT_KEEP_TURNS"])
        with redirect_stdout(StringIO()):
            # Only an error is the lesson's answer: a Ctrl-C at this moment is meant for this program.
            return answer_of(function, name, given, Path(self._folder.name), Exception)

    def _theirs(self, name: str, called: str, given: Given, deadline: float) -> Answer:
        try:
            if self._child is None:
                self._loaded([called])
            request = {"name": name, "called": called, "given": given}
            return self._asked(request, deadline - monotonic(), _is_answer)
        except NoAnswerError as error:
            return {"no_answer": _cause(error)}

    def _placeholder(self) -> str:
        example = EXAMPLE_PLACEHOLDER if EXAMPLE_PLACEHOLDER.encode() in self._file.source else RECOMMENDED_PLACEHOLDER
        return str(self._constants.get("TOOL_RESULT_PLACEHOLDER", example))

    def _loaded(self, names: list[str]) -> dict[str, Any]:
        """Start the process and load the file there. Raises NoAnswerError."""
        self._child = ChildProcess(ceil(self._seconds * (len(NAMES) + 1)))
        source = self._file.source.decode("latin-1")
        return self._asked({"source": source, "path": self._file.path, "names": names}, self._seconds, _is_of_loading)

    def _asked(
        self, request: Mapping[str, Any], seconds: float, is_ours: Callable[[Mapping[str, Any]], bool]
    ) -> dict[str, Any]:
        """The child's reply. Raises NoAnswerError, the child ended, where there is none or none of ours."""
        assert self._child is not None
        try:
            reply = self._child.ask(request, seconds)
        except NoAnswerError:
            self._end_child()
            raise
        if not is_ours(reply):
            self._end_child()
            raise NoAnswerError(ended=True)
        return reply

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


def same(ours: Answer, theirs: Answer) -> bool:
    """Whether both are the same JSON, whatever the order of keys; 1, 1.0 and true are not the same."""
    return _text(ours) == _text(theirs)


# Replies as the child makes them: a file that looks for its ways may send others.


def _is_answer(reply: Mapping[str, Any]) -> bool:
    return "returned" in reply or _has_kinds(reply, {"raised": str, "text": str})


def _is_of_loading(reply: Mapping[str, Any]) -> bool:
    whole = _has_kinds(reply, {"found": list, "constants": dict, "stopped": dict | None})
    stopped = reply.get("stopped")
    return whole and (stopped is None or _has_kinds(stopped, {"error": str, "text": str, "line": int | None}))


def _has_kinds(reply: Any, kinds: Mapping[str, Any]) -> bool:
    return isinstance(reply, dict) and all(name in reply and isinstance(reply[name], kinds[name]) for name in kinds)


def _cause(error: NoAnswerError) -> str:
    return "ended" if error.ended else "time"


def _names_of(name: str) -> list[str]:
    return [name, ALSO_CALLED[name]] if name in ALSO_CALLED else [name]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
