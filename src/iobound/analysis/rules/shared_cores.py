"""What had to share a core (rule 13)."""

from __future__ import annotations

from iobound.analysis.results import Results
from iobound.records import Evidence, Finding

RULE = "shared-cores"
APART = 3  # cores: one each for target, service and generator


def judge(results: Results) -> Finding:
    """Say who shared cores with whom."""
    environment = results.header.environment
    cores = len(environment.cores)
    evidence = [Evidence(what="cores", observed=cores, threshold=APART, unit="cores")]
    if environment.shared_cores:
        return Finding(
            rule=RULE,
            status="present",
            statement=f"The target wasn't alone on its cores: {environment.shared_cores}. Its figures suffer from that.",
            evidence=evidence,
            advice="Measure on a machine with at least two cores, or give the target fewer.",
        )
    served = any(cell.service for cell in results.cells)
    if served and len(environment.other_cores) == 1:
        return Finding(
            rule=RULE,
            status="present",
            statement=f"Service and load generator share core {environment.other_cores[0]}; the target has its own. Where "
            "that core is saturated, the larger part of it is named as the limit.",
            evidence=evidence,
            advice="On three cores or more each has its own.",
        )
    return Finding(rule=RULE, status="absent", statement="Nothing shared the target's cores.", evidence=evidence)
