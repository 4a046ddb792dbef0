"""The four published comparisons of a synchronous with an asynchronous framework: no I/O, a file, MySQL, Redis."""

from __future__ import annotations

from iobound.lab import catalogue
from iobound.planning import NOTHING, Choice, Question, SideBySide, chosen
from iobound.records import Workload

TITLE = "The published web comparisons: Flask against aiohttp and Starlette"
BUDGET_S = 600.0
FACTORS = {"targets", "workloads", "concurrency", "rate", "rtt"}
QUICK_BUDGET_S = 75.0
USERS = 10  # concurrent users of the published measurements

PUBLISHED = {
    "plain": ("no I/O", ["flask-as-published", "aiohttp-as-published", "starlette-as-published"]),
    "file": ("reading a file", ["flask-file-as-published", "aiohttp-file-as-published", "starlette-file-as-published"]),
    "sql-list": ("MySQL through an ORM", ["flask-sql-as-published", "starlette-sql-as-published"]),
    "redis-get": ("Redis", ["flask-redis-as-published", "starlette-redis-as-published"]),
}


def plan(choice: Choice) -> Question:
    """Compare the published programs as they were measured, and by a generator that isn't the limit.

    With targets or workloads named, compare those instead.
    """
    if choice.targets:
        return chosen("web", choice)
    question = NOTHING
    for workload in choice.workloads or [Workload(name=name) for name in PUBLISHED]:
        if workload.name not in PUBLISHED:
            continue
        of, targets = PUBLISHED[workload.name]
        if workload.name == "sql-list":
            database = choice.first_available(["mariadb", "postgresql"])
            targets = targets if database == "mariadb" else [f"{target}@{database}" for target in targets]
        asked = SideBySide("web", of, [catalogue.find(target) for target in targets], workload, choice.settings)
        for over in asked.over(choice.rtt):
            for concurrency in choice.concurrency or ((USERS,) if choice.quick else (1, USERS, 100)):
                question += over.capacity(concurrency)
            if not choice.quick or workload.name == "sql-list":
                question += over.fixed_rate(USERS, choice.rate)
            question += over.capacity(USERS, engine="locust:HttpUser", control=False)
    return question
