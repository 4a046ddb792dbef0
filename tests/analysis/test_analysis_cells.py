from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from analysis_builders import (
    cell,
    comparison,
    environment,
    failure,
    header,
    histogram,
    load,
    plan,
    service_use,
    trial,
)

from iobound.analysis.cells import summarise
from iobound.analysis.observed import Observed
from iobound.records import Cell, CellSummary, Environment, Observation, Workload

CELL = cell()


def one(observations: Sequence[Observation], of: Cell = CELL, where: Environment | None = None) -> CellSummary:
    (summary,) = summarise(header(plan([comparison([of])], [of]), where), Observed.of(observations))
    return summary


def test_numbers_are_means_over_launches_of_sums_over_blocks() -> None:
    summary = one(
        [
            trial(CELL, launch=0, block=0, rps=900, target=0.95),
            trial(CELL, launch=0, block=1, rps=1100, target=0.95),
            trial(CELL, launch=1, block=0, rps=2000, target=0.95),
        ]
    )
    rate = summary.requests_per_second
    assert rate is not None
    assert rate.estimate == 1500  # launches weigh alike, however many blocks they have
    assert rate.low == 0  # t(1) = 12.7 reaches below nothing
    assert (summary.launches, summary.blocks, summary.noisy_blocks) == (2, 3, 0)
    assert summary.valid
    assert summary.bound_by == "target-cpu"
    assert summary.in_flight is not None
    assert summary.in_flight.estimate == pytest.approx(10)
    assert summary.target_utilisation == pytest.approx(0.95, rel=0.01)


def test_costs_are_counted_per_request_sent() -> None:
    use = service_use(110, statements=2, rows=50, control=1, active_mean=3.0)
    summary = one(
        [trial(CELL, rps=100, target=0.55, database=0.11, generator=0.22, service=use, response_ms=20.0)],
        where=environment(),
    )
    cpu = summary.cpu_us_per_request
    assert cpu is not None  # 100 answers, 10 unanswered: 110 sent
    assert cpu.target_user is not None
    assert cpu.target_system is not None
    assert cpu.database is not None
    assert cpu.generator is not None
    assert cpu.other is not None
    found = [each.estimate for each in (cpu.target_user, cpu.target_system, cpu.database, cpu.generator, cpu.other)]
    assert found == pytest.approx([4000, 1000, 1000, 2000, 0])
    assert summary.wait_us_per_request is not None
    assert summary.wait_us_per_request.estimate == pytest.approx(20_000 - 5000 - 1000, rel=1e-3)
    assert summary.statements_per_request == 2
    assert summary.rows_per_request == 50
    assert summary.transaction_control_per_request == 1
    assert summary.active_at_service == 3.0


def test_what_was_not_seen_is_absent() -> None:
    summary = one([trial(CELL, database=None)])
    assert summary.cpu_us_per_request is not None
    assert summary.cpu_us_per_request.database is None
    assert summary.wait_us_per_request is None
    assert summary.statements_per_request is None
    assert summary.active_at_service is None
    assert summary.requests_per_second is not None
    assert summary.requests_per_second.low is None  # one launch


def test_latency_percentiles_are_of_launches_and_the_maximum_of_all() -> None:
    fast, slow = histogram({5: 900, 10: 100}), histogram({15: 900, 30: 100})
    summary = one(
        [trial(CELL, launch=n, latency=text, series=None, in_flight_mean=None) for n, text in enumerate([fast, slow])]
    )
    assert summary.latency_ms is not None
    assert summary.latency_ms["p50"].estimate == pytest.approx(10, rel=2e-3)
    assert summary.latency_ms["p99"].estimate == pytest.approx(20, rel=2e-3)
    assert summary.latency_ms["max"].estimate == pytest.approx(30, rel=2e-3)
    assert summary.latency_ms["max"].low is None
    assert set(summary.latency_ms) == {"p50", "p90", "p99", "p99.9", "max", "mean"}
    assert summary.percentile_curve is not None
    assert summary.percentile_curve[-1] == (100, pytest.approx(30, rel=2e-3))


def test_the_control_is_not_part_of_the_cell() -> None:
    summary = one([trial(CELL, rps=1000), trial(CELL, rps=9000, control=True), trial(CELL, launch=1, rps=9000, control=True)])
    assert summary.requests_per_second is not None
    assert summary.requests_per_second.estimate == 1000
    assert (summary.launches, summary.blocks) == (1, 1)


def test_noisy_blocks_are_counted_and_left_out() -> None:
    summary = one([trial(CELL, rps=1000), trial(CELL, block=1, rps=200, quiet=False)])
    assert summary.requests_per_second is not None
    assert summary.requests_per_second.estimate == 1000
    assert (summary.blocks, summary.noisy_blocks, summary.valid) == (1, 1, True)


def test_a_cell_of_noise_only_says_nothing() -> None:
    summary = one([trial(CELL, rps=1000, quiet=False)])
    assert not summary.valid
    assert summary.bound_by == "noise"
    assert summary.requests_per_second is None
    assert summary.latency_ms is None
    assert summary.percentile_curve is None
    assert summary.progress is None
    assert (summary.launches, summary.blocks, summary.noisy_blocks) == (0, 0, 1)


INVALID: dict[str, tuple[dict[str, Any], str, str]] = {
    "more than one per cent failed": ({"errors": {"timeout": 30, "reset": 2}}, "errors", "90 timeout, 6 reset"),
    "a wrong answer": ({"errors": {"wrong-body": 1}}, "target-cpu", "wrong bodies: 3 of 3,033"),
    "nothing answered": ({"rps": 0, "errors": {"refused": 9}, "response_ms": 1.0}, "errors", "27 refused"),
    "no request at all": ({"rps": 0, "unanswered": 0, "response_ms": 1.0}, "errors", "nothing was answered"),
    "error pages counted as successes": ({"status": "500"}, "unknown", "a law is broken"),
    "a count of -1": ({"connects": -1}, "unknown", "load.connects is negative"),
    "no number": ({"in_flight_mean": math.nan}, "unknown", "load.in_flight_mean is nan"),
    "latencies in another unit": ({"latency": histogram({0.01: 1000}), "series": None}, "unknown", "in flight"),
}


@pytest.mark.parametrize(("changes", "bound", "because"), INVALID.values(), ids=INVALID)
def test_what_makes_a_cell_invalid(changes: dict[str, Any], bound: str, because: str) -> None:
    summary = one([trial(CELL, launch=n, target=0.97, **changes) for n in range(3)])
    assert not summary.valid
    assert not summary.at_least
    assert summary.invalid_because is not None
    assert because in summary.invalid_because
    assert summary.bound_by == bound


def test_rows_that_were_dropped_make_a_cell_invalid() -> None:
    writing = cell(workload="sql-insert", service="postgresql")
    summary = one([trial(writing, rows_written=900, status="201")], of=writing)
    assert not summary.valid
    assert summary.invalid_because is not None
    assert "900 rows were written" in summary.invalid_because


def test_a_failure_while_measuring_makes_a_cell_invalid_a_failed_start_beside_good_ones_not() -> None:
    good = [trial(CELL, launch=n) for n in range(2)]
    died = one([*good, failure(CELL, "measure", "it died", launch=2)])
    assert (died.valid, died.invalid_because, died.bound_by) == (False, "it died", "errors")
    assert one([*good, failure(CELL, "start", "port in use", launch=2)]).valid


def test_what_never_ran_is_invalid_with_its_reason_and_no_numbers() -> None:
    summary = one([failure(CELL, "verify", "answered 500 (expected: published so)", expected=True)])
    assert (summary.valid, summary.bound_by) == (False, None)
    assert summary.invalid_because == "answered 500 (expected: published so)"
    assert summary.requests_per_second is None
    assert summary.cpu_us_per_request is None


def test_what_is_not_on_this_machine_is_no_cell() -> None:
    observed = Observed.of([failure(CELL, "unavailable", "no mariadbd")])
    assert summarise(header(plan([comparison([CELL])], [CELL])), observed) == []
    assert summarise(header(plan([comparison([CELL])], [CELL])), Observed.of([])) == []


def test_a_generator_at_its_limit_gives_a_lower_bound() -> None:
    summary = one([trial(CELL, launch=n, generator=0.97, target=0.2) for n in range(3)])
    assert (summary.valid, summary.at_least, summary.bound_by) == (True, True, "generator")


def test_the_ceiling_is_found_where_the_block_has_none() -> None:
    of = [trial(CELL, rps=5000, ceiling=None, target=0.3)]
    assert one(of).bound_by == "concurrency"
    low = msgspec.structs.replace(environment().ceilings[0], requests_per_second=5100.0)
    assert one(of, where=environment(ceilings=[low])).bound_by == "generator"


@pytest.mark.parametrize(("answered", "valid"), [(400, True), (380, True), (340, False)])
def test_a_fixed_rate_must_be_reached(answered: float, valid: bool) -> None:
    fixed = cell(view="fixed-rate")
    result = load(rate=400, rps=answered, response_ms=5.0, late_ms=0.2, unanswered=2)
    summary = one([trial(fixed, target=0.5, result=result)], of=fixed)
    assert summary.rate == 400
    assert summary.valid is valid
    if valid:
        assert summary.bound_by == "concurrency"
    else:
        assert summary.invalid_because is not None
        assert "340/s of the 400/s offered" in summary.invalid_because


def test_labels_give_slots_and_pool() -> None:
    threaded = cell(concurrency=100, service="postgresql")
    use = service_use(1000, active_mean=9.9)
    ran = {"workers": "2", "threads": "5", "pool": "20"}
    assert one([trial(threaded, ran=ran, service=use)], of=threaded).bound_by == "workers"
    assert one([trial(threaded, ran=ran | {"pool": "3"}, service=use)], of=threaded).bound_by == "pool"
    words = {"threads": "one per connection", "workers": "1"}
    summary = one([trial(threaded, ran=words), trial(threaded, launch=1, ran=words | {"loop": "uvloop"})], of=threaded)
    assert summary.bound_by == "concurrency"
    assert summary.ran == words | {"loop": "uvloop"}


def test_a_label_that_changed_shows_both_values() -> None:
    summary = one([trial(CELL, ran={"driver": "c"}), trial(CELL, launch=1, ran={"driver": "python"})])
    assert summary.ran == {"driver": "c / python"}


def test_a_service_on_one_thread_can_saturate_one_of_many_cores() -> None:
    many = environment(cores=[0, 1, 2, 3], target_cores=[3], other_cores=[0, 1, 2])
    for service, bound in (("valkey", "database-cpu"), ("postgresql", "concurrency")):
        cached = cell(service=service)
        assert one([trial(cached, target=0.5, database=0.95)], of=cached, where=many).bound_by == bound


def test_in_process_and_absent_databases_are_not_unseen() -> None:
    for service, used, bound in ((None, 0.0, "concurrency"), ("sqlite", None, "concurrency"), ("postgresql", None, "unknown")):
        of = cell(service=service)
        assert one([trial(of, database=used)], of=of).bound_by == bound
    users_own = cell()
    assert one([trial(users_own, database=None)], of=users_own).bound_by == "unknown"


def test_work_on_open_requests_is_part_of_their_cost_and_no_part_of_utilisation() -> None:
    slow = cell(concurrency=100)
    block = trial(slow, rps=200, target=1.2, unanswered=100)  # 100 more requests were done after the block
    cpu_use = msgspec.structs.replace(block.cpu, target_block_s=0.97)
    summary = one([msgspec.structs.replace(block, cpu=cpu_use)], of=slow)
    assert summary.target_utilisation == pytest.approx(0.97)
    assert summary.valid
    assert summary.bound_by == "target-cpu"
    cpu = summary.cpu_us_per_request
    assert cpu is not None
    assert cpu.target_user is not None
    assert cpu.target_user.estimate == pytest.approx(1.2e6 * 0.8 / 300)


def test_cells_keep_the_order_of_the_plan_and_their_spelling() -> None:
    cells = [
        cell("b", workload=Workload(name="sql-list", rows=1000)),
        cell("a", workload=Workload(name="db-wait", wait_ms=2.5)),
    ]
    observed = Observed.of([trial(cells[1]), trial(cells[0])])
    found = summarise(header(plan([comparison(cells)], cells)), observed)
    assert [(each.target, each.workload) for each in found] == [("b", "sql-list:1000"), ("a", "db-wait:2.5")]


def test_progress_is_the_blocks_one_after_another() -> None:
    summary = one([trial(CELL, rps=1000), trial(CELL, launch=1, rps=500)])
    course = summary.progress
    assert course is not None
    assert course.launch == [0] * 10 + [1] * 10
    assert course.at_s == pytest.approx([n / 10 for n in range(20)])
    assert course.requests_per_second == pytest.approx([1000] * 10 + [500] * 10)
    assert course.latency_max_ms[0] == pytest.approx(10)


def test_progress_never_has_more_steps_than_can_be_drawn() -> None:
    summary = one([trial(CELL, launch=launch, block=block) for launch in range(7) for block in range(9)])
    assert summary.progress is not None
    assert 60 < len(summary.progress.at_s) <= 120
    assert sum(summary.progress.requests_per_second) / len(summary.progress.at_s) == pytest.approx(1000)


def test_answers_that_take_long_are_no_overload() -> None:
    """500/s, each answered after 100 ms: the last 50 aren't answered within the second, though nothing lacks."""
    fixed = cell(view="fixed-rate", concurrency=100)
    slow = load(rate=500, rps=450, response_ms=100.0, late_ms=0.2, unanswered=50, connections=100, in_flight_mean=47.5)
    summary = one([trial(fixed, target=0.3, result=slow)], of=fixed)
    assert summary.valid, summary.invalid_because
    assert summary.bound_by == "concurrency", summary.bound_because


def test_a_rate_beyond_the_capacity_is_invalid_whatever_bound_it() -> None:
    fixed = cell(view="fixed-rate")
    over = load(rate=500, rps=320, response_ms=31.0, late_ms=300, unanswered=10, overdue=170, in_flight_mean=10)
    summary = one([trial(fixed, target=0.3, result=over)], of=fixed)
    assert not summary.valid
    assert "320/s of the 500/s offered" in str(summary.invalid_because)
