# /// script
# requires-python = ">=3.11"
# dependencies = ["aiosqlite>=0.20"]
#
# [tool.iobound]
# kind = "store"
# title = "aiosqlite"
# service = "sqlite"
# calls = "async"
# twin = "sqlite3"
# ///
"""aiosqlite, a thread for each connection, with a pool of them in a queue; every statement commits by itself."""

import asyncio
import os
import sqlite3
from contextlib import asynccontextmanager

import aiosqlite

POINT = "SELECT id, name, quantity FROM item WHERE id = ?"


class Store:
    async def open(self):
        self.size = int(os.environ.get("POOL_SIZE", "10"))
        self.idle = asyncio.LifoQueue()
        for _ in range(self.size):
            connection = await aiosqlite.connect(os.environ["DATABASE_URL"].removeprefix("sqlite:///"), isolation_level=None)
            connection.row_factory = sqlite3.Row
            # Usual with a write-ahead log: no flush at every commit.
            await connection.execute("PRAGMA synchronous = NORMAL")
            self.idle.put_nowait(connection)

    async def close(self):
        while not self.idle.empty():
            await self.idle.get_nowait().close()

    @asynccontextmanager
    async def connection(self):
        connection = await self.idle.get()
        try:
            yield connection
        finally:
            self.idle.put_nowait(connection)

    async def point(self, number):
        async with self.connection() as connection, connection.execute(POINT, [number]) as cursor:
            return dict(await cursor.fetchone())

    async def list(self):
        async with self.connection() as connection:
            rows = await connection.execute_fetchall("SELECT id, name, quantity FROM item ORDER BY id")
            return [dict(row) for row in rows]

    async def multi(self, numbers):
        async with self.connection() as connection:
            return [dict((await connection.execute_fetchall(POINT, [number]))[0]) for number in numbers]

    async def insert(self, name, quantity):
        async with self.connection() as connection:
            await connection.execute_insert("INSERT INTO entry (name, quantity) VALUES (?, ?)", [name, quantity])

    async def ran(self):
        async with self.connection() as connection:
            [[journal]] = await connection.execute_fetchall("PRAGMA journal_mode")
            [[synchronous]] = await connection.execute_fetchall("PRAGMA synchronous")
            return {
                "driver": f"aiosqlite {aiosqlite.__version__} on SQLite {sqlite3.sqlite_version}",
                "autocommit": str(connection.isolation_level is None),
                "journal": journal,
                "synchronous": str(synchronous),
                "pool": str(self.size),
            }
