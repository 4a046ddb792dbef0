# /// script
# requires-python = ">=3.11"
# dependencies = ["aiopg>=1.4", "psycopg2-binary>=2.9"]
#
# [tool.iobound]
# kind = "store"
# title = "aiopg"
# service = "postgresql"
# calls = "async"
# twin = "psycopg2"
# ///
"""aiopg, psycopg2 on asyncio, with its pool; it knows only statements that commit by themselves."""

import os
from contextlib import asynccontextmanager

import aiopg
import psycopg2
from psycopg2.extras import RealDictCursor

POINT = "SELECT id, name, quantity FROM item WHERE id = %s"


class Store:
    async def open(self):
        size = int(os.environ.get("POOL_SIZE", "10"))
        options = {"enable_json": False, "enable_hstore": False, "enable_uuid": False}
        self.pool = await aiopg.create_pool(os.environ["DATABASE_URL"], minsize=size, maxsize=size, **options)

    async def close(self):
        self.pool.close()
        await self.pool.wait_closed()

    @asynccontextmanager
    async def cursor(self):
        async with self.pool.acquire() as connection, connection.cursor(cursor_factory=RealDictCursor) as cursor:
            yield cursor

    async def point(self, number):
        async with self.cursor() as cursor:
            await cursor.execute(POINT, [number])
            return await cursor.fetchone()

    async def list(self):
        async with self.cursor() as cursor:
            await cursor.execute("SELECT id, name, quantity FROM item ORDER BY id")
            return await cursor.fetchall()

    async def multi(self, numbers):
        rows = []
        async with self.cursor() as cursor:
            for number in numbers:
                await cursor.execute(POINT, [number])
                rows.append(await cursor.fetchone())
        return rows

    async def insert(self, name, quantity):
        async with self.cursor() as cursor:
            await cursor.execute("INSERT INTO entry (name, quantity) VALUES (%s, %s)", [name, quantity])

    async def wait(self, seconds):
        async with self.cursor() as cursor:
            await cursor.execute("SELECT pg_sleep(%s)", [seconds])

    async def ran(self):
        async with self.pool.acquire() as connection:
            return {
                "driver": f"aiopg {aiopg.__version__} on psycopg2 {psycopg2.__version__}",
                "autocommit": str(connection.autocommit),
                "pool": str(self.pool.maxsize),
            }
