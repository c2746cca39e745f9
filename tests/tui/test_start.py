"""What a start loads: the first picture waits for nothing that it does not show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support_command_line import CommandLine

LATE = frozenset(
    {
        "httpx2",
        "openai",
        "filelock",
        "sqlite3",
        "triptych.agent",
        "triptych.checks",
        "triptych.formats",
        "triptych.models.endpoint",
        "triptych.models.offline_reply",
        "triptych.models.openai",
        "triptych.pictures",
        "triptych.recovery",
        "triptych.repairs",
        "triptych_tui.connection",
        "triptych_tui.entry_details",
        "triptych_tui.keymap",
        "triptych_tui.panel_lines",
        "triptych_tui.previews",
        "triptych_tui.screens.connect_dialog",
        "triptych_tui.screens.failing",
        "triptych_tui.screens.help",
        "triptych_tui.screens.layers_by_hand",
        "triptych_tui.screens.looking_back",
        "triptych_tui.screens.palette",
        "triptych_tui.screens.reading",
        "triptych_tui.screens.session_files",
        "triptych_tui.screens.step_mode",
        "triptych_tui.widgets.notice",
        "triptych_tui.wording",
    }
)
"""What costs time to load, and is loaded when it is first needed."""

OPENS_AND_SHOWS = """
import asyncio, sys
import triptych_tui.cli
from triptych.settings import Settings
from triptych_tui.app import TriptychApp
from triptych_tui.launch import Launch, open_session
from triptych_tui.screens.workbench import Workbench

def first_picture(workbench):
    print(*sorted(sys.modules))
    workbench.app.exit()

Workbench.begin_keeping = first_picture
TriptychApp(open_session(Launch(Settings()), {})).run(headless=True, size=(120, 40))
"""


def test_the_first_picture_waits_for_nothing_that_it_does_not_show(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPENS_AND_SHOWS],
        capture_output=True,
        text=True,
        check=True,
        env=CommandLine(tmp_path).environment,
    )
    loaded = set(done.stdout.split())
    assert "triptych_tui.widgets.session_pane" in loaded
    assert sorted(LATE & loaded) == []
