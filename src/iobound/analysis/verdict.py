"""The verdict: what was found, in a few plain sentences at the top of every report."""

from __future__ import annotations

from collections.abc import Sequence

from iobound.analysis.results import Results
from iobound.records import ClaimResult


def verdict(results: Results, claims: Sequence[ClaimResult]) -> str:
    """Return the verdict."""
    if not results.valid:
        return "Nothing was measured that means anything."
    return ""
