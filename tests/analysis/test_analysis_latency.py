from __future__ import annotations

import random

import pytest
from analysis_builders import histogram
from hdrh.histogram import HdrHistogram

from iobound.analysis import latency


def test_nothing_has_no_percentiles() -> None:
    empty = latency.decode(histogram({}))
    assert empty.total == 0
    assert empty.summary() is None
    assert empty.curve() is None
    assert empty.mean_ms is None
    assert latency.decode("").summary() is None
    assert latency.merge([]).summary() is None


@pytest.mark.parametrize(
    "text", ["no histogram", "HISTFAAAACV4", "HISTFAAAABx4nJNpmSzMwMDAxQABzFCaEUoz2X+AsQA/awMG", "-1", "NaN"]
)
def test_a_damaged_histogram_holds_no_latencies(text: str) -> None:
    assert latency.decode(text).total == 0


def test_known_latencies_come_out_in_milliseconds() -> None:
    known = latency.decode(histogram({2: 905, 10: 90, 50: 5}))
    assert known.total == 1000
    summary = known.summary()
    assert summary is not None
    assert summary == pytest.approx(
        {"p50": 2, "p90": 2, "p99": 10, "p99.9": 50, "max": 50, "mean": 0.905 * 2 + 0.09 * 10 + 0.005 * 50}, rel=2e-3
    )


def test_percentiles_agree_with_the_library_over_seven_decades() -> None:
    draw = random.Random(7)
    recorded = HdrHistogram(1, 3_600_000_000_000, 3)
    for _ in range(5000):
        recorded.record_value(round(10 ** draw.uniform(3, 10)))
    ours = latency.decode(recorded.encode().decode())
    assert ours.total == 5000
    for percentile in (1, 25, 50, 90, 99, 99.9, 100):
        assert ours.at(percentile) == pytest.approx(recorded.get_value_at_percentile(percentile) / 1e6)
    assert ours.mean_ms == pytest.approx(recorded.get_mean_value() / 1e6, rel=1e-3)


def test_merging_is_as_recording_in_one() -> None:
    parts = [{1.0: 40, 3.0: 10}, {2.0: 100, 3.0: 5}, {}]
    merged = latency.merge(latency.decode(histogram(part)) for part in parts)
    whole = latency.decode(histogram({1.0: 40, 2.0: 100, 3.0: 15}))
    assert merged.total == whole.total == 155
    assert merged.summary() == whole.summary()
    assert merged.curve() == whole.curve()


def test_the_curve_rises() -> None:
    curve = latency.decode(histogram({1 + n / 10: 100 - n for n in range(100)})).curve()
    assert curve is not None
    assert [value for _, value in curve] == sorted(value for _, value in curve)
    assert curve[0][0] == 0
    assert curve[-1][0] == 100


def test_a_stall_at_the_end_is_no_secret() -> None:
    """500/s for 10 s, the last second of it a stall: a tenth of all requests have waited up to 1,000 ms, and wait on."""
    answered, stalled = histogram({2.0: 4500}), histogram({2.0 * n: 1 for n in range(1, 501)})
    naive, known = latency.decode(answered), latency.decode(answered, stalled)
    assert naive.at(99) == pytest.approx(2.0, rel=2e-3)
    assert known.at(50) == pytest.approx(2.0, rel=2e-3)
    assert known.at(99) is None
    summary = known.summary()
    assert summary is not None
    assert summary["p50"] is not None
    assert summary["p99"] is None
    assert (99.0 in dict(known.curve() or [])) is False


def test_what_is_open_counts_as_much_as_it_has_waited() -> None:
    """As many requests are cut off after t ms as are answered in t ms, for every t up to 1,000."""
    answered = histogram({float(ms): 1 for ms in range(1, 1001)})
    cut = histogram({float(ms): 1 for ms in range(1, 1001)})
    known = latency.decode(answered, cut)
    # one answer a millisecond among 2 (1000 - t) at risk: S(t) = sqrt(1 - t / 1000), which is a half at 750 ms
    assert known.at(50) == pytest.approx(750, rel=5e-3)
    merged = latency.merge([latency.decode(answered), latency.decode("", cut)])
    assert merged.at(50) == known.at(50)


@pytest.mark.parametrize(
    ("count", "known"), [(99, ["p50", "p90"]), (999, ["p50", "p90", "p99"]), (1000, ["p50", "p90", "p99", "p99.9"])]
)
def test_a_percentile_needs_a_request_that_is_slower(count: int, known: list[str]) -> None:
    summary = latency.decode(histogram({1.0: count})).summary() or {}
    assert list(summary) == ["p50", "p90", "p99", "p99.9", "max", "mean"]
    assert [name for name, value in summary.items() if value is not None] == [*known, "max", "mean"]
