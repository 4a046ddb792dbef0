"""Functions that race, as a user would write them: the module is imported by worker processes too."""

import asyncio
import os
import sqlite3
import threading
from urllib.parse import urlsplit

import asyncpg
import psycopg
import pymysql

ONE_COUNTER = """
    DROP TABLE IF EXISTS counter;
    CREATE TABLE counter (id integer PRIMARY KEY, value integer NOT NULL);
    INSERT INTO counter VALUES (1, 0), (2, 0)
"""
LOCK = threading.Lock()
TASK_LOCK = asyncio.Lock()


def counts(db, history):
    """Hold where the counter is the number of calls that committed."""
    return db.scalar("SELECT value FROM counter WHERE id = 1") == sum(each.ending == "committed" for each in history.outcomes)


def increment():
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        (value,) = connection.execute("SELECT value FROM counter WHERE id = 1").fetchone()
        connection.execute("UPDATE counter SET value = %s WHERE id = 1", [value + 1])


def increment_locked():
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        (value,) = connection.execute("SELECT value FROM counter WHERE id = 1 FOR UPDATE").fetchone()
        connection.execute("UPDATE counter SET value = %s WHERE id = 1", [value + 1])


def increment_under_lock():
    with LOCK:
        increment()


def swap(first, second):
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        connection.execute("UPDATE counter SET value = value + 1 WHERE id = %s", [first])
        connection.execute("UPDATE counter SET value = value + 1 WHERE id = %s", [second])


def advisory_lock():
    """Let the lock go before the commit: what frontrun calls safe."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        connection.execute("SELECT pg_advisory_lock(7)")
        (value,) = connection.execute("SELECT value FROM counter WHERE id = 1").fetchone()
        connection.execute("UPDATE counter SET value = %s WHERE id = 1", [value + 1])
        connection.execute("SELECT pg_advisory_unlock(7)")


async def increment_async():
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    try:
        async with connection.transaction():
            value = await connection.fetchval("SELECT value FROM counter WHERE id = 1")
            await connection.execute("UPDATE counter SET value = $1 WHERE id = 1", value + 1)
    finally:
        await connection.close()


async def increment_async_under_lock():
    async with TASK_LOCK:
        await increment_async()


def mysql():
    parts = urlsplit(os.environ["DATABASE_URL"])
    return pymysql.connect(
        host=parts.hostname,
        port=parts.port,
        user=parts.username,
        password=parts.password,
        database=parts.path[1:],
        ssl_disabled=True,
    )


def increment_mysql():
    connection = mysql()
    with connection, connection.cursor() as cursor:
        connection.begin()
        cursor.execute("SELECT value FROM counter WHERE id = 1")
        ((value,),) = cursor.fetchall()
        cursor.execute("UPDATE counter SET value = %s WHERE id = 1", [value + 1])
        connection.commit()


def swap_mysql(first, second):
    connection = mysql()
    with connection, connection.cursor() as cursor:
        connection.begin()
        cursor.execute("UPDATE counter SET value = value + 1 WHERE id = %s", [first])
        cursor.execute("UPDATE counter SET value = value + 1 WHERE id = %s", [second])
        connection.commit()


def get_or_create_mysql():
    connection = mysql()
    with connection, connection.cursor() as cursor:
        connection.begin()
        cursor.execute("SELECT id FROM docket WHERE number = 99 FOR UPDATE")
        if not cursor.fetchall():
            cursor.execute("INSERT INTO docket (number) VALUES (99)")
        connection.commit()


def increment_sqlite(begin):
    connection = sqlite3.connect(os.environ["DATABASE_URL"].removeprefix("sqlite:///"), isolation_level=None)
    try:
        connection.execute(begin)
        (value,) = connection.execute("SELECT value FROM counter WHERE id = 1").fetchone()
        connection.execute("UPDATE counter SET value = ? WHERE id = 1", [value + 1])
        connection.execute("COMMIT")
    finally:
        connection.close()


def increment_sqlite_implicitly():
    connection = sqlite3.connect(os.environ["DATABASE_URL"].removeprefix("sqlite:///"))
    try:
        with connection:
            (value,) = connection.execute("SELECT value FROM counter WHERE id = 1").fetchone()
            connection.execute("UPDATE counter SET value = ? WHERE id = 1", [value + 1])
    finally:
        connection.close()
