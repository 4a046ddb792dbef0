# /// script
# requires-python = ">=3.11"
# dependencies = ["mysql-connector-python>=9,<10"]
#
# [tool.iobound]
# kind = "store"
# title = "mysql-connector-python, in C"
# service = "mariadb"
# calls = "sync"
# refuses = { gevent = "its extension waits in C, where gevent can't switch: one query would stop all others" }
# ///
"""MySQL's own driver with its extension in C and a pool of connections that wait in a queue; every statement commits by itself.

Later versions' extension needs OpenSSL 3.2, which today's Debian hasn't got.
"""

import os
from contextlib import contextmanager
from queue import LifoQueue
from urllib.parse import unquote, urlsplit

import mysql.connector

POINT = "SELECT id, name, quantity FROM item WHERE id = %s"


def connect():
    url = urlsplit(os.environ["DATABASE_URL"])
    return mysql.connector.connect(
        host=url.hostname,
        port=url.port or 3306,
        user=unquote(url.username or ""),
        password=unquote(url.password or ""),
        database=url.path[1:],
        charset="utf8mb4",
        collation="utf8mb4_general_ci",  # its default is one that MariaDB doesn't know
        autocommit=True,
        ssl_disabled=True,
        use_pure=False,
    )


class Store:
    def open(self):
        self.size = int(os.environ.get("POOL_SIZE", "10"))
        # Its own pool raises where it is empty instead of waiting.
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

    @contextmanager
    def cursor(self):
        with self.connection() as connection, connection.cursor(dictionary=True) as cursor:
            yield cursor

    def point(self, number):
        with self.cursor() as cursor:
            cursor.execute(POINT, [number])
            return cursor.fetchone()

    def list(self):
        with self.cursor() as cursor:
            cursor.execute("SELECT id, name, quantity FROM item ORDER BY id")
            return cursor.fetchall()

    def multi(self, numbers):
        rows = []
        with self.cursor() as cursor:
            for number in numbers:
                cursor.execute(POINT, [number])
                rows.append(cursor.fetchone())
        return rows

    def insert(self, name, quantity):
        with self.cursor() as cursor:
            cursor.execute("INSERT INTO entry (name, quantity) VALUES (%s, %s)", [name, quantity])

    def wait(self, seconds):
        with self.cursor() as cursor:
            cursor.execute("SELECT SLEEP(%s)", [seconds])
            cursor.fetchall()

    def ran(self):
        with self.connection() as connection:
            return {
                "driver": f"mysql-connector {mysql.connector.__version__}",
                "implementation": type(connection).__name__,
                "autocommit": str(connection.autocommit),
                "pool": str(self.size),
            }
