"""How a number of tokens comes about, for the rows that unfold beneath it: `38×1.3 + 120÷3.5 = 83.69`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from triptych.messages import Message, pictures_in
from triptych.tokens import PICTURE_TOKENS, Term, TokenCounter
from triptych_tui.i18n import _
from triptych_tui.picture_words import picture_label, size_fact
from triptych_tui.plain import plain
from triptych_tui.spans import Row, Span, cut_spans, wrap_spans

Line = list[Span]


def entry_sum(counter: TokenCounter, message: Message, shown: int) -> Iterator[Line]:
    """How a message's tokens come about; `shown` is the whole number in its row."""
    yield _sum(counter, counter.message_terms(message), shown)
    yield from _pictures(message)
    yield [Span(_("the rows' whole numbers add up to the total"), "faint")]
    yield _marks()


def schemas_sum(counter: TokenCounter, schemas: Sequence[Mapping[str, Any]], shown: int) -> Iterator[Line]:
    """The same for the tool schemas of a request."""
    yield _sum(counter, counter.schemas_terms(schemas), shown)
    yield [Span(_("cut to a whole number, and not in the total"), "faint")]
    yield _marks()


def sum_rows(lines: Iterable[Line], width: int, indent: int) -> list[Row]:
    """Lines as rows, wrapped where they are too long."""
    rows = (row for line in lines for row in wrap_spans(line, max(width - indent - 1, 8)))
    return [Row(cut_spans([Span(" " * indent), *row], width)) for row in rows]


def _sum(counter: TokenCounter, terms: Sequence[Term], shown: int) -> Line:
    present = [term for term in terms if term.number] or terms[:1]
    formula = " + ".join(f"{term.number:,}{term.rule}" for term in present)
    exact = sum(term.weight for term in present) / counter.estimator.denominator
    number = f"{exact:,.2f}".removesuffix(".00")
    told = "  " + _("shown as {tokens}").format(tokens=f"{shown:,}")
    return [Span(plain(f"{formula} = "), "text"), Span(number, "strong", "b"), Span(told, "muted")]


def _pictures(message: Message) -> Iterator[Line]:
    if not pictures_in(message):
        return
    from triptych.pictures import PATCH, seen_pictures  # most lists hold none

    for seen in seen_pictures(message):
        size = size_fact(*seen.size) if seen.size is not None else ""
        line = [Span(picture_label(size or seen.host), "text"), Span(f"  {PICTURE_TOKENS}", "text")]
        if seen.size is not None:
            patches = f"{size}÷{PATCH}² = {seen.size.patches:,}"
            words = _("by patches: {sum}").format(sum=plain(patches))
            line.append(Span(f"  {words}", "muted"))
        yield line


def _marks() -> Line:
    return [Span(_("~ estimated  ≈ measured, carried over  bare: measured"), "faint")]
