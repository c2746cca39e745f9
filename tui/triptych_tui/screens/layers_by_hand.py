"""Layers run by hand on a workbench: first what they would do, then one key applies it, another leaves everything."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.worker import Worker

from triptych.edits import EditConflict
from triptych.events import SummaryPieceSent
from triptych.layers.parameters import ParameterError
from triptych.layers.plan import Plan
from triptych.layers.summarize import SummaryPlan
from triptych.messages import carries_result
from triptych.models.base import ModelError
from triptych.policy import Trigger
from triptych.reasons import Reason
from triptych.stages import Layer
from triptych.summary_writing import write_summary
from triptych.tokens import Usage
from triptych_tui.hand_run import (
    HandRun,
    Parameters,
    is_edited,
    layer_of_key,
    parameters_in_force,
    plan_by_hand,
    with_fields,
)
from triptych_tui.launch import OpenedSession
from triptych_tui.panel_lines import PanelLines, layer_title, preview_facts
from triptych_tui.parameter_fields import fields_of
from triptych_tui.previews import Preview
from triptych_tui.sheet import Sheet
from triptych_tui.spans import Span
from triptych_tui.stage_rows import after_layer
from triptych_tui.stage_words import LAYER_INKS, LAYER_NUMBERS
from triptych_tui.themes import glyphs_of
from triptych_tui.widgets.layer_panel import LayerPanel, is_roomy
from triptych_tui.widgets.pane_header import PaneHeader
from triptych_tui.widgets.panel_rows import PanelRows
from triptych_tui.widgets.parameter_form import ParameterForm
from triptych_tui.widgets.summary_editor import SummaryEditor

if TYPE_CHECKING:
    from triptych_tui.screens.workbench import Workbench


class LayersByHand:
    """At most one layer at a time: `run` is what its panel shows, None while there is none."""

    def __init__(self, screen: Workbench, opened: OpenedSession, sheet: Sheet) -> None:
        self.run: HandRun | None = None
        self._screen = screen
        self._session = opened.session
        self._panel = LayerPanel(sheet, self, id="panel")
        self._header = PaneHeader(0, "", id="panel-header")
        self._why, self._foot = PanelRows(id="panel-why"), PanelRows(id="panel-foot")
        self._sheet = sheet
        self._form: ParameterForm | None = None
        self._summary = SummaryEditor(self._edit_summary, self._go_on_soon)
        self._preview: Preview | None = None
        self._selected: int | None = None
        self._writing: Worker[None] | None = None
        self._focus_before: Widget | None = None
        self._opening = asyncio.Lock()  # a key and the palette can ask for panels at once

    @property
    def writing(self) -> Worker[None] | None:
        """The work of a summary that the model is writing for the panel."""
        return self._writing

    @property
    def is_writing(self) -> bool:
        """Whether the model is writing a summary for the panel."""
        return self._writing is not None

    async def open(self, layer: Layer, selected: int | None) -> None:
        """Plan a layer and show it; `selected` is the index of the entry that layer 1 should cut alone, if it can."""
        async with self._opening:
            await self._open(layer, selected)

    async def _open(self, layer: Layer, selected: int | None) -> None:
        if selected is not None and not carries_result(self._session.entries[selected].message):
            selected = None
        self._selected = selected
        run = self._planned(layer_of_key(self._session, layer))
        if not self._panel.is_mounted:
            scrolled = Vertical(self._panel, self._summary, id="panel-scroll")
            box = Vertical(self._header, self._why, scrolled, self._foot, id="panel-box", classes="pane")
            await self._screen.query_one("#body", Horizontal).mount(box)
            self._panel.watch(self._screen, "focused", self._show_keys, init=False)
        if self.run is None:
            self._focus_before = self._screen.focused
        if self._form is not None:
            await self._form.remove()
        self._form = ParameterForm(run, self._change, self._go_on_soon, self._panel.focus)
        await self._screen.query_one("#panel-scroll").mount(self._form, before=self._panel)
        if self.run is None and self._screen.is_occupied:  # a question was sent while the panel was put together
            self._screen.queue.add_layer(layer)
            return
        try:
            self._show(run)
        except EditConflict as conflict:  # undone or redone while the panel was put together
            self._screen.say(conflict.reason)
            self.close()
        else:
            self._screen.query_one("#panel-scroll").scroll_home(animate=False)
            self._screen.set_focus(self._panel, scroll_visible=False)  # from its beginning, whatever fits

    def _planned(self, layer: Layer, parameters: Parameters | None = None, trigger: Trigger | None = None) -> HandRun:
        window = self._screen.opened.model.window
        return plan_by_hand(self._session, layer, self._selected, parameters, window=window, trigger=trigger)

    def plan_anew(self) -> None:
        """The list has changed: plan the same layer on it once more."""
        if self.run is not None and not self.holds_summary:
            self._show(self._planned(self.run.layer, self.run.parameters, self.run.trigger))

    @property
    def holds_summary(self) -> bool:
        """Whether the panel has a summary, or is getting one, which is for the list as it is."""
        return self.run is not None and (self.run.writing or self.run.summary_plan is not None)

    async def go_on(self) -> None:
        """Enter: send the request that is shown, or apply the plan that is shown."""
        run = self.run
        if run is None or run.writing:
            return
        if run.awaits_request and isinstance(run.planned, SummaryPlan):
            self._ask(run, run.planned)
        elif run.plan is not None and run.can_apply:
            await self._apply(run.plan, run.usage)

    @property
    def stops(self) -> list[str]:
        """The ids of what can have the focus in the panel, in order: a summary that is there before the many fields."""
        fields = self._form.stops if self._form is not None else []
        summary = ["summary-text"] if self.run is not None and self.run.summary_plan is not None else []
        return ["panel", *summary, *fields]

    def again(self) -> None:
        """Ask for the summary once more."""
        run = self.run
        if run is not None and run.summary_plan is not None and isinstance(run.planned, SummaryPlan):
            self._ask(replace(run, summary_plan=None, summary="", received=""), run.planned)

    def as_received(self) -> None:
        """Take the summary as the model wrote it."""
        if self.run is not None and self.run.summary_plan is not None:
            self._edit_summary(self.run.received)

    def switch(self) -> None:
        """Let the layer run in turns no more, or again; what the panel shows stays."""
        run, policy = self.run, self._session.policy
        if run is None or run.writing:
            return
        if not policy.has(run.layer):
            self._screen.say(Reason("layer.not_in_policy"), fault=False)
            return
        self._session.switch_layer(run.layer)

    def keep(self) -> None:
        """Let the session go by the edited parameters from now on."""
        run, policy = self.run, self._session.policy
        if run is None or run.writing or run.problem is not None:
            return
        if not policy.has(run.layer):
            self._screen.say(Reason("layer.not_in_policy"), fault=False)
        elif not run.edited:
            self._screen.say(Reason("policy.nothing_edited"), fault=False)
        else:
            self._session.use_policy(policy.with_parameters(run.layer, run.parameters, run.trigger))

    def leave(self) -> None:
        """Esc: stop the summary that is being written, else close the panel. Nothing changes."""
        if self._writing is not None:
            self._screen.cancel(self._writing)
        else:
            self.close()

    def close(self) -> None:
        """Take the panel away and give the focus back."""
        if self.run is None:
            return
        had_focus = self._screen.focused is not None and self._screen.focused.id in self.stops
        self.run = None
        self._screen.remove_class("-panel")
        self._screen.zoom("")
        self._panel.show_run(None)
        self._summary.show_run(None)
        for rows in (self._why, self._foot):  # a layout may still be under way, and asks them for what they show
            rows.show(lambda width: ())
        self._screen.show_preview(None)
        if had_focus:
            self._screen.set_focus(self._focus_before or self._screen.query_one("#prompt-text"))
        self._screen.after_panel()
        self._screen.refresh_facts()

    def speak(self) -> None:
        """Say all of the panel anew in the language now in force."""
        if self.run is not None:
            self._show(self.run)

    def show_text(self, text: str) -> None:
        """Show the summary as far as it has come."""
        if self.run is not None and self.run.writing:
            self.run = replace(self.run, summary=text)
            self._panel.show_progress(self.run)

    def save_policy(self) -> None:
        """Save the policy, with what is edited here, as the user's own."""
        run, policy = self.run, self._session.policy
        if run is not None and not run.writing and run.problem is None:
            if policy.has(run.layer):
                policy = policy.with_parameters(run.layer, run.parameters, run.trigger)
            self._screen.run_worker(self._screen.policies.save_as_own(policy), group="files")

    def show_policy(self) -> None:
        """Another policy is in force: say where the parameters come from."""
        if self.run is not None:
            _in_force, title = parameters_in_force(self._session, self.run.layer)
            edited = is_edited(self._session, self.run.layer, self.run.parameters, self.run.trigger)
            self._show(replace(self.run, edited=edited, preset=title))

    def show_piece(self, piece: SummaryPieceSent) -> None:
        """Show which request is sent of a summary that takes several."""
        if self.run is not None and self.run.writing:
            self.run = replace(self.run, piece=piece, summary="")
            self._panel.show_progress(self.run)

    def _go_on_soon(self) -> None:
        self._screen.run_worker(self.go_on(), group="panel")

    def _change(self, texts: dict[str, str]) -> None:
        """Plan anew with what was typed; what cannot be a parameter is said, and the last plan stays."""
        run = self.run
        if run is None or run.writing or texts.keys() != {name for each in run.filled for name in fields_of(each)}:
            return  # the last: the fields of a panel that comes or goes tell their texts as well
        try:
            parameters, trigger = with_fields(self._session, run, texts)
        except ParameterError as error:
            self._show(replace(run, problem=error.reason))
            return
        if parameters != run.parameters:
            self._show(self._planned(run.layer, parameters, trigger))
        elif trigger != run.trigger or run.problem is not None:
            edited = is_edited(self._session, run.layer, parameters, trigger)
            self._show(replace(run, trigger=trigger, edited=edited, problem=None))

    def _edit_summary(self, text: str) -> None:
        run = self.run
        if run is not None and isinstance(run.planned, SummaryPlan) and run.summary_plan and text != run.summary:
            flaw = run.flaw if text == run.received else None
            self._show(replace(run, summary=text, summary_plan=run.planned.with_summary(text, flaw)))

    def _ask(self, run: HandRun, planned: SummaryPlan) -> None:
        self._show(replace(run, writing=True))
        self._writing = self._screen.run_worker(self._write_summary(run, planned), group="compaction")

    async def _write_summary(self, run: HandRun, planned: SummaryPlan) -> None:
        done = run
        try:
            text, plan, usage, flaw = await write_summary(
                self._session, planned, self._screen.opened.model, self._screen.failing.wait
            )
            done = replace(run, summary=text, received=text, summary_plan=plan, usage=usage, flaw=flaw)
        except ModelError as error:
            self._screen.failing.fail(error.reason)
        finally:
            self._writing = None
            if self._screen.is_attached and self.run is not None and self.run.planned is planned:
                self._show(done)

    async def _apply(self, plan: Plan, usage: Usage | None) -> None:
        try:
            step = self._session.perform(plan, self._session.begin_action(), usage=usage)
        except EditConflict as conflict:
            self._screen.say(conflict.reason)
            self.close()
        else:
            self.close()
            self._screen.show_stage(after_layer(self._session.policy, [step]))
        await self._session.save()

    def _lines(self, width: int) -> PanelLines:
        assert self.run is not None
        assert self._preview is not None
        screen = self._screen
        return PanelLines(self.run, self._preview, self._sheet, glyphs_of(screen), width, roomy=is_roomy(screen))

    def _show_keys(self) -> None:
        """What to press in the panel, where the focus is now."""
        if self.run is not None:
            place = self._screen.focused.id if self._screen.focused is not None else ""
            in_field = place in self.stops and place != "panel"
            self._foot.show(lambda width: self._lines(width).foot(in_field=in_field))

    def _show(self, run: HandRun) -> None:
        self.run = run
        self._screen.add_class("-panel")
        targets = run.plan or run.planned
        ink = LAYER_INKS[run.layer]
        if isinstance(targets, SummaryPlan):
            preview = Preview.of_request(targets, self._sheet, ink)
        else:
            preview = Preview.of(targets, self._sheet, ink)
        self._header.set_title(layer_title(run.layer), Span(f"{LAYER_NUMBERS[run.layer]} ", ink, "b"))
        self._header.set_facts(preview_facts(run, self._screen.opened.model.window, glyphs_of(self._screen)))
        self._preview = preview
        self._panel.show_run(run, preview)
        self._why.show(lambda width: self._lines(width).why())
        self._show_keys()
        if self._form is not None:
            self._form.show_run(run)
        self._summary.show_run(run)
        self._screen.show_preview(preview)
        self._screen.refresh_facts()
