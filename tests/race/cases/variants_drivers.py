"""The same read and write by every driver and ORM, in the model it is made for: with a lock it holds, else it doesn't."""

import os
from contextlib import closing
from functools import cache
from urllib.parse import urlsplit

import aiomysql
import aiosqlite
import asyncmy
import asyncpg
import MySQLdb
import psycopg
import psycopg2
import pymysql
from counter import nothing_lost, reset
from django_database import models, on_database
from django_database import transaction as django_transaction
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool
from tortoise import fields
from tortoise.context import TortoiseContext
from tortoise.models import Model
from tortoise.transactions import in_transaction

from iobound import race

READ = "SELECT v FROM counter WHERE id = 1"
WRITE = "UPDATE counter SET v = {} WHERE id = 1"


def where():
    parts = urlsplit(os.environ["DATABASE_URL"])
    return {"host": parts.hostname, "port": parts.port, "user": parts.username, "password": parts.password}


def database():
    return urlsplit(os.environ["DATABASE_URL"]).path[1:]


def url(scheme):
    return scheme + os.environ["DATABASE_URL"].partition(":")[2].join([":", ""])


def by_cursor(connection, lock):
    with closing(connection), connection.cursor() as cursor:
        cursor.execute(READ + lock)
        ((value,),) = cursor.fetchall()
        cursor.execute(WRITE.format("%s"), (value + 1,))
        connection.commit()


def with_psycopg2(lock):
    by_cursor(psycopg2.connect(os.environ["DATABASE_URL"]), lock)


def with_pymysql(lock):
    by_cursor(pymysql.connect(**where(), database=database()), lock)


def with_mysqlclient(lock):
    by_cursor(MySQLdb.connect(**where(), database=database(), ssl_mode="DISABLED"), lock)


async def with_psycopg_async(lock):
    async with await psycopg.AsyncConnection.connect(os.environ["DATABASE_URL"]) as connection:
        ((value,),) = await (await connection.execute(READ + lock)).fetchall()
        await connection.execute(WRITE.format("%s"), [value + 1])


async def with_asyncpg(lock):
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    try:
        async with connection.transaction():
            value = await connection.fetchval(READ + lock)
            await connection.execute(WRITE.format("$1"), value + 1)
    finally:
        await connection.close()


async def with_asyncpg_pool(lock):
    async with (
        asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=1, max_size=2) as pool,
        pool.acquire() as connection,
        connection.transaction(),
    ):
        value = await connection.fetchval(READ + lock)
        await connection.execute(WRITE.format("$1"), value + 1)


async def with_aiomysql(lock):
    connection = await aiomysql.connect(**where(), db=database())
    try:
        async with connection.cursor() as cursor:
            await cursor.execute(READ + lock)
            ((value,),) = await cursor.fetchall()
            await cursor.execute(WRITE.format("%s"), (value + 1,))
        await connection.commit()
    finally:
        connection.close()


async def with_asyncmy(lock):
    connection = await asyncmy.connect(**where(), db=database())
    try:
        async with connection.cursor() as cursor:
            await cursor.execute(READ + lock)
            ((value,),) = await cursor.fetchall()
            await cursor.execute(WRITE.format("%s"), (value + 1,))
        await connection.commit()
    finally:
        await connection.ensure_closed()


async def with_aiosqlite(begin):
    async with aiosqlite.connect("/" + database(), isolation_level=None) as connection:
        if begin:
            await connection.execute(begin)
        async with connection.execute(READ) as cursor:
            ((value,),) = await cursor.fetchall()
        await connection.execute(WRITE.format("?"), (value + 1,))
        await connection.commit()


@cache
def engine(make, url):
    """Return the one engine of a program, which asks the server for its version when it first connects."""
    return make(url, poolclass=NullPool)


def with_sqlalchemy(lock):
    with engine(create_engine, url("postgresql+psycopg")).begin() as connection:
        value = connection.scalar(text(READ + lock))
        connection.execute(text(WRITE.format(":v")), {"v": value + 1})


async def with_sqlalchemy_async(lock):
    async with engine(create_async_engine, url("postgresql+asyncpg")).begin() as connection:
        value = await connection.scalar(text(READ + lock))
        await connection.execute(text(WRITE.format(":v")), {"v": value + 1})


class DjangoCounter(models.Model):
    v = models.IntegerField()

    class Meta:
        app_label = "variants_drivers"
        db_table = "counter"


def with_django(lock):
    with on_database(), django_transaction.atomic():
        counters = DjangoCounter.objects.select_for_update() if lock else DjangoCounter.objects
        counter = counters.get(id=1)
        counter.v += 1
        counter.save()


class TortoiseCounter(Model):
    id = fields.IntField(primary_key=True)
    v = fields.IntField()

    class Meta:
        table = "counter"


async def with_tortoise(lock):
    async with TortoiseContext() as orm:
        await orm.init(db_url=url("asyncpg"), modules={"models": [__name__]})
        async with in_transaction():
            counters = TortoiseCounter.filter(id=1)
            counter = await (counters.select_for_update() if lock else counters).get()
            counter.v += 1
            await counter.save()


@race.case(sessions=[("",)] * 2, setup=reset, invariant=nothing_lost, model="gevent")
def with_pymysql_and_gevent(lock):
    with_pymysql(lock)


@race.case(sessions=[(" FOR UPDATE",)] * 2, setup=reset, invariant=nothing_lost, model="gevent")
def with_pymysql_and_gevent_locked(lock):
    with_pymysql(lock)


def explored(function, name, how, model):
    """Return a case of `function` called with `how` by both sessions."""

    async def awaited(how):
        await function(how)

    def called(how):
        function(how)

    made = awaited if model == "asyncio" else called
    made.__name__ = made.__qualname__ = name
    return race.case(sessions=[(how,)] * 2, setup=reset, invariant=nothing_lost, model=model)(made)


DRIVERS = [
    (with_psycopg2, "threads", "postgresql", "read committed"),
    (with_sqlalchemy, "threads", "postgresql", "read committed"),
    (with_django, "threads", "postgresql", "read committed"),
    (with_psycopg_async, "asyncio", "postgresql", "read committed"),
    (with_asyncpg, "asyncio", "postgresql", "read committed"),
    (with_asyncpg_pool, "asyncio", "postgresql", "read committed"),
    (with_sqlalchemy_async, "asyncio", "postgresql", "read committed"),
    (with_tortoise, "asyncio", "postgresql", "read committed"),
    (with_pymysql, "threads", "mariadb off", "repeatable read"),
    (with_mysqlclient, "threads", "mariadb off", "repeatable read"),
    (with_aiomysql, "asyncio", "mariadb off", "repeatable read"),
    (with_asyncmy, "asyncio", "mariadb off", "repeatable read"),
    (with_aiosqlite, "asyncio", "sqlite", None),
]
EXPECTED = {
    with_pymysql_and_gevent: {"mariadb off": {"repeatable read": "violated"}},
    with_pymysql_and_gevent_locked: {"mariadb off": {"repeatable read": "holds"}},
}
for function, model, database_, level in DRIVERS:
    lock = "BEGIN IMMEDIATE" if database_ == "sqlite" else " FOR UPDATE"
    EXPECTED[explored(function, function.__name__, "", model)] = {database_: {level: "violated"}}
    EXPECTED[explored(function, f"{function.__name__}_locked", lock, model)] = {database_: {level: "holds"}}
