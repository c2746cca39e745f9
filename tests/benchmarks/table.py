"""What a benchmark found, as a printed table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Finding:
    """One comparison. `ratios` are pairwise, from one run; the goal, if any, is an upper bound of their median."""

    what: str
    baseline: float
    subject: float
    ratios: Sequence[float]
    goal: float | None
    unit: str = "ms"

    @property
    def ratio(self) -> float:
        return median(self.ratios)


def compare(what: str, baseline: Sequence[float], subject: Sequence[float], goal: float | None) -> Finding:
    """Seconds measured in turn, A B A B …; the medians are shown in milliseconds, the ratios are pairwise."""
    ratios = [b / a for a, b in zip(baseline, subject, strict=True)]
    return Finding(what, median(baseline) * 1000, median(subject) * 1000, ratios, goal)


def print_table(findings: Sequence[Finding]) -> None:
    print(f"{'what':<46} {'baseline':>11} {'subject':>11} {'ratio':>7} {'goal':>7}")
    for found in findings:
        goal = "" if found.goal is None else f"≤ {found.goal:g}"
        held = "" if found.goal is None or found.ratio <= found.goal else "  MISSED"
        values = f"{found.baseline:>8.1f} {found.unit} {found.subject:>8.1f} {found.unit}"
        print(f"{found.what:<46} {values} {found.ratio:>7.2f} {goal:>7}{held}")
