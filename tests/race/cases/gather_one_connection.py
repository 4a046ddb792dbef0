"""encode/databases#125: asyncio.gather() runs the queries of several tasks on one connection."""

import asyncio
import os

import asyncpg

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS hit")
    db.execute("CREATE TABLE hit (id integer)")


def no_call_raises(db, execution):
    return all(outcome.exception is None for outcome in execution.outcomes)


@race.case(setup=reset, invariant=no_call_raises, model="asyncio")
async def gathered():
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    try:
        await asyncio.gather(connection.fetch("SELECT id FROM hit"), connection.fetch("SELECT id FROM hit"))
    finally:
        await connection.close()


shared = {}


async def connection_of_the_loop():
    """Return the one connection that all tasks of this loop use."""
    loop = asyncio.get_running_loop()
    if loop not in shared:
        shared[loop] = asyncio.ensure_future(asyncpg.connect(os.environ["DATABASE_URL"]))
    return await shared[loop]


@race.case(setup=reset, model="asyncio")
async def shared_by_tasks():
    connection = await connection_of_the_loop()
    await connection.execute("INSERT INTO hit VALUES (1)")


EXPECTED = {
    gathered: {"postgresql": {"read committed": "violated"}},
    shared_by_tasks: {"postgresql": {"read committed": "violated"}},
}
