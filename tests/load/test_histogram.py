"""Our bins are HdrHistogram's, and our percentiles are those of the values."""

from __future__ import annotations

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from iobound.load.histogram import DIGITS, HIGHEST_NS, LOWEST_NS, Histogram

EDGES = [0, 1, 2_047, 2_048, 2_049, 4_095, 4_096, 4_097, HIGHEST_NS - 1, HIGHEST_NS]
VALUES = np.concatenate([EDGES, np.random.default_rng(1).lognormal(14, 4, 20_000)]).clip(0, HIGHEST_NS).astype(np.int64)


def filled() -> Histogram:
    histogram = Histogram()
    histogram.add(VALUES)
    return histogram


def test_bulk_and_single_counting_fill_the_bins_that_the_reference_fills() -> None:
    reference = HdrHistogram(LOWEST_NS, HIGHEST_NS, DIGITS)
    single = Histogram()
    for value in VALUES:
        reference.record_value(int(value))
        single.add_count(int(value), 1)
    assert filled().counts.tolist() == list(reference.counts) == single.counts.tolist()
    assert filled().encode() == reference.encode().decode()
    assert filled().mean() == pytest.approx(reference.get_mean_value(), rel=1e-6)


def test_decoding_undoes_encoding() -> None:
    assert Histogram.decode(filled().encode()).counts.tolist() == filled().counts.tolist()
    assert Histogram.decode(Histogram().encode()).total == 0


@pytest.mark.parametrize("percent", [0, 1, 50, 90, 99, 99.9, 100])
def test_percentiles_are_exact_to_three_digits(percent: float) -> None:
    true = np.percentile(VALUES, percent, method="inverted_cdf")
    assert true <= (filled().percentile(percent) or 0) <= true * 1.001 + 1


def test_of_nothing_there_is_no_percentile_and_no_mean() -> None:
    assert Histogram().percentile(50) is None
    assert Histogram().mean() is None


def test_merging_adds() -> None:
    both = filled()
    both.merge(filled())
    assert both.total == 2 * len(VALUES)
    assert both.percentile(90) == filled().percentile(90)


def test_longer_than_an_hour_counts_as_an_hour() -> None:
    histogram = Histogram()
    histogram.add(np.array([10 * HIGHEST_NS], dtype=np.int64))
    histogram.add_count(10 * HIGHEST_NS, 1)
    assert histogram.percentile(0) == histogram.percentile(100)
    assert (histogram.percentile(100) or 0) == pytest.approx(HIGHEST_NS, rel=0.001)
