# /// script
# requires-python = ">=3.6"
# dependencies = ["aiopg>=1.3", "psycopg2-binary>=2.9"]
#
# [tool.iobound]
# kind = "driver"
# title = "aiopg"
# service = "postgresql"
# calls = "async"
# models = ["asyncio", "processes"]
# offers = "sql"
# layer = "driver"
# ///
"""aiopg: psycopg2 on asyncio, text protocol, values written into the statement by the client; `executemany` is a loop.

libpq's asynchronous connections know no implicit transactions: every statement commits by itself, but between `begin` and
`commit`.
"""

import aiopg
import psycopg2
from psycopg2.extensions import libpq_version

PLACEHOLDER = "%s"


async def connect(url, autocommit=True):
    if not autocommit:
        raise ValueError("aiopg has no implicit transactions; begin and commit")
    raw = await aiopg.connect(url, enable_json=False, enable_hstore=False, enable_uuid=False)
    return Connection(raw, await raw.cursor())


class Connection:
    def __init__(self, raw, cursor):
        self.raw, self.cursor = raw, cursor
        self.close, self.fileno = raw.close, raw.raw.fileno

    async def execute(self, sql, parameters=()):
        await self.cursor.execute(sql, parameters or None)
        return await self.cursor.fetchall() if self.cursor.description else []

    async def executemany(self, sql, rows):
        for row in rows:
            await self.cursor.execute(sql, row)

    async def begin(self):
        await self.cursor.execute("BEGIN")

    async def commit(self):
        await self.cursor.execute("COMMIT")

    async def rollback(self):
        await self.cursor.execute("ROLLBACK")


def ran(connection):
    return {
        "driver": f"aiopg {aiopg.__version__} on psycopg2 {psycopg2.__version__.split()[0]}",
        "implementation": "C" if psycopg2._psycopg.__file__.endswith(".so") else "Python",
        "libpq": str(libpq_version()),
        "autocommit": str(connection.raw.autocommit),
    }
