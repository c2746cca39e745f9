"""Requests that are sent again, against a real server: which, when, how often, and what becomes of the session."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from tests.support_desk import LESSON, QUIET, questions
from tests.support_openai_server import (
    DROP,
    OpenAIServer,
    Reply,
    answer,
    chunk,
    cut_after,
    error,
    finish_chunk,
    text_chunks,
)
from tests.support_session_files import kept_at
from triptych.agent import run_turn
from triptych.entries import entries_from, messages_of
from triptych.events import TextStreamed, TurnEnded
from triptych.layers import summarize
from triptych.layers.summarize import SummaryPlan
from triptych.models.base import ModelError
from triptych.models.openai import OpenAIModel
from triptych.models.retries import Retry
from triptych.policy import Policy
from triptych.session import Session
from triptych.storage.session_file import SessionFile
from triptych.summary_writing import write_summary
from triptych.tools.base import Toolbox

TALK = questions(2)


class Turn:
    """One question to a server that gives these replies; waits take no time and are written down."""

    def __init__(self, server: OpenAIServer, policy: Policy = QUIET, file: Path | None = None) -> None:
        self.waits: list[Retry] = []
        self.session = Session(entries_from(TALK), policy, kept_at(file) if file else None)
        self.events: list[object] = []
        self.session.subscribe(self.events.append)
        self.model = OpenAIModel(name="m", base_url=server.base_url, api_key="sk-secret", key_source="--key", timeout=5)

    async def ask(self, text: str = "next") -> str:
        return await run_turn(self.session, text, model=self.model, tools=Toolbox([]), wait=self._wait)

    async def _wait(self, retry: Retry) -> None:
        self.waits.append(retry)

    @property
    def said(self) -> str:
        return str(messages_of(self.session.entries)[-1]["content"])


async def asked(replies: Sequence[Reply] | Callable[..., Reply]) -> tuple[Turn, int, ModelError | None]:
    """A turn that is over, how many requests it took, and what it failed with."""
    failure = None
    async with OpenAIServer(replies) as server:
        turn = Turn(server)
        try:
            await turn.ask()
        except ModelError as failed:
            failure = failed
        return turn, len(server.requests), failure


@pytest.mark.parametrize(
    "first",
    [
        *(error(status, "not now") for status in (408, 409, 429, 500, 502, 503, 504, 529)),
        Reply([DROP]),
        Reply([chunk({"role": "assistant", "content": ""}), DROP]),
        cut_after(error(500, "busy"), 10),
        Reply([{"error": {"message": "overloaded", "code": 503}}]),
    ],
)
async def test_what_may_pass_is_asked_again(first: Reply) -> None:
    turn, requests, failure = await asked([first, answer("Here I am")])
    assert failure is None
    assert turn.said == "Here I am"
    assert requests == 2
    assert [(wait.attempt, wait.of) for wait in turn.waits] == [(2, 5)]


@pytest.mark.parametrize(
    "first",
    [
        *(error(status, "no") for status in (400, 401, 402, 403, 404, 405, 413, 418, 422)),
        error(429, "You exceeded your current quota", code="insufficient_quota"),
        error(400, "Too long", code="context_length_exceeded"),
        error(500, "the request exceeds the available context size", type="exceed_context_size_error"),
        Reply(['{"choices": [{"del']),
        Reply([], 307, {"Location": "http://elsewhere.invalid/"}),
    ],
)
async def test_what_will_not_pass_is_asked_once(first: Reply) -> None:
    turn, requests, failure = await asked([first, answer("never")])
    assert failure is not None
    assert not failure.may_pass
    assert requests == 1
    assert turn.waits == []
    assert messages_of(turn.session.entries) == TALK


@pytest.mark.parametrize(("asked_for", "waited"), [("7", 7), ("7.5", 7.5), ("0", 1), ("3600", 60), ("soon", 2)])
async def test_the_endpoint_says_how_long_to_wait_within_limits(asked_for: str, waited: float) -> None:
    turn, _, _ = await asked([error(429, "", headers={"Retry-After": asked_for}), answer("yes")])
    assert [wait.seconds for wait in turn.waits] == [waited]


async def test_the_endpoint_may_say_it_as_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
    turn, _, _ = await asked([error(503, "", headers={"Retry-After": later}), answer("yes")])
    (wait,) = turn.waits
    assert 20 < wait.seconds <= 40


@pytest.mark.parametrize("piece", [*text_chunks("Half"), chunk({"reasoning_content": "Hm"})])
async def test_nothing_is_asked_again_once_a_piece_has_come(piece: dict[str, object]) -> None:
    turn, requests, failure = await asked([Reply([piece, DROP]), answer("never")])
    assert failure is not None
    assert failure.reason.id == "model.cut_off"
    assert requests == 1
    assert turn.waits == []


async def test_nobody_listens_and_then_somebody_does() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    async with OpenAIServer([answer("There I am")], port=0) as server:
        turn = Turn(server)
        turn.model = OpenAIModel(name="m", base_url=f"http://127.0.0.1:{port}/v1")
        late = OpenAIServer([answer("There I am")], port=port)

        async def wait(retry: Retry) -> None:
            turn.waits.append(retry)
            await late.__aenter__()

        await run_turn(turn.session, "next", model=turn.model, tools=Toolbox([]), wait=wait)
        await late.__aexit__()
    assert [wait.reason.id for wait in turn.waits] == ["model.unreachable"]
    assert turn.said == "There I am"


async def test_cancelling_during_the_wait_ends_the_turn_as_any_cancel(tmp_path: Path) -> None:
    waiting = asyncio.Event()

    async def wait(retry: Retry) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async with OpenAIServer([error(500, "busy"), answer("never")]) as server:
        turn = Turn(server, file=tmp_path / "s.json")
        running = asyncio.create_task(run_turn(turn.session, "next", model=turn.model, tools=Toolbox([]), wait=wait))
        await waiting.wait()
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        assert len(server.requests) == 1
    assert [event.outcome for event in turn.events if isinstance(event, TurnEnded)] == ["cancelled"]
    assert messages_of(turn.session.entries) == [*TALK, {"role": "user", "content": "next"}]
    assert turn.session.is_saved


async def test_a_rejected_key_leaves_the_session_untouched_and_names_its_source(tmp_path: Path) -> None:
    async with OpenAIServer([error(401, "Incorrect API key provided: sk-secret")]) as server:
        turn = Turn(server, file=tmp_path / "s.json")
        before = turn.session.entries
        with pytest.raises(ModelError) as failed:
            await turn.ask()
    assert failed.value.reason.values["source"] == "--key"
    assert "sk-secret" not in str(failed.value)
    assert turn.session.entries is before
    assert turn.session.is_saved
    assert not (tmp_path / "s.json").exists()


async def test_a_server_that_wants_a_key_and_got_none() -> None:
    async with OpenAIServer([error(401, "no")]) as server:
        turn = Turn(server)
        turn.model = OpenAIModel(name="m", base_url=server.base_url, key_source="--key")
        with pytest.raises(ModelError) as failed:
            await turn.ask()
    assert failed.value.reason.id == "model.key_missing"


async def test_a_summary_is_asked_for_again_too() -> None:
    async with OpenAIServer([error(500, "busy"), answer("A summary"), answer("Done")]) as server:
        turn = Turn(server, LESSON.with_options(keep_turns=1))
        await turn.ask()
        assert len(server.requests) == 3
    assert turn.said == "Done"
    assert len(turn.waits) == 1
    assert "A summary" in messages_of(turn.session.entries)[1]["content"]


async def test_a_summary_by_hand_is_asked_for_again_too() -> None:
    async with OpenAIServer([error(500, "busy"), answer("A summary")]) as server:
        turn = Turn(server)
        session = turn.session
        parameters = summarize.SummarizeParameters(keep_turns=1)
        plan = summarize.plan(session.entries, parameters, session.counter, session.new_ids(2))
        assert isinstance(plan, SummaryPlan)
        written = await write_summary(session, plan, turn.model, turn._wait)
    assert written.text == "A summary"
    assert len(turn.waits) == 1


# Reasoning


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_reasoning_is_kept_beside_the_answer_and_sent_back(name: str, tmp_path: Path) -> None:
    thinking = [
        chunk({name: "Let me "}),
        chunk({name: "think.", "content": None}),
        *text_chunks("Yes."),
        finish_chunk(),
    ]
    async with OpenAIServer([Reply(thinking), answer("Again yes.")]) as server:
        turn = Turn(server, file=tmp_path / "s.json")
        await turn.ask()
        await turn.ask("and now?")
        sent = server.requests[1].messages
    spoken = {"role": "assistant", "content": "Yes.", "reasoning_content": "Let me think."}
    assert spoken in messages_of(turn.session.entries)
    assert spoken in sent
    streamed = [event for event in turn.events if isinstance(event, TextStreamed)]
    assert [event.text for event in streamed if event.reasoning] == ["Let me ", "think."]
    reread = SessionFile(tmp_path / "s.json").load().reading.messages
    assert spoken in reread


async def test_reasoning_under_both_names_counts_once() -> None:
    both = [chunk({"reasoning": "Hm.", "reasoning_content": "Hm."}), *text_chunks("Yes."), finish_chunk()]
    turn, _, _ = await asked([Reply(both)])
    assert messages_of(turn.session.entries)[-1]["reasoning_content"] == "Hm."


async def test_an_answer_that_is_reasoning_only_is_empty() -> None:
    turn, requests, failure = await asked([Reply([chunk({"reasoning": "Hm."}), finish_chunk()])])
    assert failure is not None
    assert failure.reason.id == "model.empty"
    assert requests == 1
    assert messages_of(turn.session.entries) == TALK


async def test_what_was_thought_before_a_cancel_stays_with_what_was_said() -> None:
    pieces = [chunk({"reasoning": "Hm."}), *text_chunks("Half", 4), asyncio.Event()]
    async with OpenAIServer([Reply(pieces)]) as server:
        turn = Turn(server)
        said = asyncio.Event()
        turn.session.subscribe(
            lambda event: said.set() if isinstance(event, TextStreamed) and not event.reasoning else None
        )
        running = asyncio.create_task(turn.ask())
        await said.wait()
        running.cancel()
        await asyncio.wait([running])
    assert messages_of(turn.session.entries)[-1] == {
        "role": "assistant",
        "content": "Half",
        "reasoning_content": "Hm.",
    }


async def test_tags_in_the_text_stay_there_as_they_came() -> None:
    turn, _, _ = await asked([answer("<think>Hm.</think>\n\nYes.")])
    assert messages_of(turn.session.entries)[-1] == {"role": "assistant", "content": "<think>Hm.</think>\n\nYes."}
