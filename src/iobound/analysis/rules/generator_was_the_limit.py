"""Cells in which the load generator was slower than what it drove."""

from __future__ import annotations

from iobound.analysis.bound_by import BUSY
from iobound.analysis.results import Results
from iobound.analysis.words import listed, name
from iobound.records import Evidence, Finding

RULE = "generator-was-the-limit"


def judge(results: Results) -> Finding:
    """Name the cells whose figures their generator bounds."""
    if not results.cells:
        return Finding(rule=RULE, status="not-measured", statement="No cell was measured.")
    limited = [cell for cell in results.cells if cell.bound_by == "generator"]
    if not limited:
        return Finding(rule=RULE, status="absent", statement="The load generator was the limit of no cell.")
    engines = sorted({cell.engine for cell in limited})
    return Finding(
        rule=RULE,
        status="present",
        statement=f"The load generator was the limit of {listed([name(cell) for cell in limited])}: lower bounds at best, "
        "which are not ranked.",
        evidence=[
            Evidence(
                what="utilisation of the generator's busiest process",
                observed=cell.generator_utilisation,
                threshold=BUSY,
                unit="cores",
                cell=cell.id,
            )
            for cell in limited
        ],
        advice="Give the generator a core of its own (a machine with more cores), or drive the target with fewer connections."
        if "iobound" in engines
        else f"Measure with the engine iobound: {listed(engines)} reaches its own limit first.",
    )
