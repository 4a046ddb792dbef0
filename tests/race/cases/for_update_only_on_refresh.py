"""litestar-org/advanced-alchemy#607: FOR UPDATE reaches only the refresh after the flush; the first read is a plain SELECT."""

import os

from sqlalchemy import Integer, select
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

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


async def _update(locked_first):
    engine = create_async_engine(os.environ["DATABASE_URL"].replace("postgresql:", "postgresql+asyncpg:", 1))
    try:
        async with AsyncSession(engine) as session, session.begin():
            read = select(Counter).where(Counter.id == 1)
            counter = (await session.execute(read.with_for_update() if locked_first else read)).scalar_one()
            counter.value = counter.value + 1
            await session.flush()
            await session.refresh(counter, with_for_update=True)
    finally:
        await engine.dispose()


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
