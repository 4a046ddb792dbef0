"""What a ratio is made of: the ratios of the steps on the way from one target to another, held against the direct one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from iobound.analysis.results import OWN, Results
from iobound.analysis.words import estimated
from iobound.records import BoundBy, Interval, Ratio, Step, StepRatio, Walk, Waterfall

TOOL, COLOUR = "load tool", "sync or async"
MOST = 3  # steps that the sentence tells of


def waterfall(walk: Walk, results: Results) -> Waterfall:
    """Judge a walk by the ratios of its comparisons.

    With the publication's load tool, `direct` is the ratio that it shows, and the first step what the tool makes of the ratio:
    that ratio over the one that iobound's engine finds between the same two ends.
    """
    found = {ratio.comparison: ratio for ratio in results.ratios}
    steps = [_step(step, found, results) for step in walk.forwards]
    back = [_step(step, found, results) for step in walk.backwards]
    direct = _ratio(walk.direct, found)
    if walk.tool:
        by_tool = _ratio(walk.tool, found)
        first = StepRatio(
            factor=TOOL,
            before=OWN,
            after=walk.tool.rpartition("/")[2],
            ratio=_over(by_tool, direct),
            bound_by=_bounds(walk.tool, results),
        )
        steps, back, direct = [first, *steps], [first, *back] if back else [], by_tool
    product = _product([step.ratio for step in steps])
    interaction = _over(direct, product)
    disagreeing = _disagreeing(steps, back)
    return Waterfall(
        id=walk.id,
        first=walk.first,
        last=walk.last,
        workload=walk.workload,
        direct=direct,
        steps=steps,
        product=product,
        interaction=interaction if interaction and not _contains(interaction, 1) else None,
        named=_named(disagreeing) if interaction and not _contains(interaction, 1) else None,
        backwards=back,
        disagreeing=disagreeing,
        notes=walk.notes,
    )


def sentence(fall: Waterfall) -> str:
    """Say in a line what the ratio is, and what its three largest steps are."""
    if fall.direct is None:
        return f"{fall.last} against {fall.first}: nothing was measured."
    known = [step for step in fall.steps if step.ratio]
    largest = sorted(known, key=lambda step: -abs(math.log(step.ratio.estimate if step.ratio else 1.0)))[:MOST]
    made = "; ".join(f"{step.factor} ({step.before} to {step.after}) {estimated(step.ratio)}" for step in largest if step.ratio)
    swap = next((step for step in known if step.factor == COLOUR and step not in largest), None)
    last = f"; {COLOUR} itself {estimated(swap.ratio)}" if swap and swap.ratio else ""
    return f"{fall.last} has {estimated(fall.direct)} the throughput of {fall.first} ({fall.workload}). Of that: {made}{last}."


def _step(step: Step, found: Mapping[str, Ratio], results: Results) -> StepRatio:
    ratio = found.get(step.comparison)
    reason = ratio.reason if ratio and ratio.verdict == "not-ranked" else None if ratio else "it wasn't measured"
    return StepRatio(
        factor=step.factor,
        before=step.before,
        after=step.after,
        ratio=_ratio(step.comparison, found),
        bound_by=_bounds(step.comparison, results),
        reason=reason,
    )


def _bounds(comparison: str, results: Results) -> list[BoundBy | None]:
    """Return what bound the cells of a comparison, in the order of the plan."""
    return [cell.bound_by for cell in results.cells if cell.comparison == comparison]


def _ratio(comparison: str, found: Mapping[str, Ratio]) -> Interval | None:
    ratio = found.get(comparison)
    return ratio.ratio if ratio else None


def _reach(interval: Interval) -> float | None:
    """Return half the width of an interval of a ratio, on the logarithmic scale on which it is symmetric."""
    if interval.low is None or interval.high is None or interval.low <= 0:
        return None
    return math.log(interval.high / interval.low) / 2


def _combined(logarithm: float, parts: Sequence[Interval]) -> Interval:
    """Return a ratio whose logarithm is a sum of those of independent `parts`: their variances add up."""
    reaches = [_reach(part) for part in parts]
    if any(reach is None for reach in reaches):
        return Interval(estimate=math.exp(logarithm))
    reach = math.sqrt(sum(reach * reach for reach in reaches if reach is not None))
    return Interval(estimate=math.exp(logarithm), low=math.exp(logarithm - reach), high=math.exp(logarithm + reach))


def _product(ratios: Sequence[Interval | None]) -> Interval | None:
    known = [ratio for ratio in ratios if ratio is not None]
    if not known or len(known) < len(ratios):
        return None
    return _combined(sum(math.log(ratio.estimate) for ratio in known), known)


def _over(one: Interval | None, other: Interval | None) -> Interval | None:
    if one is None or other is None:
        return None
    return _combined(math.log(one.estimate / other.estimate), [one, other])


def _contains(interval: Interval, value: float) -> bool:
    return interval.low is None or interval.high is None or interval.low <= value <= interval.high


def _disagreeing(steps: Sequence[StepRatio], back: Sequence[StepRatio]) -> list[str]:
    """Return the factors that are worth different ratios in the two orders, beyond the intervals, the most different first."""
    apart: dict[str, float] = {}
    for one in steps:
        others = [step for step in back if (step.factor, step.before, step.after) == (one.factor, one.before, one.after)]
        for other in others:
            gap = _over(one.ratio, other.ratio)
            if gap and not _contains(gap, 1):
                apart[one.factor] = abs(math.log(gap.estimate))
    return sorted(apart, key=lambda factor: -apart[factor])


def _named(disagreeing: Sequence[str]) -> str:
    if not disagreeing:
        return "no single factor shows it: the steps miss it together"
    return f"{disagreeing[0]} is worth another ratio when it is changed at another point of the way"
