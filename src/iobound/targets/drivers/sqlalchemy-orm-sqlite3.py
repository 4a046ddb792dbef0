# /// script
# requires-python = ">=3.8"
# dependencies = ["sqlalchemy>=2.0"]
#
# [tool.iobound]
# kind = "driver"
# title = "SQLAlchemy ORM on sqlite3"
# service = "sqlite"
# calls = "sync"
# models = ["threads", "processes"]
# offers = "things"
# layer = "orm"
# beneath = "sqlite3"
# ///
"""SQLAlchemy's ORM on sqlite3: objects in one session. It begins transactions by itself; nothing is committed."""

import _sqlite3
import sqlite3

import sqlalchemy
from sqlalchemy import Column, Float, Integer, String, Table, create_engine, make_url, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.util import has_compiled_ext


class Base(DeclarativeBase):
    pass


class Columns:
    x: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    y: Mapped[str] = mapped_column(String(255))
    z: Mapped[float]


class Thing(Columns, Base):
    __tablename__ = "test_things"


class Point(Columns, Base):
    __tablename__ = "test_points"


KINDS = {"i": Integer, "s": String(255), "f": Float}
columns = [Column(f"{kind}{number}", KINDS[kind]) for kind in KINDS for number in range(10)]


class Wide(Base):
    __table__ = Table("test_wide", Base.metadata, Column("id", Integer, primary_key=True), *columns)


def connect(url):
    connection = create_engine(make_url(url).set(drivername="sqlite+pysqlite")).connect()
    return Things(connection, connection.connection.driver_connection)


class Things:
    def __init__(self, connection, raw):
        self.connection, self.raw = connection, raw
        self.session = Session(connection)

    def begin(self):
        pass  # Its next statement does.

    def insert(self, x, y, z):
        self.session.add(Thing(x=x, y=y, z=z))
        self.session.flush()

    def select(self):
        return self.session.scalars(select(Thing)).all()

    def point(self, x):
        return self.session.scalars(select(Point).where(Point.x == x)).one()

    def wide(self):
        return self.session.scalars(select(Wide)).all()

    def rollback(self):
        self.session.rollback()

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
