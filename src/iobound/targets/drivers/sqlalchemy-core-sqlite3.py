# /// script
# requires-python = ">=3.8"
# dependencies = ["sqlalchemy>=2.0"]
#
# [tool.iobound]
# kind = "driver"
# title = "SQLAlchemy Core on sqlite3"
# service = "sqlite"
# calls = "sync"
# models = ["threads", "processes"]
# offers = "things"
# layer = "core"
# beneath = "sqlite3"
# ///
"""SQLAlchemy Core on sqlite3: rows with named columns. It begins transactions by itself; nothing is committed."""

import _sqlite3
import sqlite3

import sqlalchemy
from sqlalchemy import Column, Float, Integer, MetaData, String, Table, create_engine, insert, make_url, select
from sqlalchemy.util import has_compiled_ext

metadata = MetaData()
things, points = (
    Table(name, metadata, Column("x", Integer), Column("y", String(255)), Column("z", Float))
    for name in ("test_things", "test_points")
)
KINDS = {"i": Integer, "s": String(255), "f": Float}
columns = [Column(f"{kind}{number}", KINDS[kind]) for kind in KINDS for number in range(10)]
wides = Table("test_wide", metadata, Column("id", Integer, primary_key=True), *columns)


def connect(url):
    connection = create_engine(make_url(url).set(drivername="sqlite+pysqlite")).connect()
    return Things(connection, connection.connection.driver_connection)


class Things:
    def __init__(self, connection, raw):
        self.connection, self.raw = connection, raw

    def begin(self):
        pass  # Its next statement does.

    def insert(self, x, y, z):
        self.connection.execute(insert(things), {"x": x, "y": y, "z": z})

    def select(self):
        return self.connection.execute(select(things)).all()

    def point(self, x):
        return self.connection.execute(select(points).where(points.c.x == x)).one()

    def wide(self):
        return self.connection.execute(select(wides)).all()

    def rollback(self):
        self.connection.rollback()

    def close(self):
        self.connection.close()
        self.connection.engine.dispose()

    def fileno(self):
        return None


def ran(things):
    raw = things.raw
    return {
        "library": "SQLAlchemy " + sqlalchemy.__version__,
        "compiled": str(has_compiled_ext()),
        "driver": "sqlite3 on SQLite " + sqlite3.sqlite_version,
        "implementation": "Python" if getattr(_sqlite3, "__file__", "").endswith(".py") else "C",
        "autocommit": str(raw.isolation_level is None),
    }
