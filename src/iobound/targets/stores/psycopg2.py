# /// script
# requires-python = ">=3.11"
# dependencies = ["psycopg2-binary>=2.9", "psycogreen>=1", "gevent>=24"]
#
# [tool.iobound]
# kind = "store"
# title = "psycopg2"
# service = "postgresql"
# calls = "sync"
# twin = "aiopg"
# ///
"""psycopg2 with a pool of connections that wait in a queue; every statement commits by itself. Under gevent with psycogreen."""

import os
from contextlib import contextmanager
from queue import LifoQueue

import psycopg2
from gevent import monkey
from psycogreen.gevent import patch_psycopg
from psycopg2.extras import RealDictCursor

POINT = "SELECT id, name, quantity FROM item WHERE id = %s"


def connect():
    connection = psycopg2.connect(os.environ["DATABASE_URL"], cursor_factory=RealDictCursor)
    connection.autocommit = True
    return connection


class Store:
    def open(self):
        # libpq waits in C, where gevent can't switch, unless it is told to wait elsewhere.
        if monkey.is_module_patched("socket"):
            patch_psycopg()
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
            cursor.execute("SELECT pg_sleep(%s)", [seconds])

    def ran(self):
        with self.cursor() as cursor:
            return {
                "driver": f"psycopg2 {psycopg2.__version__}",
                "waits_in": "psycogreen" if psycopg2.extensions.get_wait_callback() else "libpq",
                "autocommit": str(cursor.connection.autocommit),
                "pool": str(self.size),
            }
