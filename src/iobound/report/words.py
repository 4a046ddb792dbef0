"""The words and number formats that every report format shares, so that a figure reads the same wherever it is shown."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from iobound.records import (
    BoundBy,
    Cell,
    CellSummary,
    ClaimResult,
    Control,
    EndReason,
    Environment,
    Evidence,
    Failure,
    Finding,
    Interval,
    Ratio,
    View,
)


class Bound(NamedTuple):
    """How a value of ``bound_by`` is called and what it means for the figure beside it."""

    label: str
    meaning: str


BOUNDS: dict[BoundBy, Bound] = {
    "target-cpu": Bound(
        "target CPU",
        "The target used up the cores it was given. The figure is the target's own speed here.",
    ),
    "workers": Bound(
        "workers",
        "Every worker of the target was taken while its cores still had time left: more workers or threads would serve more.",
    ),
    "pool": Bound(
        "pool",
        "Every connection of the target's pool was in use and requests queued for one: a larger pool may serve more.",
    ),
    "database-cpu": Bound(
        "database CPU",
        "The database or cache used up its cores. The figure is the database's speed under these statements, not the target's.",
    ),
    "database-locks": Bound(
        "database locks",
        "Sessions waited for each other's locks inside the database while cores had time left.",
    ),
    "network": Bound(
        "network",
        "The link between generator, target and database was full, or its round trips took the time.",
    ),
    "concurrency": Bound(
        "concurrency",
        "Nothing was saturated: the target waited for requests. More connections or a higher rate would give a larger figure.",
    ),
    "generator": Bound(
        "generator",
        "The load generator reached its own limit before the target did. The target serves at least this much.",
    ),
    "errors": Bound("errors", "Too many requests failed. What is left says nothing about speed."),
    "noise": Bound("noise", "Something else used the machine meanwhile. Measure again on a quieter one."),
    "unknown": Bound("unknown", "No resource could be shown to be the limit. Treat the figure with care."),
}

SUSPECT: frozenset[BoundBy] = frozenset({"generator", "errors", "noise", "unknown"})
"""What makes a figure say little about its target."""

VIEW: dict[View, str] = {"capacity": "Capacity (closed loop)", "fixed-rate": "Fixed rate (open loop)"}

VIEWS: dict[View, str] = {
    "capacity": "Capacity: a closed loop, each connection sends its next request when the last is answered",
    "fixed-rate": "Fixed rate: an open loop, the same requests a second for all, latency counted from the intended send time",
}

ENDED: dict[EndReason, str] = {
    "precision": "the intervals were narrow enough",
    "launches": "the most launches allowed",
    "budget": "the time budget",
    "interrupted": "an interruption",
}

STATUS_ORDER = {"present": 0, "inconclusive": 1, "not-measured": 2, "absent": 3}

ABSOLUTE = {"requests/s": "/s", "ms": " ms", "us": " us"}
"""The units of figures that belong to a machine, and how they are written; of these nothing holds or fails elsewhere."""

ENGINES = {"locust:HttpUser": "Locust"}
"""How the load tool of the published measurements is called."""

RATIOS = (
    "A published ratio holds where the interval here comes near it. Beside it stands what Locust, the load tool of the "
    "publication, would have said; *: Locust was itself the limit."
)

FIGURES = (
    "Published figures are of another machine and of Locust's speed on it: here they neither hold nor fail. Read the times "
    "with what bound the figure here. *: Locust was itself the limit."
)

HOLDS = {
    "holds": "holds",
    "fails": "fails",
    "holds-only-when": "holds only when",
    "not-measured": "not measured",
}


def bound(value: BoundBy | None) -> str:
    """Return the label of a ``bound_by`` value; "not known" where nothing was decided."""
    return BOUNDS[value].label if value else "not known"


def _decimals(value: float) -> int:
    size = abs(value)
    return 0 if size >= 100 or size == 0 else 1 if size >= 10 else 2 if size >= 0.1 else 4


def number(value: float) -> str:
    """Write a figure to about three significant digits."""
    return f"{value:,.{_decimals(value)}f}"


def share(value: float | None) -> str:
    """Write a fraction in percent."""
    return "–" if value is None else f"{value:.0%}" if value >= 0.1 else f"{value:.1%}".replace(".0%", "%")


def count(value: float | None) -> str:
    """Write a figure that may be a whole number: without zeros at the end of its decimals."""
    if value is None:
        return "–"
    text = number(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def interval(value: Interval | None, unit: str = "") -> str:
    """Write ``estimate [low, high]``; an interval that one launch doesn't allow is left out, an absent value is a dash."""
    if value is None:
        return "–"
    places = _decimals(value.estimate)
    text = f"{value.estimate:,.{places}f}{unit}"
    if value.low is None or value.high is None:
        return text
    return f"{text} [{value.low:,.{places}f}, {value.high:,.{places}f}]"


def estimate(value: Interval | None) -> str:
    """Write an estimate without its interval."""
    return "–" if value is None else number(value.estimate)


def rate(cell: CellSummary) -> str:
    """Write the throughput of a cell: ``at least`` where the generator was the limit, no figure where it is invalid.

    A fixed rate was set, so that its interval says nothing.
    """
    if not cell.valid:
        return "invalid"
    if cell.view == "fixed-rate":
        return estimate(cell.requests_per_second)
    return f"at least {estimate(cell.requests_per_second)}" if cell.at_least else interval(cell.requests_per_second)


def latency(cell: CellSummary, key: str) -> str:
    """Write one percentile of a valid cell in milliseconds."""
    return estimate(cell.latency_ms.get(key)) if cell.valid and cell.latency_ms else "–"


def target_cpu(cell: CellSummary) -> str:
    """Write the target's CPU a request of a valid cell, user and system."""
    cpu = cell.cpu_us_per_request
    return f"{estimate(cpu.target_user)} + {estimate(cpu.target_system)}" if cell.valid and cpu else "–"


def database_cpu(cell: CellSummary) -> str:
    """Write the CPU a request of a valid cell's database or cache."""
    return estimate(cell.cpu_us_per_request.database) if cell.valid and cell.service and cell.cpu_us_per_request else "–"


def why(cell: CellSummary) -> str:
    """Write by what a cell's bound was recognised, or why the cell is invalid."""
    return cell.bound_because or "" if cell.valid else f"invalid: {cell.invalid_because}"


def ratio(value: Ratio) -> str:
    """Write how a contender compares with its baseline, or why it isn't ranked.

    A rate reads ``1.42x [1.37, 1.47] faster``, CPU a request ``0.50x [0.40, 0.60] the CPU``.
    """
    if value.verdict == "not-ranked" or value.ratio is None:
        return f"not ranked: {value.reason}" if value.reason else "not ranked"
    cpu = value.metric == "cpu_us_per_request"
    verdict = "the CPU" if cpu and value.verdict in {"faster", "slower"} else value.verdict
    return f"{interval(value.ratio, 'x')} {verdict}"


def published(claim: ClaimResult) -> str:
    """Write the published figure of a claim with its unit."""
    if claim.unit not in {*ABSOLUTE, "x"}:
        return share(claim.published)
    return f"{count(claim.published)}{ABSOLUTE.get(claim.unit, claim.unit)}" if claim.published is not None else "–"


def here(claim: ClaimResult | None, cell: CellSummary | None) -> str:
    """Write what was measured here for a claim, with "at least" where its cell says so of a rate."""
    if claim is None:
        return "–"
    if cell is not None and not cell.valid:
        return "invalid"
    if claim.unit not in {*ABSOLUTE, "x"}:
        return share(claim.here.estimate if claim.here else None)
    if cell is not None and cell.at_least and claim.unit == "requests/s":
        return f"at least {estimate(claim.here)}"
    return interval(claim.here, "x" if claim.unit == "x" else "")


def said(claim: ClaimResult | None, cell: CellSummary | None) -> str:
    """Write what was measured here without its interval; a star where the generator was the limit of more than a rate."""
    text = here(claim, cell).partition(" [")[0]
    return f"{text}*" if claim and claim.bound_here == "generator" and claim.unit != "requests/s" else text


def times(claim: ClaimResult, cell: CellSummary | None) -> str:
    """Write how many times the published figure the one here is."""
    if claim.ratio is None or (cell is not None and not cell.valid):
        return "–"
    at_least = "at least " if cell is not None and cell.at_least and claim.unit == "requests/s" else ""
    return f"{at_least}{number(claim.ratio.estimate)}x"


def outcome(claim: ClaimResult) -> str:
    """Write whether a published ratio holds, and why."""
    return f"{HOLDS[claim.result]}: {claim.because}" if claim.result else claim.because


def control(value: Control) -> str:
    """Write how far two launches of the same thing were apart, and what can therefore be told apart."""
    of = "CPU a request" if value.metric == "cpu_us_per_request" else "requests/s"
    apart = f"{of} {interval(value.ratio, 'x')}"
    if value.detectable is None:
        return f"{apart}; too few starts to say what can be told apart"
    return f"{apart}; below {share(value.detectable)} nothing is called a difference"


def evidence(value: Evidence, cell: CellSummary | None) -> str:
    """Write what was observed beside the threshold it was held against."""
    observed = "not observed" if value.observed is None else f"{count(value.observed)} {value.unit}".rstrip()
    threshold = "" if value.threshold is None else f" (threshold {count(value.threshold)})"
    where = "" if value.cell is None else f", {value.cell}" if cell is None else f", {cell.target} on {cell.asked}"
    return f"{value.what}: {observed}{threshold}{where}"


def asked(cell: Cell | None) -> str:
    """Write what a planned cell was to measure."""
    if cell is None:
        return "–"
    engine = "" if cell.engine == "iobound" else f", {cell.engine}"
    over = f" over {cell.rtt_ms:g} ms" if cell.rtt_ms else ""
    return f"{cell.workload}{over}, {cell.view}, {connections(cell.concurrency)}{engine}"


def connections(number: int) -> str:
    """Write a number of connections."""
    return f"{number:,} connection{'' if number == 1 else 's'}"


def failure(value: Failure, cell: Cell | None) -> str:
    """Write what wasn't measured and why."""
    what = f"{cell.target} ({asked(cell)})" if cell else value.cell
    expected = " (expected: the program was published like this)" if value.expected else ""
    return f"{what}, at {value.stage} of launch {value.launch}: {value.reason}{expected}"


def findings(found: Sequence[Finding]) -> list[Finding]:
    """Return the findings with those present first, else in the order given."""
    return sorted(found, key=lambda finding: STATUS_ORDER[finding.status])


def first_line(verdict: str) -> str:
    """Return the sentence that a verdict begins with, its first line."""
    return verdict.strip().partition("\n")[0]


def other_lines(verdict: str) -> list[str]:
    """Return the lines of a verdict after the first."""
    return [line for line in verdict.strip().split("\n")[1:] if line.strip()]


def labels(values: Mapping[str, str]) -> str:
    """Write names with their values."""
    return ", ".join(f"{name} {value}" for name, value in values.items())


def wrapped(name: str, width: int) -> list[str]:
    """Break a target's name after slashes and hyphens into lines of about `width` characters."""
    lines = [""]
    for part in re.findall(r"[^-/ ]*[-/ ]|[^-/ ]+", name):
        if lines[-1] and len((lines[-1] + part).rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return lines


def cores(numbers: Sequence[int]) -> str:
    """Write the numbers of cores."""
    return f"core{'s' if len(numbers) != 1 else ''} {', '.join(map(str, numbers)) or '–'}"


def relay(environment: Environment) -> str | None:
    """Say what the relay costs that injects round-trip times; ``None`` where none was used."""
    price = environment.relay
    if price is None:
        return None
    jitter = f"; the times vary by {environment.jitter_ms:g} ms" if environment.jitter_ms else ""
    first = ", before everything else on its cores" if price.real_time else ""
    added, cpu = number(price.added_us), number(price.cpu_us_per_turn)
    return f"by itself it adds {added} µs and takes {cpu} µs of CPU a round trip{first}{jitter}"


def command(arguments: Sequence[str]) -> str:
    """Write the command line that made a run, quoted for a shell."""
    return shlex.join(["iobound", *arguments])


def moment(created: float) -> str:
    """Write a time in UTC."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(created))
