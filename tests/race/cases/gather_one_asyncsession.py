"""sqlalchemy/sqlalchemy#10092: gather() leaves at the first error, and the session is closed while a sibling still uses it."""

import asyncio
import os

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from iobound import race


class Unlucky(Exception):
    pass


def reset(db):
    db.execute("DROP TABLE IF EXISTS hit")
    db.execute("CREATE TABLE hit (id integer)")


def only_the_intended_error(db, execution):
    return all("Unlucky" in (outcome.exception or "") for outcome in execution.outcomes)


@race.case(setup=reset, invariant=only_the_intended_error, model="asyncio")
async def gathered():
    engine = create_async_engine(os.environ["DATABASE_URL"].replace("postgresql:", "postgresql+asyncpg:", 1))

    async def works(session):
        await session.execute(text("SELECT 1 FROM hit"))
        await session.execute(text("SELECT 2 FROM hit"))

    async def fails(session):
        await session.execute(text("SELECT 3 FROM hit"))
        raise Unlucky

    try:
        async with AsyncSession(engine) as session:
            await asyncio.gather(works(session), fails(session))
    finally:
        await engine.dispose()


EXPECTED = {gathered: {"postgresql": {"read committed": "violated"}}}
