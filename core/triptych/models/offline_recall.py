"""What the offline model finds in its messages: results, what is missing from them, the sentence that answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from triptych.layers.prune import NOTICE_START
from triptych.layers.summarize import ACKNOWLEDGEMENTS
from triptych.messages import Message, ToolCall, carries_result, native, pair_calls, role_of, text_of, tool_calls
from triptych.models.offline_language import is_own, without_own_words
from triptych.models.offline_requests import is_question, understand
from triptych.models.offline_sections import UNANSWERED, sections_of, summary_in

# Tool results and notices

_CUT_WORDS = r"(?:省略|截断|截斷|omitted|truncated|left out|elided)"
_NOTICE = re.compile(
    rf"(?:\.{{3}}|…)?[ ]?\[[^\[\]\n]{{0,160}}?{_CUT_WORDS}[^\[\]\n]{{0,160}}\](?:[ ]?(?:\.{{3}}|…))?"
    rf"|^\([^()\n]{{0,160}}?{_CUT_WORDS}[^()\n]{{0,160}}\)$"
    rf"|(?:\.{{3}}|…)[^\n]{{0,160}}?{_CUT_WORDS}[^\n]{{0,160}}?(?:\.{{3}}|…)",
    re.IGNORECASE | re.MULTILINE,
)
# A whole result in brackets, but no JSON.
_PLACEHOLDER = re.compile(
    r"\s*[\[(【](?!\s*[\"'{\[\d])[^\n]{0,400}"
    r"(?:cleared|removed|masked|pruned|omitted|left out|interrupted|previous: used|清理|清除|清空|省略|中断|中斷)"
    r"[^\n]{0,400}[\])】]\s*",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\((?:no matches|no files|not all files|files and folders that|folders that could)[^\n]*\)")

_BETWEEN_LINES = re.compile(rf"{re.escape(NOTICE_START)}|.*(?:\b(?:files|matches|lines)\b|行)", re.IGNORECASE)

Part = Literal["beginning", "middle", "end"]
State = Literal["cleared", "pruned", "cut"]


@dataclass(frozen=True, slots=True)
class Result:
    """A tool result in the list.

    pieces: its text without notices, none where it was cleared, several where cut. whole_lines: the lines that no
    notice cut. state: what was done to it.
    """

    index: int
    tool: str
    arguments: Mapping[str, Any]
    pieces: tuple[str, ...]
    whole_lines: tuple[str, ...]
    left_out: Part | None
    state: State | None

    @property
    def cleared(self) -> bool:
        return self.state == "cleared"

    @property
    def path(self) -> str:
        path = self.arguments.get("path")
        return path if isinstance(path, str) else ""

    @property
    def name(self) -> str:
        """What it is called when spoken of: the file, else the tool."""
        return self.path if self.path and self.tool == "read_file" else self.tool

    @property
    def lines(self) -> list[str]:
        """The lines that are not blank."""
        return [line for piece in self.pieces for line in piece.splitlines() if line.strip()]

    @property
    def line_count(self) -> int:
        return sum(len(piece.strip("\n").split("\n")) for piece in self.pieces)

    @property
    def failed(self) -> bool:
        return bool(self.pieces) and self.pieces[0].lstrip().lower().startswith("error:")

    def holds(self, path: str) -> bool:
        """Whether something of this file can be read here."""
        return self.tool == "read_file" and self.path == path and not self.cleared and not self.failed


def results_in(messages: Sequence[Message]) -> list[Result]:
    """The tool results of a list, in order, those in the text protocol too."""
    calls = {
        index: tool_calls(native(messages[place[0]]))[place[1]]
        for index, place in pair_calls(messages).results.items()
        if place is not None
    }
    return [
        result_in(index, message, calls.get(index)) for index, message in enumerate(messages) if carries_result(message)
    ]


def result_in(index: int, message: Message, call: ToolCall | None) -> Result:
    """The result that a message carries, of `call`; without one the message itself may name the tool."""
    plain = native(message)
    if call is None and isinstance(name := plain.get("name"), str):
        call = ToolCall("", name, "")
    return result_of(index, call, text_of(plain))


def result_of(index: int, call: ToolCall | None, text: str) -> Result:
    """The result at `index` of `call`, None where it answers none."""
    notices = list(_NOTICE.finditer(text))
    pieces = tuple(piece for piece in _NOTICE.split(text) if piece.strip())
    left_out: Part | None = None
    state: State | None = None
    if _PLACEHOLDER.fullmatch(text) or (notices and not pieces):
        state, pieces = "cleared", ()
    elif notices:
        state = "pruned" if NOTICE_START in text else "cut"
        before, after = text[: notices[0].start()].strip(), text[notices[-1].end() :].strip()
        left_out = "middle" if before and after else "end" if before else "beginning"
    tool, arguments = (call.name, parsed(call.arguments)) if call else ("", {})
    whole_lines = () if state == "cleared" else tuple(_whole_lines(text, notices))
    return Result(index, tool, arguments, pieces, whole_lines, left_out, state)


def _whole_lines(text: str, notices: Sequence[re.Match[str]]) -> Iterator[str]:
    """The lines that are neither blank nor next to a notice that may have cut them."""
    start, cut_before = 0, False
    for notice in [*notices, None]:
        end = notice.start() if notice else len(text)
        # A notice on its own line brought the line ends beside it.
        lines = text[start:end].removeprefix("\n" * cut_before).split("\n")
        if cut_before:
            del lines[0]
        cut_before = notice is not None and not _stands_between_lines(text, notice)
        if cut_before:
            lines = lines[: -1 if lines and not lines[-1] else None]
            lines = lines[: -1 if lines and not _LISTED.search(lines[-1]) else None]
        yield from (line for line in lines if line.strip())
        start = notice.end() if notice else end


def _stands_between_lines(text: str, notice: re.Match[str]) -> bool:
    """Whether a notice stands on its own line and speaks of whole lines."""
    alone = text.endswith("\n", 0, notice.start()) or not notice.start()
    return alone and bool(_BETWEEN_LINES.match(notice[0]))


def parsed(arguments: str) -> dict[str, Any]:
    """A call's arguments, empty where they are no JSON object."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


_LISTED = re.compile(r"\s{1,8}\(\d+ bytes\)$")
_HIT = re.compile(r"^([^\s:][^:\n]{0,200}):(\d+): ?")


def is_aside(line: str) -> bool:
    """Whether a line of a tool's result speaks about the result instead of being one."""
    return bool(_ASIDE.match(line))


def listed_name(line: str) -> str:
    """The path in a line of a listing."""
    return _LISTED.sub("", line.strip())


def hit_in(line: str) -> tuple[str, str, str]:
    """Path, line number and text of a line of search results; path and number empty where it is written otherwise."""
    match = _HIT.match(line)
    return (match[1], match[2], line[match.end() :]) if match else ("", "", line)


def known_paths(results: Sequence[Result]) -> tuple[str, ...]:
    """The file paths that were read, listed or found, newest first."""
    paths: dict[str, None] = {}
    for result in reversed(results):
        if result.failed:
            continue
        if result.tool == "read_file":
            found = [result.path]
        elif result.tool == "list_files":
            found = [listed_name(line) for line in result.whole_lines if not is_aside(line)]
        else:
            found = [hit_in(line)[0] for line in result.whole_lines] if result.tool == "search_files" else []
        paths.update((path, None) for path in found if path)
    return tuple(paths)


# Sentences

SentenceKind = Literal["user", "assistant", "system", "result", "summary", "other"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that could be quoted, and where it stands.

    name: the file or tool of a result. heading: the line it stands under; leads: it is the first one there.
    """

    text: str
    index: int
    kind: SentenceKind
    name: str = ""
    heading: str = ""
    leads: bool = False


_SENTENCE_END = re.compile(
    r"(?<=[。！？；])(?![”」』])|(?<=[.!?][”\"'’])\s+|(?<=[.!?])(?<!\b[DM]r\.)(?<!\bMrs\.)(?<!\bSt\.)\s+"
)
_BULLET = re.compile(r"\s*(?:[-*•·#>|]+\s+|\d+[.)]\s+|<[/\w]+>\s*)*")
_HEADING = re.compile(r"#+ .{1,80}(?<![.!?。])|\[[^\]]{1,60}\]|.{1,60}[:：]\s*")
_SHORT_LINE = re.compile(r"[^=]{1,50}[^\s.!?;,。！？；，]\s*")
_ENDS_ASKING = re.compile(r"[?？][”\"'’」』)）*_]{0,4}$")
_LONGEST = 300


def sentences_of(text: str) -> Iterator[str]:
    """The sentences of a text, each on one line, bullets taken off, the very long ones cut."""
    for line in text.splitlines():
        for sentence in _SENTENCE_END.split(_BULLET.sub("", line, count=1)):
            plain = sentence.strip()
            if len(plain) > 1 and any(character.isalnum() for character in plain):
                yield plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"


def is_summary(message: Message) -> bool:
    """Whether a user message carries the summary of an older part."""
    return message.get("role") == "user" and summary_in(text_of(message)) is not None


def sentences_in(messages: Sequence[Message], results: Sequence[Result]) -> list[Sentence]:
    """Every sentence of the list that may be quoted: no question or request, no notice, no stock phrase of its own."""
    by_index = {result.index: result for result in results}
    found: list[Sentence] = []
    for index, message in enumerate(messages):
        role = role_of(message)
        if index in by_index:
            found += _result_sentences(by_index[index])
        elif is_summary(message):
            found += (Sentence(text, index, "summary") for text in _known_in_summary(text_of(message)))
        elif role == "user":
            told = (text for text in sentences_of(text_of(message)) if understand(text).kind == "statement")
            found += (Sentence(text, index, "user") for text in told if not is_own("unknown", text))
        elif role == "assistant":
            if text_of(message) in ACKNOWLEDGEMENTS:
                continue
            rest, quotes = without_own_words(text_of(native(message)))
            said = [*quotes, *sentences_of(rest)]
            found += (Sentence(text, index, "assistant") for text in said if not is_question(text))
        else:
            kind: SentenceKind = "system" if role in ("system", "developer") else "other"
            found += (Sentence(text, index, kind) for text in sentences_of(text_of(message)))
    return [sentence for sentence in found if not _ENDS_ASKING.search(sentence.text)]


def _known_in_summary(text: str) -> Iterator[str]:
    for section, line in sections_of(summary_in(text) or ""):
        if section not in UNANSWERED:
            for said in sentences_of(line):
                if not (said.endswith((":", "：")) or is_question(said) or is_own("unknown", said)):
                    yield said


def _result_sentences(result: Result) -> Iterator[Sentence]:
    if result.failed:
        return
    for piece in result.pieces:
        heading, leads, after_blank = "", False, True
        for line in piece.splitlines():
            path, _, said = hit_in(line) if result.tool == "search_files" else ("", "", line)
            name = path or result.name
            if is_aside(line) or not said.strip():
                after_blank = True
                continue
            if _HEADING.fullmatch(said) or (after_blank and _SHORT_LINE.fullmatch(said)):
                if leads:
                    yield Sentence(heading, result.index, "result", name)
                heading, leads = said.strip(), True
            else:
                for text in sentences_of(said):
                    yield Sentence(text, result.index, "result", name, heading, leads)
                    leads = False
            after_blank = False
        if leads:
            yield Sentence(heading, result.index, "result", result.name)
