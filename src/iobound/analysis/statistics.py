"""Intervals and tests over launches: a launch is the unit of replication, its blocks are averaged first.

Kalibera, Jones: Rigorous benchmarking in reasonable time, ISMM 2013, on replicating at the highest level that varies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from iobound.records import Interval

CONFIDENCE = 0.95


def _reach(values: Sequence[float], confidence: float) -> float | None:
    """Return half the width of Student's t interval of the mean: t(n - 1) s / sqrt(n); ``None`` below two values.

    Student: The probable error of a mean, Biometrika 6 (1908).
    """
    n = len(values)
    if n < 2:
        return None
    return float(stats.t.ppf((1 + confidence) / 2, n - 1) * np.std(values, ddof=1) / math.sqrt(n))


def mean(values: Sequence[float]) -> Interval | None:
    """Return the mean of launch means with its 95 % interval; no ends for one launch, ``None`` for none.

    Where no value is negative, the interval isn't either.
    """
    if not values:
        return None
    estimate, reach = float(np.mean(values)), _reach(values, CONFIDENCE)
    if reach is None:
        return Interval(estimate=estimate)
    low = estimate - reach
    return Interval(estimate=estimate, low=max(low, 0.0) if min(values) >= 0 else low, high=estimate + reach)


@dataclass(frozen=True)
class PairedRatio:
    """The logarithms of a contender over its baseline, one a launch. What is common to both in a launch cancels."""

    logs: tuple[float, ...]

    @property
    def launches(self) -> int:
        """The number of launches in which both were measured."""
        return len(self.logs)

    @property
    def p(self) -> float | None:
        """The two-sided p-value of Student's t test that the ratio is 1; ``None`` below two launches."""
        if self.launches < 2:
            return None
        centre, spread = float(np.mean(self.logs)), float(np.std(self.logs, ddof=1))
        if spread == 0:
            return 0.0 if centre else 1.0
        return float(2 * stats.t.sf(abs(centre) / spread * math.sqrt(self.launches), self.launches - 1))

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Return the geometric mean of the ratios with Student's t interval on the logarithms."""
        centre, reach = float(np.mean(self.logs)), _reach(self.logs, confidence)
        if reach is None:
            return Interval(estimate=math.exp(centre))
        return Interval(estimate=math.exp(centre), low=math.exp(centre - reach), high=math.exp(centre + reach))

    def width(self) -> float | None:
        """Return half the width of the 95 % interval relative to the estimate; ``None`` below two launches."""
        interval = self.interval()
        if interval.low is None or interval.high is None:
            return None
        return (interval.high - interval.low) / 2 / interval.estimate


def paired(contender: Mapping[int, float], baseline: Mapping[int, float]) -> PairedRatio | None:
    """Pair the means of two contenders by launch; ``None`` where no launch has both, or a mean isn't positive."""
    rounds = sorted(set(contender) & set(baseline))
    if not rounds or min(min(contender[n], baseline[n]) for n in rounds) <= 0:
        return None
    return PairedRatio(tuple(math.log(contender[n] / baseline[n]) for n in rounds))


@dataclass(frozen=True)
class Product:
    """A product of independent ratios: its logarithm, the standard error of that, and how many degrees of freedom it has.

    `error` is ``None`` where one of the ratios has a single launch, which tells nothing of how much launches differ.
    """

    log: float
    error: float | None
    freedom: float

    @property
    def p(self) -> float | None:
        """The two-sided p-value of the test that the product is 1; ``None`` without an error."""
        if self.error is None:
            return None
        if self.error == 0:
            return 0.0 if self.log else 1.0
        return float(2 * stats.t.sf(abs(self.log) / self.error, self.freedom))

    def interval(self) -> Interval:
        """Return the product with its 95 % interval."""
        if self.error is None:
            return Interval(estimate=math.exp(self.log))
        reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, self.freedom)) * self.error
        return Interval(estimate=math.exp(self.log), low=math.exp(self.log - reach), high=math.exp(self.log + reach))


def product(ratios: Sequence[PairedRatio], over: Sequence[PairedRatio] = ()) -> Product:
    """Multiply independent ratios, and divide by those of `over`: on the logarithmic scale their variances add up.

    Satterthwaite: An approximate distribution of estimates of variance components, Biometrics Bulletin 2 (1946): the sum of
    variances v, each with f degrees of freedom, has (sum of v)^2 / sum of (v^2 / f) of them.
    """
    log = sum(float(np.mean(ratio.logs)) for ratio in ratios) - sum(float(np.mean(ratio.logs)) for ratio in over)
    parts = [*ratios, *over]
    if any(part.launches < 2 for part in parts):
        return Product(log, None, 0)
    variances = [float(np.var(part.logs, ddof=1)) / part.launches for part in parts]
    whole = sum(variances)
    weighted = sum(variance**2 / (part.launches - 1) for variance, part in zip(variances, parts, strict=True))
    return Product(log, math.sqrt(whole), whole**2 / weighted if weighted else math.inf)


def holm(p_values: Sequence[float], alpha: float = 1 - CONFIDENCE) -> list[float]:
    """Return for each test the confidence at which it is decided, so that all together err with at most `alpha`.

    Holm: A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979): the k-th
    smallest of m p-values is held against alpha / (m - k + 1), and after the first that isn't below none is. The level at
    which it stopped is given to all later ones, so that an interval excludes 1 exactly where Holm's procedure rejects.
    """
    m = len(p_values)
    levels = [0.0] * m
    level, stopped = alpha, False
    for k, index in enumerate(sorted(range(m), key=lambda index: p_values[index])):
        if not stopped:
            level = alpha / (m - k)
            stopped = p_values[index] > level
        levels[index] = 1 - level
    return levels


def detectable(control: PairedRatio) -> float | None:
    """Return the smallest effect (0.05: five per cent) that A against A leaves distinguishable; ``None`` below two launches.

    It is the far end of the control's interval: how much two launches of the same thing may differ here, its bias included.
    """
    interval = control.interval()
    if interval.low is None or interval.high is None:
        return None
    return max(1 / interval.low, interval.high) - 1
