"""The library starts light: what it does not need, it does not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import triptych

HEAVY = ("textual", "rich", "click", "openai", "httpx", "httpx2")
CORE = Path(triptych.__file__).parent


def loaded_after(code: str) -> list[str]:
    """Which of the heavy packages a fresh interpreter has loaded after running `code`."""
    script = f"{code}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_after("import triptych") == []


def test_importing_every_module_loads_nothing_heavy() -> None:
    paths = [path.relative_to(CORE.parent).with_suffix("") for path in CORE.rglob("*.py")]
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    assert {"triptych.agent", "triptych.settings", "triptych.models.openai", "triptych.formats"} <= set(names)
    assert loaded_after("\n".join(f"import {name}" for name in sorted(names))) == []
