# /// script
# requires-python = ">=3.11"
# dependencies = ["piccolo>=1", "asyncpg>=0.30"]
#
# [tool.iobound]
# kind = "store"
# title = "Piccolo on asyncpg"
# service = "postgresql"
# calls = "async"
# ///
"""Piccolo on asyncpg with its pool; every statement commits by itself."""

import os
from importlib.metadata import version

import asyncpg
from piccolo.columns import Integer, Serial, Varchar
from piccolo.engine.postgres import PostgresEngine
from piccolo.table import Table

engine = PostgresEngine({"dsn": os.environ["DATABASE_URL"]}, extensions=())


class Item(Table, db=engine):
    id = Serial(primary_key=True)
    name = Varchar(64)
    quantity = Integer()


class Entry(Table, db=engine):
    id = Serial(primary_key=True)
    name = Varchar(64)
    quantity = Integer()


class Store:
    async def open(self):
        size = int(os.environ.get("POOL_SIZE", "10"))
        await engine.start_connection_pool(min_size=size, max_size=size)

    async def close(self):
        await engine.close_connection_pool()

    async def point(self, number):
        return await Item.select().where(Item.id == number).first()

    async def list(self):
        return await Item.select().order_by(Item.id)

    async def multi(self, numbers):
        return [await Item.select().where(Item.id == number).first() for number in numbers]

    async def insert(self, name, quantity):
        await Entry.insert(Entry(name=name, quantity=quantity))

    async def wait(self, seconds):
        await Item.raw("SELECT pg_sleep({})", seconds)

    async def ran(self):
        async with engine.pool.acquire() as connection:
            return {
                "orm": f"Piccolo {version('piccolo')}",
                "driver": f"asyncpg {asyncpg.__version__}",
                "autocommit": str(not connection.is_in_transaction()),
                "pool": str(engine.pool.get_max_size()),
            }
