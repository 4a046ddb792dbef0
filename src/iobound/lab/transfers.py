"""The strategies, databases, isolation levels and models of ``transfer``, and what of them doesn't go together."""

from __future__ import annotations

from pathlib import Path

import iobound

TARGETS = Path(iobound.__file__).parent / "targets"
SHARED = ("blocking.py", "ledger.py", "strategies.py")

MODELS = ("threads", "gevent", "asyncio", "processes")
DRIVERS = {
    "postgresql": {"threads": "psycopg", "gevent": "psycopg", "asyncio": "asyncpg", "processes": "psycopg"},
    "mariadb": {"threads": "pymysql", "gevent": "pymysql", "asyncio": "aiomysql", "processes": "pymysql"},
    "sqlite": {"threads": "sqlite3", "asyncio": "aiosqlite", "processes": "sqlite3"},
}
LEVELS = {  # the first is what the database has unasked
    "postgresql": ("read committed", "repeatable read", "serializable"),
    "mariadb": ("repeatable read", "snapshot isolation", "read committed", "serializable"),
    "sqlite": ("serializable",),
}
"""Isolation levels by database; ``snapshot isolation`` is MariaDB's repeatable read with ``innodb_snapshot_isolation``."""

EXPLORED = "explored.py"
EXPLORED_DRIVERS = {"postgresql": ("psycopg", "psycopg-async"), "mariadb": ("pymysql", "aiomysql")}
"""Drivers for functions and for coroutines, in iobound's own environment."""

STRATEGIES = (
    "autocommit",
    "in-process-lock",
    "transaction",
    "for-update-ordered",
    "for-update-unordered",
    "version-counter",
    "version-counter-same-transaction",
    "atomic-update",
    "serializable-retry",
    "advisory-xact",
    "advisory-session",
    "begin-immediate",
    "shared-connection",
)
WITHOUT_TRANSACTION = ("autocommit", "in-process-lock")

_NOT_THERE = {
    ("postgresql", "begin-immediate"): "BEGIN IMMEDIATE is SQLite's",
    ("mariadb", "begin-immediate"): "BEGIN IMMEDIATE is SQLite's",
    ("mariadb", "advisory-xact"): "MariaDB's GET_LOCK is the session's; it has no lock that ends with the transaction",
    ("sqlite", "for-update-ordered"): "SQLite has no SELECT … FOR UPDATE, it locks the whole database",
    ("sqlite", "for-update-unordered"): "SQLite has no SELECT … FOR UPDATE, it locks the whole database",
    ("sqlite", "serializable-retry"): "all transactions of SQLite are serializable, those of `transaction` too",
    ("sqlite", "advisory-xact"): "SQLite has no advisory locks",
    ("sqlite", "advisory-session"): "SQLite has no advisory locks",
    ("sqlite", "shared-connection"): "the transfer on a shared connection is for-update-ordered, which SQLite doesn't have",
}


def files(model: str, driver: str) -> dict[str, Path]:
    """Return the files of the program that transfers under `model` through `driver`, by their names in its folder."""
    folder = TARGETS / "transfer"
    return {
        "program.py": folder / f"{model}.py",
        "driver.py": TARGETS / "drivers" / f"{driver}.py",
        **{name: folder / name for name in SHARED},
    }


def explored_files(database: str, model: str) -> dict[str, Path]:
    """Return the files of a transfer that `iobound.race` explores, `EXPLORED` among them, by their names in one folder."""
    folder, drivers = TARGETS / "transfer", EXPLORED_DRIVERS[database]
    tasks = model == "asyncio"
    return {
        EXPLORED: folder / ("explored_async.py" if tasks else "explored.py"),
        "awaiting.py": folder / "asyncio.py",
        "driver.py": TARGETS / "drivers" / f"{drivers[tasks]}.py",
        **{name: folder / name for name in SHARED},
    }


def databases(strategy: str) -> list[str]:
    """Return the databases that have a strategy."""
    return [database for database in DRIVERS if (database, strategy) not in _NOT_THERE]


def impossible(database: str, isolation: str, model: str, strategy: str) -> str | None:
    """Say why there is no such combination; ``None`` where there is."""
    if (database, strategy) in _NOT_THERE:
        return _NOT_THERE[database, strategy]
    if isolation not in LEVELS[database]:
        return f"{database} has no level {isolation!r}, but {', '.join(LEVELS[database])}"
    if model not in DRIVERS[database]:
        return f"no driver of {database} lets {model} switch while it waits, so transfers would never meet"
    if strategy == "shared-connection" and model == "processes":
        return "processes can't share a connection"
    if strategy == "transaction" and isolation == "serializable" and database != "sqlite":
        return "a transaction at this level is `serializable-retry`"
    return None
