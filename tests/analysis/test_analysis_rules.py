"""Every rule on records made to show it, on records made not to, and on none."""

from __future__ import annotations

import pkgutil
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
    plan,
    service_use,
    side_by_side,
    trial,
)
from analysis_tour import tour

from iobound.analysis import rules
from iobound.analysis.judging import judge
from iobound.records import Cell, Environment, Finding, Observation, Trial

RULES = sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(rules.__path__))
STEADY = [1000.0, 1010.0, 990.0]


def finding(rule: str, observations: Sequence[Observation], cells: list[Cell], where: Environment | None = None) -> Finding:
    of = header(plan([comparison(cells)], cells), where)
    (found,) = [each for each in judge(of, observations).findings if each.rule == rule]
    return found


def launches(of: Cell, count: int = 3, **more: Any) -> list[Observation]:
    return [trial(of, launch=launch, **more) for launch in range(count)]


def pair(left: dict[str, Any], right: dict[str, Any], **of: Any) -> tuple[list[Observation], list[Cell]]:
    cells = [cell("a", **of), cell("b", **of)]
    return [*launches(cells[0], **left), *launches(cells[1], **right)], cells


def test_each_rule_gives_one_finding_under_its_files_name() -> None:
    assert len(RULES) == 16
    assert [found.rule for found in judge(*tour()).findings] == RULES


def test_without_observations_nothing_is_present() -> None:
    of, _ = tour()
    assert {found.status for found in judge(of, []).findings} <= {"absent", "not-measured"}


def test_a_quiet_ordinary_pair_shows_nothing() -> None:
    many = environment(cores=[0, 1, 2, 3], target_cores=[3], other_cores=[0, 1, 2])
    of, seen = side_by_side({"a": STEADY, "b": STEADY[::-1]}, STEADY, target=0.97, service=None, ran={"server": "uvicorn"})
    judgement = judge(msgspec.structs.replace(of, environment=many), seen)
    assert [found.rule for found in judgement.findings if found.status == "present"] == []


@pytest.mark.parametrize("rule", RULES)
def test_what_is_present_has_advice(rule: str) -> None:
    for found in judge(*tour()).findings:
        if found.rule == rule and found.status == "present":
            assert found.advice
        assert all(evidence.unit for evidence in found.evidence)


def test_generator_was_the_limit() -> None:
    of = cell()
    found = finding("generator-was-the-limit", launches(of, generator=0.96, target=0.3), [of])
    assert found.status == "present"
    assert [(each.observed, each.threshold, each.cell) for each in found.evidence] == [(pytest.approx(0.96), 0.9, of.id)]
    assert finding("generator-was-the-limit", launches(of), [of]).status == "absent"
    locust = cell(engine="locust:HttpUser")
    advice = finding("generator-was-the-limit", launches(locust, generator=0.96, target=0.3), [locust]).advice
    assert advice is not None
    assert "engine iobound" in advice


def test_instrument_price() -> None:
    """The probes take a tenth of the requests, then a hundredth; their blocks are no part of the cell's own figure."""
    of = cell(service="postgresql")
    for bare, status in ((1000.0, "present"), (910.0, "absent")):
        seen = launches(of, rps=900.0)
        free = [msgspec.structs.replace(each, bare=True) for each in launches(of, rps=bare) if isinstance(each, Trial)]
        found = finding("instrument-price", [*seen, *free], [of])
        assert found.status == status
        assert found.evidence[0].observed == pytest.approx(900 / bare)
        (summary,) = judge(header(plan([comparison([of])], [of])), [*seen, *free]).cells
        assert summary.requests_per_second is not None
        assert summary.requests_per_second.estimate == pytest.approx(900)
    assert finding("instrument-price", launches(of), [of]).status == "not-measured"


def test_closed_loop_hides_latency() -> None:
    closed, opened = cell(id_="closed"), cell(id_="open", view="fixed-rate", rate=400.0)
    calm = launches(closed)

    def offered(tail_ms: float) -> list[Observation]:
        latency = histogram({2: 360, tail_ms: 40})
        return launches(opened, rps=400, unanswered=0, latency=latency, series=None, in_flight_mean=None)

    stalled = finding("closed-loop-hides-latency", [*calm, *offered(900)], [closed, opened])
    assert stalled.status == "present"
    assert stalled.evidence[0].observed == pytest.approx(90, rel=0.01)
    assert "900 ms against 10 ms" in stalled.statement
    assert finding("closed-loop-hides-latency", [*calm, *offered(4)], [closed, opened]).status == "absent"


def test_statements_differ() -> None:
    base = {"service": service_use(1010)}
    for other, status in (({"service": service_use(1010, statements=2)}, "present"), (base, "absent"), ({}, "not-measured")):
        seen, cells = pair(base, other, service="postgresql")
        assert finding("statements-differ", seen, cells).status == status
    seen, cells = pair(base, {"service": service_use(1010, statements=2)}, service="postgresql")
    observed = {(each.observed, each.threshold) for each in finding("statements-differ", seen, cells).evidence}
    assert observed == {(2, 1), (100, 100)}


def test_transaction_control_differs() -> None:
    for control, status in ((3, "present"), (0, "absent")):
        seen, cells = pair(
            {"service": service_use(1010)}, {"service": service_use(1010, control=control)}, service="postgresql"
        )
        assert finding("transaction-control-differs", seen, cells).status == status


def test_database_concurrency() -> None:
    of = cell(service="postgresql", concurrency=100)
    for active, ran, status in (
        (1.2, {"pool": "10", "workers": "1"}, "present"),
        (9.0, {"pool": "10", "workers": "1"}, "absent"),
        (9.0, {"pool": "10", "workers": "4"}, "present"),
        (0.4, {"pool": "2", "workers": "1"}, "not-measured"),
        (None, {"pool": "10"}, "not-measured"),
    ):
        found = finding("database-concurrency", launches(of, ran=ran, service=service_use(1100, active_mean=active)), [of])
        assert found.status == status, (active, ran)


def test_answers_differ_in_size() -> None:
    for size, status in ((9000, "present"), (5200, "absent")):
        seen, cells = pair({"body_bytes": 5000}, {"body_bytes": size})
        assert finding("answers-differ-in-size", seen, cells).status == status


def test_expected_failures() -> None:
    of = cell()
    failed = [failure(of, "verify", "answered 500 (expected: published so)", expected=True)]
    found = finding("expected-failures", failed, [of])
    assert found.status == "present"
    assert "flask: answered 500" in found.statement
    assert finding("expected-failures", [failure(of, "verify", "answered 500")], [of]).status == "absent"


def test_noise() -> None:
    of = cell()
    noisy = [trial(of, launch=launch, block=1, quiet=False) for launch in range(3)]
    found = finding("noise", [*launches(of), *noisy], [of])
    assert found.status == "present"
    assert "3 of 6 blocks" in found.statement
    assert "the hypervisor took 20%" in found.statement
    assert found.evidence[0].observed == 0.5
    lost = finding("noise", noisy, [of])
    assert "1 of 1 cells have no quiet block" in lost.statement
    assert finding("noise", [*launches(of, count=9), noisy[0]], [of]).status == "absent"


def test_shared_cores() -> None:
    plain, served = cell(), cell(service="postgresql")
    one = environment(cores=[0], target_cores=[0], other_cores=[0], shared_cores="all share core 0")
    many = environment(cores=[0, 1, 2], target_cores=[2], other_cores=[0, 1])
    assert "all share core 0" in finding("shared-cores", launches(plain), [plain], one).statement
    assert finding("shared-cores", launches(plain), [plain]).status == "absent"
    assert finding("shared-cores", launches(served), [served]).status == "present"
    assert finding("shared-cores", launches(served), [served], many).status == "absent"


@pytest.mark.parametrize(
    ("ran", "status"),
    [
        ({"server": "Werkzeug/3.1"}, "present"),
        ({"server": "uvicorn", "debug": "True"}, "present"),
        ({"server": "uvicorn", "debug": "False"}, "absent"),
        ({}, "not-measured"),
    ],
)
def test_development_server(ran: dict[str, str], status: str) -> None:
    of = cell()
    assert finding("development-server", launches(of, ran=ran), [of]).status == status


def test_database_work_is_cpu() -> None:
    of = cell(service="postgresql")
    assert finding("database-work-is-cpu", launches(of, target=0.97, database=0.2), [of]).status == "present"
    assert finding("database-work-is-cpu", launches(of, target=0.5, database=0.2), [of]).status == "absent"
    assert finding("database-work-is-cpu", launches(cell()), [cell()]).status == "not-measured"
    lonely = cell(service="postgresql", concurrency=1, id_="lonely")  # bound by its one connection, which proves nothing
    both = [*launches(of, target=0.97), *launches(lonely, rps=300, target=0.4)]
    assert finding("database-work-is-cpu", both, [of, lonely]).status == "present"
    sleeping = cell(service="postgresql", workload="db-wait")
    assert finding("database-work-is-cpu", launches(sleeping, target=0.97), [sleeping]).status == "not-measured"


def test_database_work_is_cpu_shows_the_share_of_an_unhurried_response() -> None:
    closed, opened = (
        cell(id_="closed", service="postgresql"),
        cell(id_="open", service="postgresql", view="fixed-rate", rate=200.0),
    )
    unhurried = launches(opened, rps=200, response_ms=4.0, unanswered=0, target=0.4, database=0.2)  # 2 + 1 ms of CPU in 4 ms
    found = finding("database-work-is-cpu", [*launches(closed, target=0.97), *unhurried], [closed, opened])
    (share,) = [each for each in found.evidence if each.cell == "open"]
    assert share.observed == pytest.approx(0.75, rel=0.01)


def test_connection_per_request() -> None:
    of = cell()
    found = finding("connection-per-request", launches(of, connects=1010), [of])
    assert found.status == "present"
    assert found.evidence[0].observed == pytest.approx(1.0)
    assert finding("connection-per-request", launches(of), [of]).status == "absent"


@pytest.mark.parametrize(("again", "status"), [(0.7, "present"), (0.99, "absent"), (None, "not-measured")])
def test_control_too_wide(again: float | None, status: str) -> None:
    controls = [] if again is None else [value * again for value in STEADY]
    judgement = judge(*side_by_side({"a": STEADY, "b": STEADY}, controls))
    (found,) = [each for each in judgement.findings if each.rule == "control-too-wide"]
    assert found.status == status


def test_law_broken() -> None:
    of = cell()
    found = finding("law-broken", launches(of, target=1.4), [of])
    assert found.status == "present"
    assert "= 1.39 cores, but there are 1" in found.statement
    assert finding("law-broken", launches(of), [of]).status == "absent"


@pytest.mark.parametrize(("rtt_ms", "status"), [(0.0, "not-measured"), (1.0, "absent"), (8.0, "present")])
def test_round_trips_decide(rtt_ms: float, status: str) -> None:
    of = cell(rtt_ms=rtt_ms, service="postgresql")  # ten connections, 1,000/s: 10 ms a request
    use = service_use(1010, round_trips=1010 if rtt_ms else None)
    found = finding("round-trips-decide", launches(of, rps=1000.0, service=use), [of])
    assert found.status == status
    if status == "present":
        assert "80%" in found.statement
        assert "1,250 requests a second" in (found.advice or "")


def test_sessions_over_an_injected_round_trip_are_not_called_idle() -> None:
    of = cell(rtt_ms=5.0, service="postgresql")
    seen = launches(of, service=service_use(1010, active_mean=0.2), ran={"pool": "10"})
    assert finding("database-concurrency", seen, [of]).status == "not-measured"
