"""Which messages belong together is the same, whether a list is looked at as a whole or as it grew."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.core.test_robust_layers import entry_lists
from tests.support_strategies import ALWAYS
from triptych.entries import Entry, entries_from
from triptych.layers.exchanges import Exchanges, exchanges_of


def known(exchanges: Exchanges) -> object:
    tools = [(exchanges.tool_of(index), exchanges.call_of(index)) for index in exchanges.results]
    return (
        exchanges.owners,
        exchanges.turns,
        exchanges.pinned,
        list(exchanges.is_safe),
        exchanges.unanswered_start,
        tools,
    )


@ALWAYS
@given(entry_lists(), st.lists(st.floats(0, 1), max_size=3))
def test_a_list_that_grew_is_known_as_if_it_were_new(entries: tuple[Entry, ...], shares: list[float]) -> None:
    grown = [exchanges_of(entries[: int(len(entries) * share)]) for share in sorted([0, *shares, 1])]
    for each in grown:  # nor is what was known of the shorter list changed
        assert known(each) == known(Exchanges(each.entries))


def test_a_list_that_was_changed_in_between_is_looked_at_anew() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    calling = {"role": "assistant", "content": None, "tool_calls": [call]}
    entries = entries_from([calling, {"role": "tool", "tool_call_id": "c", "content": "text"}])
    assert exchanges_of(entries).tool_of(1) == "read_file"
    assert exchanges_of((entries_from([{"role": "user", "content": "?"}])[0], entries[1])).tool_of(1) == ""
    assert exchanges_of(entries[1:]).results == [0]
