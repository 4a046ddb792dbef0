"""What the published ratios are made of: each published comparison walked one factor at a time, its load tool the first."""

from __future__ import annotations

from iobound.lab import catalogue
from iobound.planning import NOTHING, Choice, Question
from iobound.records import Workload
from iobound.walks import walk

TITLE = "The published ratios taken apart, one factor at a time"
BUDGET_S = 2400.0
QUICK_BUDGET_S = 600.0
FACTORS = {"workloads"}

USERS = 10  # concurrent users of the published measurements
TOOL = "locust:HttpUser"
WALKS = {
    "plain": [("flask-as-published", "aiohttp-as-published"), ("flask-as-published", "starlette-as-published")],
    "file": [("flask-file-as-published", "starlette-file-as-published")],
    "sql-list": [("flask-sql-as-published", "starlette-sql-as-published")],
    "redis-get": [("flask-redis-as-published", "starlette-redis-as-published")],
}


def plan(choice: Choice) -> Question:
    """Walk from each published synchronous program to its asynchronous contender; both ways unless it is to be quick."""
    question = NOTHING
    for workload in choice.workloads or [Workload(name=name) for name in WALKS]:
        for ends in WALKS.get(workload.name, []):
            first, last = ends
            if workload.name == "sql-list":
                database = choice.first_available(["mariadb", "postgresql"])
                first, last = (name if database == "mariadb" else f"{name}@{database}" for name in ends)
            question += walk(catalogue.own(), (first, last), workload, USERS, both_ways=not choice.quick, tool=TOOL)
    return question
