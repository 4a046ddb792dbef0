"""What asyncpg does in its own way: cursors, many rows at once, copies whose data it sends unasked; and psycopg's pipeline."""

import os
from contextlib import asynccontextmanager

import asyncpg
import psycopg
from counter import nothing_lost, reset

from iobound import race


@asynccontextmanager
async def transaction():
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    try:
        async with connection.transaction():
            yield connection
    finally:
        await connection.close()


@race.case(setup=reset, invariant=nothing_lost, model="asyncio")
async def executemany():
    async with transaction() as connection:
        value = await connection.fetchval("SELECT v FROM counter WHERE id = 1")
        await connection.executemany("UPDATE counter SET v = $1 WHERE id = $2", [(value + 1, 1), (0, 2)])


async def bump_by_cursor(lock):
    async with transaction() as connection:
        rows = [row async for row in connection.cursor(f"SELECT v FROM counter WHERE id = 1 {lock}")]
        value = rows[0]["v"]
        await connection.execute("UPDATE counter SET v = $1 WHERE id = 1", value + 1)


@race.case(setup=reset, invariant=nothing_lost, model="asyncio")
async def cursor():
    await bump_by_cursor("")


@race.case(setup=reset, invariant=nothing_lost, model="asyncio")
async def cursor_locked():
    await bump_by_cursor("FOR UPDATE")


def values_differ(db):
    return db.scalar("SELECT count(*) = count(DISTINCT v) FROM counter")


@race.case(sessions=[(2,), (3,)], setup=reset, invariant=values_differ, model="asyncio")
async def copy(key):
    async with transaction() as connection:
        value = await connection.fetchval("SELECT max(v) FROM counter")
        await connection.copy_records_to_table("counter", records=[(key, value + 1)])


@race.case(setup=reset, invariant=nothing_lost, model="asyncio")
async def pipeline():
    async with await psycopg.AsyncConnection.connect(os.environ["DATABASE_URL"]) as connection:
        ((value,),) = await (await connection.execute("SELECT v FROM counter WHERE id = 1")).fetchall()
        async with connection.pipeline():
            await connection.execute("UPDATE counter SET v = %s WHERE id = 1", [value + 1])
            await connection.execute("SELECT v FROM counter")


def on_postgresql(verdict):
    return {"postgresql": {"read committed": verdict}}


EXPECTED = {
    executemany: on_postgresql("violated"),
    cursor: on_postgresql("violated"),
    cursor_locked: on_postgresql("holds"),
    copy: on_postgresql("violated 60/70"),
    pipeline: on_postgresql("violated"),
}
