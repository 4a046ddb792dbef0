# /// script
# requires-python = ">=3.11"
# dependencies = ["peewee>=4", "psycopg[binary]>=3.2"]
#
# [tool.iobound]
# kind = "store"
# title = "Peewee on psycopg 3"
# service = "postgresql"
# calls = "sync"
# ///
"""Peewee on psycopg 3 with its pool; every statement commits by itself."""

import os

os.environ["PSYCOPG_IMPL"] = "binary"

import peewee
import psycopg
from peewee import AutoField, CharField, IntegerField, Model
from playhouse.pool import PooledPostgresqlDatabase


class Database(PooledPostgresqlDatabase):
    def _is_closed(self, connection):
        return connection.closed  # asked of the server by default, with a SELECT before every request


size = int(os.environ.get("POOL_SIZE", "10"))
database = Database(os.environ["DATABASE_URL"], max_connections=size, timeout=0, prefer_psycopg3=True)


class Base(Model):
    id = AutoField()
    name = CharField(max_length=64)
    quantity = IntegerField()

    class Meta:
        database = database

    def as_dict(self):
        return {"id": self.id, "name": self.name, "quantity": self.quantity}


class Item(Base):
    pass


class Entry(Base):
    pass


class Store:
    def open(self):
        pass

    def close(self):
        database.close_all()

    def point(self, number):
        with database.connection_context():
            return Item.get_by_id(number).as_dict()

    def list(self):
        with database.connection_context():
            return [item.as_dict() for item in Item.select().order_by(Item.id)]

    def multi(self, numbers):
        with database.connection_context():
            return [Item.get_by_id(number).as_dict() for number in numbers]

    def insert(self, name, quantity):
        with database.connection_context():
            Entry.create(name=name, quantity=quantity)

    def wait(self, seconds):
        with database.connection_context():
            database.execute_sql("SELECT pg_sleep(%s)", [seconds])

    def ran(self):
        with database.connection_context():
            driver = database.connection()
            return {
                "orm": f"Peewee {peewee.__version__}",
                "driver": f"{type(driver).__module__} {psycopg.__version__}",
                "implementation": psycopg.pq.__impl__,
                "autocommit": str(driver.autocommit),
                "pool": str(database._max_connections),
            }
