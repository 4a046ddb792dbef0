# /// script
# requires-python = ">=3.11"
# dependencies = ["sqlalchemy>=2.0", "psycopg[binary]>=3.2"]
#
# [tool.iobound]
# kind = "store"
# title = "SQLAlchemy Core on psycopg 3"
# service = "postgresql"
# calls = "sync"
# ///
"""SQLAlchemy's Core, without its ORM, on psycopg 3: a connection, and with it a transaction, for every request."""

import os

os.environ["PSYCOPG_IMPL"] = "binary"

import psycopg
import sqlalchemy
from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine, func, insert, make_url, select

tables = MetaData()
item, entry = (
    Table(name, tables, Column("id", Integer, primary_key=True), Column("name", String), Column("quantity", Integer))
    for name in ("item", "entry")
)


class Store:
    def open(self):
        url = make_url(os.environ["DATABASE_URL"]).set(drivername="postgresql+psycopg")
        self.engine = create_engine(url, pool_size=int(os.environ.get("POOL_SIZE", "10")), max_overflow=0)

    def close(self):
        self.engine.dispose()

    def point(self, number):
        with self.engine.connect() as connection:
            return dict(connection.execute(select(item).where(item.c.id == number)).mappings().one())

    def list(self):
        with self.engine.connect() as connection:
            return [dict(row) for row in connection.execute(select(item).order_by(item.c.id)).mappings()]

    def multi(self, numbers):
        with self.engine.connect() as connection:
            found = (connection.execute(select(item).where(item.c.id == number)) for number in numbers)
            return [dict(rows.mappings().one()) for rows in found]

    def insert(self, name, quantity):
        with self.engine.begin() as connection:
            connection.execute(insert(entry).values(name=name, quantity=quantity))

    def wait(self, seconds):
        with self.engine.connect() as connection:
            connection.execute(select(func.pg_sleep(seconds)))

    def ran(self):
        with self.engine.connect() as connection:
            driver = connection.connection.driver_connection
            return {
                "toolkit": f"SQLAlchemy {sqlalchemy.__version__}",
                "driver": f"psycopg {psycopg.__version__}",
                "implementation": psycopg.pq.__impl__,
                "autocommit": str(driver.autocommit),
                "pool": str(self.engine.pool.size()),
            }
