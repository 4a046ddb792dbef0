# /// script
# requires-python = ">=3.11"
# dependencies = ["aiomysql>=0.2"]
#
# [tool.iobound]
# kind = "store"
# title = "aiomysql"
# service = "mariadb"
# calls = "async"
# twin = "pymysql"
# ///
"""aiomysql with its pool; every statement commits by itself."""

import os
from contextlib import asynccontextmanager
from urllib.parse import unquote, urlsplit

import aiomysql

POINT = "SELECT id, name, quantity FROM item WHERE id = %s"


class Store:
    async def open(self):
        url = urlsplit(os.environ["DATABASE_URL"])
        size = int(os.environ.get("POOL_SIZE", "10"))
        self.pool = await aiomysql.create_pool(
            host=url.hostname,
            port=url.port or 3306,
            user=unquote(url.username or ""),
            password=unquote(url.password or ""),
            db=url.path[1:],
            charset="utf8mb4",
            autocommit=True,
            cursorclass=aiomysql.DictCursor,
            minsize=size,
            maxsize=size,
        )

    async def close(self):
        self.pool.close()
        await self.pool.wait_closed()

    @asynccontextmanager
    async def cursor(self):
        async with self.pool.acquire() as connection, connection.cursor() as cursor:
            yield cursor

    async def point(self, number):
        async with self.cursor() as cursor:
            await cursor.execute(POINT, [number])
            return await cursor.fetchone()

    async def list(self):
        async with self.cursor() as cursor:
            await cursor.execute("SELECT id, name, quantity FROM item ORDER BY id")
            return await cursor.fetchall()

    async def multi(self, numbers):
        rows = []
        async with self.cursor() as cursor:
            for number in numbers:
                await cursor.execute(POINT, [number])
                rows.append(await cursor.fetchone())
        return rows

    async def insert(self, name, quantity):
        async with self.cursor() as cursor:
            await cursor.execute("INSERT INTO entry (name, quantity) VALUES (%s, %s)", [name, quantity])

    async def wait(self, seconds):
        async with self.cursor() as cursor:
            await cursor.execute("SELECT SLEEP(%s)", [seconds])

    async def ran(self):
        async with self.pool.acquire() as connection:
            return {
                "driver": f"aiomysql {aiomysql.__version__}",
                "autocommit": str(connection.get_autocommit()),
                "pool": str(self.pool.maxsize),
            }
