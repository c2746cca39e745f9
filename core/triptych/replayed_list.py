"""The list of a replay: kept so that a long one costs no more than a short one, and held against the request before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from triptych.edits import Edit, append_edit, replacement_edits
from triptych.entries import Entry, messages_of
from triptych.layers.plan import make_plan
from triptych.messages import Message, carries_result, role_of
from triptych.policy import Policy
from triptych.reasons import Reason
from triptych.session import Session
from triptych.stages import Stage
from triptych.tokens import TokenCounter


class ReplayedList:
    """What is settled, then the list of `session`, then what waits. Places count from the first of all these entries.

    Layers look at the session alone. What is said waits until they run, since a step a message would copy the list each
    time; what they will not change any more is settled, since each time they go through all of the session's list. All
    of it is gathered again for a stage that tells places, or summarizes.

    start: the place of the session's first entry. weight: of all entries, by `counter`. counted: what plans have
    counted in what is settled, by the stage.
    """

    def __init__(self, entries: tuple[Entry, ...], policy: Policy, counter: TokenCounter) -> None:
        """`entries` is the list to begin with, and what the request before held."""
        self.weight = counter.total(entries)
        self.counted = Counter[Stage]()
        self._policy, self._counter = policy, counter
        clear = policy.clear and replace(policy.clear, from_tokens=0, on_overflow_only=False)
        self._anytime = replace(policy, clear=clear)  # a session does not know how long the whole list is
        self._settled: list[Entry] = []
        self._settled_size = 0  # by the policy's own estimator, as the next
        self._waiting_size = 0
        self._originals: dict[int, Entry] = {}  # what stood in earlier sessions before it was changed there
        self._waiting: list[tuple[Entry, Entry]] = []  # as it was said, and as layer 1 left it
        self._sent = len(entries)  # how many the request before had
        self._has_sent = False  # and it was sound
        self._added = 0  # weight of what was said since the request before
        self._changed_at: int | None = None  # the first place that was changed since then
        self._unchanged: tuple[Entry, ...] = ()  # the session's list before that
        self.session = self._begun(entries, 0)

    @property
    def start(self) -> int:
        return len(self._settled)

    @property
    def entries(self) -> list[Entry]:
        return [*self._settled, *self.session.entries, *(cut for _said, cut in self._waiting)]

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    @property
    def size(self) -> int:
        """The weight of all entries by the policy's own estimator."""
        return self._settled_size + self.session.counter.total(self.session.entries) + self._waiting_size

    def questions_and_newest(self) -> list[Entry]:
        """What decides by its turns: of what is settled the user messages alone, and all the rest."""
        settled = (entry for entry in self._settled if role_of(entry.message) == "user")
        return [*settled, *self.session.entries, *(cut for _said, cut in self._waiting)]

    def append(self, said: Entry, cut: Entry) -> None:
        """What is said next, and how layer 1 leaves it: the same entry where it cuts nothing."""
        self._waiting.append((said, cut))
        weight = self._counter.weight(cut)
        self.weight += weight
        self._added += weight
        self._waiting_size += self.session.counter.weight(cut)

    def flush(self) -> None:
        """Put what waits into the session: whole, so that originals are known, and then cut."""
        session, waiting = self.session, self._waiting
        self._waiting, self._waiting_size, end = [], 0, len(session.entries)
        if waiting:
            _number_from(session, waiting[-1][0].id + 1)
            self._perform("append", (append_edit(session.entries, *(said for said, _cut in waiting)),))
        cuts = [(end + number, cut) for number, (said, cut) in enumerate(waiting) if cut is not said]
        if cuts:
            self._perform("truncate", replacement_edits(session.entries, cuts))

    def settle(self, place: int, counted: Mapping[Stage, int]) -> None:
        """Take what stands before this place out of the session, which is another one from then on.

        `counted`: what plans count in it, by the stage.
        """
        old, count = self.session, place - self.start
        self._settled += old.entries[:count]
        self._settled_size += old.counter.total(old.entries[:count])
        self.counted.update(counted)
        self._originals = self._originals_of(old.entries)
        self.session = self._begun(old.entries[count:], old.new_ids(0))

    def gather(self) -> None:
        """Put what is settled, and what waits, into the session."""
        if self._settled:
            old, entries = self.session, (*self._settled, *self.session.entries)
            if self._changed_at is not None:
                self._unchanged = (*self._settled, *self._unchanged)
            originals = self._originals_of(old.entries)
            changed = [(at, entry) for at, entry in enumerate(entries) if entry.id in originals]
            self._settled, self._settled_size, self._originals = [], 0, {}
            self.counted.clear()
            self.session = self._begun(tuple(originals.get(entry.id, entry) for entry in entries), old.new_ids(0))
            self._perform("truncate", replacement_edits(self.session.entries, changed))
        self.flush()

    def _originals_of(self, entries: tuple[Entry, ...]) -> dict[int, Entry]:
        """What any layer has changed, as it was before, in the session and in those before it."""
        parameters = self._policy.summarize
        if parameters is None or not parameters.from_originals:  # nobody asks
            return {}
        known = ((entry.id, self.session.timeline.original(entry.id)) for entry in entries)
        return {id: original for id, original in known if original is not None} | self._originals

    def caller_at(self, place: int) -> int:
        """The place of what the results at this one, which is not settled, belong to."""
        index = place - self.start
        while index > 0 and carries_result(self._at(index).message):
            index -= 1
        return index + self.start

    # Since the request before

    def about_to_change(self, index: int, growth: int) -> None:
        """The session's list gets `growth` heavier, from its entry `index` on."""
        self.weight += growth
        place = index + self.start
        if self._changed_at is None:
            self._changed_at, self._unchanged = place, self.session.entries
        self._changed_at = min(self._changed_at, place)

    def unsent_messages(self) -> list[Message]:
        """The messages that the request before did not hold, from the call on that the first of them belongs to."""
        index, entries = self._first_unsent(), self.session.entries
        waiting = self._waiting[max(index - len(entries), 0) :]
        return [*messages_of(entries[index:]), *(cut.message for _said, cut in waiting)]

    def first_unsound(self) -> int:
        """The index in the session from which on an API might refuse what is there."""
        return self._first_unsent() if self._has_sent else 0

    def _first_unsent(self) -> int:
        first = self._sent if self._changed_at is None else min(self._sent, self._changed_at)
        return self.caller_at(max(first - 1, self.start)) - self.start

    def unsent_weight(self) -> int:
        """The weight of all that stands behind the beginning which the list has in common with the request before."""
        if self._changed_at is None:
            return self._added
        index, before, now = self._changed_at - self.start, self._unchanged, self.session.entries
        while index < min(len(before), len(now)) and before[index].message == now[index].message:
            index += 1
        common = min(index, self._sent - self.start)
        return self._counter.total(now[common:]) + sum(self._counter.weight(cut) for _said, cut in self._waiting)

    def send(self) -> None:
        """A request holds the list as it is."""
        self._sent = self.start + len(self.session.entries) + len(self._waiting)
        self._added, self._changed_at, self._unchanged, self._has_sent = 0, None, (), True

    def _begun(self, entries: tuple[Entry, ...], first_id: int) -> Session:
        """A session with this list, whose new ids are not below `first_id`."""
        session = Session(entries, self._anytime)
        if session.counter.estimator == self._counter.estimator:
            session.counter = self._counter  # what was weighed need not be weighed again
        _number_from(session, first_id)
        return session

    def _perform(self, stage: Stage, edits: tuple[Edit, ...]) -> None:
        session = self.session
        session.perform(make_plan(stage, session.entries, edits, Reason("turn.received"), session.counter), 0)

    def _at(self, index: int) -> Entry:
        """By its index in the session and what waits behind it."""
        waiting = index - len(self.session.entries)
        return self._waiting[waiting][1] if waiting >= 0 else self.session.entries[index]


def _number_from(session: Session, first_id: int) -> None:
    """Have the session's new ids begin there, where they do not begin later: ids follow the order of birth."""
    session.new_ids(max(first_id - session.new_ids(0), 0))
