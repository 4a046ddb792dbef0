"""How published figures and ratios are held against what was measured here; the figures themselves are in `claims`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from iobound.analysis.results import OWN, Results
from iobound.analysis.words import bound_by, estimated
from iobound.records import CellSummary, ClaimResult, Holds, Interval

SOURCE = "the published comparison of Flask, aiohttp and Starlette: 10 concurrent users, Locust"
USERS = 10
LOCUST = "locust:HttpUser"
NEAR = 1.25  # a ratio of two figures carries over to another machine about this well
WIDE = 2.0  # an interval that reaches further from a published ratio shows nothing, wherever its middle is


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
    """Put beside each figure what Locust says here, where it measured, and the capacity here.

    A figure of another machine neither holds nor fails, so that it has no `result`; one that wasn't measured says so. A
    program that the run wasn't to measure has none.
    """
    found = []
    for each in (each for each in published if results.planned(each.target)):
        present = [cell for engine in (LOCUST, OWN) if (cell := _find(results, each.target, workload, engine)) is not None]
        found += [_figure(claim, each, cell) for cell in present]
        if not present:
            because = f"{each.target} was not measured on {workload} at {USERS} connections"
            found.append(_result(claim, each, None, None, "not-measured", because))
    return found


def _find(results: Results, target: str, workload: str, engine: str) -> CellSummary | None:
    return results.find(target, workload, engine=engine, concurrency=USERS)


def _figure(claim: str, published: Figure, cell: CellSummary) -> ClaimResult:
    here = published.measured(cell)
    if not cell.valid or here is None or not here.estimate:
        because = f"not valid here: {cell.invalid_because}" if cell.invalid_because else "nothing was measured"
        return _result(claim, published, cell, None, "not-measured", because)
    return _result(claim, published, cell, here, None, cell.bound_because or "")


def _result(
    claim: str,
    published: Figure,
    cell: CellSummary | None,
    here: Interval | None,
    result: Holds | None,
    because: str,
) -> ClaimResult:
    note = f" ({published.note})" if published.note else ""
    on = f" on {cell.service}" if cell and cell.service else ""
    return ClaimResult(
        claim=claim,
        source=SOURCE,
        statement=f"{published.target}{on}{note}",
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
    """Hold "so many times faster" against the ratio of each pair, and put beside it what Locust would have said."""
    planned = [pair for pair in pairs if results.planned(pair.contender, pair.baseline)]
    return [each for pair in planned for each in _times(claim, statement, times, pair, results)]


def _times(claim: str, statement: str, times: float, pair: Pair, results: Results) -> list[ClaimResult]:
    contender, baseline = (_find(results, target, pair.workload, OWN) for target in (pair.contender, pair.baseline))
    here, result, because = _ratio_here(results, contender, baseline, times)
    said = locust_ratio(results, pair)
    if said is not None and result == "fails" and _within(said / times, NEAR):
        result, because = "holds-only-when", f"Locust measures; {because}"
    other = _production(results, pair)
    if other and result == "holds" and not _overlaps(other[1], times):
        result = "holds-only-when"
        because = f"it is of the programs as published; {other[0]} is {estimated(other[1], 'x')}; {because}"
    own = ClaimResult(
        claim=claim,
        source=SOURCE,
        statement=f"{statement}: {pair.contender} against {pair.baseline}",
        unit="x",
        published=times,
        here=here,
        bound_here=contender.bound_by if contender else None,
        cell=contender.id if contender else None,
        result=result,
        because=because,
        ratio=scaled(here, times),
    )
    if said is None:
        return [own]
    limits = [cell for target in (pair.contender, pair.baseline) if (cell := _find(results, target, pair.workload, LOCUST))]
    limit = next((cell for cell in limits if cell.at_least), limits[0])
    by_locust = Interval(estimate=said)
    return [
        structs.replace(
            own,
            here=by_locust,
            bound_here=limit.bound_by,
            cell=limits[0].id,
            result=None,
            because=f"what Locust would have said; {limit.target}: {limit.bound_because}",
            ratio=scaled(by_locust, times),
        ),
        own,
    ]


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
    mine, other = contender.bound_by or "unknown", baseline.bound_by or "unknown"
    bounds = f"both {bound_by(mine, 2)}" if mine == other else f"{bound_by(mine)}, the baseline {bound_by(other)}"
    if _within(ratio.ratio.estimate / times, NEAR):
        return ratio.ratio, "holds", f"within {NEAR} times of it; {bounds}"
    if _overlaps(ratio.ratio, times):
        return ratio.ratio, "not-measured", f"too uncertain: the interval reaches to within {NEAR} times of it; {bounds}"
    return ratio.ratio, "fails", f"{'more' if ratio.ratio.estimate > times else 'less'} than published; {bounds}"


def locust_ratio(results: Results, pair: Pair) -> float | None:
    """Return what Locust would have said of a pair: the ratio of its two figures, whatever bound them."""
    cells = [_find(results, target, pair.workload, LOCUST) for target in (pair.contender, pair.baseline)]
    rates = [cell.requests_per_second.estimate for cell in cells if cell and cell.valid and cell.requests_per_second]
    return rates[0] / rates[1] if len(rates) == 2 and rates[1] else None


def _production(results: Results, pair: Pair) -> tuple[str, Interval] | None:
    """Return the ratio of an asynchronous framework to Flask on a server for production, on the same workload, if measured."""
    named = {cell.id: cell.target for cell in results.cells if cell.view == "capacity" and cell.engine == OWN}
    asked = {cell.id: cell.asked for cell in results.cells}
    for ratio in results.ratios:
        contender, baseline = named.get(ratio.cell, ""), named.get(ratio.baseline, "")
        composed = baseline.startswith("flask/gunicorn") and contender.split("/")[0] in {"starlette", "aiohttp", "fastapi"}
        ranked = ratio.verdict != "not-ranked" and ratio.ratio is not None
        if composed and ranked and ratio.ratio and asked[ratio.cell] == pair.workload:
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
    """Return what was measured here over what was published; ``None`` where it isn't positive, as a difference may be."""
    if here is None or here.estimate <= 0:
        return None
    ends = [None if end is None else end / published for end in (here.low, here.high)]
    return Interval(estimate=here.estimate / published, low=ends[0], high=ends[1])


def held(here: Interval, published: float) -> tuple[Holds, str]:
    """Hold what was measured against what was published, and say why; one launch decides nothing."""
    if here.low is None or here.high is None:
        return "not-measured", "one launch each, which decides nothing"
    if not _overlaps(here, published):
        return "fails", f"{'more' if here.estimate > published else 'less'} than published"
    if not _within(here.estimate / published, NEAR):
        return "not-measured", f"too uncertain: the interval reaches to within {NEAR} times of it"
    if here.low < published / WIDE or here.high > published * WIDE:
        return "not-measured", f"too uncertain: the interval reaches beyond {WIDE:g} times of it"
    return "holds", f"within {NEAR} times of it"
