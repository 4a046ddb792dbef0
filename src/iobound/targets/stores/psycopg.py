# /// script
# requires-python = ">=3.11"
# dependencies = ["psycopg[binary]>=3.2", "psycopg-pool>=3.2"]
#
# [tool.iobound]
# kind = "store"
# title = "psycopg 3"
# service = "postgresql"
# calls = "sync"
# twin = "psycopg-async"
# ///
"""psycopg 3 with its pool; every statement commits by itself."""

import os

os.environ["PSYCOPG_IMPL"] = "binary"

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

POINT = "SELECT id, name, quantity FROM item WHERE id = %s"


class Store:
    def open(self):
        size = int(os.environ.get("POOL_SIZE", "10"))
        options = {"autocommit": True, "row_factory": dict_row}
        self.pool = ConnectionPool(os.environ["DATABASE_URL"], min_size=size, max_size=size, kwargs=options, open=True)
        self.pool.wait(timeout=10)

    def close(self):
        self.pool.close()

    def point(self, number):
        with self.pool.connection() as connection:
            return connection.execute(POINT, [number]).fetchone()

    def list(self):
        with self.pool.connection() as connection:
            return connection.execute("SELECT id, name, quantity FROM item ORDER BY id").fetchall()

    def multi(self, numbers):
        with self.pool.connection() as connection:
            return [connection.execute(POINT, [number]).fetchone() for number in numbers]

    def insert(self, name, quantity):
        with self.pool.connection() as connection:
            connection.execute("INSERT INTO entry (name, quantity) VALUES (%s, %s)", [name, quantity])

    def wait(self, seconds):
        with self.pool.connection() as connection:
            connection.execute("SELECT pg_sleep(%s)", [seconds])

    def ran(self):
        with self.pool.connection() as connection:
            return {
                "driver": f"psycopg {psycopg.__version__}",
                "implementation": psycopg.pq.__impl__,
                "autocommit": str(connection.autocommit),
                "protocol": connection.cursor().format.name.lower(),
                "prepared": f"from execution {connection.prepare_threshold} on",
                "pool": str(self.pool.max_size),
            }
