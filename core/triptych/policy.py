"""Policies: which layers run, at which stage, when, with which parameters. Presets are TOML files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

from triptych.entries import Entry, Summary, messages_of
from triptych.layers.clear import ClearParameters
from triptych.layers.parameters import ParameterError, at_least, one_of
from triptych.layers.plan import shown_indices
from triptych.layers.prune import PruneParameters
from triptych.layers.summarize import SummarizeParameters, split, turns_in
from triptych.layers.truncate import TruncateParameters
from triptych.policy_tables import PolicyError, built
from triptych.reasons import Reason
from triptych.stages import Layer, Stage
from triptych.tokens import ESTIMATORS, Measured
from triptych_assets import FOLDER

LAYER_STAGES: frozenset[Stage] = frozenset({"truncate", "clear", "prune", "summarize"})
LAYERS: tuple[Layer, ...] = get_args(Layer)

ResultsAs = Literal["tool", "user"]

_FIXED_ORDER: tuple[Stage, ...] = ("receive", "request", "tool", "append", "answer", "save")
_STAGES: tuple[Stage, ...] = (*_FIXED_ORDER, "decide", *LAYERS)
_CONDITIONS = ("turns", "window_share", "tokens", "messages", "on_overflow_only")
"""Fields of a trigger of which at most one is set."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """When layer 3 runs by itself; at most one of the first five is set; where none is, it runs by hand only.

    Whatever is set, a list that an endpoint finds too long is summarized.

    turns: at more user messages than this.
    window_share: when the context fills this part of the window (0 to 1), measured where a measure is known.
    tokens: when the context has at least this many, measured where a measure is known.
    messages: when the list has more messages than this.
    on_overflow_only: when the context is known to be larger than the window.
    turns_without_window: beside `window_share`, at more turns than this where the window is unknown.
    reserve_tokens: beside `window_share`, also when fewer than this many tokens of the window are left; never before
        half of the window is full.
    """

    turns: int | None = None
    window_share: float | None = None
    tokens: int | None = None
    messages: int | None = None
    on_overflow_only: bool = False
    turns_without_window: int | None = None
    reserve_tokens: int = 0

    def __post_init__(self) -> None:
        for name in ("turns", "tokens", "messages", "turns_without_window"):
            at_least(name, getattr(self, name), 1)
        at_least("reserve_tokens", self.reserve_tokens, 0)
        if self.window_share is not None and not 0 < self.window_share <= 1:
            raise ParameterError("parameter.not_a_share", name="window_share", value=self.window_share)
        if len(self._set_conditions()) > 1:
            raise ParameterError("parameter.two_triggers", names=", ".join(self._set_conditions()))

    def _set_conditions(self) -> list[str]:
        return [name for name in _CONDITIONS if getattr(self, name) not in (None, False)]

    @property
    def by_hand_only(self) -> bool:
        """Whether layer 3 never runs by itself."""
        return not self._set_conditions()

    def threshold(self, window: int) -> int | None:
        """How full a window of this size is, in tokens, when layer 3 runs; None where it does not go by the window."""
        if self.window_share is None:
            return None
        return int(min(self.window_share * window, max(window - self.reserve_tokens, window / 2)))

    @classmethod
    def robust(cls) -> Trigger:
        """At 75 % of the window, or more than 20 turns where it is unknown."""
        return cls(window_share=0.75, turns_without_window=20)


@dataclass(frozen=True, slots=True)
class Policy:
    """What is done to the messages of a session. A layer whose parameters are None does not run.

    off: layers that keep their parameters but do not run in a turn.
    stages: the order in which a turn goes through them; between `request` and `answer` they repeat for every result.
    every_request: the stages before `request` run before every request of a turn, not only before the first: else one
        question with many calls is never shortened.
    max_tool_rounds: requests with tool calls in one turn before the turn is stopped.
    results_as: the role of tool results. `user`: calls and results are text, in the second lesson's protocol.
    estimator: the name of the token estimator.
    source, date, note: where the rules come from, for readers.
    edited: its numbers were changed in a session; `name` says what they were before.
    """

    name: str
    stages: tuple[Stage, ...]
    truncate: TruncateParameters | None = None
    clear: ClearParameters | None = None
    prune: PruneParameters | None = None
    summarize: SummarizeParameters | None = None
    trigger: Trigger = Trigger()
    off: tuple[Layer, ...] = ()
    every_request: bool = False
    max_tool_rounds: int = 25
    results_as: ResultsAs = "tool"
    estimator: str = "meowgent"
    source: str = ""
    date: str = ""
    note: str = ""
    edited: bool = False

    def __post_init__(self) -> None:
        at_least("max_tool_rounds", self.max_tool_rounds, 1)
        one_of("results_as", self.results_as, get_args(ResultsAs))
        for key, known in (("stages", _STAGES), ("off", LAYERS)):
            for stage in getattr(self, key):
                if stage not in known:
                    named = ", ".join(known)
                    raise PolicyError("policy.unknown_stage", policy=self.name, key=key, stage=stage, known=named)
        order = [stage for stage in self.stages if stage in _FIXED_ORDER]
        if tuple(order) != _FIXED_ORDER:
            raise PolicyError("policy.stages", policy=self.name, expected=" → ".join(_FIXED_ORDER))
        if (misplaced := next(self._misplaced(), None)) is not None:
            raise PolicyError("policy.misplaced_stage", policy=self.name, stage=misplaced)
        if self.estimator not in ESTIMATORS:
            known_ones = ", ".join(ESTIMATORS)
            raise PolicyError("policy.estimator", policy=self.name, estimator=self.estimator, known=known_ones)

    def _misplaced(self) -> Iterator[Stage]:
        """The stages at places where they would never run: layer 1 is for results, all others for the whole list."""
        request, answer, last = (self.stages.index(stage) for stage in ("request", "answer", "save"))
        for index, stage in enumerate(self.stages):
            among_results = request < index < answer
            if stage not in _FIXED_ORDER and ((stage == "truncate") != among_results or not 0 < index < last):
                yield stage

    def runs(self, stage: Stage) -> bool:
        """Whether a stage has something to do: a layer's stage needs its parameters, and not to be switched off."""
        return stage not in LAYER_STAGES or (stage not in self.off and getattr(self, stage) is not None)

    def stages_between(self, behind: Stage, before: Stage | None = None) -> tuple[Stage, ...]:
        """The stages between two, or from one to the end."""
        return self.stages[self.stages.index(behind) + 1 : None if before is None else self.stages.index(before)]

    def has(self, layer: Layer) -> bool:
        """Whether a layer belongs to its turns, switched off or not."""
        return layer in self.stages and getattr(self, layer) is not None

    def switched(self, layer: Layer) -> Policy:
        """The same with a layer switched off, or on again."""
        off = [each for each in self.off if each != layer]
        return replace(self, off=tuple(off if layer in self.off else [*off, layer]))

    def with_parameters(self, layer: Layer, parameters: object, trigger: Trigger | None = None) -> Policy:
        """The policy with other parameters of a layer, edited in a session; with this trigger, if one is given."""
        changed = self._with(layer, parameters)
        return replace(changed, trigger=trigger or changed.trigger, edited=True)

    def with_options(
        self, *, limit: int | None = None, keep: int | None = None, keep_turns: int | None = None
    ) -> Policy:
        """The policy with numbers given on the command line, where it has the layer they belong to.

        `keep_turns` is layer 3's.
        """
        changed = self
        if limit is not None and changed.truncate:
            changed = changed._with("truncate", changed.truncate.with_limit(limit))
        if keep is not None and changed.clear:
            changed = changed._with("clear", replace(changed.clear, keep=keep))
        if keep_turns is not None and changed.summarize:
            changed = changed._with("summarize", changed.summarize.with_turns(keep_turns))
        return changed

    def _with(self, layer: Layer, parameters: object) -> Policy:
        """Other parameters of a layer. The lesson's trigger by turns moves along: there the two are one number."""
        changed = replace(self, **{layer: parameters})  # type: ignore[arg-type]
        summarize = changed.summarize
        if layer == "summarize" and summarize and summarize.flavour == "lesson" and changed.trigger.turns:
            return replace(changed, trigger=replace(changed.trigger, turns=summarize.keep_turns))
        return changed


class Decision(NamedTuple):
    """Whether layer 3 is due, and why or why not."""

    due: bool
    reason: Reason


def decide(policy: Policy, entries: Sequence[Entry], size: Measured, window: int | None) -> Decision:
    """Whether to summarize before the next request; `size` is the context's in tokens, `window` the model's."""
    if policy.summarize is None:
        return Decision(False, Reason("decide.layer_off"))
    if "summarize" in policy.off:
        return Decision(False, Reason("decide.switched_off"))
    trigger = policy.trigger
    if trigger.turns is not None:
        return _decide_by_turns(trigger.turns, policy.summarize, entries)
    if trigger.tokens is not None:
        due, values = size.tokens >= trigger.tokens, {"tokens": size.tokens, "threshold": trigger.tokens}
        return Decision(
            due, Reason("decide.tokens_over" if due else "decide.tokens_within", {**values, "kind": size.kind})
        )
    if trigger.messages is not None:
        due, values = len(entries) > trigger.messages, {"messages": len(entries), "limit": trigger.messages}
        return Decision(due, Reason("decide.messages_over" if due else "decide.messages_within", values))
    if trigger.on_overflow_only:
        due = window is not None and size.tokens > window
        return Decision(due, Reason("decide.too_long" if due else "decide.no_overflow"))
    if trigger.window_share is not None and window is None and trigger.turns_without_window is not None:
        return _decide_by_turns(trigger.turns_without_window, policy.summarize, entries)
    if trigger.window_share is not None:
        return _decide_by_share(trigger, size, window)
    return Decision(False, Reason("decide.by_hand_only"))


def _decide_by_turns(limit: int, parameters: SummarizeParameters, entries: Sequence[Entry]) -> Decision:
    if parameters.flavour == "robust":
        from triptych.layers.exchanges import real_turn_starts  # on first use: the window opens without it

        turns = len(real_turn_starts(entries))
        id = "decide.turns_over" if turns > limit else "decide.turns_within"
        return Decision(turns > limit, Reason(id, {"turns": turns, "limit": limit}))
    messages = messages_of(entries)
    users = turns_in(messages, count_results=parameters.count_results)
    due = len(users) > limit
    variables: dict[str, Any] = {"user_idx": shown_indices(users)}
    if due:
        variables["cut"] = split(messages, parameters.keep_turns, count_results=parameters.count_results)
    values = {"turns": len(users), "limit": limit}
    if not due:
        return Decision(False, Reason("decide.turns_within", values, variables))
    with_summary = any(entries[index].has_mark(Summary) for index in users)
    over = "decide.turns_over_with_summary" if with_summary else "decide.turns_over"
    return Decision(True, Reason(over, values, variables))


def _decide_by_share(trigger: Trigger, size: Measured, window: int | None) -> Decision:
    threshold = None if window is None else trigger.threshold(window)
    if threshold is None:
        return Decision(False, Reason("decide.window_unknown"))
    due = size.tokens >= threshold
    values = {"tokens": size.tokens, "threshold": threshold, "window": window, "kind": size.kind}
    return Decision(due, Reason("decide.share_over" if due else "decide.share_within", values))


def preset_names() -> list[str]:
    """The names of the presets that come with the program."""
    return sorted(file.stem for file in (FOLDER / "policies").glob("*.toml"))


def preset(name: str) -> Policy:
    """A preset by name. Raises PolicyError with the known names."""
    if name not in preset_names():
        raise PolicyError("policy.unknown", policy=name, known=", ".join(preset_names()))
    return policy_from_toml((FOLDER / "policies" / f"{name}.toml").read_text("utf-8"), name)


def policy_from_toml(text: str, name: str) -> Policy:
    """Read a policy file. Raises PolicyError naming the key that is unknown, has the wrong type or is out of range."""
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # no TOML, a number without end, or nested too deeply
        raise PolicyError("policy.not_toml", policy=name, detail=str(error)) from None
    for key in ("name", "edited"):  # the file's name is the policy's, and what a file says is unchanged
        if key in table:
            raise PolicyError("policy.unknown_key", policy=name, key=key)
    return built(Policy, {**table, "name": name}, name)


def as_table(policy: Policy) -> dict[str, Any]:
    """A policy in JSON's own kinds, every parameter by its name."""
    return asdict(policy)


def policy_from_table(table: Any) -> Policy:
    """A policy from what `as_table` gave, perhaps in another version: keys that are not known here are passed over.

    Raises TriptychError when it is none.
    """
    name = table.get("name") if isinstance(table, dict) else None
    if not isinstance(name, str):
        raise PolicyError("policy.missing_key", policy="", key="name")
    return built(Policy, table, name, lenient=True)
