from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from scipy import stats

from iobound.analysis import statistics
from iobound.analysis.statistics import PairedRatio
from iobound.records import Interval


def test_mean_of_launches_is_students() -> None:
    values = [10.0, 12.0, 11.0, 13.0, 9.0]
    interval = statistics.mean(values)
    low, high = stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
    assert interval is not None
    assert (interval.estimate, interval.low, interval.high) == pytest.approx((11.0, low, high))


def test_one_launch_has_no_interval_and_none_no_mean() -> None:
    assert statistics.mean([5.0]) == Interval(estimate=5.0)
    assert statistics.mean([]) is None
    one = statistics.paired({0: 2.0}, {0: 1.0})
    assert one is not None
    assert one.interval() == Interval(estimate=2.0)
    assert one.p is None
    assert one.width() is None
    assert statistics.detectable(one) is None


def test_a_quantity_that_is_never_negative_has_no_negative_end() -> None:
    positive, mixed = statistics.mean([1.0, 100.0]), statistics.mean([-1.0, 100.0])
    assert positive is not None
    assert positive.low == 0.0
    assert mixed is not None
    assert mixed.low is not None
    assert mixed.low < 0


def test_pairs_are_made_by_launch_and_drift_common_to_both_cancels() -> None:
    pair = statistics.paired({0: 200.0, 1: 100.0, 2: 50.0, 7: 1.0}, {0: 100.0, 1: 50.0, 2: 25.0, 8: 1.0})
    assert pair is not None
    assert pair.launches == 3
    interval = pair.interval()
    assert (interval.estimate, interval.low, interval.high) == pytest.approx((2.0, 2.0, 2.0))


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_no_ratio_of_nothing(bad: float) -> None:
    assert statistics.paired({0: bad, 1: 1.0}, {0: 1.0, 1: 1.0}) is None
    assert statistics.paired({}, {0: 1.0}) is None
    assert statistics.paired({1: 1.0}, {0: 1.0}) is None


def test_p_and_interval_agree() -> None:
    pair = PairedRatio((0.10, 0.02, 0.07, 0.12, 0.05))
    assert pair.p == pytest.approx(float(stats.ttest_1samp(pair.logs, 0.0).pvalue))
    for p, inside in ((pair.p - 1e-9, True), (pair.p + 1e-9, False)):
        interval = pair.interval(1 - p)
        assert interval.low is not None
        assert (interval.low <= 1) is inside


def test_identical_ratios_are_certain() -> None:
    assert PairedRatio((0.0, 0.0)).p == 1.0
    assert PairedRatio((0.5, 0.5)).p == 0.0


def test_width_is_relative() -> None:
    pair = PairedRatio((0.0, 0.1, -0.1))
    reach = stats.t.ppf(0.975, 2) * 0.1 / math.sqrt(3)
    assert pair.width() == pytest.approx(math.sinh(reach))


def test_holm_by_hand() -> None:
    # m = 4: held against 0.05 / 4, 0.05 / 3, 0.05 / 2, 0.05; the third is above, so that it and the fourth are not rejected
    levels = statistics.holm([0.04, 0.001, 0.03, 0.015])
    assert levels == pytest.approx([1 - 0.05 / 2, 1 - 0.05 / 4, 1 - 0.05 / 2, 1 - 0.05 / 3])
    assert statistics.holm([0.04]) == [0.95]
    assert statistics.holm([]) == []


def test_detectable_is_the_far_end_of_the_control() -> None:
    even = statistics.detectable(PairedRatio((0.05, -0.05, 0.05, -0.05)))
    biased = statistics.detectable(PairedRatio((0.15, 0.05, 0.15, 0.05)))
    assert even is not None
    assert biased is not None
    reach = stats.t.ppf(0.975, 3) * np.std([1, -1, 1, -1], ddof=1) * 0.05 / 2
    assert even == pytest.approx(math.exp(reach) - 1)
    assert biased == pytest.approx(math.exp(0.10 + reach) - 1)
    assert statistics.detectable(PairedRatio((-0.15, -0.05, -0.15, -0.05))) == pytest.approx(biased)


def _rejections(draw: np.random.Generator, launches: int, contenders: int, effect: float, runs: int) -> float:
    """Return how often at least one interval excludes the truth-under-test 1, of contenders that share a baseline."""
    wrong = 0
    for _ in range(runs):
        baseline = draw.normal(0, 0.08, launches)
        pairs = [PairedRatio(tuple(effect + draw.normal(0, 0.08, launches) - baseline)) for _ in range(contenders)]
        levels = statistics.holm([pair.p or 0.0 for pair in pairs])
        intervals = [pair.interval(level) for pair, level in zip(pairs, levels, strict=True)]
        wrong += any(i.low is not None and i.high is not None and not i.low <= 1 <= i.high for i in intervals)
    return wrong / runs


@pytest.mark.parametrize("launches", [3, 5])
def test_the_interval_of_a_ratio_covers_the_truth_in_95_of_100(launches: int) -> None:
    draw = np.random.default_rng(launches)
    truth, runs, covered = 1.4, 4000, 0
    for _ in range(runs):
        common = draw.normal(0, 0.2, launches)  # drift of the machine, the same for both
        baseline = dict(enumerate(np.exp(common + draw.normal(0, 0.07, launches)) * 300))
        contender = dict(enumerate(np.exp(common + draw.normal(0, 0.07, launches)) * 300 * truth))
        pair = statistics.paired(contender, baseline)
        assert pair is not None
        interval = pair.interval()
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= truth <= interval.high
    assert covered / runs == pytest.approx(0.95, abs=0.013)  # four standard errors of 4000 draws


@pytest.mark.parametrize("values", [lambda draw, n: draw.normal(100, 15, n)])
@pytest.mark.parametrize("launches", [3, 5])
def test_the_interval_of_a_mean_covers_the_truth(
    launches: int, values: Callable[[np.random.Generator, int], np.ndarray]
) -> None:
    draw = np.random.default_rng(launches)
    intervals = [statistics.mean(list(values(draw, launches))) for _ in range(4000)]
    covered = sum(1 for i in intervals if i and i.low is not None and i.high is not None and i.low <= 100 <= i.high)
    assert covered / 4000 == pytest.approx(0.95, abs=0.013)


@pytest.mark.parametrize("launches", [3, 5])
def test_holm_keeps_the_family_wise_error(launches: int) -> None:
    draw = np.random.default_rng(launches)
    uncorrected = sum(
        any((PairedRatio(tuple(draw.normal(0, 0.1, launches))).p or 1) < 0.05 for _ in range(5)) for _ in range(1500)
    )
    assert uncorrected / 1500 > 0.15  # without a correction, five contenders err in one run of five
    assert _rejections(draw, launches, contenders=5, effect=0.0, runs=1500) < 0.05 + 0.02


def test_holm_still_finds_a_real_difference() -> None:
    draw = np.random.default_rng(1)
    assert _rejections(draw, 5, contenders=3, effect=0.7, runs=200) > 0.9


def test_a_product_of_one_ratio_is_that_ratio() -> None:
    pair = PairedRatio((0.1, 0.2, 0.15))
    alone = statistics.product([pair])
    assert msgspec.structs.astuple(alone.interval()) == pytest.approx(msgspec.structs.astuple(pair.interval()))
    assert alone.p == pytest.approx(pair.p)


@pytest.mark.parametrize("launches", [3, 5])
@pytest.mark.parametrize("spreads", [(0.02, 0.02), (0.01, 0.05), (0.02,) * 8, (0.01, 0.01, 0.01, 0.1)])
def test_the_interval_of_a_product_over_a_ratio_contains_the_truth_as_often_as_it_says(
    launches: int, spreads: tuple[float, ...]
) -> None:
    draw = np.random.default_rng(launches)
    contained = 0
    for _ in range(1000):
        *ratios, under = (PairedRatio(tuple(draw.normal(0.1, spread, launches))) for spread in spreads)
        interval = statistics.product(ratios, over=[under]).interval()
        assert interval.low and interval.high
        contained += interval.low <= math.exp(0.1 * (len(spreads) - 2)) <= interval.high
    assert 925 <= contained <= 985


def test_a_product_with_a_single_launch_has_no_interval() -> None:
    found = statistics.product([PairedRatio((0.1,)), PairedRatio((0.1, 0.2))])
    assert found.p is None
    assert found.interval() == Interval(estimate=pytest.approx(math.exp(0.25)))
