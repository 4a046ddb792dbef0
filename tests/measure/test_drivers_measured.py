"""Drivers measured for real: on each service, over a network, and where something goes wrong."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from iobound.errors import BadAnswer, LabError, Unavailable
from iobound.experiments import drivers as experiment
from iobound.lab import drivers, interpreters
from iobound.lab.laboratory import Laboratory
from iobound.measure.rounds import Turn
from iobound.measure.scripts.drivers import folded, measure
from iobound.planning import Choice
from iobound.records import DriverCell, DriverSample

FIRST = Turn(launch=0, control=False, seed=1, quick=True)
LATER = dataclasses.replace(FIRST, launch=1)
PARTS = ("user_s", "system_s", "runqueue_s", "wait_s")
LIAR = """
def ran(things): return {}
def connect(url): return Things()
class Things:
    begin = rollback = close = insert = fileno = lambda self, *values: None
    def select(self): return []
    def point(self, x): return None
    def wide(self): return []
"""


def cell(laboratory: Laboratory, driver: str, rtt_ms: float = 0.0, **other: Any) -> DriverCell:
    choice = Choice(quick=True, first_available=laboratory.first_available, drivers=[driver], rtt=[rtt_ms], **other)
    [rounds] = experiment.plan(choice).scripts
    [made] = rounds.cells
    assert isinstance(made, DriverCell)
    return made


def available(laboratory: Laboratory, driver: str) -> str:
    service = drivers.find(driver).service
    try:
        laboratory.service(service)
    except Unavailable as error:
        pytest.skip(str(error))
    return driver


def check(sample: DriverSample) -> None:
    """Check what is true of any sample."""
    assert sample.phases.keys() == {"insert", "select", "point", "wide"}
    for use in sample.phases.values():
        assert sum(getattr(use, part) for part in PARTS) == pytest.approx(use.wall_s, abs=1e-6)
        assert use.statements > 0
    assert sample.phases["select"].rows == 1000 * sample.phases["select"].statements
    assert sample.json_s > 0


@pytest.mark.parametrize(
    "driver",
    ["psycopg", "asyncpg", "pymysql", "mysqlclient", "sqlite3", "aiosqlite", "redis-py-hiredis", "sqlalchemy-core-psycopg"],
)
def test_each_kind_of_driver_is_measured(laboratory: Laboratory, driver: str) -> None:
    sample = measure(cell(laboratory, available(laboratory, driver)), FIRST, laboratory)
    check(sample)
    assert sample.profiled.keys() == sample.phases.keys()
    assert sample.unsampled is None
    assert sum(sample.stacks.values()) > 50
    point = sample.phases["point"]
    if drivers.find(driver).service == "sqlite":
        assert point.wait_s < 0.2 * point.wall_s
        assert point.round_trips is None
    else:
        assert point.wait_s > 0.02 * point.wall_s
        assert point.round_trips == pytest.approx(point.statements, rel=0.02)
        assert point.database_s is not None
        assert 0 < point.database_s < point.wall_s


def test_only_the_first_launch_is_sampled_and_the_control_not_even_profiled(laboratory: Laboratory) -> None:
    later = measure(cell(laboratory, "sqlite3"), LATER, laboratory)
    check(later)
    assert later.profiled
    assert (later.stacks, later.unsampled) == ({}, "stacks are sampled in the first launch")
    assert not measure(cell(laboratory, "sqlite3"), dataclasses.replace(LATER, control=True), laboratory).profiled


def test_a_network_makes_a_driver_wait(laboratory: Laboratory) -> None:
    sample = measure(cell(laboratory, "psycopg", rtt_ms=5.0), LATER, laboratory)
    check(sample)
    for phase in ("insert", "point"):
        use = sample.phases[phase]
        assert use.wall_s / use.statements > 0.005
        assert use.wait_s > 0.8 * use.wall_s
        assert use.round_trips == pytest.approx(use.statements, rel=0.05)


@pytest.mark.skipif("2.7" not in interpreters.common(), reason="no Python 2.7 here")
def test_on_an_old_interpreter_what_runs_there_runs_and_the_rest_says_why(laboratory: Laboratory) -> None:
    sample = measure(cell(laboratory, "sqlite3", python=["2.7"]), FIRST, laboratory)
    check(sample)
    assert sample.ran["python"].startswith("CPython 2.7")
    assert "3.8" in (sample.unsampled or "")
    with pytest.raises(Unavailable, match=r"asyncpg needs Python >=3\.\d+"):
        measure(cell(laboratory, "asyncpg", python=["2.7"]), FIRST, laboratory)


@pytest.mark.skipif("pypy3" not in interpreters.common(), reason="no PyPy here")
def test_drivers_that_are_python_throughout_run_on_pypy(laboratory: Laboratory) -> None:
    sample = measure(cell(laboratory, available(laboratory, "pymysql"), python=["pypy3"]), FIRST, laboratory)
    check(sample)
    assert sample.ran["python"].startswith("PyPy")
    with pytest.raises(Unavailable, match="psycopg2 has no lock for pypy"):
        measure(cell(laboratory, "psycopg2", python=["pypy3"]), FIRST, laboratory)


def test_a_driver_that_returns_other_rows_has_no_speed(
    laboratory: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "liar.py").write_text(LIAR)
    planned, honest = cell(laboratory, "sqlite3"), drivers.find("sqlite3")
    liar = dataclasses.replace(honest, part=dataclasses.replace(honest.part, path=tmp_path / "liar.py"), offers="things")
    monkeypatch.setattr(drivers, "find", lambda name: liar)
    with pytest.raises(BadAnswer, match="sqlite3 on sqlite: point: 0 rows instead of 1"):
        measure(planned, FIRST, laboratory)


def test_a_database_that_dies_midway_is_told() -> None:
    with Laboratory() as laboratory:
        service = laboratory.service("postgresql")
        endless = replace(cell(laboratory, "psycopg"), most_s=20.0, times={"select": 10**9, "point": 1, "wide": 1})
        [postmaster] = service.pids() or []
        killing = threading.Timer(2.0, os.kill, [postmaster, signal.SIGQUIT])
        killing.start()
        with pytest.raises(LabError, match="psycopg"):
            measure(endless, LATER, laboratory)
        killing.join()
        with pytest.raises(LabError, match="postgresql died while it was measured on"):
            laboratory.check()


def test_rare_stacks_count_as_their_callers() -> None:
    outer = ("program.py:<module>", "program.py:main", "program.py:repeat")
    counts = Counter(
        {(*outer, "a", "b"): 990, (*outer, "a", "c", "d"): 1, (*outer, "a"): 5, (*outer, "a", ":GC:"): 4, outer: 2}
    )
    assert folded(counts) == {"a;b": 990, "a": 6, "a;:GC:": 4, "program.py:repeat": 2}
