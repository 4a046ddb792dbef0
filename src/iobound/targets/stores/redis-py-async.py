# /// script
# requires-python = ">=3.11"
# dependencies = ["redis>=6"]
#
# [tool.iobound]
# kind = "store"
# title = "redis-py"
# service = "valkey"
# calls = "async"
# twin = "redis-py"
# ///
"""redis-py on asyncio with its blocking pool: who finds no free connection waits for one."""

import os

import redis
from redis.asyncio import BlockingConnectionPool, Redis


class Store:
    async def open(self):
        size = int(os.environ.get("POOL_SIZE", "10"))
        pool = BlockingConnectionPool.from_url(os.environ["CACHE_URL"], max_connections=size, decode_responses=True)
        self.client = Redis.from_pool(pool)

    async def close(self):
        await self.client.aclose()

    async def get(self, key):
        return await self.client.get(key)

    async def ran(self):
        pool = self.client.connection_pool
        connection = await pool.get_connection()
        try:
            parser = type(connection._parser).__name__
        finally:
            await pool.release(connection)
        return {"driver": f"redis-py {redis.__version__}", "implementation": parser, "pool": str(pool.max_connections)}
