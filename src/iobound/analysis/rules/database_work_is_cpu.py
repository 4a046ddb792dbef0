"""The core of the argument for and against async: is a request to a database waited for, or computed?"""

from __future__ import annotations

from collections.abc import Iterable

from iobound.analysis.results import Results
from iobound.analysis.words import figure, listed
from iobound.records import CellSummary, Evidence, Finding

RULE = "database-work-is-cpu"
MOST = 0.5  # of the targets, or of the response time


def judge(results: Results) -> Finding:
    """Count the targets whose limit was CPU where they answered most; show how much of an unhurried response time was CPU.

    Workloads in which the service is asked to sleep are left out, and injected round-trip times: they wait because they are
    told to.
    """
    at_work = [cell for cell in results.own if cell.service and not cell.rtt_ms and not cell.workload.startswith("db-wait")]
    capacity = _fullest(cell for cell in at_work if cell.view == "capacity" and not cell.at_least)
    if not capacity:
        return Finding(rule=RULE, status="not-measured", statement="No cell with a database or cache says what bound it.")
    computing = [cell for cell in capacity if cell.bound_by in {"target-cpu", "database-cpu"}]
    unhurried = [(cell, share) for cell in at_work if cell.view == "fixed-rate" and (share := _on_cpu(cell)) is not None]
    evidence = [
        Evidence(what="bound by CPU", observed=len(computing) / len(capacity), threshold=MOST, unit="of the targets"),
        *(
            Evidence(
                what="CPU of target and service, at the fixed rate",
                observed=share,
                threshold=MOST,
                unit="of the response time",
                cell=cell.id,
            )
            for cell, share in unhurried
        ),
    ]
    count = f"{len(computing)} of {len(capacity)} targets with a database or cache, driven to their most, were bound by CPU"
    if len(computing) <= MOST * len(capacity):
        statement = f"{count}; the others had CPU to spare."
        return Finding(rule=RULE, status="absent", statement=statement, evidence=evidence)
    return Finding(
        rule=RULE,
        status="present",
        statement=f"Work with a database is mostly CPU, not waiting: {count}. Per request, target and service: "
        f"{listed([told for cell in computing if (told := _told(cell))])}.",
        evidence=evidence,
        advice="A concurrency model hides waiting, of which there is little here. Save CPU instead: driver, ORM, rows, JSON.",
    )


def _fullest(cells: Iterable[CellSummary]) -> list[CellSummary]:
    """Return of each target and workload the cell with the most requests a second, whatever its connections."""
    most: dict[tuple[str, str], CellSummary] = {}
    for cell in sorted(cells, key=lambda cell: cell.requests_per_second.estimate if cell.requests_per_second else 0.0):
        most[cell.target, cell.asked] = cell
    return list(most.values())


def _on_cpu(cell: CellSummary) -> float | None:
    """Return the share of the response time that target and service computed; queueing is low at a fixed rate."""
    mean = cell.latency_ms.get("mean") if cell.latency_ms else None
    if mean is None or not mean.estimate or cell.wait_us_per_request is None:
        return None
    return 1 - cell.wait_us_per_request.estimate / (mean.estimate * 1e3)


def _told(cell: CellSummary) -> str | None:
    cpu = cell.cpu_us_per_request
    if cpu is None or cpu.target_user is None or cpu.target_system is None:
        return None
    service = "" if cpu.database is None else f" and {figure(cpu.database.estimate)} us"
    target = cpu.target_user.estimate + cpu.target_system.estimate
    return f"{cell.target} on {cell.asked} {figure(target)} us{service}"
