# /// script
# requires-python = ">=3.11"
# dependencies = []
#
# [tool.iobound]
# kind = "store"
# title = "sqlite3"
# service = "sqlite"
# calls = "sync"
# twin = "aiosqlite"
# ///
"""The standard library's sqlite3 with a pool of connections that wait in a queue; every statement commits by itself."""

import os
import sqlite3
from contextlib import contextmanager
from queue import LifoQueue

POINT = "SELECT id, name, quantity FROM item WHERE id = ?"


def connect():
    path = os.environ["DATABASE_URL"].removeprefix("sqlite:///")
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = NORMAL")  # usual with a write-ahead log: no flush at every commit
    connection.row_factory = sqlite3.Row
    return connection


class Store:
    def open(self):
        self.size = int(os.environ.get("POOL_SIZE", "10"))
        self.idle = LifoQueue()
        for _ in range(self.size):
            self.idle.put(connect())

    def close(self):
        while not self.idle.empty():
            self.idle.get().close()

    @contextmanager
    def connection(self):
        connection = self.idle.get()
        try:
            yield connection
        finally:
            self.idle.put(connection)

    def point(self, number):
        with self.connection() as connection:
            return dict(connection.execute(POINT, [number]).fetchone())

    def list(self):
        with self.connection() as connection:
            return [dict(row) for row in connection.execute("SELECT id, name, quantity FROM item ORDER BY id")]

    def multi(self, numbers):
        with self.connection() as connection:
            return [dict(connection.execute(POINT, [number]).fetchone()) for number in numbers]

    def insert(self, name, quantity):
        with self.connection() as connection:
            connection.execute("INSERT INTO entry (name, quantity) VALUES (?, ?)", [name, quantity])

    def ran(self):
        with self.connection() as connection:
            return {
                "driver": f"SQLite {sqlite3.sqlite_version}",
                "autocommit": str(connection.isolation_level is None),
                "journal": connection.execute("PRAGMA journal_mode").fetchone()[0],
                "synchronous": str(connection.execute("PRAGMA synchronous").fetchone()[0]),
                "pool": str(self.size),
            }
