# /// script
# requires-python = ">=3.9"
# dependencies = ["sqlalchemy[asyncio]>=2.0", "asyncmy>=0.2.17"]
#
# [tool.iobound]
# kind = "driver"
# title = "SQLAlchemy ORM on asyncmy"
# service = "mariadb"
# calls = "async"
# models = ["asyncio", "processes"]
# offers = "things"
# layer = "orm"
# beneath = "asyncmy"
# ///
"""SQLAlchemy's ORM on asyncmy: objects in one session. It begins transactions by itself; nothing is committed."""

from importlib.metadata import version

import asyncmy
import sqlalchemy
from sqlalchemy import Column, Float, Integer, String, Table, make_url, select
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.util import has_compiled_ext


class Base(DeclarativeBase):
    pass


class Columns:
    x: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    y: Mapped[str] = mapped_column(String(255))
    z: Mapped[float]


class Thing(Columns, Base):
    __tablename__ = "test_things"


class Point(Columns, Base):
    __tablename__ = "test_points"


KINDS = {"i": Integer, "s": String(255), "f": Float}
columns = [Column(f"{kind}{number}", KINDS[kind]) for kind in KINDS for number in range(10)]


class Wide(Base):
    __table__ = Table("test_wide", Base.metadata, Column("id", Integer, primary_key=True), *columns)


async def connect(url):
    connection = await create_async_engine(
        make_url(url).set(drivername="mysql+asyncmy"), connect_args={"charset": "utf8mb4"}
    ).connect()
    return Things(connection, (await connection.get_raw_connection()).driver_connection)


class Things:
    def __init__(self, connection, raw):
        self.connection, self.raw = connection, raw
        self.session = AsyncSession(connection)

    async def begin(self):
        pass  # Its next statement does.

    async def insert(self, x, y, z):
        self.session.add(Thing(x=x, y=y, z=z))
        await self.session.flush()

    async def select(self):
        return (await self.session.scalars(select(Thing))).all()

    async def point(self, x):
        return (await self.session.scalars(select(Point).where(Point.x == x))).one()

    async def wide(self):
        return (await self.session.scalars(select(Wide))).all()

    async def rollback(self):
        await self.session.rollback()

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
