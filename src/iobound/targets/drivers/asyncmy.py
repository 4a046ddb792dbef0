# /// script
# requires-python = ">=3.9"
# dependencies = ["asyncmy>=0.2.17"]
#
# [tool.iobound]
# kind = "driver"
# title = "asyncmy"
# service = "mariadb"
# calls = "async"
# models = ["asyncio", "processes"]
# offers = "sql"
# layer = "driver"
# ///
"""asyncmy: aiomysql compiled by Cython; text protocol, values written into the statement by the client.

`executemany` joins the rows of an INSERT into few statements. Without autocommit the server begins transactions by itself.
"""

from importlib.metadata import version
from urllib.parse import unquote, urlsplit

import asyncmy

PLACEHOLDER = "%s"


async def connect(url, autocommit=True):
    at = urlsplit(url)
    raw = await asyncmy.connect(
        host=at.hostname,
        port=at.port or 3306,
        user=unquote(at.username or ""),
        password=unquote(at.password or ""),
        db=at.path[1:],
        charset="utf8mb4",
        autocommit=autocommit,
    )
    cursor = await raw.cursor()
    return Connection(raw, cursor)


class Connection:
    def __init__(self, raw, cursor):
        self.raw, self.cursor = raw, cursor
        self.executemany, self.begin, self.commit = self.cursor.executemany, raw.begin, raw.commit
        self.rollback, self.close = raw.rollback, raw.ensure_closed

    async def execute(self, sql, parameters=()):
        await self.cursor.execute(sql, parameters or None)
        return await self.cursor.fetchall()

    def fileno(self):
        return self.raw._transport.get_extra_info("socket").fileno()


def ran(connection):
    return {
        "driver": "asyncmy " + version("asyncmy"),
        "implementation": "Python" if asyncmy.connection.__file__.endswith(".py") else "C",
        "autocommit": str(bool(connection.raw.get_autocommit())),
    }
