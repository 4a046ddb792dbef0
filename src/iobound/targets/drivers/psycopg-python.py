# /// script
# requires-python = ">=3.8"
# dependencies = ["psycopg[binary]>=3.1"]
#
# [tool.iobound]
# kind = "driver"
# title = "psycopg 3 (Python)"
# service = "postgresql"
# calls = "sync"
# models = ["threads", "gevent", "processes"]
# offers = "sql"
# layer = "driver"
# ///
"""psycopg 3 all in Python, in the text protocol, over the libpq that comes with its C extension.

Values go apart from the statement; `executemany` sends all rows without waiting for each.
Without autocommit the first statement sends BEGIN before it, a round trip of its own.
"""

import ctypes.util
import os
from importlib.metadata import files

os.environ["PSYCOPG_IMPL"] = "python"
# Else it takes the system's libpq, of another version or missing.
[libpq] = [file.locate() for file in files("psycopg-binary") if file.name.startswith("libpq-")]
find_library = ctypes.util.find_library
ctypes.util.find_library = lambda name: str(libpq) if name == "pq" else find_library(name)

import psycopg

PLACEHOLDER = "%s"


def connect(url, autocommit=True):
    return Connection(psycopg.connect(url, autocommit=autocommit))


class Connection:
    def __init__(self, raw):
        self.raw, self.cursor = raw, raw.cursor()
        self.executemany, self.commit, self.rollback = self.cursor.executemany, raw.commit, raw.rollback
        self.close, self.fileno = raw.close, raw.fileno

    def execute(self, sql, parameters=()):
        self.cursor.execute(sql, parameters or None)
        # Cheaper to ask for than its description, which is made anew each time.
        return [] if self.cursor.rownumber is None else self.cursor.fetchall()

    def copy(self, table, columns, rows):
        with self.cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def pipeline(self, statements):
        with self.raw.pipeline():
            for sql, parameters in statements:
                self.cursor.execute(sql, parameters)

    def begin(self):
        self.cursor.execute("BEGIN")


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
