# /// script
# requires-python = ">=3.11"
# dependencies = ["tortoise-orm[aiomysql]>=1.1"]
#
# [tool.iobound]
# kind = "store"
# title = "Tortoise ORM on aiomysql"
# service = "mariadb"
# calls = "async"
# ///
"""Tortoise ORM on aiomysql; every statement commits by itself."""

import os
import sys

sys.modules["asyncmy"] = None  # Tortoise would take it rather than aiomysql where both are installed

import aiomysql
import tortoise
from tortoise import Model, Tortoise, fields


class Item(Model):
    id = fields.IntField(primary_key=True)
    name = fields.CharField(max_length=64)
    quantity = fields.IntField()

    def as_dict(self):
        return {"id": self.id, "name": self.name, "quantity": self.quantity}


class Entry(Model):
    id = fields.IntField(primary_key=True)
    name = fields.CharField(max_length=64)
    quantity = fields.IntField()


class Store:
    async def open(self):
        size = os.environ.get("POOL_SIZE", "10")
        url = os.environ["DATABASE_URL"] + f"?minsize={size}&maxsize={size}"
        # Requests run in other tasks than the lifespan that opens the store: without the fallback they'd see no connection.
        await Tortoise.init(db_url=url, modules={"models": [__name__]}, _enable_global_fallback=True)

    async def close(self):
        await Tortoise.close_connections()

    async def point(self, number):
        return (await Item.get(id=number)).as_dict()

    async def list(self):
        return [item.as_dict() for item in await Item.all().order_by("id")]

    async def multi(self, numbers):
        return [(await Item.get(id=number)).as_dict() for number in numbers]

    async def insert(self, name, quantity):
        await Entry.create(name=name, quantity=quantity)

    async def wait(self, seconds):
        await tortoise.connections.get("default").execute_query("SELECT SLEEP(%s)", [seconds])

    async def ran(self):
        client = tortoise.connections.get("default")
        async with client.acquire_connection() as connection:
            return {
                "orm": f"Tortoise ORM {tortoise.__version__}",
                "driver": f"{type(connection).__module__.partition('.')[0]} {aiomysql.__version__}",
                "autocommit": str(connection.get_autocommit()),
                "pool": str(client._pool.maxsize),
            }
