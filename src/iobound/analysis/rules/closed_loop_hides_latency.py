"""Stalls that a closed loop doesn't see, since it stops asking while the target stalls (coordinated omission)."""

from __future__ import annotations

from iobound.analysis.results import Results
from iobound.analysis.words import figure, listed
from iobound.records import CellSummary, Evidence, Finding

RULE = "closed-loop-hides-latency"
TIMES = 1.5  # an open loop at half the capacity should be faster than a closed one at all of it, not this much slower


def judge(results: Results) -> Finding:
    """Hold the p99 of each open loop against the p99 of the closed loop of the same target, workload and connections."""
    pairs = [
        (opened, closed, _p99(opened) / _p99(closed))
        for opened in results.valid
        for closed in results.valid
        if opened.view == "fixed-rate" and closed.view == "capacity" and _what(opened) == _what(closed)
        if _p99(opened) and _p99(closed)
    ]
    if not pairs:
        return Finding(rule=RULE, status="not-measured", statement="No target was measured in both views.")
    hiding = [(opened, closed, times) for opened, closed, times in pairs if times > TIMES]
    evidence = [
        Evidence(what="p99 in the open loop / in the closed loop", observed=times, threshold=TIMES, unit="x", cell=opened.id)
        for opened, _, times in hiding or pairs
    ]
    if not hiding:
        statement = "In no target is the 99th percentile of the open loop much above that of the closed loop."
        return Finding(rule=RULE, status="absent", statement=statement, evidence=evidence)
    told = [
        f"{opened.target} on {opened.asked} ({figure(_p99(opened))} ms against {figure(_p99(closed))} ms)"
        for opened, closed, _ in hiding
    ]
    return Finding(
        rule=RULE,
        status="present",
        statement="The open loop has a far higher 99th percentile than the closed loop, which stops asking while the target "
        f"stalls, for {listed(told)}.",
        evidence=evidence,
        advice="Judge latency by the fixed-rate view; the closed loop's percentiles are those of requests it dared to send.",
    )


def _p99(cell: CellSummary) -> float:
    found = (cell.latency_ms or {}).get("p99")
    return found.estimate if found else 0.0


def _what(cell: CellSummary) -> tuple[str, str, int, str]:
    return (cell.target, cell.asked, cell.concurrency, cell.engine)
