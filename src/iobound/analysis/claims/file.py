"""The published figures of reading a file for every request: `open`, aiofiles, `anyio.Path`."""

from __future__ import annotations

from iobound.analysis import published
from iobound.analysis.published import Figure
from iobound.analysis.results import Results
from iobound.records import ClaimResult

FIGURES = [
    Figure("flask-file-as-published", 453),
    Figure("aiohttp-file-as-published", 1490),
    Figure("starlette-file-as-published", 1538),
]


def judge(results: Results) -> list[ClaimResult]:
    """Hold each figure against what was measured here."""
    return published.figures("file", "file", FIGURES, results)
