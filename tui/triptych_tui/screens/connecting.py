"""Which model answers: connecting to another one, going back to the offline model, learning how large the window is."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from triptych.models.base import ChatModel, ModelError
from triptych.models.endpoint import Endpoint
from triptych.models.keys import OPENAI_URL, is_openai, key_for, same_server
from triptych.models.openai import OpenAIModel
from triptych.reasons import Reason
from triptych.settings import chosen_model
from triptych_tui.connection import OPENAI_KEY, Connection, servers
from triptych_tui.i18n import _
from triptych_tui.launch import READING_PACE, OpenedSession
from triptych_tui.screens.connect_dialog import ConnectDialog

if TYPE_CHECKING:
    from triptych_tui.screens.workbench import Workbench


class Connecting:
    """Knows the connection in use. A key that was typed is kept here while the program runs, and nowhere else."""

    def __init__(self, screen: Workbench, opened: OpenedSession) -> None:
        self._screen = screen
        self._settings = opened.settings
        self._typed: tuple[str, str] | None = None
        self._last = self._from_settings()
        self._asks_again = True

    def on(self, screen: Workbench) -> Connecting:
        """The same, for the workbench of another session."""
        self._screen = screen
        return self

    def _from_settings(self) -> Connection:
        """What the command line, the environment or the config file names; else what is at hand."""
        at_hand = next(each.base_url for each in servers(os.environ) if each.name == "Ollama")
        usual = OPENAI_URL if self._settings.model or os.environ.get(OPENAI_KEY) else at_hand
        base_url = self._settings.base_url or usual
        model = "" if self._settings.offline else self._settings.model or ""
        try:
            key, source = self._key_for(base_url, "")
        except ModelError:
            key, source = None, ""
        return Connection(base_url, model, key, source, self._settings.window)

    def _key_for(self, base_url: str, typed: str) -> tuple[str | None, str]:
        """A key that is typed goes to the server it was typed for, OpenAI's where `keys.key_for` lets it go."""
        if typed:
            return typed, _("the connect dialog")
        if self._typed is not None and same_server(self._typed[0], base_url):
            return self._typed[1], _("the connect dialog")
        flag = self._settings.base_url if self._settings.source("base_url") == "--base-url" else None
        key = key_for(base_url, flag_base_url=flag, environment=os.environ)
        return key, OPENAI_KEY if key else ""

    def open(self) -> None:
        """Show the dialog; what it gives is in use at once."""
        has_key = bool(os.environ.get(OPENAI_KEY, "").strip())
        dialog = ConnectDialog(self._screen.opened, self._last, servers(os.environ), self._key_for, has_key)
        self._screen.app.push_screen(dialog, self._connect)

    def _connect(self, chosen: tuple[Connection, int | None] | None) -> None:
        if chosen is None:
            return
        connection, told = chosen
        if connection.key and connection.key_source != OPENAI_KEY:
            self._typed = (connection.base_url, connection.key)
        is_other = (connection.base_url, connection.model) != (self._last.base_url, self._last.model)
        self._last, self._asks_again = connection, True
        self._use(_model_of(connection, told), connection.host, is_other=is_other or self._screen.is_offline)
        self.learn_window()

    def use_offline(self) -> None:
        """Let the offline model answer from now on."""
        if self._screen.is_offline:
            self._screen.say(Reason("offline.already"), fault=False)
        else:
            model = chosen_model(replace(self._settings, offline=True), os.environ, pace=READING_PACE)
            self._use(model, "", is_other=True)

    def _use(self, model: ChatModel, host: str, *, is_other: bool) -> None:
        self._screen.workers.cancel_group(self._screen, "window")
        self._screen.hush()
        self._screen.use_model(model, host, is_other=is_other)

    def learn_window(self) -> None:
        """Ask the server for its window where nobody said how large it is; Ollama knows it once a model is loaded."""
        connection = self._last
        if connection.model and self._asks_again and not is_openai(connection.base_url):
            self._screen.run_worker(self._learn_window(connection), group="window", exclusive=True)

    async def _learn_window(self, connection: Connection) -> None:
        endpoint = Endpoint(connection.base_url, connection.key)
        try:
            listing = await endpoint.listing()
            window = await endpoint.window(listing, connection.model)
        except ModelError:
            return  # a question will tell what is wrong
        self._asks_again = window is None and listing.kind == "ollama"
        if window is not None and self._screen.is_attached:
            self._screen.use_model(_model_of(connection, window), connection.host, is_other=False)


def _model_of(connection: Connection, told: int | None) -> OpenAIModel:
    return OpenAIModel(
        name=connection.model,
        base_url=connection.base_url,
        api_key=connection.key,
        key_source=connection.key_source,
        window=told if connection.window is None else connection.window,
    )
