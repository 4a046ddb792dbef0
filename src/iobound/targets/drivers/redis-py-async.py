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
    client = redis.asyncio.Redis.from_url(url, decode_responses=True, single_connection_client=True)
    wides = [key async for key in client.scan_iter(TABLE.format("wide", "*"))]
    return Things(client, wides)


class Things:
    def __init__(self, client, wides):
        self.client, self.things, self.wides = client, [], wides

    async def insert(self, x, y, z):
        key = TABLE.format("things", x)
        await self.client.hset(key, mapping={"x": x, "y": y, "z": z})
        self.things.append(key)

    async def select(self):
        return [thing(row) for row in await self.read(self.things)]

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
        if self.things:
            await self.client.delete(*self.things)
        self.things = []

    async def close(self):
        await self.client.aclose()

    def fileno(self):
        return self.client.connection._writer.get_extra_info("socket").fileno()


def ran(things):
    connection = things.client.connection
    parser = type(connection._parser).__name__
    return {
        "driver": "redis-py " + redis.__version__,
        "implementation": "C" if "Hiredis" in parser else "Python",
        "parser": parser,
        "protocol": f"RESP{connection.protocol}",
    }
