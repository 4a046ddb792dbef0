"""Cells whose numbers contradict each other."""

from __future__ import annotations

from iobound.analysis import laws
from iobound.analysis.results import Results
from iobound.analysis.words import listed, name
from iobound.records import Finding

RULE = "law-broken"


def judge(results: Results) -> Finding:
    """Name the cells that break a law, with the arithmetic."""
    plan, cores = results.header.plan, len(results.header.environment.cores)
    workloads = {cell.id: cell.workload for cell in plan.cells}
    audited = [(cell, laws.audit(results.blocks(cell).trials, workloads[cell.id], cores)) for cell in results.cells]
    broken = [(cell, laws_) for cell, laws_ in audited if laws_]
    if not results.cells:
        return Finding(rule=RULE, status="not-measured", statement="No cell was measured.")
    if not broken:
        return Finding(rule=RULE, status="absent", statement="No cell breaks a law: its numbers fit each other.")
    return Finding(
        rule=RULE,
        status="present",
        statement=f"Invalid, since numbers contradict each other: {listed([f'{name(c)}: {first[0]}' for c, first in broken])}.",
        advice="The instrument or a count is wrong there. Please report it with the run folder.",
    )
