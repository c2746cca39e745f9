"""The workbench: three panes over one session, the prompt, and layers run by hand."""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.worker import WorkerCancelled

from triptych import events
from triptych.models.base import ChatModel
from triptych.stages import Layer
from triptych_tui.i18n import N_
from triptych_tui.launch import OpenedSession
from triptych_tui.screens.asking import Asking
from triptych_tui.screens.facts import chat_facts, file_facts, key_spans, messages_facts, tab_facts, title_spans
from triptych_tui.screens.keeping import KEEPING_ACTIONS, AnotherSession
from triptych_tui.screens.time_travel import HISTORY_ACTIONS
from triptych_tui.spans import Span
from triptych_tui.stage_rows import by_hand, in_piece, in_turn
from triptych_tui.themes import glyphs_of, renamed_keys_of
from triptych_tui.widgets.bar import Bar
from triptych_tui.widgets.chat_pane import ChatPane
from triptych_tui.widgets.gauges import Gauges
from triptych_tui.widgets.line_view import LineView
from triptych_tui.widgets.messages_pane import MessagesPane
from triptych_tui.widgets.pane_header import PaneHeader
from triptych_tui.widgets.session_pane import SessionPane
from triptych_tui.widgets.stage_bar import StageBar
from triptych_tui.widgets.tabs import Tabs

if TYPE_CHECKING:
    from triptych.layers.plan import Plan
    from triptych.layers.summarize import SummaryPlan
    from triptych_tui.hand_run import HandRun
    from triptych_tui.screens.connecting import Connecting
    from triptych_tui.screens.layers_by_hand import LayersByHand

FLUSH_SECONDS = 0.06
"""What streams is shown at most this often: with a cursor that blinks, 20 paints a second at most."""


class CoreEvent(Message):
    """Something happened in the core."""

    def __init__(self, event: events.Event) -> None:
        super().__init__()
        self.event = event


class Workbench(Asking):
    """Does what a user asks for. It holds view state only; all changes go through the session."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2,exclamation_mark", "layer('truncate')", N_("truncate"), id="layer.truncate"),
        Binding("f3,at", "layer('clear')", N_("clear"), id="layer.clear"),
        Binding("f4,number_sign", "layer('summarize')", N_("summarize"), id="layer.summarize"),
        Binding("escape", "leave", N_("cancel"), id="leave"),
        Binding("r", "retry", N_("ask again what failed"), id="retry"),  # bound in `Asking`, the next would hide it
        Binding("r", "revert", N_("take back this compaction"), id="history.revert"),
        Binding("m", "connect", N_("connect to a model"), id="model"),
        Binding("0", "use_offline", N_("offline model"), id="offline"),
        Binding("f9", "language", N_("language"), id="language"),
        Binding("ctrl+q", "quit", N_("quit"), priority=True, id="quit"),
    ]

    def __init__(self, opened: OpenedSession, width: int = 80, models: Connecting | None = None) -> None:
        super().__init__(opened, width)
        self._by_hand: LayersByHand | None = None
        self._models = models.on(self) if models is not None else None
        self._streamed = self._thought = ""
        self._streams_summary = False
        self._flush_armed = False
        self._told_width = 0

    def on_mount(self) -> None:
        self._unsubscribe = self._session.subscribe(self._hear)
        self.refresh_facts()
        self.query_one(SessionPane).show(self._opened.on_disk())
        if self._opened.notice is not None:
            self.say(self._opened.notice, fault=self._opened.notice.id != "open.foreign")

        self.call_after_refresh(_collect_garbage_again)
        self.call_after_refresh(self._learn_window)
        self.call_after_refresh(self.begin_keeping)

    def on_unmount(self) -> None:
        self._unsubscribe()
        if self._files is not None:
            self._files.leave()

    # What the core tells

    def _hear(self, event: events.Event) -> None:
        """Called by the core in the midst of its work: pass the event on; what streams is gathered first."""
        if isinstance(event, events.TextStreamed):
            if event.reasoning:
                self._thought += event.text
            else:
                self._streamed += event.text
            self._streams_summary = event.summary
            if not self._flush_armed:
                self._flush_armed = True
                self.set_timer(FLUSH_SECONDS, self._flush)
        else:
            self.post_message(CoreEvent(event))

    def _flush(self) -> None:
        self._flush_armed = False
        if not (self._streamed or self._thought) or self.is_looking_back:
            return
        if self._by_hand is not None and self._by_hand.is_writing:
            self._by_hand.show_text(self._streamed)
        else:
            said = {"content": self._streamed, "reasoning_content": self._thought}
            self.query_one(ChatPane).stream(said, summary=self._streams_summary)

    @on(CoreEvent)
    def _on_core_event(self, message: CoreEvent) -> None:
        event = message.event
        if not self.is_attached:
            return  # the user has left; the session goes on to its end without being seen
        self._follow_sheet(event)
        if isinstance(event, events.StreamEnded):
            self._streamed = self._thought = ""
            self.query_one(ChatPane).end_stream()
        elif isinstance(event, events.StageEntered):
            self.show_stage(in_turn(self._session.policy, event, waiting=self.is_waiting))
        elif isinstance(event, events.SaveFailed):
            self.show_stage(self.query_one(StageBar).moment.failed())
            self.files.failed(event.reason)
        elif isinstance(event, events.Noticed):
            self.say(event.reason)
        elif isinstance(event, events.TurnEnded):
            self._on_turn_ended(event)
            self._learn_window()
        else:
            self._on_seldom(event)
        self.refresh_facts()

    def _on_seldom(self, event: events.Event) -> None:
        panel = self._by_hand if self._run is not None else None
        if isinstance(event, events.PolicyChanged):
            self.policies.follow(event)
            if panel is not None:
                panel.show_policy()
        elif isinstance(event, events.SummaryPieceSent) and panel is not None:
            panel.show_piece(event)
        elif isinstance(event, events.SummaryPieceSent):
            self.show_stage(in_piece(self.query_one(StageBar).moment, event))

    def _show_file(self, planned: Plan | SummaryPlan | None) -> None:
        """Show what is on disk and what a save would change there, now or once `planned` is applied."""
        file, selected = self.query_one(SessionPane), self.query_one(MessagesPane).selected
        if not file.show(self._opened.on_disk(), planned) or selected is None:
            return
        place = self._sheet.index_at_head(selected)
        if place is not None:
            file.select(place, reveal=not file.following or planned is not None)

    def _follow_sheet(self, event: events.Event) -> None:
        """Show the list as it is now; where it is made anew, the selection stays on its entry."""
        entries = self._sheet.entries
        panes: tuple[ChatPane | MessagesPane, ...] = (self.query_one(ChatPane), self.query_one(MessagesPane))
        places = [None if pane.goes_along else pane.selected for pane in panes]
        change = self._sheet.follow(event)
        if change is None:
            return
        for pane, place in zip(panes, places, strict=True):
            pane.follow_sheet(change)
            index = self._sheet.index_of(entries[place].id) if change == "rebuilt" and place is not None else None
            if index is not None:
                pane.select(index, reveal=not pane.following)

    # Layers by hand

    async def action_layer(self, layer: Layer) -> None:
        if self._is_running:
            self.queue.add_layer(layer)
            return
        if self._failing is None:
            self.hush()
        else:
            self._failing.step_aside()
        self.to_head()
        if self._by_hand is None:
            from triptych_tui.screens.layers_by_hand import LayersByHand

            self._by_hand = LayersByHand(self, self._opened, self._sheet)
        messages = self.query_one(MessagesPane)
        selected = messages.selected if messages.has_focus else None
        self.zoom("")
        await self._by_hand.open(layer, selected)

    @property
    def is_occupied(self) -> bool:
        """Whether something runs, or a panel wants an answer."""
        return self._is_running or self._run is not None or self._is_left

    @property
    def _is_running(self) -> bool:
        return self._turn is not None or (self._by_hand is not None and self._by_hand.is_writing)

    def close_panel(self) -> None:
        if self._by_hand is not None:
            self._by_hand.close()

    @property
    def holds_summary(self) -> bool:
        return self._by_hand is not None and self._by_hand.holds_summary

    def plan_anew(self) -> None:
        if self._by_hand is not None:
            self._by_hand.plan_anew()

    def panel_stops(self) -> list[str]:
        return self._by_hand.stops if self._by_hand is not None and self._run is not None else []

    @property
    def _run(self) -> HandRun | None:
        return self._by_hand.run if self._by_hand is not None else None

    # The history

    def follow_view(self, event: events.Event) -> None:
        """Show the list that the view has come to: an earlier one, or the newest with all that goes on there."""
        self._follow_sheet(event)
        self.show_waiting(self._stepping.plan if self._stepping is not None and not self.is_looking_back else None)
        if self.is_looking_back:
            self.query_one(ChatPane).end_stream()
        else:
            self._flush()
        self.refresh_facts()

    # The file

    def show_opened(self, opened: OpenedSession) -> None:
        """Show where the session is kept from now on."""
        self._opened = opened
        self.refresh_facts()

    async def show_session(self, opened: OpenedSession, *, reads: bool = False) -> None:
        await self._leave_session()
        self.post_message(AnotherSession(opened, self._models, reads=reads))

    # The model

    @property
    def _connecting(self) -> Connecting:
        if self._models is None:
            from triptych_tui.screens.connecting import Connecting  # not needed for the first picture

            self._models = Connecting(self, self._opened)
        return self._models

    def action_connect(self) -> None:
        """Choose the model that answers from now on."""
        if not self.gives_up(then=self._connecting.open) and not self.busy():
            self._connecting.open()

    def action_use_offline(self) -> None:
        if not self.busy():
            self._connecting.use_offline()

    def use_model(self, model: ChatModel, host: str, *, is_other: bool) -> None:
        """Let this model answer from the next question on: another one, or the same with a window now known."""
        self._opened = self._opened.with_model(model, host)
        if is_other:
            self._session.forget_usage()
        self.query_one(Gauges).set_window(model.window)
        self.query_one(ChatPane).redraw()
        if self._by_hand is not None:
            self._by_hand.speak()
        self.refresh_facts()

    def _learn_window(self) -> None:
        if not self.is_offline and self._opened.model.window is None:
            self._connecting.learn_window()

    # Language

    def action_language(self) -> None:
        """Speak the next language, in place."""
        from triptych_tui.screens.language import speak_anew, speak_next

        speak_next()
        if self._by_hand is not None:
            self._by_hand.speak()
        self.refresh_facts()
        speak_anew(self)

    # Focus

    def action_leave(self) -> None:
        """Esc: cancel what runs, else leave the panel, the notice or the prompt. Never undoes anything."""
        if self._by_hand is not None and self._by_hand.run is not None:
            self._by_hand.leave()
        elif self._turn is not None:
            self.cancel(self._turn)
        elif self._leaves_row() or self.hush() or self.to_head():
            return
        elif self._in_prompt():
            self.set_focus(self.query_one(f"#{self._shown}", LineView))
        elif self._reading is not None:
            self._reading.leave()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that come behind the one that leaves do nothing; a panel speaks of the newest list alone."""
        if action == "retry":
            return self.can_retry and not self._is_left and self._run is None
        needs_no_panel = action in HISTORY_ACTIONS or action in KEEPING_ACTIONS
        return not self._is_left and not (needs_no_panel and self._run is not None) and self.can_keep(action)

    async def action_quit(self) -> None:
        await self.end(0)

    async def end(self, code: int) -> None:
        """Leave with an exit code."""
        await self._leave_session()
        self.app.exit(code)

    async def _leave_session(self) -> None:
        """Begin nothing any more, cancel what runs, in order, and save all."""
        self._is_left = True
        for work in (self._turn, self._by_hand.writing if self._by_hand is not None else None):
            if work is not None:
                self.cancel(work)
                with suppress(WorkerCancelled):
                    await work.wait()
        await self._session.save()

    def on_descendant_focus(self) -> None:
        self.refresh_facts()

    def on_descendant_blur(self) -> None:
        self.refresh_facts()

    # Words around the panes

    def refresh_facts(self) -> None:
        if not self.children or self._pruning or not self.app.is_running:
            return  # it is being taken away: the screen of another session has come, or the program ends
        running = self._is_running
        title = title_spans(self._opened, running=running, stepping=self._is_stepping, width=self.size.width)
        self.query_one("#title", Bar).show(title)
        place = self._reading.field_name if self._reading is not None else ""
        place = place or (self.focused.id or "" if self.focused is not None else "")
        renamed = renamed_keys_of(self)
        past = self._history if self.is_looking_back else None
        state = {"running": running, "waiting": self.is_waiting, "past": past is not None}
        history = self._session.timeline
        keys = key_spans(self._run, history, **state, place=place, width=self.size.width, renamed=renamed)
        self.query_one("#keys", Bar).show(keys)
        chat = self.query_one(ChatPane)
        unread = None if chat.following else chat.unread
        following = chat_facts(unread, empty=not chat.block_count, glyphs=glyphs_of(self))
        self._head("chat", past.fact() if past is not None else following)
        is_busy = self._run is not None or self._found("messages") != []
        legend = self.query_one(MessagesPane).legend
        self._head("messages", legend or messages_facts(self._sheet, previewing=is_busy))
        run = self._run
        waiting = self._stepping.plan if self._stepping is not None and past is None else None
        planned = (run.plan or run.planned) if run is not None else waiting
        self._show_file(planned)
        lines = self.query_one(SessionPane).changed_lines
        outside = self._files.outside if self._files is not None else ""
        self._head("file", file_facts(self._opened, outside, lines, previewing=planned is not None))
        self.query_one(Tabs).show_tab(self._shown if self._run is None or self._peeks else "")
        self.query_one(Tabs).show_facts(tab_facts(self._opened))
        policy = self._session.policy
        earlier = past.moment() if past is not None else None
        self.query_one(StageBar).overlay(by_hand(policy, run) if run is not None else earlier, policy.off)
        self.query_one(Gauges).show(planned)

    def _head(self, pane: str, facts: list[Span]) -> None:
        found = self._found(pane)
        gap = [Span("   ")] if found and facts and not facts[0].text.startswith(" ") else []
        self.query_one(f"#{pane}-header", PaneHeader).set_facts([*found, *gap, *facts])

    def _found(self, pane: str) -> list[Span]:
        """What search and filter say of a pane."""
        return self._reading.facts(pane) if self._reading is not None else []

    def on_resize(self) -> None:
        if self.size.width != self._told_width:  # at a start several come at one size
            self._told_width = self.size.width
            self.refresh_facts()


def _collect_garbage_again() -> None:
    """What was made until now stays for good, so collections need not look at it."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
