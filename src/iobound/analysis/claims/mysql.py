"""The published figures of listing a MySQL table through an ORM."""

from __future__ import annotations

from iobound.analysis import published
from iobound.analysis.published import Figure
from iobound.analysis.results import Results
from iobound.records import ClaimResult

FIGURES = [
    Figure("flask-sql-as-published", 225),
    Figure("flask-sql-as-published", 47, "ms"),
    Figure("starlette-sql-as-published", 1496),
    Figure("starlette-sql-as-published", 6, "ms"),
]


def judge(results: Results) -> list[ClaimResult]:
    """Hold each figure against what was measured here."""
    return published.figures("mysql", "sql-list", FIGURES, results)
