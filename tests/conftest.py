"""What begins first, and hypothesis profiles: quick by default; TRIPTYCH_HYPOTHESIS=long looks much further."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("normal", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", settings.get_profile("normal"), max_examples=2000)
settings.load_profile(os.environ.get("TRIPTYCH_HYPOTHESIS", "normal"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Walks of half a minute begin first, so that nobody waits for one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long_walk") is None)
