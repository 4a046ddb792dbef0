"""Contenders against their baselines: ratios with intervals, and whether they may be ranked at all."""

from __future__ import annotations

from collections.abc import Sequence

from iobound.analysis import statistics
from iobound.analysis.demands import difference
from iobound.analysis.launches import METRIC, Metric, means
from iobound.analysis.observed import Observed
from iobound.analysis.statistics import PairedRatio
from iobound.records import CellSummary, Comparison, Control, Interval, Plan, Ranking, Ratio

UNCONTROLLED = "A against A wasn't measured in two quiet launches, so that nobody knows what this machine makes out of nothing"


def ratios(plan: Plan, observed: Observed, cells: Sequence[CellSummary], controls: Sequence[Control]) -> list[Ratio]:
    """Return each measured contender against the baseline of its comparison, by the metric of its view."""
    summaries = {(cell.comparison, cell.id): cell for cell in cells}
    detectable = {control.comparison: control.detectable for control in controls}
    found = []
    for comparison in plan.comparisons:
        contenders = [
            summaries[comparison.id, id_]
            for id_ in comparison.cells
            if id_ != comparison.baseline and (comparison.id, id_) in summaries
        ]
        baseline = summaries.get((comparison.id, comparison.baseline))
        if baseline is not None:
            found += _compare(comparison, contenders, baseline, observed, detectable.get(comparison.id))
    return found


def _compare(
    comparison: Comparison,
    contenders: list[CellSummary],
    baseline: CellSummary,
    observed: Observed,
    detectable: float | None,
) -> list[Ratio]:
    metric = METRIC[baseline.view]
    base = observed.launches(comparison.id, baseline.id)
    work = observed.blocks(comparison.id, baseline.id)
    pairs: dict[str, PairedRatio] = {}
    obstacles: dict[str, str] = {}
    for cell in contenders:
        launches = observed.launches(comparison.id, cell.id)
        pair = statistics.paired(means(launches, metric), means(base, metric))
        if pair is not None:
            pairs[cell.id] = pair
        obstacle = _obstacle(cell, baseline) or difference(observed.blocks(comparison.id, cell.id), work)
        if obstacle or pair is None:
            obstacles[cell.id] = obstacle or "they have no launch in common"
    intervals = _intervals({id_: pair for id_, pair in pairs.items() if id_ not in obstacles})
    found = []
    for cell in contenders:
        interval = intervals.get(cell.id) or (pairs[cell.id].interval() if cell.id in pairs else None)
        verdict, reason = _verdict(interval, metric, detectable, obstacles.get(cell.id))
        if comparison.control and detectable is None and verdict in {"faster", "slower"}:
            verdict, reason = "not-ranked", UNCONTROLLED
        found.append(
            Ratio(
                comparison=comparison.id,
                metric=metric,
                cell=cell.id,
                baseline=baseline.id,
                ratio=interval,
                verdict=verdict,
                reason=reason,
            )
        )
    return found


def _obstacle(cell: CellSummary, baseline: CellSummary) -> str | None:
    """Say why two cells can't be ranked against each other, whatever their numbers are."""
    for each, name in ((cell, "it"), (baseline, "the baseline")):
        if not each.valid:
            return f"{name} is invalid: {each.invalid_because}"
        if each.at_least:
            return f"{name} was limited by the load generator: {each.bound_because}"
    for field in ("view", "engine", "workload"):
        mine, other = getattr(cell, field), getattr(baseline, field)
        if mine != other:
            return f"another {field}: {mine} against {other}"
    return None


def _intervals(pairs: dict[str, PairedRatio]) -> dict[str, Interval]:
    """Return the intervals of the contenders that are ranked, at the confidence that Holm's procedure gives each."""
    tested = {id_: p for id_, pair in pairs.items() if (p := pair.p) is not None}
    confidence = dict(zip(tested, statistics.holm(list(tested.values())), strict=True))
    return {id_: pair.interval(confidence[id_]) if id_ in confidence else pair.interval() for id_, pair in pairs.items()}


def _verdict(
    interval: Interval | None, metric: Metric, detectable: float | None, obstacle: str | None
) -> tuple[Ranking, str | None]:
    if interval is None or obstacle:
        return "not-ranked", obstacle
    if interval.low is None or interval.high is None:
        return "not-ranked", "one launch tells nothing of how much launches differ"
    if interval.low <= 1 <= interval.high:
        return "tie", "the interval contains 1"
    effect = max(interval.estimate, 1 / interval.estimate) - 1
    if detectable is not None and effect <= detectable:
        return "tie", f"a difference of {effect:.0%} is within what A against A shows here ({detectable:.0%})"
    more = interval.estimate > 1
    return "faster" if more == (metric == "requests_per_second") else "slower", None
