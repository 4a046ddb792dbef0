# /// script
# requires-python = ">=3.7"
# dependencies = ["psycopg[binary]>=3.1"]
#
# [tool.iobound]
# kind = "driver"
# title = "psycopg 3 (C), asyncio"
# service = "postgresql"
# calls = "async"
# models = ["asyncio", "processes"]
# offers = "sql"
# layer = "driver"
# ///
"""psycopg 3 on asyncio with its C extension, in the text protocol.

Values go apart from the statement; `executemany` sends all rows without waiting for each.
Without autocommit the first statement sends BEGIN before it, a round trip of its own.
"""

import os

os.environ["PSYCOPG_IMPL"] = "binary"

import psycopg

PLACEHOLDER = "%s"


async def connect(url, autocommit=True):
    return Connection(await psycopg.AsyncConnection.connect(url, autocommit=autocommit))


class Connection:
    def __init__(self, raw):
        self.raw, self.cursor = raw, raw.cursor()
        self.executemany, self.commit, self.rollback = self.cursor.executemany, raw.commit, raw.rollback
        self.close, self.fileno = raw.close, raw.fileno

    async def execute(self, sql, parameters=()):
        await self.cursor.execute(sql, parameters or None)
        # Cheaper to ask for than its description, which is made anew each time.
        return [] if self.cursor.rownumber is None else await self.cursor.fetchall()

    async def copy(self, table, columns, rows):
        async with self.cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
            for row in rows:
                await copy.write_row(row)

    async def pipeline(self, statements):
        async with self.raw.pipeline():
            for sql, parameters in statements:
                await self.cursor.execute(sql, parameters)

    async def begin(self):
        await self.cursor.execute("BEGIN")


def ran(connection):
    return {
        "driver": "psycopg " + psycopg.__version__,
        "implementation": "Python" if psycopg.pq.__impl__ == "python" else "C",
        "libpq": str(psycopg.pq.version()),
        "protocol": connection.cursor.format.name.lower(),
        "prepared": f"from execution {connection.raw.prepare_threshold} on",
        "autocommit": str(connection.raw.autocommit),
    }
