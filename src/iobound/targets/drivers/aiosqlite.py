# /// script
# requires-python = ">=3.7"
# dependencies = ["aiosqlite>=0.19"]
#
# [tool.iobound]
# kind = "driver"
# title = "aiosqlite"
# service = "sqlite"
# calls = "async"
# models = ["asyncio", "processes"]
# offers = "sql"
# layer = "driver"
# ///
"""aiosqlite: sqlite3 in a thread for each connection, so that each statement is two hops between threads.

Without autocommit it begins a transaction before what changes rows.
"""

import sqlite3

import aiosqlite

PLACEHOLDER = "?"


async def connect(url, autocommit=True):
    raw = await aiosqlite.connect(url[len("sqlite:///") :], isolation_level=None if autocommit else "")
    # Usual with a write-ahead log: no flush at every commit.
    await raw.execute("PRAGMA synchronous = NORMAL")
    return Connection(raw)


class Connection:
    def __init__(self, raw):
        self.raw = raw
        self.executemany, self.commit, self.rollback, self.close = raw.executemany, raw.commit, raw.rollback, raw.close

    async def execute(self, sql, parameters=()):
        return await self.raw.execute_fetchall(sql, parameters)

    async def begin(self):
        await self.raw.execute("BEGIN")

    def fileno(self):
        return None


def ran(connection):
    return {
        "driver": f"aiosqlite {aiosqlite.__version__} on SQLite {sqlite3.sqlite_version}",
        "implementation": "Python" if aiosqlite.core.__file__.endswith(".py") else "C",
        "autocommit": str(connection.raw.isolation_level is None),
    }
