"""Attempts to make the instrument lie: each must be noticed, with the arithmetic, and honest blocks must pass."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from analysis_builders import cell, histogram, load, service_use, trial

from iobound.analysis import laws
from iobound.records import LoadResult, TimeSeries, Trial, Workload

PLAIN, INSERT, MIXED = Workload(name="plain"), Workload(name="sql-insert"), Workload(name="mixed")
CELL = cell()

HONEST: dict[str, Trial] = {
    "a closed loop": trial(CELL),
    "one connection": trial(CELL, rps=300, response_ms=3.3, result=None),
    "few slow answers": trial(CELL, rps=12, unanswered=10),
    "an open loop": trial(CELL, result=load(rate=400, rps=400, response_ms=2.0, late_ms=0.3, unanswered=1)),
    "an open loop that stalled": trial(
        CELL, result=load(rate=400, rps=400, response_ms=300, late_ms=500, unanswered=10, in_flight_mean=9.9)
    ),
    "failures": trial(CELL, errors={"timeout": 5}),
    "nothing answered": trial(CELL, rps=0, errors={"refused": 50}, response_ms=1.0),
    "a service that counts": trial(CELL, service=service_use(1010), database=0.3),
    "a saturated target": trial(CELL, target=1.03),
    "a remainder a tick below nothing": trial(CELL, other=-0.02),
    "no in-flight count": trial(CELL, in_flight_mean=None),
    "no series": trial(CELL, series=None),
    "threads beyond one core": msgspec.structs.replace(trial(CELL, target=1.9), target_cores=2),
}


@pytest.mark.parametrize("honest", HONEST.values(), ids=HONEST)
def test_honest_blocks_pass(honest: Trial) -> None:
    assert laws.audit([honest], PLAIN, 2) == []


def test_nothing_breaks_no_law() -> None:
    assert laws.audit([], PLAIN, 2) == []


def _series(**changes: Any) -> TimeSeries:
    series = load().series
    assert series is not None
    return msgspec.structs.replace(series, **changes)


LIES: list[tuple[str, Trial, str]] = [
    ("a count of -1", trial(CELL, connects=-1), "load.connects is negative"),
    ("latencies of -1 in the series", trial(CELL, series=_series(latency_max_us=[-1] * 10)), "latency_max_us[0] is negative"),
    ("CPU of -1", trial(CELL, database=-1.0), "cpu.database_s is negative"),
    ("NaN seconds", trial(CELL, result=load(in_flight_mean=math.nan)), "load.in_flight_mean is nan"),
    ("endless CPU", trial(CELL, target=math.inf), "cpu.target_user_s is inf"),
    ("no time at all", trial(CELL, result=msgspec.structs.replace(load(), seconds=0.0)), "load.seconds is 0"),
    ("error pages as fast successes", trial(CELL, status="500"), "1000 successes, but only 0 answers with a status below 400"),
    ("more answers than questions", trial(CELL, requests=500), "only 500 requests were sent"),
    ("the target used more CPU than there is", trial(CELL, target=1.4), "= 1.39 cores, but there are 1"),
    ("all together used more CPU than there is", trial(CELL, target=1.0, database=1.0, generator=0.9), "but there are 2"),
    ("latencies left out", trial(CELL, latency=histogram({10: 900})), "900 latencies for 1000 successes"),
    ("latencies counted twice", trial(CELL, latency=histogram({10: 2000})), "2000 latencies for 1000 successes"),
    ("a damaged histogram", trial(CELL, latency="HISTF0000"), "0 latencies for 1000 successes"),
    ("microseconds as nanoseconds", trial(CELL, latency=histogram({0.01: 1000}), series=None), "but 10.00 were"),
    ("picoseconds as nanoseconds", trial(CELL, latency=histogram({10_000: 1000}), series=None), "but 10.00 were"),
    ("the series in another unit", trial(CELL, series=_series(latency_sum_us=[10**9] * 10)), "in the time series"),
    ("the series counts twice", trial(CELL, series=_series(responses=[200] * 10)), "2000 responses in the time series"),
    ("half the waiting is in no latency", trial(CELL, latency=histogram({5: 1000}), series=None), "but 10.00 were"),
]


@pytest.mark.parametrize(("lie", "noticed"), [case[1:] for case in LIES], ids=[case[0] for case in LIES])
def test_lies_are_noticed(lie: Trial, noticed: str) -> None:
    broken = laws.audit([lie], PLAIN, 2)
    assert any(noticed in law for law in broken), broken
    assert all(law.startswith("launch 0, block 0: ") for law in broken) or "in flight, and unanswered" in broken[0]


def test_littles_law_tells_the_arithmetic() -> None:
    lie = trial(CELL, latency=histogram({40: 1000}), series=None)
    assert laws.audit([lie], PLAIN) == ["launch 0, block 0: 1,000/s x 39.993 ms = 39.99 in flight, but 10.00 were"]


def test_one_stall_at_the_end_of_a_block_is_no_lie() -> None:
    stalled = trial(CELL, block=9, result=load(rps=500, response_ms=10.0, in_flight_mean=9.8, unanswered=10))
    assert laws.audit([trial(CELL, block=number) for number in range(9)] + [stalled], PLAIN) == []


def test_many_stalls_are_told() -> None:
    stalled = [trial(CELL, block=n, result=load(rps=500, response_ms=10.0, in_flight_mean=9.8)) for n in range(9)]
    (law,) = laws.audit(stalled, PLAIN)
    assert "unanswered or failed requests at most" in law


def test_a_result_of_the_generator_alone_is_audited() -> None:
    assert laws.audit_load(load()) == []
    lie: LoadResult = load(latency=histogram({40: 1000}), unanswered=-1)
    assert laws.audit_load(lie) == ["unanswered is negative (-1)"]
    assert laws.audit_load(load(seconds=1.0, latency="", in_flight_mean=math.nan)) == ["in_flight_mean is nan"]


@pytest.mark.parametrize(
    ("summary", "noticed"),
    [
        ({"p50": 10.0, "p99": 9.0}, "p99 9 ms is below p50 10 ms"),
        ({"p90": 1.0, "p99.9": 3.0, "max": 2.0}, "max 2 ms is below p99.9 3 ms"),
        ({"max": 2.0, "mean": 3.0}, "the mean 3 ms is above the maximum 2 ms"),
    ],
)
def test_disordered_percentiles_are_noticed(summary: dict[str, float], noticed: str) -> None:
    assert list(laws.disordered(summary)) == [noticed]


def test_ordered_percentiles_pass() -> None:
    assert list(laws.disordered({"p50": 1.0, "p90": 1.0, "p99": 2.0, "p99.9": 2.5, "max": 2.5, "mean": 1.1})) == []
    assert list(laws.disordered({})) == []


# 1,000 successes, 10 unanswered, 3 failures: 1,000 to 1,013 rows
@pytest.mark.parametrize("rows", [1000, 1010, 1013])
def test_rows_that_can_be(rows: int) -> None:
    written = trial(CELL, rows_written=rows, errors={"reset": 3}, status="201")
    assert laws.audit([written], INSERT) == []


@pytest.mark.parametrize("rows", [0, 999, 1014, 2000])
def test_dropped_and_doubled_rows_are_noticed(rows: int) -> None:
    (law,) = laws.audit([trial(CELL, rows_written=rows, errors={"reset": 3}, status="201")], INSERT)
    assert f"{rows} rows were written, but there were 1000 successful writes and 13 more" in law


def test_of_a_mixture_only_the_writes_write() -> None:
    mixed = {"status": {"200": 800, "201": 200}, "requests": 1010}
    honest, doubled, dropped = (
        trial(CELL, result=msgspec.structs.replace(load(), **mixed), rows_written=rows) for rows in (203, 400, 190)
    )
    assert laws.audit([honest], MIXED) == []
    assert laws.audit([doubled], MIXED)
    assert laws.audit([dropped], MIXED)
    blurred = msgspec.structs.replace(load(), status={"2xx-3xx": 1000})
    assert laws.audit([trial(CELL, result=blurred, rows_written=203)], MIXED) == []
