"""A whole class of the lesson, stage by stage, through the real turn, layers and session file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support_scripted_model import Answer, ScriptedModel, ScriptedTool, asks_for, says
from tests.support_session_files import kept_at
from triptych.agent import run_turn
from triptych.entries import entries_from, messages_of
from triptych.events import Event, StageEntered, StepCommitted
from triptych.layers.summarize import SUMMARY_PROMPT
from triptych.messages import Message
from triptych.models.base import Request
from triptych.policy import Policy, preset
from triptych.session import Session
from triptych.tools.base import Toolbox

FOLDER = Path(__file__).parents[1] / "data" / "conformance"
PIPELINES = sorted(FOLDER.glob("lesson_pipeline_*.json"))


def exact(value: Any) -> str:
    """As JSON text, so that the order of keys counts."""
    return json.dumps(value, ensure_ascii=False, indent=1)


@dataclass
class Pipeline:
    """What the class's program does, as it runs here."""

    session: Session
    model: ScriptedModel
    tools: Toolbox
    events: list[Event]
    path: Path

    async def ask(self, text: str) -> None:
        outcome = await run_turn(self.session, text, model=self.model, tools=self.tools)
        assert outcome == "answered"

    @property
    def messages(self) -> list[Message]:
        return messages_of(self.session.entries)

    def cleared_before_requests(self) -> list[list[int]]:
        """For each request of the conversation, the indices layer 2 changed since the one before."""
        cleared: list[list[int]] = []
        pending: list[int] = []
        for event in self.events:
            if isinstance(event, StepCommitted) and event.step.stage == "clear":
                for edit in event.step.edits:
                    pending += range(edit.index, edit.index + len(edit.inserted))
            elif isinstance(event, StageEntered) and event.stage == "request":
                cleared.append(pending)
                pending = []
        return cleared


def script_of(recorded: dict[str, Any]) -> Iterator[Answer]:
    """The model's answers in the order in which they are asked for."""
    for turn in recorded["script"]:
        if turn["summary"] is not None:
            yield says(turn["summary"])
        if turn["step"]:
            calls = [
                (call["id"], call["function"]["name"], call["function"]["arguments"])
                for call in turn["step"]["tool_calls"]
            ]
            yield asks_for(*calls, text=turn["step"]["content"])
        yield says(turn["answer"])


def policy_of(recorded: dict[str, Any]) -> Policy:
    """The lesson's preset, which holds the recorded numbers by itself."""
    parameters = recorded["parameters"]
    policy = preset("lesson")
    assert policy.clear is not None
    assert policy.clear.placeholder == parameters["placeholder"]
    numbers = {name: parameters[name] for name in ("limit", "keep", "keep_turns")}
    assert policy.with_options(**numbers) == policy
    return policy


@pytest.fixture(params=PIPELINES, ids=lambda path: path.stem)
def recorded(request: pytest.FixtureRequest) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(request.param.read_text("utf-8"))
    return loaded


@pytest.fixture
def pipeline(recorded: dict[str, Any], tmp_path: Path) -> Pipeline:
    path = tmp_path / "default.json"
    outputs = [output for turn in recorded["script"] if turn["step"] for output in turn["step"]["tool_outputs"]]
    tools = Toolbox([ScriptedTool("read_file", outputs)])
    base = entries_from([{"role": "system", "content": recorded["system"]}])
    session = Session(base, policy_of(recorded), kept_at(path))
    events: list[Event] = []
    session.subscribe(events.append)
    return Pipeline(session, ScriptedModel(script_of(recorded)), tools, events, path)


def test_the_recorded_classes_are_here() -> None:
    assert [path.stem for path in PIPELINES] == ["lesson_pipeline_one_call", "lesson_pipeline_several_calls"]


async def test_stage_by_stage(recorded: dict[str, Any], pipeline: Pipeline) -> None:
    for turn, after_turn in zip(recorded["script"], recorded["after_turn"], strict=True):
        await pipeline.ask(turn["user"])
        assert exact(pipeline.messages) == exact(after_turn)
        assert pipeline.path.read_bytes() == json.dumps(after_turn, ensure_ascii=False, indent=2).encode()
    assert pipeline.model.unused == 0
    assert pipeline.path.read_bytes() == recorded["saved"].encode()

    cleared = iter(pipeline.cleared_before_requests())
    for request, expected in zip(pipeline.model.requests, recorded["requests"], strict=True):
        if expected["kind"] == "summary":
            assert_summary_request(request, expected["old_rendered"])
        else:
            assert exact(list(request.messages)) == exact(expected["messages"])
            assert [schema["function"]["name"] for schema in request.tools] == ["read_file"]
            assert next(cleared) == expected["cleared_now"]
    assert next(cleared, None) is None


def assert_summary_request(request: Request, old_rendered: str) -> None:
    system, user = request.messages
    assert system == {"role": "system", "content": SUMMARY_PROMPT}
    assert user == {"role": "user", "content": old_rendered}
    assert request.tools == ()


async def test_undo_and_redo_walk_the_class_turn_by_turn(recorded: dict[str, Any], pipeline: Pipeline) -> None:
    for turn in recorded["script"]:
        await pipeline.ask(turn["user"])
    session = pipeline.session
    start = [{"role": "system", "content": recorded["system"]}]
    states = [start, *recorded["after_turn"]]
    for state in reversed(states[:-1]):
        assert session.undo()
        assert exact(pipeline.messages) == exact(state)
    assert not session.undo()
    for state in states[1:]:
        assert session.redo()
        assert exact(pipeline.messages) == exact(state)
    assert not session.redo()
    await session.save()
    assert pipeline.path.read_bytes() == recorded["saved"].encode()


async def test_layer_2_alone_with_a_large_keep_turns(recorded: dict[str, Any], pipeline: Pipeline) -> None:
    """The article's recipe for watching layer 2: keep_turns so large that layer 3 never runs."""
    session = pipeline.session
    session.policy = session.policy.with_options(keep_turns=1000)
    pipeline.model = ScriptedModel(script_of({"script": [{**turn, "summary": None} for turn in recorded["script"]]}))
    for turn in recorded["script"]:
        await pipeline.ask(turn["user"])
    placeholder = recorded["parameters"]["placeholder"]
    results = [message["content"] for message in pipeline.messages if message["role"] == "tool"]
    # Layer 2 runs once a question, before its results: the last batch comes on top of the two that were kept.
    last = recorded["script"][-1]["step"]
    kept = 2 + (len(last["tool_calls"]) if last else 0)
    assert [content == placeholder for content in results] == [True] * (len(results) - kept) + [False] * kept


async def test_layers_switched_off_change_nothing(recorded: dict[str, Any], pipeline: Pipeline) -> None:
    session = pipeline.session
    session.policy = replace(session.policy, truncate=None, clear=None, summarize=None)
    pipeline.model = ScriptedModel(script_of({"script": [{**turn, "summary": None} for turn in recorded["script"]]}))
    expected: list[Message] = [{"role": "system", "content": recorded["system"]}]
    for turn in recorded["script"]:
        await pipeline.ask(turn["user"])
        expected.append({"role": "user", "content": turn["user"]})
        if step := turn["step"]:
            expected.append({"role": "assistant", "content": step["content"], "tool_calls": step["tool_calls"]})
            for call, output in zip(step["tool_calls"], step["tool_outputs"], strict=True):
                expected.append({"role": "tool", "tool_call_id": call["id"], "content": output})
        expected.append({"role": "assistant", "content": turn["answer"]})
    assert exact(pipeline.messages) == exact(expected)
