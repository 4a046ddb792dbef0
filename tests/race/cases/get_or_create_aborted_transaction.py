"""tortoise/tortoise-orm#792: a unique violation is caught inside the transaction, which PostgreSQL has ended by then."""

import os

import asyncpg

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS tag")
    db.execute("CREATE TABLE tag (name varchar(20) PRIMARY KEY)")


def got_by_both(db, execution):
    return db.rows("SELECT name FROM tag") == [("a",)] and all(one.returned == "a" for one in execution.outcomes)


@race.case(setup=reset, invariant=got_by_both, model="asyncio")
async def get_or_create():
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    try:
        async with connection.transaction():
            name = await connection.fetchval("SELECT name FROM tag WHERE name = 'a'")
            if name is None:
                try:
                    name = await connection.fetchval("INSERT INTO tag VALUES ('a') RETURNING name")
                except asyncpg.UniqueViolationError:
                    name = await connection.fetchval("SELECT name FROM tag WHERE name = 'a'")
        return name
    finally:
        await connection.close()


@race.case(setup=reset, invariant=got_by_both, model="asyncio")
async def get_or_create_in_savepoint():
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    try:
        async with connection.transaction():
            name = await connection.fetchval("SELECT name FROM tag WHERE name = 'a'")
            if name is None:
                try:
                    async with connection.transaction():
                        name = await connection.fetchval("INSERT INTO tag VALUES ('a') RETURNING name")
                except asyncpg.UniqueViolationError:
                    name = await connection.fetchval("SELECT name FROM tag WHERE name = 'a'")
        return name
    finally:
        await connection.close()


EXPECTED = {
    get_or_create: {"postgresql": {"read committed": "violated"}},
    get_or_create_in_savepoint: {"postgresql": {"read committed": "holds"}},
}
