"""What the offline model answers to one request: the tools it calls, and what it says of results and messages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from triptych.messages import Message, pictures_in, text_of, turn_starts
from triptych.models.base import Request
from triptych.models.offline_language import LONGEST_QUOTE, Script, say, script_of
from triptych.models.offline_recall import (
    Result,
    Sentence,
    hit_in,
    is_aside,
    is_summary,
    known_paths,
    listed_name,
    results_in,
    sentences_in,
)
from triptych.models.offline_requests import message_named, paths_meant, understand
from triptych.models.offline_scoring import best_answer, topic_of

_MOST_CALLS = 8
_MOST_NAMES = 12
_MOST_LOST = 4
_ATTACHED = re.compile(r"@(?:[\"'][^\"'\n]*[\"']|(?:\\.|\S)+)")
"""A file's name as it is attached: quoted, or with escaped blanks."""


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def arguments_text(self) -> str:
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """Text or calls, never both, never neither."""

    text: str = ""
    calls: tuple[Call, ...] = ()


def answer_to(request: Request) -> Answer:
    """The answer to a conversation, from nothing but the request."""
    return _Conversation(request).answer()


def _said(message: Message) -> str:
    """A message's words without the names of pictures that are attached to it: those are no files to read."""
    return _ATTACHED.sub(" ", text_of(message)) if pictures_in(message) else text_of(message)


class _Conversation:
    """One request as the offline model sees it."""

    def __init__(self, request: Request) -> None:
        messages = request.messages
        self._messages = messages
        self._tools = {name for schema in request.tools if (name := _tool_name(schema))}
        self._results = results_in(messages)
        self._known = known_paths(self._results)
        users = turn_starts(messages)
        self._place = next((index for index in reversed(users) if not is_summary(messages[index])), -1)
        self._question = _said(messages[self._place]) if self._place >= 0 else ""
        self._script: Script = script_of(text_of(messages[index]) for index in reversed(users))
        self._wish = understand(self._question, self._known)

    def answer(self) -> Answer:
        if self._place < 0 or not pictures_in(self._messages[self._place]):
            return self._answer_to_text()
        answer = self._answer_to_text() if self._question.strip() else Answer()
        return answer if answer.calls else Answer(self._joined(self._say("no_pictures"), answer.text))

    def _answer_to_text(self) -> Answer:
        fresh = [result for result in self._results if result.index > self._place]
        if fresh:
            return Answer(self._about(fresh))
        match self._wish.kind:
            case "read":
                return self._read(self._wish.paths)
            case "again":
                return self._call_again()
            case "list":
                return self._call([Call("list_files", self._where())])
            case "search":
                return self._call([Call("search_files", {"query": self._wish.query, **self._where()})])
            case "question":
                return self._answer_question()
            case "statement":
                return Answer(self._say("noted", index=self._place))
            case "other":
                return Answer(self._say("hello"))

    # Calls

    def _where(self) -> dict[str, Any]:
        return {"path": self._wish.paths[0]} if self._wish.paths else {}

    def _call(self, calls: Sequence[Call]) -> Answer:
        offered = tuple(call for call in calls if call.name in self._tools)
        return Answer(calls=offered[-_MOST_CALLS:]) if offered else Answer(self._say("no_tool"))

    def _read(self, paths: Sequence[str]) -> Answer:
        if not paths:
            return Answer(self._say("which"))
        return self._call([Call("read_file", {"path": path}) for path in paths])

    def _call_again(self) -> Answer:
        """Repeat the calls that are meant: of the message named, else of what was cleared, else of the newest."""
        named = message_named(self._question)
        if named is not None:
            meant = [result for result in self._results if result.index == named]
        else:
            cleared = [result for result in self._results if result.cleared]
            pruned = [result for result in self._results if result.state == "pruned"]
            read = [result for result in self._results if result.tool == "read_file"]
            meant = cleared or pruned or read or self._results
            meant = meant if self._wish.every else meant[-1:]
        calls = [Call(result.tool, result.arguments) for result in meant if result.tool]
        once = {(call.name, call.arguments_text): call for call in calls}
        return self._call(list(once.values())) if once else Answer(self._say("which"))

    # Answers

    def _answer_question(self) -> Answer:
        newest = {result.path: result for result in self._results if result.holds(result.path)}
        meant = paths_meant(self._question, self._known)
        paths = self._wish.paths or (meant if not topic_of(self._question, meant).weights else ())
        if missing := self._unread(paths, newest):
            return self._read(missing)
        if about := [newest[path] for path in paths if path in newest]:
            return Answer(self._recall_from(about) or self._describe_all(about))
        topic = topic_of(self._question)
        if not topic.weights and not topic.mine and self._results:
            return Answer(self._describe_all(self._results[-1:]))
        if found := best_answer(topic, sentences_in(self._messages, self._results)):
            return Answer(self._quoted(found))
        if missing := self._unread(meant, newest):
            return self._read(missing)
        return Answer(self._joined(self._say("unknown"), self._not_whole()))

    def _unread(self, paths: Sequence[str], newest: Mapping[str, Result]) -> list[str]:
        return [path for path in paths if path not in newest] if "read_file" in self._tools else []

    def _about(self, fresh: Sequence[Result]) -> str:
        """What to say when results have come: the answer, where a question led to them, else what they are."""
        answer = self._recall_from(fresh) if self._wish.asks and self._wish.kind not in ("list", "search") else None
        return answer or self._describe_all(fresh)

    def _recall_from(self, results: Sequence[Result]) -> str | None:
        """The answer from these results, or that they hold none; None where only the results are asked about."""
        topic = topic_of(self._question, [result.path for result in results])
        readable = [result for result in results if result.lines and not result.failed]
        if not topic.weights or not readable:
            return None
        places = {result.index for result in readable}
        sentences = [found for found in sentences_in(self._messages, self._results) if found.index in places]
        if found := best_answer(topic, sentences):
            return self._quoted(found)
        return "\n".join(map(self._answerless, readable))

    def _answerless(self, result: Result) -> str:
        place = self._result_place(result)
        return self._joined(
            self._say("unknown_there", place=place, quote=_clipped(result.lines[0])), self._left_out(result)
        )

    def _quoted(self, sentence: Sentence) -> str:
        place = self._place_of(sentence.index, sentence.kind, sentence.name)
        return self._say("answer", quote=_clipped(sentence.text), place=place)

    def _not_whole(self) -> str:
        """Which results are cleared or cut and have not come whole since."""
        newest = {(result.tool, result.name, str(result.arguments)): result for result in self._results}
        places = [
            self._say(
                "lost",
                index=result.index,
                name=_clipped(result.name) or self._say("result"),
                state=self._say(result.state),
            )
            for result in newest.values()
            if result.state
        ]
        return self._say("not_whole", places=self._say("comma").join(places[-_MOST_LOST:])) if places else ""

    # Results

    def _describe_all(self, results: Sequence[Result]) -> str:
        sentences = [self._describe(result) for result in results[:_MOST_CALLS]]
        if len(results) > _MOST_CALLS:
            sentences.append(self._say("more", lines=len(results) - _MOST_CALLS))
        return "\n".join(sentences)

    def _describe(self, result: Result) -> str:
        name = _clipped(result.name) or self._say("result")
        lines = [line for line in result.lines if not is_aside(line)]
        whole_lines = [line for line in result.whole_lines if not is_aside(line)]
        if result.cleared:
            return self._say("gone", name=name)
        if result.failed:
            return self._say("failed", name=name, quote=_clipped(lines[0]))
        if result.tool == "list_files":
            return self._listed(result, whole_lines)
        if result.tool == "search_files":
            return self._hits(result, whole_lines)
        if not lines:
            return self._say("empty", name=name)
        first, count = _clipped(lines[0]), f"{result.line_count:,}"
        if result.left_out:
            return self._say("read_part", name=name, quote=first, lines=count, part=self._say(result.left_out))
        return self._say("read_line" if result.line_count == 1 else "read_lines", name=name, quote=first, lines=count)

    def _listed(self, result: Result, lines: Sequence[str]) -> str:
        if not lines:
            return self._none_whole(result) or self._say("listed_none")
        names = [_clipped(listed_name(line)) for line in lines[:_MOST_NAMES]] + ["…"] * (len(lines) > _MOST_NAMES)
        values = {"lines": f"{len(lines):,}", "names": self._say("comma").join(names)}
        if result.left_out:
            return self._say("listed_part", part=self._say(result.left_out), **values)
        return self._say("listed", **values)

    def _hits(self, result: Result, lines: Sequence[str]) -> str:
        query = _clipped(str(result.arguments.get("query", "")))
        if not lines:
            return self._none_whole(result) or self._say("hits_none", query=query)
        path, number, text = hit_in(lines[0])
        name = _clipped(f"{path}:{number}" if path else result.tool)
        quote = _clipped(text, around=query)
        hits = self._say("hits", query=query, lines=f"{len(lines):,}", name=name, quote=quote)
        return self._joined(hits, self._left_out(result))

    def _left_out(self, result: Result) -> str:
        return self._say("left_out", part=self._say(result.left_out)) if result.left_out else ""

    def _none_whole(self, result: Result) -> str:
        return self._say("none_whole", part=self._say(result.left_out)) if result.left_out else ""

    # Words

    def _say(self, phrase: str, **values: object) -> str:
        return say(phrase, self._script, **values)

    def _joined(self, *sentences: str) -> str:
        return self._say("gap").join(sentence for sentence in sentences if sentence)

    def _result_place(self, result: Result) -> str:
        return self._place_of(result.index, "result", result.name)

    def _place_of(self, index: int, kind: str, name: str) -> str:
        place = self._say("message", index=index, kind=self._say(kind))
        return self._say("named", place=place, name=_clipped(name)) if name else place


def _clipped(text: str, around: str = "") -> str:
    """The text on one line, a long one cut; what is kept holds the words `around`, where they are in it."""
    line = " ".join(text.split())
    if len(line) <= LONGEST_QUOTE:
        return line
    start = max(0, line.casefold().find(around.casefold()) - LONGEST_QUOTE // 2)
    end = start + LONGEST_QUOTE - 2
    return "…" * bool(start) + line[start:end] + "…" * (end < len(line))


def _tool_name(schema: Mapping[str, Any]) -> str:
    function = schema.get("function")
    name = function.get("name") if isinstance(function, Mapping) else schema.get("name")
    return name if isinstance(name, str) else ""
