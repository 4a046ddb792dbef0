# /// script
# requires-python = ">=2.7"
# dependencies = []
#
# [tool.iobound]
# kind = "driver"
# title = "sqlite3"
# service = "sqlite"
# calls = "sync"
# models = ["threads", "processes"]
# offers = "sql"
# layer = "driver"
# ///
"""sqlite3 of the standard library: the database is in the process, so there is nothing to wait for but the disk and locks.

Without autocommit it begins a transaction before what changes rows.
"""

import _sqlite3
import sqlite3

PLACEHOLDER = "?"


def connect(url, autocommit=True):
    return Connection(sqlite3.connect(url[len("sqlite:///") :], isolation_level=None if autocommit else ""))


class Connection:
    def __init__(self, raw):
        self.raw = raw
        self.executemany, self.commit, self.rollback, self.close = raw.executemany, raw.commit, raw.rollback, raw.close
        # Usual with a write-ahead log: no flush at every commit.
        raw.execute("PRAGMA synchronous = NORMAL")

    def execute(self, sql, parameters=()):
        return self.raw.execute(sql, parameters).fetchall()

    def begin(self):
        self.raw.execute("BEGIN")

    def fileno(self):
        return None


def ran(connection):
    [[synchronous]] = connection.execute("PRAGMA synchronous")
    return {
        "driver": "sqlite3 on SQLite " + sqlite3.sqlite_version,
        "implementation": "Python" if getattr(_sqlite3, "__file__", "").endswith((".py", ".pyc")) else "C",
        "synchronous": str(synchronous),
        "autocommit": str(connection.raw.isolation_level is None),
    }
