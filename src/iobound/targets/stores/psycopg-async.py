# /// script
# requires-python = ">=3.11"
# dependencies = ["psycopg[binary]>=3.2", "psycopg-pool>=3.2"]
#
# [tool.iobound]
# kind = "store"
# title = "psycopg 3"
# service = "postgresql"
# calls = "async"
# twin = "psycopg"
# ///
"""psycopg 3 on asyncio with its pool; every statement commits by itself."""

import os

os.environ["PSYCOPG_IMPL"] = "binary"

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

POINT = "SELECT id, name, quantity FROM item WHERE id = %s"


class Store:
    async def open(self):
        size = int(os.environ.get("POOL_SIZE", "10"))
        options = {"autocommit": True, "row_factory": dict_row}
        self.pool = AsyncConnectionPool(os.environ["DATABASE_URL"], min_size=size, max_size=size, kwargs=options, open=False)
        await self.pool.open(wait=True, timeout=10)

    async def close(self):
        await self.pool.close()

    async def point(self, number):
        async with self.pool.connection() as connection:
            return await (await connection.execute(POINT, [number])).fetchone()

    async def list(self):
        async with self.pool.connection() as connection:
            return await (await connection.execute("SELECT id, name, quantity FROM item ORDER BY id")).fetchall()

    async def multi(self, numbers):
        async with self.pool.connection() as connection:
            return [await (await connection.execute(POINT, [number])).fetchone() for number in numbers]

    async def insert(self, name, quantity):
        async with self.pool.connection() as connection:
            await connection.execute("INSERT INTO entry (name, quantity) VALUES (%s, %s)", [name, quantity])

    async def wait(self, seconds):
        async with self.pool.connection() as connection:
            await connection.execute("SELECT pg_sleep(%s)", [seconds])

    async def ran(self):
        async with self.pool.connection() as connection:
            return {
                "driver": f"psycopg {psycopg.__version__}",
                "implementation": psycopg.pq.__impl__,
                "autocommit": str(connection.autocommit),
                "protocol": connection.cursor().format.name.lower(),
                "prepared": f"from execution {connection.prepare_threshold} on",
                "pool": str(self.pool.max_size),
            }
