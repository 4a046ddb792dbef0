"""What programs do against races, by the means of each stack; some of it in vain."""

import asyncio
import os
from contextlib import closing
from functools import cache
from typing import ClassVar

import asyncpg
import psycopg
from counter import nothing_lost, reset
from django.db.models import F
from django_database import models, on_database
from django_database import transaction as django_transaction
from plain import transaction
from sqlalchemy import create_engine, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.orm.exc import StaleDataError
from sqlalchemy.pool import QueuePool

from iobound import race

ASYNC_LOCK = asyncio.Lock()


@cache
def engine(url):
    return create_engine(url, poolclass=QueuePool, pool_size=3)


def session():
    return Session(engine("postgresql+psycopg" + os.environ["DATABASE_URL"].partition(":")[2].join([":", ""])))


def connected(**options):
    return closing(psycopg.connect(os.environ["DATABASE_URL"], **options))


# --- SQLAlchemy's ORM --------------------------------------------------------------------------------------------------


class Base(DeclarativeBase):
    pass


class Counter(Base):
    __tablename__ = "counter"
    id: Mapped[int] = mapped_column(primary_key=True)
    v: Mapped[int]


class Document(Base):
    __tablename__ = "document"
    id: Mapped[int] = mapped_column(primary_key=True)
    v: Mapped[int]
    version: Mapped[int] = mapped_column()
    __mapper_args__: ClassVar = {"version_id_col": version}


def reset_document(db):
    db.execute("DROP TABLE IF EXISTS document")
    db.execute("CREATE TABLE document (id integer PRIMARY KEY, v integer NOT NULL, version integer NOT NULL)")
    db.execute("INSERT INTO document VALUES (1, 0, 1)")


def nothing_of_it_lost(db, execution):
    return db.scalar("SELECT v FROM document") == sum(one.ending == "committed" for one in execution.outcomes)


@race.case(setup=reset_document, invariant=nothing_of_it_lost)
def orm_version_column():
    with session() as orm, orm.begin():
        orm.get(Document, 1).v += 1


@race.case(setup=reset_document, invariant=lambda db: db.scalar("SELECT v = 2 FROM document"))
def orm_version_column_retried():
    for _ in range(3):
        try:
            with session() as orm, orm.begin():
                orm.get(Document, 1).v += 1
            return
        except StaleDataError:
            continue
    raise TimeoutError("given up")


@race.case(setup=reset, invariant=nothing_lost)
def orm_locked_too_late():
    """Lock an object that the session has already: its attributes aren't read anew."""
    with session() as orm, orm.begin():
        counter = orm.get(Counter, 1)
        orm.scalars(select(Counter).where(Counter.id == 1).with_for_update()).one()
        counter.v += 1


@race.case(setup=reset, invariant=nothing_lost)
def orm_locked_and_populated():
    with session() as orm, orm.begin():
        counter = orm.get(Counter, 1)
        orm.get(Counter, 1, with_for_update=True, populate_existing=True)
        counter.v += 1


@race.case(setup=reset, invariant=nothing_lost)
def orm_expression():
    with session() as orm, orm.begin():
        orm.execute(update(Counter).where(Counter.id == 1).values(v=Counter.v + 1))


def reset_tags(db):
    db.execute("DROP TABLE IF EXISTS tag")
    db.execute("CREATE TABLE tag (name text PRIMARY KEY)")


def one_tag_and_no_error(db, execution):
    return db.scalar("SELECT count(*) = 1 FROM tag") and all(one.exception is None for one in execution.outcomes)


class Tag(Base):
    __tablename__ = "tag"
    name: Mapped[str] = mapped_column(primary_key=True)


@race.case(setup=reset_tags, invariant=one_tag_and_no_error)
def orm_get_or_create_in_a_savepoint():
    with session() as orm, orm.begin():
        if orm.get(Tag, "new") is None:
            try:
                with orm.begin_nested():
                    orm.add(Tag(name="new"))
            except IntegrityError:
                orm.get(Tag, "new")


@race.case(setup=reset_tags, invariant=one_tag_and_no_error)
def insert_if_not_exists():
    """Test and insert in one statement, which isn't atomic: the unique key is violated."""
    with transaction() as sql:
        sql("INSERT INTO tag SELECT 'new' WHERE NOT EXISTS (SELECT FROM tag WHERE name = 'new')")


@race.case(setup=reset_tags, invariant=one_tag_and_no_error)
def insert_on_conflict_do_nothing():
    with transaction() as sql:
        sql("INSERT INTO tag VALUES ('new') ON CONFLICT DO NOTHING")


def found(db, execution):
    return all(outcome.returned == "new" for outcome in execution.outcomes)


@race.case(setup=reset_tags, invariant=found)
def nothing_returned_by_do_nothing():
    """A row that was there already isn't returned, though the conflict says that it's there."""
    with transaction() as sql:
        rows = sql("INSERT INTO tag VALUES ('new') ON CONFLICT DO NOTHING RETURNING name")
        rows = rows or sql("SELECT name FROM tag WHERE name = 'new'")
        return rows[0][0] if rows else None


# --- Django -----------------------------------------------------------------------------------------------------------


class Stock(models.Model):
    v = models.IntegerField()

    class Meta:
        app_label = "variants_stacks"
        db_table = "counter"


@race.case(setup=reset, invariant=nothing_lost)
def django_expression():
    with on_database():
        Stock.objects.filter(id=1).update(v=F("v") + 1)


@race.case(setup=reset, invariant=nothing_lost)
def django_locked_and_refreshed():
    with on_database(), django_transaction.atomic():
        stock = Stock.objects.get(id=1)
        Stock.objects.select_for_update().get(id=1)
        stock.refresh_from_db()
        stock.v += 1
        stock.save()


@race.case(setup=reset, invariant=nothing_lost)
def django_locked_and_not_refreshed():
    with on_database(), django_transaction.atomic():
        stock = Stock.objects.get(id=1)
        Stock.objects.select_for_update().get(id=1)
        stock.v += 1
        stock.save()


@race.case(setup=reset, invariant=nothing_lost)
def django_evaluated_too_late():
    """A query set that is never evaluated locks nothing."""
    with on_database(), django_transaction.atomic():
        Stock.objects.select_for_update().filter(id=1)
        stock = Stock.objects.get(id=1)
        stock.v += 1
        stock.save()


# --- asyncpg and asyncio ----------------------------------------------------------------------------------------------


async def asyncpg_bump(connection, lock=""):
    value = await connection.fetchval(f"SELECT v FROM counter WHERE id = 1 {lock}")
    await connection.execute("UPDATE counter SET v = $1 WHERE id = 1", value + 1)


@race.case(setup=reset, invariant=nothing_lost, model="asyncio")
async def asyncio_lock():
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    async with ASYNC_LOCK, connection.transaction():
        await asyncpg_bump(connection)
    await connection.close()


@race.case(setup=reset, invariant=nothing_lost, model="asyncio")
async def asyncio_lock_inside_the_transaction():
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    async with connection.transaction(), ASYNC_LOCK:
        await asyncpg_bump(connection)
    await connection.close()


@race.case(setup=reset, invariant=nothing_lost, model="asyncio")
async def asyncpg_savepoint_locked():
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    async with connection.transaction(), connection.transaction():
        await asyncpg_bump(connection, "FOR UPDATE")
    await connection.close()


@race.case(setup=reset, invariant=nothing_lost, model="asyncio")
async def asyncpg_serializable_retried():
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    while True:
        try:
            async with connection.transaction(isolation="serializable"):
                await asyncpg_bump(connection)
            break
        except asyncpg.SerializationError:
            continue
    await connection.close()


@race.case(setup=reset, invariant=nothing_lost, model="asyncio")
async def asyncpg_prepared_cursor():
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    async with connection.transaction():
        statement = await connection.prepare("SELECT v FROM counter WHERE id = $1")
        async for row in statement.cursor(1):
            value = row["v"]
        await connection.execute("UPDATE counter SET v = $1 WHERE id = 1", value + 1)
    await connection.close()


@race.case(setup=reset, invariant=nothing_lost, model="asyncio")
async def psycopg_async_pipeline():
    async with await psycopg.AsyncConnection.connect(os.environ["DATABASE_URL"]) as connection, connection.pipeline():
        cursor = await connection.execute("SELECT v FROM counter WHERE id = 1")
        ((value,),) = await cursor.fetchall()
        await connection.execute("UPDATE counter SET v = %s WHERE id = 1", [value + 1])


# --- in the database --------------------------------------------------------------------------------------------------


@race.case(setup=reset, invariant=nothing_lost)
def cte_with_returning():
    with transaction() as sql:
        sql("WITH one AS (UPDATE counter SET v = v + 1 WHERE id = 1 RETURNING v) SELECT v FROM one")


@race.case(setup=reset, invariant=nothing_lost)
def cte_that_reads_first():
    with transaction() as sql:
        sql("WITH seen AS MATERIALIZED (SELECT v FROM counter WHERE id = 1) UPDATE counter SET v = seen.v + 1 FROM seen")


def reset_seats(db):
    db.execute("DROP TABLE IF EXISTS booking, flight")
    db.execute("CREATE TABLE flight (id integer PRIMARY KEY, free integer NOT NULL)")
    db.execute("INSERT INTO flight VALUES (1, 1)")
    db.execute("CREATE TABLE booking (flight integer REFERENCES flight, passenger integer)")


def reset_seats_counted(db):
    reset_seats(db)
    db.execute("""
        CREATE OR REPLACE FUNCTION take_seat() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF (SELECT free FROM flight WHERE id = NEW.flight) < 1 THEN RAISE EXCEPTION 'full'; END IF;
            UPDATE flight SET free = free - 1 WHERE id = NEW.flight;
            RETURN NEW;
        END $$""")
    db.execute("CREATE TRIGGER seat BEFORE INSERT ON booking FOR EACH ROW EXECUTE FUNCTION take_seat()")


def not_overbooked(db):
    return db.scalar("SELECT free >= 0 FROM flight")


@race.case(sessions=[(1,), (2,), (3,)], setup=reset_seats_counted, invariant=not_overbooked)
def checked_by_a_trigger(passenger):
    with transaction() as sql:
        sql("INSERT INTO booking VALUES (1, %s)", passenger)


@race.case(sessions=[(1,), (2,), (3,)], setup=reset_seats, invariant=not_overbooked)
def guarded_update_of_three(passenger):
    with transaction() as sql:
        if sql("UPDATE flight SET free = free - 1 WHERE id = 1 AND free > 0") == 1:
            sql("INSERT INTO booking VALUES (1, %s)", passenger)


def both_committed(db, execution):
    return all(outcome.ending == "committed" for outcome in execution.outcomes)


@race.case(sessions=[(1,), (2,)], setup=reset_seats, invariant=both_committed)
def foreign_key_upgraded(passenger):
    """The key share lock of the child's row lets both in, the parent's update then waits for the other one: a deadlock."""
    with transaction() as sql:
        sql("INSERT INTO booking VALUES (1, %s)", passenger)
        sql("SELECT free FROM flight WHERE id = 1 FOR UPDATE")


@race.case(sessions=[(1,), (2,)], setup=reset_seats, invariant=both_committed)
def foreign_key_not_upgraded(passenger):
    """FOR NO KEY UPDATE goes with the key share locks of children."""
    with transaction() as sql:
        sql("INSERT INTO booking VALUES (1, %s)", passenger)
        sql("SELECT free FROM flight WHERE id = 1 FOR NO KEY UPDATE")


def reset_gap(db):
    db.execute("DROP TABLE IF EXISTS slot")
    db.execute("CREATE TABLE slot (id integer PRIMARY KEY)")
    db.execute("INSERT INTO slot VALUES (1), (100)")


@race.case(sessions=[(40,), (50,)], setup=reset_gap, invariant=both_committed)
def gap_lock(number):
    """InnoDB lets both lock the gap at REPEATABLE READ, and neither insert into it."""
    with transaction() as sql:
        if not sql("SELECT id FROM slot WHERE id = %s FOR UPDATE", number):
            sql("INSERT INTO slot VALUES (%s)", number)


@race.case(setup=reset, invariant=nothing_lost, model="processes")
def advisory_lock_of_processes():
    with connected(autocommit=True) as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('counter'))")
        ((value,),) = connection.execute("SELECT v FROM counter WHERE id = 1").fetchall()
        connection.execute("UPDATE counter SET v = %s WHERE id = 1", [value + 1])


@race.case(setup=reset, invariant=nothing_lost)
def try_lock_ignored():
    """Ask for the lock, and go on without it."""
    with transaction() as sql:
        sql("SELECT pg_try_advisory_xact_lock(1)")
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


@race.case(setup=reset, invariant=nothing_lost)
def try_lock_heeded():
    with transaction() as sql:
        if not sql("SELECT pg_try_advisory_xact_lock(1)")[0][0]:
            raise TimeoutError("somebody else is at it")
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


@race.case(setup=reset, invariant=nothing_lost)
def named_lock_that_timed_out():
    """GET_LOCK returns 0 when it waits in vain, and nobody looks."""
    with transaction() as sql:
        sql("SELECT GET_LOCK('counter', 0)")
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


# --- SQLite -----------------------------------------------------------------------------------------------------------


def sqlite_bump(begin):
    with transaction(begin) as sql:
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


@race.case(setup=reset, invariant=nothing_lost)
def sqlite_deferred():
    sqlite_bump("BEGIN DEFERRED")


@race.case(setup=reset, invariant=both_committed)
def sqlite_deferred_must_commit():
    sqlite_bump("BEGIN DEFERRED")


@race.case(setup=reset, invariant=both_committed)
def sqlite_immediate_must_commit():
    sqlite_bump("BEGIN IMMEDIATE")


PG_BROKEN = {"postgresql": {"read committed": "violated"}}
PG_HOLDS = {"postgresql": {"read committed": "holds"}}
SQLITE_HOLDS = {"sqlite": {None: "holds"}}
EXPECTED = {
    orm_version_column: PG_HOLDS,
    orm_version_column_retried: PG_HOLDS,
    orm_locked_too_late: PG_BROKEN,
    orm_locked_and_populated: PG_HOLDS,
    orm_expression: PG_HOLDS,
    orm_get_or_create_in_a_savepoint: PG_HOLDS,
    insert_if_not_exists: PG_BROKEN,
    insert_on_conflict_do_nothing: PG_HOLDS,
    nothing_returned_by_do_nothing: PG_HOLDS,
    django_expression: PG_HOLDS,
    django_locked_and_refreshed: PG_HOLDS,
    django_locked_and_not_refreshed: PG_BROKEN,
    django_evaluated_too_late: PG_BROKEN,
    asyncio_lock: PG_HOLDS,
    asyncio_lock_inside_the_transaction: PG_BROKEN,
    asyncpg_savepoint_locked: PG_HOLDS,
    asyncpg_serializable_retried: PG_HOLDS,
    asyncpg_prepared_cursor: PG_BROKEN,
    psycopg_async_pipeline: PG_BROKEN,
    cte_with_returning: PG_HOLDS,
    cte_that_reads_first: PG_BROKEN,
    checked_by_a_trigger: PG_BROKEN,
    guarded_update_of_three: PG_HOLDS,
    foreign_key_upgraded: PG_BROKEN,
    foreign_key_not_upgraded: PG_HOLDS,
    gap_lock: {"mariadb off": {"repeatable read": "violated", "read committed": "holds"}},
    advisory_lock_of_processes: PG_HOLDS,
    try_lock_ignored: PG_BROKEN,
    try_lock_heeded: PG_HOLDS,
    named_lock_that_timed_out: {"mariadb off": {"repeatable read": "violated"}},
    sqlite_deferred: SQLITE_HOLDS,
    sqlite_deferred_must_commit: {"sqlite": {None: "violated"}},
    sqlite_immediate_must_commit: SQLITE_HOLDS,
}
