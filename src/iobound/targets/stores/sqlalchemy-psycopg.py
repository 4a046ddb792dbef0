# /// script
# requires-python = ">=3.11"
# dependencies = ["sqlalchemy>=2.0", "psycopg[binary]>=3.2"]
#
# [tool.iobound]
# kind = "store"
# title = "SQLAlchemy ORM on psycopg 3"
# service = "postgresql"
# calls = "sync"
# knobs = ["SESSION_FACTORY", "RESET_ON_RELEASE", "AUTOCOMMIT"]
# twin = "sqlalchemy-psycopg-async"
# ///
"""SQLAlchemy's ORM on psycopg 3: a session, and with it a transaction, for every request."""

import os

os.environ["PSYCOPG_IMPL"] = "binary"

import psycopg
import sqlalchemy
from sqlalchemy import create_engine, func, make_url, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker


class Base(DeclarativeBase):
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    quantity: Mapped[int]

    def as_dict(self):
        return {"id": self.id, "name": self.name, "quantity": self.quantity}


class Item(Base):
    __tablename__ = "item"


class Entry(Base):
    __tablename__ = "entry"


class Store:
    def open(self):
        url = make_url(os.environ["DATABASE_URL"]).set(drivername="postgresql+psycopg")
        options = {"pool_size": int(os.environ.get("POOL_SIZE", "10")), "max_overflow": 0}
        if os.environ.get("RESET_ON_RELEASE") == "0":
            options["pool_reset_on_return"] = None
        if os.environ.get("AUTOCOMMIT") == "1":
            options["isolation_level"] = "AUTOCOMMIT"
        self.engine = create_engine(url, **options)

    def session(self):
        if os.environ.get("SESSION_FACTORY") == "each":
            return sessionmaker(self.engine)()
        return Session(self.engine)

    def close(self):
        self.engine.dispose()

    def point(self, number):
        with self.session() as session:
            return session.scalars(select(Item).where(Item.id == number)).one().as_dict()

    def list(self):
        with self.session() as session:
            return [item.as_dict() for item in session.scalars(select(Item).order_by(Item.id))]

    def multi(self, numbers):
        with self.session() as session:
            return [session.scalars(select(Item).where(Item.id == number)).one().as_dict() for number in numbers]

    def insert(self, name, quantity):
        with self.session() as session, session.begin():
            session.add(Entry(name=name, quantity=quantity))

    def wait(self, seconds):
        with self.session() as session:
            session.execute(select(func.pg_sleep(seconds)))

    def ran(self):
        with self.engine.connect() as connection:
            driver = connection.connection.driver_connection
            return {
                "orm": f"SQLAlchemy {sqlalchemy.__version__}",
                "driver": f"psycopg {psycopg.__version__}",
                "implementation": psycopg.pq.__impl__,
                "autocommit": str(driver.autocommit),
                "pool": str(self.engine.pool.size()),
            }
