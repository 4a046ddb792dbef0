"""The published conclusion without a database: async is three times faster."""

from __future__ import annotations

from iobound.analysis import published
from iobound.analysis.published import Pair
from iobound.analysis.results import Results
from iobound.records import ClaimResult

PAIRS = [
    Pair("aiohttp-as-published", "flask-as-published", "plain"),
    Pair("starlette-as-published", "flask-as-published", "plain"),
    Pair("aiohttp-file-as-published", "flask-file-as-published", "file"),
    Pair("starlette-file-as-published", "flask-file-as-published", "file"),
]


def judge(results: Results) -> list[ClaimResult]:
    """Hold the conclusion against the ratio of each pair."""
    return published.times_faster("three-times-faster", "Async is 3 times faster", 3, PAIRS, results)
