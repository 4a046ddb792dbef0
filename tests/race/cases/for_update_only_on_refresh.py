"""litestar-org/advanced-alchemy#607: FOR UPDATE reaches only the refresh after the flush; the first read is a plain SELECT."""

import os
from functools import cache

from sqlalchemy import Integer, select
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.pool import NullPool

from iobound import race


class Base(DeclarativeBase):
    pass


class Counter(Base):
    __tablename__ = "counter"

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    value: Mapped[int] = mapped_column(Integer)


def reset(db):
    db.execute("DROP TABLE IF EXISTS counter")
    db.execute("CREATE TABLE counter (id integer PRIMARY KEY, value integer NOT NULL)")
    db.execute("INSERT INTO counter VALUES (1, 0)")


def nothing_lost(db, execution):
    return db.scalar("SELECT value FROM counter") == sum(outcome.ending == "committed" for outcome in execution.outcomes)


@cache
def engine(url):
    return create_async_engine(url.replace("postgresql:", "postgresql+asyncpg:", 1), poolclass=NullPool)


async def _update(locked_first):
    async with AsyncSession(engine(os.environ["DATABASE_URL"])) as session, session.begin():
        read = select(Counter).where(Counter.id == 1)
        counter = (await session.execute(read.with_for_update() if locked_first else read)).scalar_one()
        counter.value = counter.value + 1
        await session.flush()
        await session.refresh(counter, with_for_update=True)


@race.case(setup=reset, invariant=nothing_lost, model="asyncio")
async def update():
    await _update(locked_first=False)


@race.case(setup=reset, invariant=nothing_lost, model="asyncio")
async def update_locked_first():
    await _update(locked_first=True)


EXPECTED = {
    update: {"postgresql": {"read committed": "violated", "repeatable read": "holds"}},
    update_locked_first: {"postgresql": {"read committed": "holds"}},
}
