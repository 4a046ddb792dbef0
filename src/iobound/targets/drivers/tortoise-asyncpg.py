# /// script
# requires-python = ">=3.10"
# dependencies = ["tortoise-orm[asyncpg]>=1.1"]
#
# [tool.iobound]
# kind = "driver"
# title = "Tortoise ORM on asyncpg"
# service = "postgresql"
# calls = "async"
# models = ["asyncio", "processes"]
# offers = "things"
# layer = "orm"
# beneath = "asyncpg"
# ///
"""Tortoise ORM on asyncpg: every statement commits by itself, but between `begin` and `rollback`."""

import asyncpg
import tortoise
from tortoise import Model, Tortoise, fields
from tortoise.transactions import in_transaction


class Columns(Model):
    x = fields.IntField(primary_key=True, generated=False)
    y = fields.CharField(max_length=255)
    z = fields.FloatField()

    class Meta:
        abstract = True


class Thing(Columns):
    class Meta:
        table = "test_things"


class Point(Columns):
    class Meta:
        table = "test_points"


KINDS = {"i": fields.IntField, "s": lambda: fields.CharField(max_length=255), "f": fields.FloatField}
columns = {f"{kind}{number}": KINDS[kind]() for kind in KINDS for number in range(10)}
named = {"__module__": __name__, "Meta": type("Meta", (), {"table": "test_wide"}), "id": fields.IntField(primary_key=True)}
Wide = type("Wide", (Model,), {**named, **columns})


async def connect(url):
    address = "asyncpg" + url[len("postgresql") :] + "?minsize=1&maxsize=1"
    await Tortoise.init(db_url=address, modules={"models": [__name__]}, _enable_global_fallback=True)
    async with tortoise.connections.get("default").acquire_connection() as raw:
        return Things(raw._con)


class Things:
    def __init__(self, raw):
        self.raw = raw

    async def insert(self, x, y, z):
        await Thing.create(x=x, y=y, z=z)

    async def select(self):
        return await Thing.all()

    async def point(self, x):
        return await Point.get(x=x)

    async def wide(self):
        return await Wide.all()

    async def begin(self):
        self.transaction = in_transaction()
        await self.transaction.__aenter__()

    async def rollback(self):
        await self.transaction.client.rollback()
        await self.transaction.__aexit__(None, None, None)

    async def close(self):
        await Tortoise.close_connections()

    def fileno(self):
        return self.raw._transport.get_extra_info("socket").fileno()


def ran(things):
    return {
        "library": "Tortoise ORM " + tortoise.__version__,
        "driver": "asyncpg " + asyncpg.__version__,
        "implementation": "C" if asyncpg.protocol.protocol.__file__.endswith(".so") else "Python",
        "autocommit": str(not things.raw.is_in_transaction()),
    }
