import math
import random

import pytest

from iobound.analysis.across import differences, welch


def test_the_ratio_of_known_samples():
    found = welch([[100.0, 100.0, 100.0], [150.0, 150.0, 150.0]])
    assert found is not None
    assert (found.estimate, found.low, found.high) == pytest.approx((1.5, 1.5, 1.5))


def test_welch_by_hand():
    """Two launches each, equal variances: the pooled t interval with two degrees of freedom (t = 4.3027)."""
    found = welch([[math.exp(0.0), math.exp(0.2)], [math.exp(1.0), math.exp(1.2)]])
    assert found is not None
    reach = 4.302653 * math.sqrt(2 * 0.02 / 2)
    assert found.low == pytest.approx(math.exp(1 - reach), rel=1e-5)
    assert found.high == pytest.approx(math.exp(1 + reach), rel=1e-5)


def test_one_launch_has_no_ends_and_none_no_ratio():
    one = welch([[100.0], [50.0, 50.0]])
    assert one is not None
    assert one.estimate == pytest.approx(0.5)
    assert one.low is None
    assert welch([[], [1.0]]) is None
    assert welch([[0.0], [1.0]]) is None


def test_the_interval_covers_the_truth():
    draw = random.Random(5)
    hits = 0
    for _ in range(400):
        samples = [[math.exp(draw.gauss(centre, spread)) for _ in range(5)] for centre, spread in ((0, 0.05), (0.3, 0.15))]
        found = welch(samples)
        assert found
        assert found.low
        assert found.high
        hits += found.low <= math.exp(0.3) <= found.high
    assert 0.91 < hits / 400 < 0.985


def test_differences_name_the_field_and_both_values():
    assert differences({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 5}) == ["b: 2 and 5"]
