"""Bringing a list that an API would refuse in order, visibly and so that it can be taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from triptych.checks import Problem, problems
from triptych.edits import Edit
from triptych.entries import Entry, Repaired, messages_of
from triptych.layers.plan import Plan, make_plan
from triptych.messages import is_result, result_message, tool_calls
from triptych.reasons import Reason
from triptych.tokens import TokenCounter

NO_RESULT = "[no result: this call was never answered]"
NO_ANSWER = "[empty answer]"


def repaired(entries: tuple[Entry, ...], counter: TokenCounter, new_ids: Callable[[int], int]) -> Plan:
    """The plan after which an API accepts the list; `new_ids` reserves ids, as a session does.

    Results of no call are taken out, calls without a result get one right after those that came, and empty assistant
    messages get words. What is added or changed is marked.
    """
    wrong = [problem for problem in problems(messages_of(entries)) if problem.severity == "error"]
    counts = Counter(problem.kind for problem in wrong)
    first_id = new_ids(counts["unanswered_call"])
    edits = tuple(_edits(entries, wrong, first_id))
    names = {"orphans": "orphan_result", "calls": "unanswered_call", "empty": "empty_assistant"}
    values = {name: counts[kind] or None for name, kind in names.items()}  # type: ignore[index]
    return make_plan("repair", entries, edits, Reason("repair.done", values), counter)


def _edits(entries: Sequence[Entry], wrong: Sequence[Problem], first_id: int) -> Iterator[Edit]:
    """In rising order: the calls of a message are closed behind its run of results."""
    at: dict[int, list[Problem]] = {}
    for problem in wrong:
        if problem.message is not None:
            place = problem.message
            if problem.kind == "unanswered_call":
                place = _end_of_run(entries, place)
            at.setdefault(place, []).append(problem)
    for index in sorted(at):
        closing = [problem for problem in at[index] if problem.kind == "unanswered_call"]
        inserted = [*_closed(entries, closing, first_id)]
        first_id += len(inserted)
        removed = entries[index : index + 1] if len(closing) < len(at[index]) else ()
        if any(problem.kind == "empty_assistant" for problem in at[index]):
            entry = entries[index]
            inserted.append(entry.replaced({**entry.message, "content": NO_ANSWER}, Repaired()))
        yield Edit(index, entries[index - 1].id if index else None, tuple(removed), tuple(inserted))


def _end_of_run(entries: Sequence[Entry], calling: int) -> int:
    end = calling + 1
    while end < len(entries) and is_result(entries[end].message):
        end += 1
    return end


def _closed(entries: Sequence[Entry], unanswered: Sequence[Problem], first_id: int) -> Iterator[Entry]:
    for number, problem in enumerate(unanswered):
        assert problem.message is not None
        calls = tool_calls(entries[problem.message].message)
        call = next(call for call in calls if call.id == problem.detail)
        result = result_message(entries[problem.message].message, call, NO_RESULT)
        yield Entry(first_id + number, result, (Repaired(),))
