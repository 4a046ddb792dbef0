"""Synchronous against asynchronous with all else equal: one framework, one server, one driver, only the handlers differ."""

from __future__ import annotations

from iobound.lab import catalogue
from iobound.planning import NOTHING, Choice, Question, SideBySide, chosen
from iobound.records import Workload

TITLE = "The same framework, server and driver: synchronous against asynchronous handlers"
BUDGET_S = 300.0
FACTORS = {"targets", "workloads", "concurrency", "rate", "rtt"}
QUICK_BUDGET_S = 25.0

TARGETS = ["fastapi-sync/uvicorn-uvloop/psycopg", "fastapi/uvicorn-uvloop/psycopg-async"]
WORKLOADS = [Workload(name="sql-point"), Workload(name="sql-list"), Workload(name="db-wait", wait_ms=20)]


def plan(choice: Choice) -> Question:
    """Compare the pair on a point read, a list, and a database that sleeps; quickly, on the list alone."""
    if choice.targets:
        return chosen("equal", choice)
    question = NOTHING
    pair = [catalogue.find(name) for name in TARGETS]
    for workload in choice.workloads or (WORKLOADS[1:2] if choice.quick else WORKLOADS):
        if not all(target.serves(workload) for target in pair):
            continue
        asked = SideBySide("equal", "only the handlers differ", pair, workload, choice.settings)
        for over in asked.over(choice.rtt):
            for concurrency in choice.concurrency or ((10,) if choice.quick else (1, 10, 100)):
                question += over.capacity(concurrency)
            if not choice.quick:
                question += over.fixed_rate(10, choice.rate)
    return question
