"""A against A: how much two launches of the same thing differ here (rule 4)."""

from __future__ import annotations

from iobound.analysis import statistics
from iobound.analysis.launches import METRIC, means
from iobound.analysis.observed import Observed
from iobound.analysis.statistics import PairedRatio
from iobound.records import Comparison, Control, Plan


def controls(plan: Plan, observed: Observed) -> list[Control]:
    """Return the control of each comparison that asked for one and was begun."""
    views = {cell.id: cell.view for cell in plan.cells}
    found = []
    for comparison in plan.comparisons:
        if not comparison.control or (comparison.id, comparison.baseline) not in observed.trials:
            continue
        pair = _pair(comparison, views[comparison.baseline], observed)
        found.append(
            Control(
                comparison=comparison.id,
                metric=METRIC[views[comparison.baseline]],
                ratio=pair.interval() if pair else None,
                detectable=statistics.detectable(pair) if pair else None,
            )
        )
    return found


def _pair(comparison: Comparison, view: str, observed: Observed) -> PairedRatio | None:
    metric = METRIC[view]
    again = means(observed.control(comparison.id), metric)
    return statistics.paired(again, means(observed.launches(comparison.id, comparison.baseline), metric))
