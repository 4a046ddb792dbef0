"""Is a database driver waiting or computing? The time of single statements, split, for drivers and the layers on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iobound.lab import drivers, interpreters
from iobound.planning import Choice, Question, over_network
from iobound.records import DriverCell, Rounds

TITLE = "What the time of a database driver goes into: waiting, or computing"
BUDGET_S = 60.0
QUICK_BUDGET_S = 25.0
FACTORS = {"drivers", "python", "rtt"}

ALL = "all"  # of the catalogue
# The first of each service is what the others of it are held against.
MARIADB = ["mysqlclient", "pymysql", "asyncmy", "aiomysql"]
NO_MARIADB = ["psycopg-python", "pg8000", "psycopg-async", "psycopg-binary-protocol"]  # instead
USUAL = ["psycopg", "psycopg2", "asyncpg", "aiopg", "sqlite3", "aiosqlite", "redis-py-hiredis"]
LADDER = ["sqlalchemy-core-psycopg", "sqlalchemy-orm-psycopg"]
QUICK = ["psycopg", "psycopg2", "asyncpg", "sqlite3"]

ROWS = 1000  # as published; 500 SELECTs too
INSERTED_MS = {True: 300.0, False: 500.0}  # of injected round-trip time that INSERTs may wait for; `True` is quick


def plan(choice: Choice) -> Question:
    """Measure the chosen drivers on each interpreter and over each round-trip time. ``all`` are those of the catalogue."""
    chosen = [*dict.fromkeys(name for asked in choice.drivers or _usual(choice) for name in _named(asked))]
    cells = [cell for python in choice.python or (None,) for cell in _cells(python, chosen, choice)]
    budget_s = QUICK_BUDGET_S if choice.quick else BUDGET_S
    return Question(
        scripts=[
            Rounds(
                experiment="drivers",
                baseline=cells[0].id,
                cells=[*cells],
                rounds=3 if choice.quick else 5,
                budget_s=budget_s * max(1.0, len(cells) / len(_usual(choice))),
            )
        ]
    )


def _usual(choice: Choice) -> list[str]:
    there = choice.first_available(["mariadb", "postgresql"]) == "mariadb"
    others = MARIADB if there else NO_MARIADB
    return [*others[:2], *QUICK, *LADDER] if choice.quick else [*others, *USUAL, *LADDER]


def _named(asked: str) -> Sequence[str]:
    return drivers.names() if asked == ALL else [drivers.find(asked).name]


def _cells(python: str | None, chosen: Sequence[str], choice: Choice) -> Iterator[DriverCell]:
    """Yield the cells of an interpreter; of one that is missing only the first, which says so."""
    for name in chosen[:1] if python and interpreters.missing(python) else chosen:
        driver = drivers.find(name)
        for rtt_ms in choice.rtt if choice.rtt and over_network(driver.service) else (0.0,):
            of = ["drivers", *([python] if python else []), *([f"rtt{rtt_ms:g}ms"] if rtt_ms else []), name]
            yield DriverCell(
                id="/".join(of),
                python=python,
                service=driver.service,
                rtt_ms=rtt_ms,
                driver=name,
                title=driver.title,
                rung=driver.layer,
                beneath=driver.beneath,
                rows=ROWS,
                inserts=_inserts(rtt_ms, choice.quick),
                times={"select": 50, "point": 300, "wide": 30} if choice.quick else {"select": 500, "point": 2000, "wide": 200},
                most_s=0.2 if choice.quick else 0.4,
            )


def _inserts(rtt_ms: float, quick: bool) -> int:
    """Return how many rows to insert: all that are read, fewer where each waits long for its answer."""
    return int(min(ROWS, max(20.0, INSERTED_MS[quick] / rtt_ms))) if rtt_ms else ROWS
