"""Characters of two cells, on a real terminal: none loses its half where a pane changes its width."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support_workbench import workbench


def rows_with_text(screen: str) -> list[str]:
    return [row.replace("▌", " ") for row in screen.splitlines() if "灯" in row]


def test_a_panel_that_was_open_leaves_every_character_whole(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": ""}]
    for number in range(6):
        content = "x" * (number % 2) + "灯塔与海燕" * 20
        messages += [{"role": "user", "content": content}, {"role": "assistant", "content": content}]
    file = tmp_path / "wide.json"
    file.write_text(json.dumps(messages, ensure_ascii=False), "utf-8")
    with workbench(tmp_path, file, rows=44, cols=120) as terminal:
        terminal.wait_for("✓ saved")
        terminal.press("escape")
        terminal.wait_for("/ search")
        terminal.send("2")
        before = terminal.wait_for("━ 2 Messages")
        terminal.press("f3")
        terminal.wait_for("Clear old tool results")
        terminal.press("escape")
        terminal.wait_for("━ 2 Messages")
        terminal.send("k")
        after = terminal.wait_for(lambda screen: "▌ 11" in screen)
        assert rows_with_text(after) == rows_with_text(before)
