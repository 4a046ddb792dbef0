# /// script
# requires-python = ">=3.8"
# dependencies = ["redis>=6", "hiredis>=3"]
#
# [tool.iobound]
# kind = "driver"
# title = "redis-py with hiredis"
# service = "valkey"
# calls = "sync"
# models = ["threads", "gevent", "processes"]
# offers = "things"
# layer = "driver"
# ///
"""redis-py, with hiredis in C: a row is a hash; rows read together are asked for in one pipeline.

Which rows there are is known without asking, as by an index in the application. A rollback deletes what was inserted.
"""

from collections import namedtuple

import redis

TABLE = "iobound:test_{}:{}"
TYPES = {"i": int, "s": str, "f": float}

Thing = namedtuple("Thing", ["x", "y", "z"])
Wide = namedtuple("Wide", ["id", *(f"{kind}{number}" for kind in TYPES for number in range(10))])


def thing(row):
    return Thing(int(row["x"]), row["y"], float(row["z"]))


def wide(row):
    return Wide(*(TYPES[name[0]](row[name]) for name in Wide._fields))


def connect(url):
    client = redis.Redis.from_url(url, decode_responses=True, max_connections=1)
    raw = client.connection_pool.get_connection()
    client.connection_pool.release(raw)
    return Things(client, raw, keys(client, "things"), keys(client, "wide"))


def keys(client, table):
    return list(client.scan_iter(TABLE.format(table, "*")))


class Things:
    def __init__(self, client, raw, there, wides):
        self.client, self.raw, self.there, self.wides, self.inserted = client, raw, there, wides, []

    def insert(self, x, y, z):
        key = TABLE.format("things", x)
        self.client.hset(key, mapping={"x": x, "y": y, "z": z})
        self.inserted.append(key)

    def select(self):
        return [thing(row) for row in self.read(self.there + self.inserted)]

    def point(self, x):
        return thing(self.client.hgetall(TABLE.format("points", x)))

    def wide(self):
        return [wide(row) for row in self.read(self.wides)]

    def read(self, keys):
        pipeline = self.client.pipeline(transaction=False)
        for key in keys:
            pipeline.hgetall(key)
        return pipeline.execute()

    def begin(self):
        pass  # There is none.

    def rollback(self):
        if self.inserted:
            self.client.delete(*self.inserted)
        self.inserted = []

    def close(self):
        self.client.close()

    def fileno(self):
        return self.raw._sock.fileno()


def ran(things):
    parser = type(things.raw._parser).__name__
    return {
        "driver": "redis-py " + redis.__version__,
        "implementation": "C" if "Hiredis" in parser else "Python",
        "parser": parser,
        "packer": type(things.raw._command_packer).__name__,
        "protocol": f"RESP{things.raw.protocol}",
    }
