"""Each value of ``bound_by``, constructed: a real program, measured for real, in which that and nothing else is the limit."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from iobound.analysis.judging import judge
from iobound.analysis.precision import width
from iobound.lab import catalogue
from iobound.lab.commands import CommandTarget
from iobound.lab.laboratory import Laboratory
from iobound.load.spec import Exchange
from iobound.measure.session import Session, Target
from iobound.planning import Question, SideBySide
from iobound.records import (
    SCHEMA,
    CellSummary,
    Environment,
    Noise,
    Observation,
    Plan,
    RunHeader,
    Trial,
    Workload,
)

PROGRAMS = Path(__file__).parent / "programs"
NAME = "subject"
QUIET = Noise(steal=0, foreign=0, pressure=None, quiet=True, because=None)


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    with Laboratory() as laboratory:
        yield laboratory


def measured(
    laboratory: Laboratory, argv: list[str], *, service: str | None = None, connections: int = 10, rtt_ms: float = 0.0
) -> CellSummary:
    """Measure one closed-loop cell of a command and judge it."""
    target = CommandTarget(NAME, argv, [Exchange(path="/", status=200)], service)
    asked = SideBySide("test", "", [target], Workload(name="/"), rtt_ms=rtt_ms).capacity(connections, control=False)
    return judged(laboratory, target, asked)


def composed(laboratory: Laboratory, name: str, **settings: str) -> CellSummary:
    """Measure a target of the catalogue while the database sleeps 20 ms for each of 10 connections."""
    target = catalogue.find(name)
    workload = Workload(name="db-wait", wait_ms=20)
    asked = SideBySide("test", "", [target], workload, settings).capacity(10, control=False)
    return judged(laboratory, target, asked)


def judged(laboratory: Laboratory, target: Target, asked: Question, *, silenced: bool = True) -> CellSummary:
    """Measure and judge one cell. `silenced` passes noisy blocks off as quiet: what else disturbs them is another test."""
    plan = Plan(
        experiments=["test"],
        cells=asked.cells,
        comparisons=asked.comparisons,
        launches=1,
        blocks_per_launch=1,
        block_s=1.0,
        warmup_s=0,
        budget_s=1,
        precision=1,
        seed=0,
        quick=True,
    )
    observations: list[Observation] = []

    def sink(seen: Observation) -> None:
        observations.append(msgspec.structs.replace(seen, noise=QUIET) if silenced and isinstance(seen, Trial) else seen)

    Session(plan, laboratory, lambda name: target, sink, width, lambda what, share: None).run()
    placement = laboratory.placement
    environment = Environment(
        host={},
        cores=placement.cores,
        target_cores=placement.target,
        other_cores=sorted({*placement.services, *placement.generator}),
        shared_cores=None if placement.target_is_alone else placement.sharing,
        services=[running.info() for running in laboratory.services.values()],
        packages={},
        ceilings=[],
    )
    header = RunHeader(schema=SCHEMA, iobound="0", created=time.time(), command=[], plan=plan, environment=environment)
    [cell] = judge(header, observations).cells
    return cell


def service(*arguments: str) -> list[str]:
    what, *amounts = arguments
    return [sys.executable, str(PROGRAMS / "service.py"), what, "{port}", *amounts]


def test_a_handler_that_burns_is_bound_by_its_cpu(laboratory: Laboratory):
    cell = measured(laboratory, service("burn", "5"))
    assert cell.bound_by == "target-cpu", cell.bound_because


def test_one_connection_to_a_sleeping_handler_lacks_concurrency(laboratory: Laboratory):
    cell = measured(laboratory, service("sleep", "20"), connections=1)
    assert cell.bound_by == "concurrency", cell.bound_because


def test_an_addition_in_the_database_is_bound_by_the_database(laboratory: Laboratory):
    cell = measured(laboratory, service("sum", "60000"), service="postgresql")
    assert cell.bound_by == "database-cpu", cell.bound_because


def test_one_lock_for_all_is_bound_by_locks(laboratory: Laboratory):
    cell = measured(laboratory, service("lock", "20"), service="postgresql")
    assert cell.bound_by == "database-locks", cell.bound_because


def test_two_threads_for_ten_sleepers_are_bound_by_workers(laboratory: Laboratory):
    cell = composed(laboratory, "flask/gunicorn-gthread/psycopg", THREADS="2")
    assert cell.bound_by == "workers", cell.bound_because


def test_two_pooled_connections_for_ten_sleepers_are_bound_by_the_pool(laboratory: Laboratory):
    cell = composed(laboratory, "fastapi/uvicorn-uvloop/psycopg-async", POOL_SIZE="2")
    assert cell.bound_by == "pool", cell.bound_because


def test_ten_connections_for_ten_sleepers_lack_concurrency(laboratory: Laboratory):
    cell = composed(laboratory, "fastapi/uvicorn-uvloop/psycopg-async", POOL_SIZE="10")
    assert cell.bound_by == "concurrency", cell.bound_because


def test_what_a_database_elsewhere_uses_is_unknown(laboratory: Laboratory):
    """Nothing that can be seen is saturated, and the database can't be seen: no verdict is made up."""
    near = laboratory.service("postgresql").dataset(100)
    with Laboratory(urls={"postgresql": laboratory.relay(near, 0.0).url(near)}) as elsewhere:
        cell = composed(elsewhere, "fastapi/uvicorn-uvloop/psycopg-async", POOL_SIZE="10")
    assert cell.bound_by == "unknown", cell.bound_because
    assert "service's CPU" in str(cell.bound_because)


def test_a_slow_load_tool_is_the_limit_of_a_server_that_does_nothing(laboratory: Laboratory):
    target = CommandTarget(NAME, [sys.executable, "-S", str(PROGRAMS / "nothing.py"), "{port}"], [Exchange()])
    asked = SideBySide("test", "", [target], Workload(name="/")).capacity(10, engine="locust:HttpUser", control=False)
    cell = judged(laboratory, target, asked)
    assert cell.bound_by == "generator", cell.bound_because
    assert cell.at_least


def test_a_server_that_fails_is_bound_by_errors(laboratory: Laboratory):
    cell = measured(laboratory, service("fail"))
    assert cell.bound_by == "errors", cell.bound_because
    assert not cell.valid


def test_a_stranger_on_the_cores_is_noise(laboratory: Laboratory):
    target = CommandTarget(NAME, service("sleep", "20"), [Exchange(path="/", status=200)])
    with burning():
        asked = SideBySide("test", "", [target], Workload(name="/")).capacity(10, control=False)
        cell = judged(laboratory, target, asked, silenced=False)
    assert cell.bound_by == "noise", cell.bound_because
    assert not cell.valid


def test_a_far_database_is_bound_by_the_network(laboratory: Laboratory):
    near = laboratory.service("postgresql").dataset(100)
    with Laboratory(urls={"postgresql": laboratory.over(near, 10.0)}) as elsewhere:
        cell = measured(elsewhere, service("ping"), service="postgresql")
    assert cell.bound_by == "network", cell.bound_because


def test_an_injected_round_trip_time_is_the_network(laboratory: Laboratory):
    cell = measured(laboratory, service("ping"), service="postgresql", rtt_ms=10.0)
    assert cell.bound_by == "network", cell.bound_because
    assert cell.round_trips_per_request
    assert f"{cell.round_trips_per_request:.1f} round trips x 10" in str(cell.bound_because)


@contextmanager
def burning() -> Iterator[None]:
    """Burn a core in a process that isn't ours: its parent ends at once."""
    burn = f"{shlex.quote(sys.executable)} -S -c 'while True: pass' >/dev/null 2>&1 & echo $!"
    stranger = int(subprocess.run(["sh", "-c", burn], stdout=subprocess.PIPE, text=True, check=True).stdout)
    try:
        yield
    finally:
        os.kill(stranger, signal.SIGKILL)
