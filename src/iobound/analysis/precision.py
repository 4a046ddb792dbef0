"""How certain a comparison is so far: what measuring stops on, whatever the result (rule 5)."""

from __future__ import annotations

from collections.abc import Sequence

from iobound.analysis import statistics
from iobound.analysis.launches import METRIC, means
from iobound.analysis.observed import Observed
from iobound.records import Comparison, Interval, Plan, WebObservation


def width(observations: Sequence[WebObservation], plan: Plan) -> float | None:
    """Return half the width of the widest interval in a comparison, relative to its estimate (0.05: plus or minus 5 %).

    The intervals are those of the contenders' ratios to the baseline, or of the means where there is no ratio to be had.
    `observations` are those of one comparison. ``None`` while a contender has fewer than two launches in common with the
    baseline; one that failed isn't waited for. 0 where all failed: more launches won't narrow anything.
    """
    observed = Observed.of(observations)
    seen = {observation.comparison for observation in observations}
    comparison = next((each for each in plan.comparisons if each.id in seen), None)
    if comparison is None:
        return None
    widths = _widths(comparison, plan, observed)
    known = [width for width in widths if width is not None]
    return max(known, default=0.0) if len(known) == len(widths) else None


def _widths(comparison: Comparison, plan: Plan, observed: Observed) -> list[float | None]:
    views = {cell.id: cell.view for cell in plan.cells}
    metric = METRIC[views[comparison.baseline]]
    measured = {
        cell: means(observed.launches(comparison.id, cell), metric)
        for cell in comparison.cells
        if (comparison.id, cell) not in observed.failures
    }
    baseline = measured.pop(comparison.baseline, None)
    if baseline is None or not measured:
        alone = [baseline] if baseline is not None else measured.values()
        return [_relative(statistics.mean(list(values.values()))) for values in alone]
    pairs = [statistics.paired(values, baseline) for values in measured.values()]
    return [pair.width() if pair else None for pair in pairs]


def _relative(interval: Interval | None) -> float | None:
    if interval is None or interval.high is None or not interval.estimate:
        return None
    return (interval.high - interval.estimate) / interval.estimate
