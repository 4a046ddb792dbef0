"""How many sessions really work at the service at a time, against how many are configured (rule 9)."""

from __future__ import annotations

from iobound.analysis.evidence import number
from iobound.analysis.results import Results
from iobound.analysis.words import listed
from iobound.records import CellSummary, Evidence, Finding

RULE = "database-concurrency"
SHARE = 0.5  # of what is configured
WORTH_ASKING = 4  # configured sessions; below, one more or less is half of them


def judge(results: Results) -> Finding:
    """Hold the sessions busy at the service against what connections, workers and pool would allow.

    Over an injected round-trip time most of a session's time is the network's, so that these cells are left out.
    """
    seen = [
        (cell, cell.active_at_service, limit)
        for cell in results.own
        if cell.view == "capacity"
        and not cell.rtt_ms
        and cell.active_at_service is not None
        and (limit := _configured(cell)) >= WORTH_ASKING
    ]
    if not seen:
        return Finding(rule=RULE, status="not-measured", statement="Nobody looked at the sessions of a busy service.")
    idle = [(cell, active, limit) for cell, active, limit in seen if active < SHARE * limit]
    evidence = [
        Evidence(what="sessions busy at the service", observed=active, threshold=SHARE * limit, unit="sessions", cell=cell.id)
        for cell, active, limit in idle or seen
    ]
    if not idle:
        statement = "The services were as busy as connections, workers and pools allow."
        return Finding(rule=RULE, status="absent", statement=statement, evidence=evidence)
    told = [f"{cell.target} on {cell.asked} ({active:.1f} of {limit})" for cell, active, limit in idle]
    return Finding(
        rule=RULE,
        status="present",
        statement=f"Far fewer sessions work at the service than are configured: {listed(told)}.",
        evidence=evidence,
        advice="A larger pool or more connections won't help these: what bound them lies before the service.",
    )


def _configured(cell: CellSummary) -> int:
    workers = number(cell.ran, "workers") or 1
    limits = [number(cell.ran, label) for label in ("threads", "pool")]
    return min([cell.concurrency, *(workers * limit for limit in limits if limit)])
