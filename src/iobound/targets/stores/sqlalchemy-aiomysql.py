# /// script
# requires-python = ">=3.11"
# dependencies = ["sqlalchemy[asyncio]>=2.0", "aiomysql>=0.2"]
#
# [tool.iobound]
# kind = "store"
# title = "SQLAlchemy ORM on aiomysql"
# service = "mariadb"
# calls = "async"
# twin = "sqlalchemy-pymysql"
# ///
"""SQLAlchemy's ORM on asyncio with aiomysql: a session, and with it a transaction, for every request."""

import os

import aiomysql
import sqlalchemy
from sqlalchemy import func, make_url, select
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    quantity: Mapped[int]

    def as_dict(self):
        return {"id": self.id, "name": self.name, "quantity": self.quantity}


class Item(Base):
    __tablename__ = "item"


class Entry(Base):
    __tablename__ = "entry"


class Store:
    async def open(self):
        url = make_url(os.environ["DATABASE_URL"]).set(drivername="mysql+aiomysql")
        self.engine = create_async_engine(url, pool_size=int(os.environ.get("POOL_SIZE", "10")), max_overflow=0)

    async def close(self):
        await self.engine.dispose()

    async def point(self, number):
        async with AsyncSession(self.engine) as session:
            return (await session.scalars(select(Item).where(Item.id == number))).one().as_dict()

    async def list(self):
        async with AsyncSession(self.engine) as session:
            return [item.as_dict() for item in await session.scalars(select(Item).order_by(Item.id))]

    async def multi(self, numbers):
        async with AsyncSession(self.engine) as session:
            return [(await session.scalars(select(Item).where(Item.id == number))).one().as_dict() for number in numbers]

    async def insert(self, name, quantity):
        async with AsyncSession(self.engine) as session, session.begin():
            session.add(Entry(name=name, quantity=quantity))

    async def wait(self, seconds):
        async with AsyncSession(self.engine) as session:
            await session.execute(select(func.sleep(seconds)))

    async def ran(self):
        async with self.engine.connect() as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            return {
                "orm": f"SQLAlchemy {sqlalchemy.__version__}",
                "driver": f"aiomysql {aiomysql.__version__}",
                "autocommit": str(bool(driver.get_autocommit())),
                "pool": str(self.engine.pool.size()),
            }
