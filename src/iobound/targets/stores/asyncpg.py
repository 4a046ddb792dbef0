# /// script
# requires-python = ">=3.11"
# dependencies = ["asyncpg>=0.30"]
#
# [tool.iobound]
# kind = "store"
# title = "asyncpg"
# service = "postgresql"
# calls = "async"
# ///
"""asyncpg with its pool; every statement commits by itself."""

import os

import asyncpg

POINT = "SELECT id, name, quantity FROM item WHERE id = $1"


class Store:
    async def open(self):
        size = int(os.environ.get("POOL_SIZE", "10"))
        self.pool = await asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=size, max_size=size)

    async def close(self):
        await self.pool.close()

    async def point(self, number):
        return dict(await self.pool.fetchrow(POINT, number))

    async def list(self):
        return [dict(row) for row in await self.pool.fetch("SELECT id, name, quantity FROM item ORDER BY id")]

    async def multi(self, numbers):
        async with self.pool.acquire() as connection:
            return [dict(await connection.fetchrow(POINT, number)) for number in numbers]

    async def insert(self, name, quantity):
        await self.pool.execute("INSERT INTO entry (name, quantity) VALUES ($1, $2)", name, quantity)

    async def wait(self, seconds):
        await self.pool.execute("SELECT pg_sleep($1)", seconds)

    async def ran(self):
        async with self.pool.acquire() as connection:
            return {
                "driver": f"asyncpg {asyncpg.__version__}",
                "autocommit": str(not connection.is_in_transaction()),
                "prepared": f"the latest {connection._config.statement_cache_size}",
                "pool": str(self.pool.get_max_size()),
            }
