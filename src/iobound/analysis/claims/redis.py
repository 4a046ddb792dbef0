"""The published figures of reading a key from Redis; the publication has two for Flask."""

from __future__ import annotations

from iobound.analysis import published
from iobound.analysis.published import Figure
from iobound.analysis.results import Results
from iobound.records import ClaimResult

FIGURES = [
    Figure("flask-redis-as-published", 342, note="in the text"),
    Figure("flask-redis-as-published", 315, note="in the table"),
    Figure("starlette-redis-as-published", 1361),
]


def judge(results: Results) -> list[ClaimResult]:
    """Hold each figure against what was measured here."""
    return published.figures("redis", "redis-get", FIGURES, results)
