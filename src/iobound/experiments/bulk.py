"""Rows of the census into a database over many connections: under threads, gevent, asyncio and processes."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from iobound.errors import UsageError
from iobound.lab import interpreters, loaders
from iobound.lab.census import data
from iobound.planning import Choice, Question
from iobound.records import BulkCell, Rounds
from iobound.records.bulk import Feeding, Statements, Transaction

TITLE = "Bulk load of census records: threads, gevent, asyncio, processes"
BUDGET_S = 90.0
QUICK_BUDGET_S = 30.0
FACTORS = {
    *("models", "connections", "python", "rtt"),
    *("data", "lines", "bad_lines", "transaction", "statements", "feeder"),
}

OWN_PYTHON: Sequence[str | None] = (None,)
AUTOCOMMIT: Sequence[Transaction] = ("autocommit",)
SINGLE: Sequence[Statements] = ("single",)
PRELOADED: Sequence[Feeding] = ("preloaded",)
STREAMING: Sequence[Feeding] = ("streaming",)

LINES = 40  # of 222 values, unasked
PRELOADED_LINES = 2000  # at most, unasked
CONNECTIONS = (15, 120)  # of the published measurements
QUICK_CONNECTIONS = (10,)
QUICK_MODELS = {
    "postgresql": ["threads/psycopg2", "gevent/psycopg2", "asyncio/aiopg", "asyncio/asyncpg", "asyncio/psycopg"],
    "mariadb": ["threads/pymysql", "threads/mysqlclient", "gevent/pymysql", "asyncio/aiomysql", "asyncio/asyncmy"],
}
MODERN_THREADS = "threads/psycopg"  # measured on a free-threaded interpreter too, unasked, where there is one
FREE_THREADED = ("3.14t", "3.13t")
MODELS = {
    "postgresql": [*QUICK_MODELS["postgresql"], MODERN_THREADS, "asyncio-uvloop/asyncpg", "processes/psycopg2"],
    "mariadb": [*QUICK_MODELS["mariadb"], "asyncio-uvloop/asyncmy", "processes/pymysql"],
}


def plan(choice: Choice) -> Question:
    """Load the same lines under each model and driver at each number of connections; the first is the baseline.

    Raises `UsageError` for a model or driver that isn't there, and for data that can't be loaded, naming the line.
    """
    usual = QUICK_MODELS if choice.quick else MODELS
    models = choice.models or usual[choice.first_available(["postgresql", "mariadb"])]
    levels = choice.connections or (QUICK_CONNECTIONS if choice.quick else CONNECTIONS)
    if choice.data:
        census = data.read(choice.data.resolve())
        data.load(census, max(_lines(choice, connections) for connections in levels), report_bad=choice.bad_lines == "report")
    cells = [
        _cell(choice, _lines(choice, connections), asked, connections, rtt_ms, python, transaction, statements, feeder)
        for connections in levels
        for rtt_ms in choice.rtt or [0.0]
        for python in choice.python or OWN_PYTHON
        for transaction in choice.transaction or AUTOCOMMIT
        for statements in choice.statements or SINGLE
        for feeder in choice.feeder or (PRELOADED if _lines(choice, connections) <= PRELOADED_LINES else STREAMING)
        for asked in models
    ]
    if MODERN_THREADS in models and not (choice.models or choice.python):
        free = next((python for python in FREE_THREADED if interpreters.missing(python) is None), None)
        threads = [cell for cell in cells if f"{cell.model}/{cell.driver}" == MODERN_THREADS]
        cells += [structs.replace(cell, id=f"{cell.id}/{_named(free)}", python=free) for cell in threads if free]
    return Question(
        scripts=[
            Rounds(
                experiment="bulk",
                baseline=cells[0].id,
                cells=[*cells],
                rounds=3 if choice.quick else 5,
                budget_s=(QUICK_BUDGET_S if choice.quick else BUDGET_S) * max(1.0, len(cells) / _unasked(choice, usual)),
            )
        ]
    )


def _unasked(choice: Choice, usual: dict[str, list[str]]) -> int:
    """Return how many cells there are where nothing is asked for: what the budget is of."""
    levels = QUICK_CONNECTIONS if choice.quick else CONNECTIONS
    return len(levels) * len(usual[choice.first_available(["postgresql", "mariadb"])])


def _lines(choice: Choice, connections: int) -> int:
    """Return how many lines to load: unasked enough for every connection to have one."""
    return choice.lines or max(LINES, connections)


def _named(python: str) -> str:
    return f"python{python}" if python[0].isdigit() else python


def _cell(
    choice: Choice,
    lines: int,
    asked: str,
    connections: int,
    rtt_ms: float,
    python: str | None,
    transaction: Transaction,
    statements: Statements,
    feeder: Feeding,
) -> BulkCell:
    loader, driver = loaders.find(asked)
    if feeder == "published" and loader.description.model == "processes":
        raise UsageError(f"--feeder published runs among the workers of one process, and {loader.name} has several")
    unusual = [
        *([_named(python)] if python else []),
        *([f"rtt{rtt_ms:g}ms"] if rtt_ms else []),
        *(level for level in (transaction, statements, feeder) if level not in {"autocommit", "single", "preloaded"}),
    ]
    return BulkCell(
        id="/".join(["bulk", asked, f"c{connections}", *unusual]),
        python=python,
        service=driver.service,
        rtt_ms=rtt_ms,
        model=loader.name,
        driver=asked.partition("/")[2],
        part=driver.name,
        connections=connections,
        lines=lines,
        data=str(choice.data.resolve()) if choice.data else None,
        transaction=transaction,
        statements=statements,
        feeder=feeder,
        bad_lines=choice.bad_lines,
    )
