"""Every driver and ORM passes through the gate as it is: two increments interleave in as many ways as they have statements."""

import os
from urllib.parse import urlsplit

import aiomysql
import aiosqlite
import asyncmy
import asyncpg
import psycopg
import psycopg2
import pytest
import race_functions as functions
import sqlalchemy

from iobound import race

READ = "SELECT value FROM counter WHERE id = 1"
WRITE = "UPDATE counter SET value = {} WHERE id = 1"
LOST = ("violated", 50, 40)
LOST_WITHOUT_BEGIN = ("violated", 14, 12)


def account():
    parts = urlsplit(os.environ["DATABASE_URL"])
    return {
        "host": parts.hostname, "port": parts.port, "user": parts.username, "password": parts.password, "db": parts.path[1:]
    }  # fmt: skip


def with_psycopg2():
    connection = psycopg2.connect(os.environ["DATABASE_URL"])
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(READ)
            cursor.execute(WRITE.format("%s"), [cursor.fetchone()[0] + 1])
    finally:
        connection.close()


def with_psycopg_transaction():
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection, connection.transaction():
        (value,) = connection.execute(READ).fetchone()
        connection.execute(WRITE.format("%s"), [value + 1])


async def with_async_psycopg():
    async with await psycopg.AsyncConnection.connect(os.environ["DATABASE_URL"]) as connection:
        (value,) = await (await connection.execute(READ)).fetchone()
        await connection.execute(WRITE.format("%s"), [value + 1])


class Pools:
    """Pools live as long as the event loop of one exploration, as they do in a service."""

    def __init__(self):
        self.made = {}

    async def asyncpg(self):
        key = os.environ["DATABASE_URL"]
        if key not in self.made:
            self.made[key] = await asyncpg.create_pool(key, min_size=2, max_size=2)
        return self.made[key]

    def sqlalchemy(self, scheme):
        key = os.environ["DATABASE_URL"].replace(urlsplit(os.environ["DATABASE_URL"]).scheme, scheme, 1)
        if key not in self.made:
            self.made[key] = sqlalchemy.create_engine(key, pool_pre_ping=True)
        return self.made[key]


POOLS = Pools()


async def with_a_pool_of_asyncpg():
    async with (await POOLS.asyncpg()).acquire() as connection, connection.transaction():
        value = await connection.fetchval(READ)
        await connection.execute(WRITE.format("$1"), value + 1)


def with_sqlalchemy(scheme):
    with POOLS.sqlalchemy(scheme).begin() as connection:
        value = connection.execute(sqlalchemy.text(READ)).scalar_one()
        connection.execute(sqlalchemy.text(WRITE.format(":value")), {"value": value + 1})


async def with_aiomysql():
    connection = await aiomysql.connect(**account())
    async with connection.cursor() as cursor:
        await connection.begin()
        await cursor.execute(READ)
        (value,) = await cursor.fetchone()
        await cursor.execute(WRITE.format("%s"), [value + 1])
        await connection.commit()
    connection.close()


async def with_asyncmy():
    connection = await asyncmy.connect(**account())
    async with connection.cursor() as cursor:
        await connection.begin()
        await cursor.execute(READ)
        (value,) = await cursor.fetchone()
        await cursor.execute(WRITE.format("%s"), [value + 1])
        await connection.commit()
    await connection.ensure_closed()


async def with_aiosqlite():
    path = os.environ["DATABASE_URL"].removeprefix("sqlite:///")
    async with aiosqlite.connect(path) as connection:
        async with connection.execute(READ) as cursor:
            (value,) = await cursor.fetchone()
        await connection.execute(WRITE.format("?"), [value + 1])
        await connection.commit()


@pytest.mark.parametrize(
    ("function", "arguments", "model", "database", "expected"),
    [
        (with_psycopg2, (), "threads", "postgresql", LOST),
        (with_psycopg_transaction, (), "threads", "postgresql", LOST),
        (with_async_psycopg, (), "asyncio", "postgresql", LOST),
        (with_a_pool_of_asyncpg, (), "asyncio", "postgresql", LOST),
        (with_sqlalchemy, ("postgresql+psycopg",), "threads", "postgresql", LOST),
        (with_sqlalchemy, ("mysql+pymysql",), "threads", "mariadb", LOST_WITHOUT_BEGIN),
        (with_sqlalchemy, ("sqlite",), "threads", "sqlite", LOST_WITHOUT_BEGIN),
        (with_aiomysql, (), "asyncio", "mariadb", LOST),
        (with_asyncmy, (), "asyncio", "mariadb", LOST),
        (with_aiosqlite, (), "asyncio", "sqlite", LOST_WITHOUT_BEGIN),
    ],
)
def test_driver(function, arguments, model, database, expected):
    report = race.explore(
        function,
        sessions=[arguments, arguments],
        setup=functions.ONE_COUNTER,
        invariant=functions.counts,
        model=model,
        database=database,
    )
    [level] = report.levels
    assert (level.verdict, level.schedules, level.violations) == expected, str(report)


def test_an_engine_of_a_module_survives_from_one_exploration_to_the_next():
    for _ in range(2):
        report = race.explore(
            with_sqlalchemy,
            sessions=[("postgresql+psycopg2",), ("postgresql+psycopg2",)],
            setup=functions.ONE_COUNTER,
            invariant=functions.counts,
        )
        assert (report.verdict, report.schedules, report.violations) == LOST
    assert len([key for key in POOLS.made if "psycopg2" in key]) == 1
