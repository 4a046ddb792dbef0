# /// script
# requires-python = ">=3.8"
# dependencies = ["redis>=6"]
#
# [tool.iobound]
# kind = "driver"
# title = "redis-py, asyncio"
# service = "valkey"
# calls = "async"
# models = ["asyncio", "processes"]
# offers = "things"
# layer = "driver"
# ///
"""redis-py on asyncio, without hiredis, all in Python: a row is a hash; rows read together are asked for in one pipeline.

Which rows there are is known without asking, as by an index in the application. A rollback deletes what was inserted.
"""

import sys
from collections import namedtuple

# It would be used where it is installed.
sys.modules["hiredis"] = None

import redis
import redis.asyncio

TABLE = "iobound:test_{}:{}"
TYPES = {"i": int, "s": str, "f": float}

Thing = namedtuple("Thing", ["x", "y", "z"])
Wide = namedtuple("Wide", ["id", *(f"{kind}{number}" for kind in TYPES for number in range(10))])


def thing(row):
    return Thing(int(row["x"]), row["y"], float(row["z"]))


def wide(row):
    return Wide(*(TYPES[name[0]](row[name]) for name in Wide._fields))


async def connect(url):
    client = redis.asyncio.Redis.from_url(url, decode_responses=True, max_connections=1)
    raw = await client.connection_pool.get_connection()
    await client.connection_pool.release(raw)
    return Things(client, raw, await keys(client, "things"), await keys(client, "wide"))


async def keys(client, table):
    return [key async for key in client.scan_iter(TABLE.format(table, "*"))]


class Things:
    def __init__(self, client, raw, there, wides):
        self.client, self.raw, self.there, self.wides, self.inserted = client, raw, there, wides, []

    async def insert(self, x, y, z):
        key = TABLE.format("things", x)
        await self.client.hset(key, mapping={"x": x, "y": y, "z": z})
        self.inserted.append(key)

    async def select(self):
        return [thing(row) for row in await self.read(self.there + self.inserted)]

    async def point(self, x):
        return thing(await self.client.hgetall(TABLE.format("points", x)))

    async def wide(self):
        return [wide(row) for row in await self.read(self.wides)]

    async def read(self, keys):
        pipeline = self.client.pipeline(transaction=False)
        for key in keys:
            pipeline.hgetall(key)
        return await pipeline.execute()

    async def begin(self):
        pass  # There is none.

    async def rollback(self):
        if self.inserted:
            await self.client.delete(*self.inserted)
        self.inserted = []

    async def close(self):
        await self.client.aclose()

    def fileno(self):
        return self.raw._writer.get_extra_info("socket").fileno()


def ran(things):
    parser = type(things.raw._parser).__name__
    return {
        "driver": "redis-py " + redis.__version__,
        "implementation": "C" if "Hiredis" in parser else "Python",
        "parser": parser,
        "protocol": f"RESP{things.raw.protocol}",
    }
