# /// script
# requires-python = ">=3.9"
# dependencies = ["apsw>=3.51"]
#
# [tool.iobound]
# kind = "driver"
# title = "APSW"
# service = "sqlite"
# calls = "sync"
# models = ["threads", "processes"]
# offers = "sql"
# layer = "driver"
# ///
"""APSW: SQLite's own interface in C, with a SQLite of its own version.

It knows no implicit transactions: every statement commits by itself, but between `begin` and `commit`.
"""

import apsw

PLACEHOLDER = "?"


def connect(url, autocommit=True):
    if not autocommit:
        raise ValueError("APSW has no implicit transactions; begin and commit")
    return Connection(apsw.Connection(url[len("sqlite:///") :]))


class Connection:
    def __init__(self, raw):
        self.raw = raw
        self.executemany, self.close = raw.executemany, raw.close
        # What the others do: wait for a lock, and don't flush at every commit, as is usual with a write-ahead log.
        raw.set_busy_timeout(5000)
        raw.execute("PRAGMA synchronous = NORMAL")

    def execute(self, sql, parameters=()):
        return self.raw.execute(sql, parameters).fetchall()

    def begin(self):
        self.raw.execute("BEGIN")

    def commit(self):
        self.raw.execute("COMMIT")

    def rollback(self):
        self.raw.execute("ROLLBACK")

    def fileno(self):
        return None


def ran(connection):
    [[synchronous]] = connection.execute("PRAGMA synchronous")
    return {
        "driver": f"APSW {apsw.apsw_version()} on SQLite {apsw.sqlite_lib_version()}",
        "implementation": "C" if apsw.__file__.endswith(".so") else "Python",
        "synchronous": str(synchronous),
        "autocommit": str(connection.raw.get_autocommit()),
    }
