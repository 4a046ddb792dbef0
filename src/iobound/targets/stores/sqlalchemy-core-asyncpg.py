# /// script
# requires-python = ">=3.11"
# dependencies = ["sqlalchemy[asyncio]>=2.0", "asyncpg>=0.30"]
#
# [tool.iobound]
# kind = "store"
# title = "SQLAlchemy Core on asyncpg"
# service = "postgresql"
# calls = "async"
# ///
"""SQLAlchemy's Core, without its ORM, on asyncpg: a connection, and with it a transaction, for every request."""

import os

import asyncpg
import sqlalchemy
from sqlalchemy import Column, Integer, MetaData, String, Table, func, insert, make_url, select
from sqlalchemy.ext.asyncio import create_async_engine

tables = MetaData()
item, entry = (
    Table(name, tables, Column("id", Integer, primary_key=True), Column("name", String), Column("quantity", Integer))
    for name in ("item", "entry")
)


class Store:
    async def open(self):
        url = make_url(os.environ["DATABASE_URL"]).set(drivername="postgresql+asyncpg")
        self.engine = create_async_engine(url, pool_size=int(os.environ.get("POOL_SIZE", "10")), max_overflow=0)

    async def close(self):
        await self.engine.dispose()

    async def point(self, number):
        async with self.engine.connect() as connection:
            return dict((await connection.execute(select(item).where(item.c.id == number))).mappings().one())

    async def list(self):
        async with self.engine.connect() as connection:
            return [dict(row) for row in (await connection.execute(select(item).order_by(item.c.id))).mappings()]

    async def multi(self, numbers):
        rows = []
        async with self.engine.connect() as connection:
            for number in numbers:
                found = await connection.execute(select(item).where(item.c.id == number))
                rows.append(dict(found.mappings().one()))
        return rows

    async def insert(self, name, quantity):
        async with self.engine.begin() as connection:
            await connection.execute(insert(entry).values(name=name, quantity=quantity))

    async def wait(self, seconds):
        async with self.engine.connect() as connection:
            await connection.execute(select(func.pg_sleep(seconds)))

    async def ran(self):
        async with self.engine.connect() as connection:
            return {
                "toolkit": f"SQLAlchemy {sqlalchemy.__version__}",
                "driver": f"asyncpg {asyncpg.__version__}",
                "autocommit": str((await connection.get_isolation_level()) == "AUTOCOMMIT"),
                "pool": str(self.engine.pool.size()),
            }
