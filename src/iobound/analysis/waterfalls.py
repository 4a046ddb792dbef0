"""What a ratio is made of: the ratios of the steps on the way from one target to another, held against the direct one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from iobound.analysis import statistics
from iobound.analysis.launches import METRIC, means
from iobound.analysis.results import OWN, Results
from iobound.analysis.statistics import PairedRatio, Product
from iobound.analysis.words import bound_by, estimated, listed
from iobound.records import BoundBy, Interval, Step, StepRatio, Walk, Waterfall

TOOL, COLOUR = "load tool", "sync or async"
MOST = 3  # steps that the sentence tells of


def waterfall(walk: Walk, results: Results) -> Waterfall:
    """Judge a walk by the ratios of its comparisons.

    With the publication's load tool, `direct` is the ratio that it shows, and the first step what the tool makes of the ratio:
    that ratio over the one that iobound's engine finds between the same two ends, in the same launches.
    """
    measured = _Measured(walk, results)
    steps = [measured.step(step) for step in walk.forwards]
    back = [measured.step(step) for step in walk.backwards]
    factors = [measured.pair(step.comparison) for step in walk.forwards]
    own, shown = measured.pair(walk.direct), walk.tool or walk.direct
    # The tool's ratio is in the direct one and in the product: its error cancels, and what is left are the two of our engine.
    interaction = _product([own], over=factors)
    told: list[str] = []
    if walk.tool:
        tool = statistics.paired(measured.by_launch(walk.tool), measured.by_launch(walk.direct))
        factors = [tool, *factors]
        first = StepRatio(
            factor=TOOL,
            before=OWN,
            after=walk.tool.rpartition("/")[2],
            comparison=walk.tool,
            ratio=_interval(tool),
            bound_by=[*measured.bounds(walk.direct), *measured.bounds(walk.tool)],
            reason=measured.reason(walk.direct) or (None if tool else measured.reason(walk.tool)),
        )
        steps, back = [first, *steps], [first, *back] if back else []
        told = [f"with iobound's own engine it is {estimated(own.interval(), 'x')} between the two ends"] if own else []
    product = _product(factors)
    disagreeing = measured.disagreeing()
    off = interaction is not None and interaction.p is not None and interaction.p < 1 - statistics.CONFIDENCE
    return Waterfall(
        id=walk.id,
        first=walk.first,
        last=walk.last,
        workload=walk.workload,
        direct=_interval(measured.pair(shown)),
        bound_by=measured.bounds(shown),
        reason=measured.reason(shown),
        steps=steps,
        product=product.interval() if product else None,
        interaction=interaction.interval() if interaction and off else None,
        named=_named(disagreeing, off),
        backwards=back,
        disagreeing=disagreeing,
        notes=[*walk.notes, *told],
    )


def sentence(fall: Waterfall) -> str:
    """Say in a line what the ratio is and what bound the two, what its largest steps are, and whether their order matters."""
    if fall.direct is None:
        return f"{fall.last} against {fall.first} ({fall.workload}) can't be told: {fall.reason}."
    by = f", by {fall.steps[0].after}" if fall.steps[0].factor == TOOL else ""
    bounds = listed([bound_by(bound) for bound in dict.fromkeys(fall.bound_by) if bound])
    unsaid = None if "generator" in fall.bound_by else fall.reason
    about = "; ".join(part for part in (f"{fall.workload}{by}", bounds, unsaid) if part)
    whole = f"{fall.last} has {estimated(fall.direct, 'x')} the throughput of {fall.first} ({about})"
    known = {step.comparison: step.ratio for step in fall.steps if step.ratio}
    largest = sorted(known, key=lambda comparison: -abs(math.log(known[comparison].estimate)))[:MOST]
    told = [step for step in fall.steps if step.comparison in known and (step.comparison in largest or step.factor == COLOUR)]
    made = [f"{step.factor} ({step.before} to {step.after}) {estimated(known[step.comparison], 'x')}" for step in told]
    of_that = [f"Of that: {'; '.join(made)}."] if made else []
    order = [f"The order matters: {fall.named}."] if fall.disagreeing else []
    return " ".join([f"{whole}.", *of_that, *order])


class _Measured:
    """What was measured of the steps of a walk."""

    def __init__(self, walk: Walk, results: Results) -> None:
        self.walk, self.results = walk, results
        self.comparisons = {comparison.id: comparison for comparison in results.header.plan.comparisons}
        self.valid = {(cell.comparison, cell.id) for cell in results.valid}
        self.ratios = {ratio.comparison: ratio for ratio in results.ratios}

    def step(self, step: Step) -> StepRatio:
        """Return what a step is worth."""
        return StepRatio(
            factor=step.factor,
            before=step.before,
            after=step.after,
            comparison=step.comparison,
            ratio=_interval(self.pair(step.comparison)),
            bound_by=self.bounds(step.comparison),
            reason=self.reason(step.comparison),
        )

    def by_launch(self, comparison: str) -> dict[int, float]:
        """Return the throughput after a step over that before it in each launch that measured both."""
        before, after = self._means(comparison)
        return {number: after[number] / before[number] for number in before.keys() & after.keys() if before[number]}

    def pair(self, comparison: str) -> PairedRatio | None:
        """Return the throughput after a step over that before it; ``None`` where one of the two is invalid."""
        before, after = self._means(comparison)
        return statistics.paired(after, before)

    def _means(self, comparison: str) -> tuple[Mapping[int, float], Mapping[int, float]]:
        ends = self.comparisons[comparison].cells if comparison in self.comparisons else []
        if not ends or not all((comparison, cell) in self.valid for cell in ends):
            return {}, {}
        before, after = (means(self.results.observed.launches(comparison, cell), METRIC["capacity"]) for cell in ends)
        return before, after

    def bounds(self, comparison: str) -> list[BoundBy | None]:
        """Return what bound the cells of a comparison, in the order of the plan."""
        return [cell.bound_by for cell in self.results.cells if cell.comparison == comparison]

    def reason(self, comparison: str) -> str | None:
        """Return why a ratio means little, ``None`` where it does mean something."""
        ratio = self.ratios.get(comparison)
        if ratio is not None:
            return ratio.reason if ratio.verdict == "not-ranked" else None
        failures = [each for (of, _), found in self.results.observed.failures.items() if of == comparison for each in found]
        return failures[0].reason.partition("\n")[0] if failures else "it wasn't measured"

    def disagreeing(self) -> list[str]:
        """Return the steps that are worth another ratio in the other order, beyond what chance makes of so many (Holm), the
        most different first.
        """
        often = Counter(step.factor for step in self.walk.forwards)
        back = {(step.factor, step.before, step.after): step for step in self.walk.backwards}
        gaps = {}
        for step in self.walk.forwards:
            other = back.get((step.factor, step.before, step.after))
            if other is not None and other.comparison != step.comparison:
                gap = _product([self.pair(other.comparison)], over=[self.pair(step.comparison)])
                if gap is not None and gap.p is not None:
                    name = step.factor if often[step.factor] == 1 else f"{step.factor} ({step.before} to {step.after})"
                    gaps[name] = (gap, gap.p)
        confidences = statistics.holm([p for _, p in gaps.values()])
        apart = {
            name: abs(gap.log)
            for (name, (gap, p)), confidence in zip(gaps.items(), confidences, strict=True)
            if p < 1 - confidence
        }
        return sorted(apart, key=lambda name: -apart[name])


def _interval(pair: PairedRatio | None) -> Interval | None:
    return pair.interval() if pair else None


def _product(ratios: Sequence[PairedRatio | None], over: Sequence[PairedRatio | None] = ()) -> Product | None:
    """Return a product of ratios, ``None`` where there is none, or one that wasn't measured."""
    known, under = ([ratio for ratio in some if ratio is not None] for some in (ratios, over))
    if not known or len(known) < len(ratios) or len(under) < len(over):
        return None
    return statistics.product(known, under)


def _named(disagreeing: Sequence[str], off: bool) -> str | None:
    if disagreeing:
        is_worth = "is worth another ratio when it is" if len(disagreeing) == 1 else "are worth other ratios when they are"
        return f"{listed(disagreeing)} {is_worth} changed at another point of the way"
    return "no single factor shows it: the steps miss it together" if off else None
