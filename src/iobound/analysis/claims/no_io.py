"""The published figures without I/O."""

from __future__ import annotations

from iobound.analysis import published
from iobound.analysis.published import Figure
from iobound.analysis.results import Results
from iobound.records import ClaimResult

FIGURES = [
    Figure("flask-as-published", 463),
    Figure("flask-as-published", 19, "ms"),
    Figure("aiohttp-as-published", 1455),
    Figure("aiohttp-as-published", 6, "ms"),
    Figure("starlette-as-published", 1539),
    Figure("starlette-as-published", 5, "ms"),
]


def judge(results: Results) -> list[ClaimResult]:
    """Hold each figure against what was measured here."""
    return published.figures("no-io", "plain", FIGURES, results)
