# /// script
# requires-python = ">=3.7"
# dependencies = ["asyncpg>=0.28"]
#
# [tool.iobound]
# kind = "driver"
# title = "asyncpg"
# service = "postgresql"
# calls = "async"
# models = ["asyncio", "processes"]
# offers = "sql"
# layer = "driver"
# ///
"""asyncpg: a protocol of its own in Cython, binary; each statement is prepared once and kept. `executemany` is a transaction.

It knows no implicit transactions: every statement commits by itself, but between `begin` and `commit`.
"""

import asyncpg

PLACEHOLDER = "$1"


async def connect(url, autocommit=True):
    if not autocommit:
        raise ValueError("asyncpg has no implicit transactions; begin and commit")
    return Connection(await asyncpg.connect(url))


class Connection:
    def __init__(self, raw):
        self.raw = raw
        self.executemany, self.close = raw.executemany, raw.close

    async def execute(self, sql, parameters=()):
        return await self.raw.fetch(sql, *parameters)

    async def copy(self, table, columns, rows):
        await self.raw.copy_records_to_table(table, columns=columns, records=rows)

    async def begin(self):
        await self.raw.execute("BEGIN")

    async def commit(self):
        await self.raw.execute("COMMIT")

    async def rollback(self):
        await self.raw.execute("ROLLBACK")

    def fileno(self):
        return self.raw._transport.get_extra_info("socket").fileno()


def ran(connection):
    return {
        "driver": "asyncpg " + asyncpg.__version__,
        "implementation": "C" if asyncpg.protocol.protocol.__file__.endswith(".so") else "Python",
        "protocol": "binary",
        "prepared": f"the latest {connection.raw._config.statement_cache_size}",
        "autocommit": str(not connection.raw.is_in_transaction()),
    }
