"""Every value of `bound_by` by a constructed case, and the cases beside it that must not be mistaken for it."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from iobound.analysis.bound_by import Evidence, decide
from iobound.records import BoundBy

# Ten connections on a two-core machine: the target alone on one core, service and generator on the other. 1,000/s at 10 ms.
IDLE: dict[str, Any] = {
    "error_share": 0.0,
    "connections": 10,
    "sent_per_second": 1000.0,
    "requests_per_second": 1000.0,
    "response_ms": 10.0,
    "in_flight": 10.0,
    "generator_busiest": 0.2,
    "generator_cpu": 0.2,
    "generator_ceiling": 20_000.0,
    "target_cpu": 0.5,
    "target_cores": 1,
    "target_processes": 1,
    "database_cpu": 0.2,
    "database_cores": 1,
    "together": True,
    "active": 2.0,
    "lock_waits": 0.0,
    "pool": 10,
    "statements_per_request": 1.0,
    "ping_us": 80.0,
}

CASES: list[tuple[str, BoundBy, dict[str, Any]]] = [
    ("more than one per cent failed", "errors", {"error_share": 0.011, "target_cpu": 1.0}),
    ("nothing was answered", "errors", {"requests_per_second": 0.0, "response_ms": None}),
    ("one per cent failed, no more", "target-cpu", {"error_share": 0.01, "target_cpu": 1.0}),
    ("errors before noise", "errors", {"error_share": 0.5, "quiet": False}),
    ("no quiet block", "noise", {"quiet": False, "target_cpu": 1.0}),
    # the generator, first suspect
    ("the generator's core is full", "generator", {"generator_busiest": 0.9, "generator_cpu": 0.9, "target_cpu": 0.2}),
    ("the generator's core is full, the target's nearly", "generator", {"generator_busiest": 0.95, "target_cpu": 0.94}),
    ("both cores are full: the target beyond doubt", "target-cpu", {"generator_busiest": 0.95, "target_cpu": 0.95}),
    ("at its ceiling, though its CPU wasn't read", "generator", {"generator_busiest": None, "generator_ceiling": 1050.0}),
    (
        "one of two generator processes is full",
        "generator",
        {"generator_busiest": 0.92, "generator_cpu": 1.3, "together": False},
    ),
    ("the shared core is full, mostly of the generator", "generator", {"generator_cpu": 0.5, "database_cpu": 0.45}),
    (
        "an open loop sent too little, too late, over free connections",
        "generator",
        {"rate": 2000.0, "in_flight": 3.0, "late_ms_p99": 40.0},
    ),
    ("a closed loop left connections idle", "generator", {"in_flight": 7.0, "generator_busiest": 0.66}),
    ("users who think for longer than the generator was told", "generator", {"in_flight": 7.0, "think_s": 0.001}),
    ("a locust user process beside an idle target", "generator", {"generator_busiest": 0.98, "target_cpu": 0.18}),
    # the target's CPU
    ("the target's core is full", "target-cpu", {"target_cpu": 0.97}),
    ("the target's core is full, and so is the pool", "target-cpu", {"target_cpu": 0.97, "pool": 1, "active": 1.0}),
    ("one process can't use the second core", "target-cpu", {"target_cores": 2, "target_cpu": 1.0}),
    ("two processes can", "concurrency", {"target_cores": 2, "target_processes": 2, "target_cpu": 1.0}),
    ("two processes have both cores full", "target-cpu", {"target_cores": 2, "target_processes": 2, "target_cpu": 1.9}),
    ("four workers on one core", "target-cpu", {"target_processes": 4, "target_cpu": 0.93}),
    (
        "one core for all: the target takes the largest part",
        "target-cpu",
        {"target_shares": True, "target_cpu": 0.6, "together": False},
    ),
    ("the target's core is full in an open loop", "target-cpu", {"rate": 1000.0, "target_cpu": 0.97}),
    # the service's CPU
    ("the shared core is full, mostly of the database", "database-cpu", {"generator_cpu": 0.3, "database_cpu": 0.65}),
    ("equal parts: what is measured, not what measures", "database-cpu", {"generator_cpu": 0.47, "database_cpu": 0.47}),
    ("the database's own cores are full", "database-cpu", {"database_cpu": 2.8, "database_cores": 3, "together": False}),
    ("so are its locks", "database-cpu", {"database_cpu": 0.95, "generator_cpu": 0.05, "lock_waits": 9.0}),
    (
        "one core for all: the database takes the largest part",
        "database-cpu",
        {"target_shares": True, "target_cpu": 0.3, "database_cpu": 0.5, "together": False},
    ),
    ("a quota is used up by all together", "database-cpu", {"quota": 1.0, "target_cpu": 0.3, "database_cpu": 0.5}),
    # what is waited for
    ("nearly all sessions wait for a lock", "database-locks", {"active": 10.0, "lock_waits": 9.0}),
    ("half of a small pool waits for a lock", "database-locks", {"pool": 4, "active": 4.0, "lock_waits": 2.1}),
    ("some wait for a lock", "concurrency", {"active": 10.0, "lock_waits": 3.0}),
    ("two connections for ten requests", "pool", {"pool": 2, "active": 1.95}),
    ("pooled connections are on the way", "pool", {"pool": 2, "active": 0.4, "ping_us": 1500.0}),
    ("a pool as large as the load isn't short", "concurrency", {"pool": 10, "active": 9.8}),
    ("two connections, but two threads only", "workers", {"pool": 2, "active": 1.95, "slots": 2}),
    ("two connections under ten threads", "pool", {"pool": 2, "active": 1.95, "slots": 10}),
    ("one worker for ten requests", "workers", {"slots": 1}),
    (
        "ten threads for a hundred requests",
        "workers",
        {"slots": 10, "connections": 100, "in_flight": 99.0, "response_ms": 99.0},
    ),
    ("ten threads for ten requests: nothing queues", "concurrency", {"slots": 10}),
    ("round trips take most of the time", "network", {"statements_per_request": 10.0, "ping_us": 600.0}),
    ("an injected round-trip time takes most of the time", "network", {"ping_us": 80.0, "rtt_ms": 5.0}),
    ("an injected round-trip time takes little of the time", "concurrency", {"ping_us": 80.0, "rtt_ms": 4.8}),
    ("three round trips a statement, counted by the relay", "network", {"rtt_ms": 2.0, "round_trips_per_request": 3.0}),
    (
        "a pipeline makes one round trip",
        "concurrency",
        {"rtt_ms": 2.0, "statements_per_request": 9.0, "round_trips_per_request": 1.0},
    ),
    ("pooled connections are on the way over the relay", "pool", {"pool": 2, "active": 0.2, "rtt_ms": 2.0}),
    ("one thread waits for the network: more would wait side by side", "workers", {"slots": 1, "rtt_ms": 9.0}),
    ("the relay's core is full", "generator", {"rtt_ms": 1.0, "relay_cpu": 0.9}),
    ("the shared core is full, mostly of the relay", "generator", {"rtt_ms": 1.0, "relay_cpu": 0.6}),
    ("the shared core is full, the relay a part", "database-cpu", {"rtt_ms": 1.0, "relay_cpu": 0.3, "database_cpu": 0.45}),
    ("round trips take little of the time", "concurrency", {"statements_per_request": 10.0, "ping_us": 400.0}),
    # the load
    ("everything waits for the next request", "concurrency", {}),
    ("one connection", "concurrency", {"connections": 1, "in_flight": 0.97, "requests_per_second": 700.0, "pool": 1}),
    ("users who think", "concurrency", {"connections": 100, "in_flight": 10.0, "think_s": 0.09}),
    ("the offered rate is answered", "concurrency", {"rate": 1000.0, "in_flight": 3.0}),
    ("the offered rate is answered by a server that nobody sees", "concurrency", {"rate": 1000.0, "target_cpu": None}),
    ("chance arrivals were few, but not late", "concurrency", {"rate": 1050.0, "sent_per_second": 990.0, "in_flight": 3.0}),
    ("in flight by Little's law", "concurrency", {"in_flight": None}),
    # nothing to decide by
    ("nobody saw the target", "unknown", {"target_cpu": None}),
    ("nobody saw the database", "unknown", {"database_cpu": None}),
    ("neither sent nor late", "unknown", {"rate": 2000.0, "in_flight": 3.0, "late_ms_p99": 0.1}),
]


@pytest.mark.parametrize(("expected", "changes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_decides(expected: BoundBy, changes: dict[str, Any]) -> None:
    kind, because = decide(Evidence(**(IDLE | changes)))
    assert (kind, because) == (expected, because)
    assert because


def test_every_value_has_a_case() -> None:
    assert {case[1] for case in CASES} == set(get_args(BoundBy))


def test_with_nothing_known_it_says_what_is_missing() -> None:
    kind, because = decide(Evidence())
    assert kind == "unknown"
    assert "the target's CPU" in because
    assert "the requests in flight" in because


@pytest.mark.parametrize(("busy", "expected"), [(0.97, "generator"), (0.3, "unknown")])
def test_a_load_test_of_a_server_elsewhere_knows_only_its_generator(busy: float, expected: BoundBy) -> None:
    kind, _ = decide(
        Evidence(
            error_share=0.0,
            connections=10,
            requests_per_second=1000.0,
            response_ms=10.0,
            in_flight=10.0,
            generator_busiest=busy,
            generator_cpu=busy,
            generator_ceiling=20_000.0,
        )
    )
    assert kind == expected


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_reason_names_no_figure_that_is_missing(case: tuple[str, BoundBy, dict[str, Any]]) -> None:
    _, because = decide(Evidence(**(IDLE | case[2])))
    assert "None" not in because
    assert "nan" not in because


@pytest.mark.parametrize("kind", get_args(BoundBy))
def test_every_value_is_in_the_table(kind: BoundBy) -> None:
    import iobound.analysis.bound_by as module

    assert f"\n{kind} " in (module.__doc__ or "")
    assert msgspec.convert(kind, BoundBy) == kind
