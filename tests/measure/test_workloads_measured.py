"""Each workload, really measured on each kind of database, with the counts that it must come to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from iobound.lab import catalogue
from iobound.planning import SideBySide
from iobound.records import Observation, Trial
from iobound.workloads import parse, writes

Measure = Callable[..., list[Observation]]

WEB = "starlette/uvicorn-uvloop"
SQL = ["sql-point", "sql-list", "sql-list:0", "sql-list:1000", "sql-multi", "sql-insert", "mixed"]
CASES = [
    *[(f"{WEB}", workload) for workload in ("plain", "json", "file")],
    *[(f"{WEB}/psycopg-async", workload) for workload in (*SQL, "db-wait")],
    *[(f"{WEB}/aiomysql", workload) for workload in (*SQL, "db-wait")],
    *[(f"{WEB}/aiosqlite", workload) for workload in SQL],
    (f"{WEB}/redis-py-async", "redis-get"),
]

# Data statements and rows of one request. A mixed request is four reads and one insert out of five.
COUNTS = {
    "sql-point": (1, 1),
    "sql-list": (1, 100),
    "sql-list:0": (1, 0),
    "sql-list:1000": (1, 1000),
    "sql-multi": (10, 10),
    "sql-insert": (1, 1),
    "mixed": (1, 1),
}


@pytest.mark.parametrize(("name", "workload"), CASES)
def test_a_workload_is_measured_and_its_counts_are_right(measure: Measure, name: str, workload: str):
    target, asked = catalogue.find(name), parse(workload)
    question = SideBySide("test", "", [target], asked).capacity(4, control=False)
    trial = next(one for one in measure(question, target) if isinstance(one, Trial))
    load = trial.load
    assert load.responses > 0
    assert load.errors == {}
    assert load.responses + load.unanswered == load.requests
    assert trial.cpu.target_user_s > 0
    if writes(asked):
        assert trial.rows_written is not None
        share = 0.2 if workload == "mixed" else 1.0
        # each connection may be one rotation step further than the share says
        assert load.responses * share - 4 <= trial.rows_written <= load.requests * share + 4
    if trial.service and workload in COUNTS:
        statements, rows = COUNTS[workload]
        assert load.responses * statements <= sum(trial.service.statements.values()) <= load.requests * statements
        assert load.responses * rows <= trial.service.rows <= load.requests * rows
    if workload == "redis-get":
        assert trial.service
        assert load.responses <= trial.service.statements["get"] <= load.requests
