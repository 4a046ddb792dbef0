"""How published figures and ratios are held against what was measured here; the figures themselves are in `claims`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iobound.analysis.results import OWN, Results
from iobound.analysis.words import estimated, figure
from iobound.records import CellSummary, ClaimResult, Holds, Interval

SOURCE = "the published comparison of Flask, aiohttp and Starlette: 10 concurrent users, Locust"
USERS = 10
LOCUST = "locust:HttpUser"
MACHINES = 2.0  # another machine, and other versions, easily make a figure this many times larger or smaller
NEAR = 1.25  # a ratio of two figures carries over to another machine about this well


@dataclass(frozen=True)
class Figure:
    """A published figure of one program: requests per second, or a response time in milliseconds (`unit` ``ms``)."""

    target: str
    value: float
    unit: str = "requests/s"
    note: str = ""

    def measured(self, cell: CellSummary) -> Interval | None:
        """Return what a cell says on it."""
        if self.unit == "ms":
            return cell.latency_ms.get("mean") if cell.latency_ms else None
        return cell.requests_per_second


@dataclass(frozen=True)
class Pair:
    """An asynchronous program that was published as so many times faster than a synchronous one."""

    contender: str
    baseline: str
    workload: str


def figures(claim: str, workload: str, published: Sequence[Figure], results: Results) -> list[ClaimResult]:
    """Hold each figure against Locust's here, where it was measured, and against the capacity here.

    A program that the run wasn't to measure has no result.
    """
    found = []
    for each in (each for each in published if results.planned(each.target)):
        cells = {engine: _find(results, each.target, workload, engine) for engine in (LOCUST, OWN)}
        present = {engine: cell for engine, cell in cells.items() if cell is not None}
        found += [_figure(claim, each, workload, cell, cells[LOCUST]) for cell in present.values()]
        if not present:
            because = f"{each.target} was not measured on {workload} at {USERS} connections"
            found.append(_result(claim, each, workload, None, None, "not-measured", because))
    return found


def _find(results: Results, target: str, workload: str, engine: str) -> CellSummary | None:
    return results.find(target, workload, engine=engine, concurrency=USERS)


def _figure(claim: str, published: Figure, workload: str, cell: CellSummary, locust: CellSummary | None) -> ClaimResult:
    here = published.measured(cell)
    if not cell.valid or here is None or not here.estimate:
        because = f"not valid here: {cell.invalid_because}" if cell.invalid_because else "nothing was measured"
        return _result(claim, published, workload, cell, None, "not-measured", because)
    times = here.estimate / published.value
    at_least = "at least " if cell.at_least and published.unit != "ms" else ""
    because = f"{at_least}{estimated(here)} {published.unit} here, {times:.2g} times the published; {cell.bound_because}"
    by_locust = published.measured(locust) if locust is not None and locust.at_least else None
    if _within(times, MACHINES):
        return _result(claim, published, workload, cell, here, "holds", because)
    if cell.at_least and (times < 1 or published.unit == "ms"):
        because += ": it doesn't contradict the published figure"
        return _result(claim, published, workload, cell, here, "not-measured", because)
    if cell.engine == OWN and by_locust:
        because += f". Locust, itself the limit, says {figure(by_locust.estimate)} {published.unit}"
        if _within(by_locust.estimate / published.value, MACHINES):
            because = f"holds only when Locust measures: {because}"
            return _result(claim, published, workload, cell, here, "holds-only-when", because)
    return _result(claim, published, workload, cell, here, "fails", because)


def _result(
    claim: str,
    published: Figure,
    workload: str,
    cell: CellSummary | None,
    here: Interval | None,
    result: Holds,
    because: str,
) -> ClaimResult:
    note = f" ({published.note})" if published.note else ""
    engine = f", by {cell.engine}" if cell else ""
    service = f" on {cell.service}" if cell and cell.service else ""
    return ClaimResult(
        claim=claim,
        source=SOURCE,
        statement=f"{published.target}{service}, {workload}{engine}: {figure(published.value)} {published.unit}{note}",
        unit=published.unit,
        published=published.value,
        here=here,
        bound_here=cell.bound_by if cell else None,
        cell=cell.id if cell else None,
        result=result,
        because=because,
        ratio=scaled(here, published.value),
    )


def times_faster(claim: str, statement: str, times: float, pairs: Sequence[Pair], results: Results) -> list[ClaimResult]:
    """Hold "so many times faster" against the ratio of each pair of programs, driven to its own limit."""
    planned = [pair for pair in pairs if results.planned(pair.contender, pair.baseline)]
    return [_times(claim, statement, times, pair, results) for pair in planned]


def _times(claim: str, statement: str, times: float, pair: Pair, results: Results) -> ClaimResult:
    contender, baseline = (_find(results, target, pair.workload, OWN) for target in (pair.contender, pair.baseline))
    said = locust_ratio(results, pair)
    here, result, because = _ratio_here(results, contender, baseline, times)
    if said is not None:
        because += f". Locust would have said {said:.2g}x"
        if result == "fails" and _within(said / times, NEAR):
            result, because = "holds-only-when", f"holds only when Locust measures: {because}"
    other = _production(results, pair)
    if other and result == "holds" and not _overlaps(other[1], times):
        result = "holds-only-when"
        because = f"holds only of the programs as published: {because}; {other[0]} is {estimated(other[1], 'x')}"
    return ClaimResult(
        claim=claim,
        source=SOURCE,
        statement=f"{statement} ({pair.contender} against {pair.baseline}, {pair.workload})",
        unit="x",
        published=times,
        here=here,
        bound_here=contender.bound_by if contender else None,
        cell=contender.id if contender else None,
        result=result,
        because=because,
        ratio=scaled(here, times),
    )


def _ratio_here(
    results: Results, contender: CellSummary | None, baseline: CellSummary | None, times: float
) -> tuple[Interval | None, Holds, str]:
    if contender is None or baseline is None:
        return None, "not-measured", f"the pair was not measured at {USERS} connections"
    ratio = results.ratio(contender)
    if ratio is None or ratio.ratio is None or ratio.baseline != baseline.id:
        return None, "not-measured", "the pair was not measured side by side"
    if ratio.verdict == "not-ranked":
        return None, "not-measured", f"not ranked: {ratio.reason}"
    bounds = f"bound by {contender.bound_by} and {baseline.bound_by}"
    result: Holds = "holds" if _overlaps(ratio.ratio, times) else "fails"
    return ratio.ratio, result, f"{estimated(ratio.ratio, 'x')} here, {bounds}"


def locust_ratio(results: Results, pair: Pair) -> float | None:
    """Return what Locust would have said of a pair: the ratio of its two figures, whatever bound them."""
    cells = [_find(results, target, pair.workload, LOCUST) for target in (pair.contender, pair.baseline)]
    rates = [cell.requests_per_second.estimate for cell in cells if cell and cell.valid and cell.requests_per_second]
    return rates[0] / rates[1] if len(rates) == 2 and rates[1] else None


def _production(results: Results, pair: Pair) -> tuple[str, Interval] | None:
    """Return the ratio of an asynchronous framework to Flask on a server for production, on the same workload, if measured."""
    named = {cell.id: cell.target for cell in results.cells if cell.view == "capacity" and cell.engine == OWN}
    workloads = {cell.id: cell.workload for cell in results.cells}
    for ratio in results.ratios:
        contender, baseline = named.get(ratio.cell, ""), named.get(ratio.baseline, "")
        composed = baseline.startswith("flask/gunicorn") and contender.split("/")[0] in {"starlette", "aiohttp", "fastapi"}
        ranked = ratio.verdict != "not-ranked" and ratio.ratio is not None
        if composed and ranked and ratio.ratio and workloads[ratio.cell] == pair.workload:
            return f"{contender} against {baseline}", ratio.ratio
    return None


def _within(ratio: float, factor: float) -> bool:
    return 1 / factor <= ratio <= factor


def _overlaps(ratio: Interval, times: float) -> bool:
    """Whether an interval reaches into what is near a published ratio."""
    low = ratio.estimate if ratio.low is None else ratio.low
    high = ratio.estimate if ratio.high is None else ratio.high
    return low <= times * NEAR and high >= times / NEAR


def scaled(here: Interval | None, published: float) -> Interval | None:
    """Return what was measured here over what was published."""
    if here is None:
        return None
    ends = [None if end is None else end / published for end in (here.low, here.high)]
    return Interval(estimate=here.estimate / published, low=ends[0], high=ends[1])
