# /// script
# requires-python = ">=2.7"
# dependencies = ["psycopg2-binary>=2.8"]
#
# [tool.iobound]
# kind = "driver"
# title = "psycopg2"
# service = "postgresql"
# calls = "sync"
# models = ["threads", "gevent", "processes"]
# offers = "sql"
# layer = "driver"
# ///
"""psycopg2: libpq in C, text protocol, values written into the statement by the client; `executemany` is a loop.

In a transaction the first statement sends BEGIN before it, a round trip of its own. gevent needs psycogreen's wait callback.
"""

import io

import psycopg2
from psycopg2.extensions import get_wait_callback, libpq_version

PLACEHOLDER = "%s"


def connect(url, autocommit=True):
    return Connection(psycopg2.connect(url), autocommit)


class Connection:
    def __init__(self, raw, autocommit):
        self.raw, self.autocommit, self.cursor = raw, autocommit, raw.cursor()
        self.executemany, self.close, self.fileno = self.cursor.executemany, raw.close, raw.fileno
        raw.autocommit = autocommit

    def execute(self, sql, parameters=()):
        self.cursor.execute(sql, parameters or None)
        return self.cursor.fetchall() if self.cursor.description else []

    def copy(self, table, columns, rows):
        # Numbers, or text without tabs, backslashes and line ends.
        text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
        self.cursor.copy_expert("COPY {} ({}) FROM STDIN".format(table, ", ".join(columns)), io.BytesIO(text.encode("utf-8")))

    def begin(self):
        self.raw.autocommit = False

    def commit(self):
        self.raw.commit()
        self.raw.autocommit = self.autocommit

    def rollback(self):
        self.raw.rollback()
        self.raw.autocommit = self.autocommit


def ran(connection):
    waits_in = get_wait_callback()
    return {
        "driver": "psycopg2 " + psycopg2.__version__.split()[0],
        "implementation": "C" if psycopg2._psycopg.__file__.endswith(".so") else "Python",
        "libpq": str(libpq_version()),
        "waits_in": waits_in.__module__ if waits_in else "libpq",
        "autocommit": str(connection.raw.autocommit),
    }
