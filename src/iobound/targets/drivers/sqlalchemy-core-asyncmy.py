# /// script
# requires-python = ">=3.9"
# dependencies = ["sqlalchemy[asyncio]>=2.0", "asyncmy>=0.2.17"]
#
# [tool.iobound]
# kind = "driver"
# title = "SQLAlchemy Core on asyncmy"
# service = "mariadb"
# calls = "async"
# models = ["asyncio", "processes"]
# offers = "things"
# layer = "core"
# beneath = "asyncmy"
# ///
"""SQLAlchemy Core on asyncmy: rows with named columns. It begins transactions by itself; nothing is committed."""

from importlib.metadata import version

import asyncmy
import sqlalchemy
from sqlalchemy import Column, Float, Integer, MetaData, String, Table, insert, make_url, select
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.util import has_compiled_ext

metadata = MetaData()
things, points = (
    Table(name, metadata, Column("x", Integer), Column("y", String(255)), Column("z", Float))
    for name in ("test_things", "test_points")
)
KINDS = {"i": Integer, "s": String(255), "f": Float}
columns = [Column(f"{kind}{number}", KINDS[kind]) for kind in KINDS for number in range(10)]
wides = Table("test_wide", metadata, Column("id", Integer, primary_key=True), *columns)


async def connect(url):
    connection = await create_async_engine(
        make_url(url).set(drivername="mysql+asyncmy"), connect_args={"charset": "utf8mb4"}
    ).connect()
    return Things(connection, (await connection.get_raw_connection()).driver_connection)


class Things:
    def __init__(self, connection, raw):
        self.connection, self.raw = connection, raw

    async def begin(self):
        pass  # Its next statement does.

    async def insert(self, x, y, z):
        await self.connection.execute(insert(things), {"x": x, "y": y, "z": z})

    async def select(self):
        return (await self.connection.execute(select(things))).all()

    async def point(self, x):
        return (await self.connection.execute(select(points).where(points.c.x == x))).one()

    async def wide(self):
        return (await self.connection.execute(select(wides))).all()

    async def rollback(self):
        await self.connection.rollback()

    async def close(self):
        await self.connection.close()
        await self.connection.engine.dispose()

    def fileno(self):
        return self.raw._transport.get_extra_info("socket").fileno()


def ran(things):
    raw = things.raw
    return {
        "library": "SQLAlchemy " + sqlalchemy.__version__,
        "compiled": str(has_compiled_ext()),
        "driver": "asyncmy " + version("asyncmy"),
        "implementation": "Python" if asyncmy.connection.__file__.endswith(".py") else "C",
        "autocommit": str(bool(raw.get_autocommit())),
    }
