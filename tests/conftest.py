"""Hypothesis profiles: quick by default; TRIPTYCH_HYPOTHESIS=long looks much further."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("normal", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", settings.get_profile("normal"), max_examples=2000)
settings.load_profile(os.environ.get("TRIPTYCH_HYPOTHESIS", "normal"))
