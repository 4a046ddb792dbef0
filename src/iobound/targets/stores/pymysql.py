# /// script
# requires-python = ">=3.11"
# dependencies = ["pymysql>=1.1"]
#
# [tool.iobound]
# kind = "store"
# title = "PyMySQL"
# service = "mariadb"
# calls = "sync"
# twin = "aiomysql"
# ///
"""PyMySQL with a pool of connections that wait in a queue; every statement commits by itself."""

import os
from contextlib import contextmanager
from queue import LifoQueue
from urllib.parse import unquote, urlsplit

import pymysql
from pymysql.cursors import DictCursor

POINT = "SELECT id, name, quantity FROM item WHERE id = %s"


def connect():
    url = urlsplit(os.environ["DATABASE_URL"])
    return pymysql.connect(
        host=url.hostname,
        port=url.port or 3306,
        user=unquote(url.username or ""),
        password=unquote(url.password or ""),
        database=url.path[1:],
        charset="utf8mb4",
        autocommit=True,
        cursorclass=DictCursor,
    )


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
    def cursor(self):
        connection = self.idle.get()
        try:
            with connection.cursor() as cursor:
                yield cursor
        finally:
            self.idle.put(connection)

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

    def ran(self):
        with self.cursor() as cursor:
            return {
                "driver": f"PyMySQL {pymysql.VERSION_STRING}",
                "autocommit": str(bool(cursor.connection.get_autocommit())),
                "pool": str(self.size),
            }
