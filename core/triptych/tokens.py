"""Counting tokens: exact sums of an estimator's weights, and measured usage beside them.

An estimate is kept as a whole number of the estimator's own small unit, so that sums of entries are exact and the
total is cut to whole tokens once: it equals the estimate of all the texts joined.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeVar

from triptych.edits import Edit
from triptych.entries import Entry
from triptych.messages import Message, pictures_in, reasoning_of, text_of, tool_calls

PICTURE_TOKENS = 800
"""What the second lesson counts for a picture, whatever its size."""

Key = TypeVar("Key", bound=Hashable)

_COUNTED_KEYS = ("tool_calls", "function_call", "reasoning_content")
"""Where a message has something that is counted beside its content."""

_LONG_LIST = 1000
"""Entries of a list that is worth remembering the weight of."""


class Term(NamedTuple):
    """A part of an estimate: how many there are of something, how the rule counts them (`×1.3`), and their weight."""

    number: int
    rule: str
    weight: int


class Estimator(Protocol):
    """Turns text into weights; `denominator` weights are one token.

    The weights of a text's parts add up to its own, wherever it is parted, and so do those of its terms.
    """

    @property
    def name(self) -> str: ...
    @property
    def denominator(self) -> int: ...
    def weight(self, text: str) -> int: ...
    def terms(self, text: str) -> tuple[Term, ...]: ...
    def __hash__(self) -> int: ...


@cache
def _not_cjk() -> re.Pattern[str]:
    """Compiled for the first text that is not ASCII: it takes as long as loading a module."""
    return re.compile("[^\u4e00-\u9fff\u3000-\u303f\uff00-\uffef]+")


class MeowgentEstimator(NamedTuple):
    """The second lesson's rule, `int(cjk * 1.3 + others / 3.5)`, in exact seventieths of a token.

    CJK are U+4E00-9FFF, U+3000-303F and U+FF00-FFEF: no kana, no Hangul, no curly quotes.
    """

    name: str = "meowgent"
    denominator: int = 70

    def weight(self, text: str) -> int:
        cjk = self.cjk_characters(text)
        return cjk * 91 + (len(text) - cjk) * 20

    def terms(self, text: str) -> tuple[Term, ...]:
        cjk = self.cjk_characters(text)
        others = len(text) - cjk
        return Term(cjk, "×1.3", cjk * 91), Term(others, "÷3.5", others * 20)

    @staticmethod
    def cjk_characters(text: str) -> int:
        return 0 if text.isascii() else len("".join(_not_cjk().split(text)))


class Chars4Estimator(NamedTuple):
    """Four characters a token, a common rule of thumb for English."""

    name: str = "chars4"
    denominator: int = 4

    def weight(self, text: str) -> int:
        return len(text)

    def terms(self, text: str) -> tuple[Term, ...]:
        return (Term(len(text), "÷4", len(text)),)


ESTIMATORS: Mapping[str, Estimator] = {"meowgent": MeowgentEstimator(), "chars4": Chars4Estimator()}


@dataclass(frozen=True, slots=True)
class Count:
    """How much a list is: messages, and whole tokens by the active estimator."""

    messages: int
    tokens: int


class TokenCounter:
    """Weights of entries by one estimator, each entry weighed once: it remembers its weight."""

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator
        self._list: tuple[Entry, ...] | None = None  # the list that was weighed last
        self._list_weight = 0

    def count_by(self, estimator: Estimator) -> None:
        """Weigh by another estimator from now on, and everything anew."""
        self.estimator = estimator
        self._list = None

    def weight(self, entry: Entry) -> int:
        """The weight of an entry: content, reasoning, names and arguments of its calls, pictures."""
        weighed = entry.weighed
        if weighed is not None and weighed[0] is self.estimator:
            return weighed[1]
        weight = self.message_weight(entry.message)
        entry.remember_weight(self.estimator, weight)
        return weight

    def message_weight(self, message: Message) -> int:
        content = message.get("content")
        if isinstance(content, str) and message.keys().isdisjoint(_COUNTED_KEYS):  # most messages
            return self.estimator.weight(content)
        return sum(map(self.estimator.weight, _counted_texts(message))) + self._pictures_weight(message)

    def message_terms(self, message: Message) -> tuple[Term, ...]:
        """How the weight of a message comes about: its texts together, then its pictures."""
        pictures = Term(pictures_in(message), f"×{PICTURE_TOKENS}", self._pictures_weight(message))
        return *self.estimator.terms("".join(_counted_texts(message))), pictures

    def _pictures_weight(self, message: Message) -> int:
        return pictures_in(message) * PICTURE_TOKENS * self.estimator.denominator

    def schemas_weight(self, schemas: Sequence[Mapping[str, Any]]) -> int:
        """The weight of a request's tool schemas, in whole tokens: counted apart, they add up with any list."""
        return self.tokens(self.estimator.weight(_schemas_text(schemas))) * self.estimator.denominator

    def schemas_terms(self, schemas: Sequence[Mapping[str, Any]]) -> tuple[Term, ...]:
        """How the weight of a request's tool schemas comes about, before it is cut to whole tokens."""
        return self.estimator.terms(_schemas_text(schemas))

    def total(self, entries: Iterable[Entry]) -> int:
        """The weight of all `entries`."""
        if entries is self._list:
            return self._list_weight
        weight = sum(map(self.weight, entries))
        if isinstance(entries, tuple) and len(entries) >= _LONG_LIST:
            self._list, self._list_weight = entries, weight
        return weight

    def follow(self, before: tuple[Entry, ...], edits: Iterable[Edit], after: tuple[Entry, ...]) -> None:
        """Know the weight of the list `after` these edits of `before`: of a long list only what changed is weighed."""
        weight = self.total(before)
        for edit in edits:
            weight += self.total(edit.inserted) - self.total(edit.removed)
        self._list, self._list_weight = after, weight

    def tokens(self, weight: int) -> int:
        """Whole tokens of a weight, cut as the article does."""
        return weight // self.estimator.denominator

    def count(self, entries: Sequence[Entry]) -> Count:
        return Count(len(entries), self.tokens(self.total(entries)))

    def entry_tokens(self, entries: Sequence[Entry]) -> list[int]:
        """Whole tokens of each entry, adding up to the tokens of the list."""
        weights = [self.weight(entry) for entry in entries]
        return _apportion(weights, self.tokens(sum(weights)))

    def shares(self, weights: Mapping[Key, int]) -> dict[Key, int]:
        """Whole tokens of each part, adding up to the tokens of the sum."""
        return apportion(weights, self.tokens(sum(weights.values())))


def _counted_texts(message: Message) -> Iterator[str]:
    yield text_of(message)
    yield reasoning_of(message)
    for call in tool_calls(message):
        yield call.name
        yield call.arguments


def _schemas_text(schemas: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(list(schemas), ensure_ascii=False) if schemas else ""


def apportion(weights: Mapping[Key, int], total: int) -> dict[Key, int]:
    """Divide `total` into whole numbers in proportion to `weights` (largest remainder): they add up to `total`."""
    return dict(zip(weights, _apportion(list(weights.values()), total), strict=True))


def _apportion(weights: Sequence[int], total: int) -> list[int]:
    whole = sum(weights)
    if whole == 0:
        return [0] * len(weights)
    shares = [weight * total // whole for weight in weights]
    missing = total - sum(shares)
    if missing:
        remainders = [weight * total % whole for weight in weights]
        least = sorted(remainders, reverse=True)[missing - 1]
        of_least = missing - sum(remainder > least for remainder in remainders)
        for index, remainder in enumerate(remainders):
            if remainder > least:
                shares[index] += 1
            elif remainder == least and of_least:
                shares[index] += 1
                of_least -= 1
    return shares


class Usage(NamedTuple):
    """What a model said one request cost, in its own tokens."""

    prompt_tokens: int
    completion_tokens: int = 0


class Measured(NamedTuple):
    """A size in tokens with how it is known: `measured`, `adjusted` (measured, then scaled) or `estimated`."""

    tokens: int
    kind: str


class MeasuredUsage(NamedTuple):
    """The newest measured prompt, and what the estimator said of that same request (messages and schemas)."""

    prompt_tokens: int
    estimate: int

    def at(self, estimate: int) -> Measured:
        """The measured size carried over to a request of another estimate, in proportion to the estimates."""
        if estimate == self.estimate or self.estimate == 0:
            return Measured(self.prompt_tokens, "measured")
        return Measured(self.prompt_tokens * estimate // self.estimate, "adjusted")
