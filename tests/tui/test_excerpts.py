"""What the chat shows of a result that layer 1 has cut: its beginning, how much is left out, its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support_pilot import app_on, opened, screen_text, tool_talk
from triptych.formats.notices import guess_marks
from triptych.layers.truncate import LESSON_NOTICE, ROBUST_NOTICE
from triptych.policy import preset
from triptych.session import Session

LINES = "".join(f"line {number}\n" for number in range(10))


async def shown(path: Path, content: str) -> str:
    messages = tool_talk(1)
    messages[2]["content"] = content
    session = opened(path, messages)
    app = app_on(
        session._replace(
            session=Session(guess_marks([session.session.entries[0].message, *messages]), preset("robust"))
        )
    )
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        return screen_text(app)


@pytest.mark.parametrize(
    ("notice", "words"),
    [
        (LESSON_NOTICE.format(omitted=1234), "1,234 characters left out"),
        (ROBUST_NOTICE.format(omitted=1234, unit="characters"), "1,234 characters left out"),
        (ROBUST_NOTICE.format(omitted=1, unit="lines"), "1 line left out"),
        (ROBUST_NOTICE.format(omitted=2, unit="bytes"), "2 bytes left out"),
    ],
)
async def test_a_cut_result_shows_its_first_line_how_much_is_gone_and_its_last(
    notice: str, words: str, tmp_path: Path
) -> None:
    screen = await shown(tmp_path / "s.json", f"alpha\n{LINES}{notice}{LINES}omega")
    excerpt = [line.split("│")[1].strip(" ⋯") for line in screen.splitlines() if line.startswith("        │")]
    assert excerpt == ["alpha", words, "omega"]


async def test_a_line_that_only_looks_like_a_notice_is_shown_as_it_is(tmp_path: Path) -> None:
    endless = f"...中间省略{'9' * 5000}个字..."
    screen = await shown(tmp_path / "s.json", f"first\n{endless}\nmore{LESSON_NOTICE.format(omitted=7)}last")
    assert "7 characters left out" in screen
    assert "99999" in screen
