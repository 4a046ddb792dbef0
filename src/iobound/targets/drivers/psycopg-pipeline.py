# /// script
# requires-python = ">=3.7"
# dependencies = ["psycopg[binary]>=3.1"]
#
# [tool.iobound]
# kind = "driver"
# title = "psycopg 3 (C, pipeline)"
# service = "postgresql"
# calls = "sync"
# models = ["threads", "gevent", "processes"]
# offers = "sql"
# layer = "driver"
# ///
"""psycopg 3 with its C extension, in pipeline mode from `begin` to `commit`: what changes rows is sent and not waited for.

Its errors come from the next SELECT or the commit. Elsewhere it is psycopg as usual.
"""

import os
from contextlib import ExitStack, nullcontext

os.environ["PSYCOPG_IMPL"] = "binary"

import psycopg

PLACEHOLDER = "%s"


def connect(url, autocommit=True):
    return Connection(psycopg.connect(url, autocommit=autocommit))


class Connection:
    def __init__(self, raw):
        self.raw, self.cursor = raw, raw.cursor()
        self.executemany, self.close, self.fileno = self.cursor.executemany, raw.close, raw.fileno
        self.sending = None

    def execute(self, sql, parameters=()):
        if self.sending:
            answer = self.raw.execute(sql, parameters or None)
            return answer.fetchall() if sql.startswith("SELECT") else []
        self.cursor.execute(sql, parameters or None)
        return [] if self.cursor.rownumber is None else self.cursor.fetchall()

    def begin(self):
        self.sending = ExitStack()
        self.sending.enter_context(self.raw.pipeline())
        self.cursor.execute("BEGIN")

    def commit(self):
        self._end("COMMIT")

    def rollback(self):
        self._end("ROLLBACK")

    def _end(self, sql):
        sending, self.sending = self.sending or nullcontext(), None
        with sending:
            self.cursor.execute(sql)


def ran(connection):
    return {
        "driver": "psycopg " + psycopg.__version__,
        "implementation": "Python" if psycopg.pq.__impl__ == "python" else "C",
        "libpq": str(psycopg.pq.version()),
        "protocol": connection.cursor.format.name.lower(),
        "prepared": f"from execution {connection.raw.prepare_threshold} on",
        "waits_in": psycopg.waiting.wait.__name__,
        "autocommit": str(connection.raw.autocommit),
    }
