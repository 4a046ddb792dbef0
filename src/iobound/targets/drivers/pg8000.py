# /// script
# requires-python = ">=3.7"
# dependencies = ["pg8000>=1.29"]
#
# [tool.iobound]
# kind = "driver"
# title = "pg8000"
# service = "postgresql"
# calls = "sync"
# models = ["threads", "gevent", "processes"]
# offers = "sql"
# layer = "driver"
# ///
"""pg8000, all in Python, in the text protocol: parsed anew, each statement takes three round trips; `executemany` is a loop.

In a transaction the first statement sends BEGIN before it, a round trip of its own.
"""

from urllib.parse import unquote, urlsplit

import pg8000.dbapi

PLACEHOLDER = "%s"


def connect(url, autocommit=True):
    at = urlsplit(url)
    raw = pg8000.dbapi.connect(
        host=at.hostname,
        port=at.port or 5432,
        user=unquote(at.username or ""),
        password=unquote(at.password or ""),
        database=at.path[1:],
    )
    return Connection(raw, autocommit)


class Connection:
    def __init__(self, raw, autocommit):
        self.raw, self.autocommit, self.cursor = raw, autocommit, raw.cursor()
        self.executemany, self.close = self.cursor.executemany, raw.close
        raw.autocommit = autocommit

    def execute(self, sql, parameters=()):
        self.cursor.execute(sql, parameters)
        return self.cursor.fetchall() if self.cursor.description else []

    def begin(self):
        self.raw.autocommit = False

    def commit(self):
        self.raw.commit()
        self.raw.autocommit = self.autocommit

    def rollback(self):
        self.raw.rollback()
        self.raw.autocommit = self.autocommit

    def fileno(self):
        return self.raw._usock.fileno()


def ran(connection):
    return {
        "driver": "pg8000 " + pg8000.__version__,
        "implementation": "Python" if pg8000.dbapi.__file__.endswith(".py") else "C",
        "autocommit": str(connection.raw.autocommit),
    }
