"""Races that a search could miss: by a table's name, a lock on a whole table, a trigger, a key drawn at random."""

import os
import sqlite3
import sys
import threading
import uuid
from contextlib import closing

import psycopg
from counter import nothing_lost, reset
from plain import transaction

from iobound import race

LOCK = threading.Lock()


def connected(**options):
    return closing(psycopg.connect(os.environ["DATABASE_URL"], **options))


def reset_user(db):
    db.execute('DROP TABLE IF EXISTS "user"')
    db.execute('CREATE TABLE "user" (id integer PRIMARY KEY, credits integer NOT NULL)')
    db.execute('INSERT INTO "user" VALUES (1, 0)')


@race.case(setup=reset_user, invariant=lambda db: db.scalar('SELECT credits = 2 FROM "user"'))
def table_named_user():
    with transaction() as sql:
        ((value,),) = sql('SELECT credits FROM "user" WHERE id = 1')
        sql('UPDATE "user" SET credits = %s WHERE id = 1', value + 1)


def reset_pair(db):
    db.execute("DROP TABLE IF EXISTS pair")
    db.execute("CREATE TABLE pair (id integer PRIMARY KEY, v integer NOT NULL)")
    db.execute("INSERT INTO pair VALUES (1, 0), (2, 0)")


def same(db, execution):
    return all(outcome.returned in (None, "same") for outcome in execution.outcomes)


@race.case(sessions=[("write",), ("read",)], setup=reset_pair, invariant=same)
def read_in_two_statements_beside_a_table_lock(what):
    """Let the writer in between the two reads, which a lock of the table only keeps out of each."""
    with connected(autocommit=True) as connection:
        if what == "read":
            one, other = (connection.execute("SELECT v FROM pair WHERE id = %s", [at]).fetchone() for at in (1, 2))
            return "same" if one == other else "different"
        with connection.transaction():
            connection.execute("LOCK TABLE pair")
            connection.execute("UPDATE pair SET v = 1 WHERE id = 1")
            connection.execute("UPDATE pair SET v = 1 WHERE id = 2")
        return None


@race.case(sessions=[("write",), ("read",)], setup=reset_pair, invariant=same)
def read_in_two_statements_beside_ddl(what):
    with connected(autocommit=True) as connection:
        if what == "read":
            one, other = (connection.execute("SELECT v FROM pair WHERE id = %s", [at]).fetchone() for at in (1, 2))
            return "same" if one == other else "different"
        with connection.transaction():
            connection.execute("ALTER TABLE pair ADD COLUMN note text")
            connection.execute("UPDATE pair SET v = 1")
        return None


def reset_three(db):
    reset_pair(db)
    db.execute("DROP TABLE IF EXISTS seen")
    db.execute("CREATE TABLE seen (v integer NOT NULL)")


@race.case(
    sessions=[("write",), ("copy",)],
    setup=reset_three,
    invariant=lambda db: db.scalar("SELECT NOT EXISTS (SELECT FROM seen JOIN pair ON pair.id = 1 WHERE seen.v <> pair.v)"),
)
def copy_read_under_a_python_lock_only(what):
    """The lock covers the read, not what is written by it: whoever reads first may write last."""
    with connected(autocommit=True) as connection:
        connection.execute("SELECT count(*) FROM pair")
        if what == "copy":
            with LOCK:
                ((value,),) = connection.execute("SELECT v FROM pair WHERE id = 1").fetchall()
            with connection.transaction():
                connection.execute("INSERT INTO seen VALUES (%s)", [value])
            return
        with LOCK, connection.transaction():
            connection.execute("SELECT v FROM pair WHERE id = 1")
            connection.execute("UPDATE pair SET v = 1 WHERE id = 1")


def reset_orders(db):
    db.execute("DROP TABLE IF EXISTS purchase, stock")
    db.execute("CREATE TABLE purchase (id uuid PRIMARY KEY, serial_number integer NOT NULL)")
    db.execute("CREATE TABLE stock (sold integer NOT NULL)")
    db.execute("INSERT INTO stock VALUES (0)")


def order(sql, lock):
    ((sold,),) = sql(f"SELECT sold FROM stock {lock}")
    sql("INSERT INTO purchase VALUES (%s, %s)", uuid.uuid4(), sold)
    sql("UPDATE stock SET sold = sold + 1")


@race.case(setup=reset_orders)
def random_key_without_invariant():
    """Give one serial number twice: the random keys differ each time, the numbers must not."""
    with transaction() as sql:
        order(sql, "")


@race.case(setup=reset_orders)
def random_key_without_invariant_locked():
    with transaction() as sql:
        order(sql, "FOR UPDATE")


def reset_with_trigger(db):
    db.execute("DROP TABLE IF EXISTS payment")
    db.execute("DROP TABLE IF EXISTS total")
    db.execute("CREATE TABLE total (id integer PRIMARY KEY, amount integer NOT NULL)")
    db.execute("INSERT INTO total VALUES (1, 0)")
    db.execute("CREATE TABLE payment (amount integer NOT NULL)")


def reset_with_trigger_mariadb(db):
    reset_with_trigger(db)
    db.execute(
        "CREATE TRIGGER paid AFTER INSERT ON payment FOR EACH ROW UPDATE total SET amount = amount + NEW.amount WHERE id = 1"
    )
    db.execute("INSERT INTO payment VALUES (5)")


def reset_with_trigger_sqlite(db):
    reset_with_trigger(db)
    db.execute("""
        CREATE TRIGGER paid AFTER INSERT ON payment BEGIN UPDATE total SET amount = amount + NEW.amount WHERE id = 1; END""")
    db.execute("INSERT INTO payment VALUES (5)")


def fifteen(db):
    return db.scalar("SELECT amount = 15 FROM total")


@race.case(setup=reset_with_trigger_mariadb, invariant=fifteen)
def summed_by_a_trigger():
    """The set-up fires the trigger, too: its rows must not be written back with it."""
    with transaction() as sql:
        sql("INSERT INTO payment VALUES (5)")


@race.case(setup=reset_with_trigger_sqlite, invariant=fifteen)
def summed_by_a_trigger_sqlite():
    with transaction("BEGIN IMMEDIATE") as sql:
        sql("INSERT INTO payment VALUES (5)")


@race.case(setup=reset, invariant=nothing_lost)
def begun_by_sqlite3_itself():
    """Wait for the second transaction of a connection as for its first."""
    path = os.environ["DATABASE_URL"].partition("://")[2][1:]
    with closing(sqlite3.connect(path, autocommit=False)) as connection:
        connection.execute("SELECT v FROM counter")
        connection.rollback()
        connection.execute("UPDATE counter SET v = v + 1 WHERE id = 1")
        connection.commit()


@race.case(setup=reset, invariant=nothing_lost)
def committed_by_autocommit():
    """Turn autocommit on within the transaction, which commits it, on MariaDB: the lock is gone before the write."""
    with transaction() as sql:
        sql("SET autocommit = 0")
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1 FOR UPDATE")
        sql("SET autocommit = 1")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


def reset_without_note(db):
    reset(db)
    db.execute("DROP TABLE IF EXISTS note")


@race.case(setup=reset_without_note, invariant=nothing_lost)
def committed_by_ddl():
    with transaction() as sql:
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1 FOR UPDATE")
        sql("CREATE TABLE IF NOT EXISTS note (id integer)")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


@race.case(setup=reset, invariant=nothing_lost)
def read_into_a_variable():
    with transaction() as sql:
        sql("SET @seen = (SELECT v FROM counter WHERE id = 1)")
        sql("UPDATE counter SET v = @seen + 1 WHERE id = 1")


@race.case(setup=reset, invariant=nothing_lost)
def serializable_by_connection_option():
    with connected(options="-c default_transaction_isolation=serializable") as connection, connection:
        ((value,),) = connection.execute("SELECT v FROM counter WHERE id = 1").fetchall()
        connection.execute("UPDATE counter SET v = %s WHERE id = 1", [value + 1])


BROKEN = {"postgresql": {"read committed": "violated"}}
HOLDS = {"postgresql": {"read committed": "holds"}}
EXPECTED = {
    table_named_user: BROKEN,
    read_in_two_statements_beside_a_table_lock: BROKEN,
    read_in_two_statements_beside_ddl: BROKEN,
    copy_read_under_a_python_lock_only: BROKEN,
    random_key_without_invariant: BROKEN,
    random_key_without_invariant_locked: HOLDS,
    summed_by_a_trigger: {"mariadb": {"repeatable read": "holds"}},
    summed_by_a_trigger_sqlite: {"sqlite": {None: "holds"}},
    committed_by_autocommit: {"mariadb off": {"repeatable read": "violated"}},
    committed_by_ddl: {"mariadb off": {"repeatable read": "violated"}},
    read_into_a_variable: {"mariadb off": {"read committed": "holds"}},  # InnoDB locks what SET reads
    serializable_by_connection_option: HOLDS,
}
if sys.version_info >= (3, 12):
    EXPECTED[begun_by_sqlite3_itself] = {"sqlite": {None: "holds"}}
