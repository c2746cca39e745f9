"""Apps without a terminal paint nothing by themselves: what they show is drawn where a test looks at it.

Textual draws every frame of such an app and throws it away, which is more than half of what these tests would cost.
"""

from __future__ import annotations

from typing import Any

import pytest
from textual._compositor import Compositor


@pytest.fixture(autouse=True, scope="session")
def _frames_that_nobody_sees_are_not_drawn() -> None:
    def take_as_drawn(self: Compositor, *_: Any, **__: Any) -> None:
        self._dirty_regions.clear()

    Compositor.render_update = take_as_drawn  # type: ignore[method-assign]
