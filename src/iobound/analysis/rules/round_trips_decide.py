"""Where an injected round-trip time decides, whatever serves."""

from __future__ import annotations

from iobound.analysis.results import Results
from iobound.analysis.words import cells, figure, listed
from iobound.records import CellSummary, Evidence, Finding

RULE = "round-trips-decide"
MOST = 0.5  # of the response time


def judge(results: Results) -> Finding:
    """Name the closed loops whose response time is mostly injected: what they compare isn't their targets."""
    shares = {
        cell.id: (cell, share)
        for cell in results.own
        if cell.rtt_ms and cell.view == "capacity" and (share := _share(cell)) is not None
    }
    if not shares:
        return Finding(rule=RULE, status="not-measured", statement="No round-trip time was put between target and service.")
    deciding = [(cell, share) for cell, share in shares.values() if share >= MOST]
    evidence = [
        Evidence(what="injected", observed=share, threshold=MOST, unit="of the response time", cell=cell.id)
        for cell, share in shares.values()
    ]
    if not deciding:
        statement = "Nowhere are injected round trips half of the response time."
        return Finding(rule=RULE, status="absent", statement=statement, evidence=evidence)
    told = [f"{cell.target} ({cell.asked}, {cell.concurrency} connections) {share:.0%}" for cell, share in deciding]
    cell = min((cell for cell, _ in deciding), key=lambda cell: cell.concurrency)
    most = cell.concurrency * 1e3 / ((cell.round_trips_per_request or 1.0) * cell.rtt_ms)
    return Finding(
        rule=RULE,
        status="present",
        statement=f"In {cells(len(deciding))} of {len(shares)} the injected round trips are most of the response time, so that "
        f"their rates say how many requests wait at a time, not what serves them: {listed(told)}.",
        evidence=evidence,
        advice=f"Compare these by CPU a request, or over more connections: {cell.concurrency} over {cell.rtt_ms:g} ms can't "
        f"get more than {figure(most)} requests a second out of any target. Fewer round trips a request would give more.",
    )


def _share(cell: CellSummary) -> float | None:
    """Return the share of the mean response time that the injected round trips take."""
    mean = cell.latency_ms.get("mean") if cell.latency_ms else None
    if mean is None or not mean.estimate or cell.round_trips_per_request is None:
        return None
    return cell.round_trips_per_request * cell.rtt_ms / mean.estimate
