"""A server that leaves out the beginning is told apart from all that only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.entries import entries_from
from triptych.events import Event, Noticed
from triptych.policy import preset
from triptych.reasons import Reason
from triptych.session import Session
from triptych.tokens import Usage
from triptych.usage import Sent, UsageHistory, dropped_beginning

FULL = [Sent(500, 520), Sent(700, 715), Sent(1_600, 1_580)]


@pytest.mark.parametrize(
    ("requests", "read"),
    [
        ([*FULL, Sent(3_900, 3_950), Sent(4_400, 4_096), Sent(4_900, 4_096)], 4_096),  # cut to the window exactly
        ([*FULL, Sent(3_900, 3_974), Sent(30_000, 2_051)], 3_974),  # half the window, by a large result
        ([*FULL, Sent(3_900, 3_974), Sent(4_300, 2_050)], 3_974),
        ([Sent(9_000, 2_048), Sent(9_200, 2_048)], 2_048),  # from the first request on
        ([*FULL, Sent(3_900, 3_950), Sent(5_000, 3_800)], 3_950),  # whole old messages left out
    ],
)
def test_a_measure_that_stops_growing_is_noticed(requests: list[Sent], read: int) -> None:
    dropped = dropped_beginning(requests)
    assert dropped is not None
    assert dropped.read == read
    assert dropped.expected > read or requests[-1].estimate < 10_000


@pytest.mark.parametrize(
    "requests",
    [
        [],
        FULL[:1],
        FULL,
        [*FULL, Sent(1_600, 1_580)],  # the same request again
        [*FULL, Sent(1_610, 1_580)],  # too little to tell
        [Sent(500, 520), Sent(720, 210), Sent(910, 180), Sent(1_100, 175)],  # only what was added is counted
        [Sent(500, 520), Sent(720, 740), Sent(910, 180)],  # the same, after the model had been loaded anew
        [Sent(500, 520), Sent(720, 0), Sent(910, 0)],  # nothing is counted that a cache had
        [Sent(500, 800), Sent(900, 1_000), Sent(1_500, 1_200)],  # text of another kind weighs less
    ],
)
def test_what_only_looks_like_it_is_not(requests: list[Sent]) -> None:
    assert dropped_beginning(requests) is None


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=12), st.floats(0.5, 2.0), st.integers(1, 5_000))
def test_a_server_that_reads_all_is_never_blamed(growths: list[int], rate: float, first: int) -> None:
    estimates = [first]
    for growth in growths:
        estimates.append(estimates[-1] + growth)
    requests = [Sent(estimate, round(estimate * rate) + 7) for estimate in estimates]
    assert all(dropped_beginning(requests[:count]) is None for count in range(len(requests) + 1))


@given(st.lists(st.integers(16, 5_000), min_size=1, max_size=12), st.integers(200, 5_000), st.integers(0, 40))
def test_a_cache_that_is_not_counted_is_never_blamed(growths: list[int], first: int, template: int) -> None:
    requests = [Sent(first, first + template)]
    for growth in growths:
        requests.append(Sent(requests[-1].estimate + growth, growth + template))
    assert all(dropped_beginning(requests[:count]) is None for count in range(len(requests) + 1))


def test_it_is_told_once_until_it_changes() -> None:
    history, entries = UsageHistory(), entries_from([{"role": "user", "content": str(n)} for n in range(20)])
    sizes = [520, 1_500, 4_000, 4_096, 4_096, 4_096, 8_000, 8_192, 8_192, 8_192]
    told = [history.add(entries[: n + 1], Sent(500 + 1_500 * n, size)) for n, size in enumerate(sizes)]
    assert [(n, each.read) for n, each in enumerate(told) if each] == [(4, 4_096), (8, 8_192)]


def test_a_compaction_begins_anew() -> None:
    history, entries = UsageHistory(), entries_from([{"role": "user", "content": str(n)} for n in range(20)])
    assert history.add(entries[:10], Sent(4_000, 4_000)) is None
    assert history.add((entries[0], *entries[5:11]), Sent(4_200, 3_000)) is None
    assert history.add((entries[0], *entries[5:12]), Sent(4_300, 3_100)) is None


def test_a_session_tells_its_listeners_and_forgets_with_the_model() -> None:
    session = Session(entries_from([{"role": "system", "content": "s"}]), preset("lesson"))
    heard: list[Event] = []
    session.subscribe(heard.append)

    def send(estimate: int, measured: int) -> None:
        session.append("receive", {"role": "user", "content": "q"}, Reason("turn.received"), session.begin_action())
        session.record_usage(Usage(measured), estimate * session.counter.estimator.denominator)

    send(9_000, 2_048)
    session.forget_usage()
    send(9_200, 2_048)
    assert session.size(100 * session.counter.estimator.denominator).kind == "adjusted"
    assert [event for event in heard if isinstance(event, Noticed)] == []
    send(9_400, 2_048)
    assert [event.reason.id for event in heard if isinstance(event, Noticed)] == ["usage.beginning_dropped"]
