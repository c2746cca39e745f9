"""The policy of the session on a workbench: choosing another one, saving it, and showing what a change of it means."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from triptych.events import PolicyChanged
from triptych.policy import LAYERS, Policy
from triptych.policy_files import as_toml, available, own_path
from triptych.reasons import Reason, TriptychError
from triptych.session import utc_now
from triptych.storage.atomic import is_there, make_private_folder, replace_file
from triptych_tui.i18n import N_
from triptych_tui.screens.policy_dialog import Offer, PolicyDialog
from triptych_tui.stage_rows import after_policy, after_switch, under_policy
from triptych_tui.stage_words import policy_title
from triptych_tui.widgets.question_row import Answer
from triptych_tui.widgets.stage_bar import StageBar

if TYPE_CHECKING:
    from triptych_tui.screens.asking import Asking

FIRST = ("lesson", "robust")
"""Names that stand first."""


class Policies:
    """What the key `P` does. A policy is the session's: it remembers the one that was taken last."""

    def __init__(self, screen: Asking) -> None:
        self._screen = screen
        self._session = screen.session

    def choose(self) -> None:
        """Show the policies; the one that is taken is in force at once."""
        self._screen.app.push_screen(PolicyDialog(list(self._offers())), self._take)

    def follow(self, event: PolicyChanged) -> None:
        """Show the stages of the policy that is in force now, and all numbers anew where they are counted otherwise."""
        if event.policy.estimator != event.before.estimator:
            self._screen.count_anew()
        bar = self._screen.query_one(StageBar)
        switched = next((layer for layer in LAYERS if event.before.switched(layer) == event.policy), None)
        if self._screen.is_waiting:
            bar.show(under_policy(bar.moment, event.policy))
        elif switched is not None:
            bar.show(after_switch(event.policy, switched))
        else:
            bar.show(after_policy(event.policy))

    async def save_as_own(self, policy: Policy) -> None:
        """Write a name; the policy is a file of the user's own from then on, and the session goes by it."""

        def kept(text: str) -> None:
            self._screen.run_worker(self._save(policy, text.strip()), group="files")

        self._screen.hush()
        await self._screen.reader.open_path("save_policy", f"my-{policy_title(replace(policy, edited=False))}", kept)

    def _offers(self) -> Iterator[Offer]:
        """The policies there are, and the one in force where its numbers are its own."""
        present = self._session.policy
        if present.edited:
            yield Offer(present.name, present, in_force=True)
        for name, origin, _path, policy, reason in sorted(available(), key=lambda each: _rank(each.name)):
            is_present = name == present.name and not present.edited
            yield Offer(name, policy, reason, own=origin == "own", in_force=is_present)

    def _take(self, policy: Policy | None) -> None:
        if policy is not None and policy != self._session.policy:
            self._session.use_policy(policy)

    async def _save(self, policy: Policy, name: str) -> None:
        try:
            path = own_path(name)
        except TriptychError as error:
            self._screen.say(error.reason)
            return
        if is_there(path):
            replaces = self._screen.files.does(lambda: self._write(policy, name, path))
            question = Reason("policy.name_taken", {"path": str(path)})
            self._screen.files.ask(question, [Answer("y", N_("replace it"), replaces)], focus=True)
        else:
            await self._write(policy, name, path)

    async def _write(self, policy: Policy, name: str, path: Path) -> None:
        source, date = f"{policy.name}, as it was in a session", f"{utc_now():%Y-%m-%d}"
        own = replace(policy, name=name, edited=False, source=source, date=date)
        try:
            await asyncio.to_thread(_write_file, path, as_toml(own).encode())
        except OSError as error:
            self._screen.say(Reason("policy.not_saved", {"path": str(path), "error": error.strerror or str(error)}))
        else:
            self._session.use_policy(own)
            self._screen.say(Reason("policy.saved", {"path": str(path)}), fault=False)


def _rank(name: str) -> tuple[int, str]:
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


def _write_file(path: Path, data: bytes) -> None:
    make_private_folder(path.parent)
    replace_file(path, data)
