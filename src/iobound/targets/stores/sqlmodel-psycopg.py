# /// script
# requires-python = ">=3.11"
# dependencies = ["sqlmodel>=0.0.22", "sqlalchemy>=2.0", "psycopg[binary]>=3.2"]
#
# [tool.iobound]
# kind = "store"
# title = "SQLModel on psycopg 3"
# service = "postgresql"
# calls = "sync"
# ///
"""SQLModel, SQLAlchemy's ORM with Pydantic's models, on psycopg 3: a session, and with it a transaction, for every request."""

import os

os.environ["PSYCOPG_IMPL"] = "binary"

import psycopg
import sqlmodel
from sqlalchemy import make_url
from sqlmodel import Field, Session, SQLModel, create_engine, func, select


class Item(SQLModel, table=True):
    id: int = Field(primary_key=True)
    name: str
    quantity: int

    def as_dict(self):
        return {"id": self.id, "name": self.name, "quantity": self.quantity}


class Entry(SQLModel, table=True):
    id: int | None = Field(default=None, primary_key=True)
    name: str
    quantity: int


class Store:
    def open(self):
        url = make_url(os.environ["DATABASE_URL"]).set(drivername="postgresql+psycopg")
        self.engine = create_engine(url, pool_size=int(os.environ.get("POOL_SIZE", "10")), max_overflow=0)

    def close(self):
        self.engine.dispose()

    def point(self, number):
        with Session(self.engine) as session:
            return session.exec(select(Item).where(Item.id == number)).one().as_dict()

    def list(self):
        with Session(self.engine) as session:
            return [item.as_dict() for item in session.exec(select(Item).order_by(Item.id))]

    def multi(self, numbers):
        with Session(self.engine) as session:
            return [session.exec(select(Item).where(Item.id == number)).one().as_dict() for number in numbers]

    def insert(self, name, quantity):
        with Session(self.engine) as session:
            session.add(Entry(name=name, quantity=quantity))
            session.commit()

    def wait(self, seconds):
        with Session(self.engine) as session:
            session.exec(select(func.pg_sleep(seconds)))

    def ran(self):
        with self.engine.connect() as connection:
            driver = connection.connection.driver_connection
            return {
                "orm": f"SQLModel {sqlmodel.__version__}",
                "driver": f"psycopg {psycopg.__version__}",
                "implementation": psycopg.pq.__impl__,
                "autocommit": str(driver.autocommit),
                "pool": str(self.engine.pool.size()),
            }
