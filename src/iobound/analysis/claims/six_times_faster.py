"""The published conclusion with a database: async is six times faster."""

from __future__ import annotations

from iobound.analysis import published
from iobound.analysis.published import Pair
from iobound.analysis.results import Results
from iobound.records import ClaimResult

PAIRS = [Pair("starlette-sql-as-published", "flask-sql-as-published", "sql-list")]


def judge(results: Results) -> list[ClaimResult]:
    """Hold the conclusion against the ratio of the pair."""
    return published.times_faster("six-times-faster", "With a database, async is 6 times faster", 6, PAIRS, results)
