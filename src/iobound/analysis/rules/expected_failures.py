"""Programs that were published broken, and are."""

from __future__ import annotations

from iobound.analysis.results import Results
from iobound.analysis.words import listed
from iobound.records import Finding

RULE = "expected-failures"


def judge(results: Results) -> Finding:
    """Name the failures that the targets themselves declare."""
    targets = {cell.id: cell.target for cell in results.header.plan.cells}
    expected = [each for failures in results.observed.failures.values() for each in failures if each.expected]
    if not expected:
        return Finding(rule=RULE, status="absent", statement="No target failed as it declares to.")
    told = [f"{targets.get(failure.cell, failure.cell)}: {failure.reason}" for failure in expected]
    return Finding(
        rule=RULE,
        status="present",
        statement=f"Fails as published: {listed(list(dict.fromkeys(told)))}.",
        advice="Use the working form beside it; the published figure of this program can't have come from right answers.",
    )
