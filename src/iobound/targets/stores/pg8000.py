# /// script
# requires-python = ">=3.11"
# dependencies = ["pg8000>=1.31"]
#
# [tool.iobound]
# kind = "store"
# title = "pg8000"
# service = "postgresql"
# calls = "sync"
# ///
"""pg8000, all in Python, with a pool of connections that wait in a queue; every statement commits by itself."""

import os
from contextlib import contextmanager
from queue import LifoQueue
from urllib.parse import unquote, urlsplit

import pg8000
from pg8000.native import Connection

POINT = "SELECT id, name, quantity FROM item WHERE id = :number"
COLUMNS = ("id", "name", "quantity")


def connect():
    url = urlsplit(os.environ["DATABASE_URL"])
    return Connection(
        unquote(url.username or ""),
        host=url.hostname,
        port=url.port or 5432,
        password=unquote(url.password or ""),
        database=url.path[1:],
    )


def as_dict(row):
    return dict(zip(COLUMNS, row, strict=True))


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
            return as_dict(connection.run(POINT, number=number)[0])

    def list(self):
        with self.connection() as connection:
            return [as_dict(row) for row in connection.run("SELECT id, name, quantity FROM item ORDER BY id")]

    def multi(self, numbers):
        with self.connection() as connection:
            return [as_dict(connection.run(POINT, number=number)[0]) for number in numbers]

    def insert(self, name, quantity):
        with self.connection() as connection:
            connection.run("INSERT INTO entry (name, quantity) VALUES (:name, :quantity)", name=name, quantity=quantity)

    def wait(self, seconds):
        with self.connection() as connection:
            connection.run("SELECT pg_sleep(:seconds)", seconds=seconds)

    def ran(self):
        with self.connection() as connection:
            connection.run("SELECT 1")  # what the connection is in is told with every answer
            return {
                "driver": f"pg8000 {pg8000.__version__}",
                "autocommit": str(connection._transaction_status == b"I"),
                "pool": str(self.size),
            }
