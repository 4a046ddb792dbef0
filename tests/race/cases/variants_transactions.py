"""Where transactions begin and end: by context managers, at savepoints, in retries, or not at all."""

import os
from contextlib import closing

import psycopg
from counter import nothing_lost, reset
from plain import transaction

from iobound import race


def connected(**options):
    return closing(psycopg.connect(os.environ["DATABASE_URL"], **options))


def bump(connection, lock=""):
    ((value,),) = connection.execute(f"SELECT v FROM counter WHERE id = 1 {lock}").fetchall()
    connection.execute("UPDATE counter SET v = %s WHERE id = 1", [value + 1])


@race.case(setup=reset, invariant=nothing_lost)
def psycopg_transaction():
    with connected(autocommit=True) as connection, connection.transaction():
        bump(connection)


@race.case(setup=reset, invariant=nothing_lost)
def psycopg_transaction_locked():
    with connected(autocommit=True) as connection, connection.transaction():
        bump(connection, "FOR UPDATE")


@race.case(setup=reset, invariant=nothing_lost)
def nested_transactions():
    with connected() as connection, connection.transaction():
        with connection.transaction():
            ((value,),) = connection.execute("SELECT v FROM counter WHERE id = 1").fetchall()
        with connection.transaction():
            connection.execute("UPDATE counter SET v = %s WHERE id = 1", [value + 1])


@race.case(setup=reset, invariant=nothing_lost)
def autocommit():
    with connected(autocommit=True) as connection:
        bump(connection)


@race.case(setup=reset, invariant=nothing_lost)
def autocommit_atomic():
    with connected(autocommit=True) as connection:
        connection.execute("UPDATE counter SET v = v + 1 WHERE id = 1")


@race.case(setup=reset, invariant=nothing_lost)
def locked_in_autocommit():
    """Let go of the lock as soon as the statement has ended."""
    with connected(autocommit=True) as connection:
        bump(connection, "FOR UPDATE")


@race.case(setup=reset, invariant=nothing_lost)
def committed_between():
    with connected() as connection:
        ((value,),) = connection.execute("SELECT v FROM counter WHERE id = 1 FOR UPDATE").fetchall()
        connection.commit()
        connection.execute("UPDATE counter SET v = %s WHERE id = 1", [value + 1])
        connection.commit()


@race.case(setup=reset, invariant=nothing_lost)
def compared_and_swapped():
    """Begin anew with what was read last until nobody was faster."""
    while True:
        with transaction() as sql:
            ((value,),) = sql("SELECT v FROM counter WHERE id = 1")
            if sql("UPDATE counter SET v = %s WHERE id = 1 AND v = %s", value + 1, value) == 1:
                return


@race.case(setup=reset, invariant=nothing_lost)
def compared_and_swapped_in_one_transaction():
    """Read the old snapshot again and again under REPEATABLE READ, so it's given up."""
    with transaction() as sql:
        for _ in range(3):
            ((value,),) = sql("SELECT v FROM counter WHERE id = 1")
            if sql("UPDATE counter SET v = %s WHERE id = 1 AND v = %s", value + 1, value) == 1:
                return
        raise TimeoutError("given up")


@race.case(setup=reset, invariant=nothing_lost)
def retried_on_serialization_failure():
    while True:
        try:
            with transaction("BEGIN ISOLATION LEVEL SERIALIZABLE") as sql:
                ((value,),) = sql("SELECT v FROM counter WHERE id = 1")
                sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)
                return
        except psycopg.errors.SerializationFailure:
            continue


@race.case(setup=reset, invariant=nothing_lost)
def retried_with_the_value_of_before():
    """Read once, and write that again after each failure."""
    with transaction() as sql:
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1")
    while True:
        try:
            with transaction("BEGIN ISOLATION LEVEL SERIALIZABLE") as sql:
                sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)
                return
        except psycopg.errors.SerializationFailure:
            continue


@race.case(setup=reset, invariant=nothing_lost)
def isolation_set_after_the_read():
    """Ask for an isolation level of the next transaction, when it is this one that matters."""
    with transaction() as sql:
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1")
        sql("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


def reset_accounts(db):
    db.execute("DROP TABLE IF EXISTS account")
    db.execute("CREATE TABLE account (id integer PRIMARY KEY, bal integer NOT NULL)")
    db.execute("INSERT INTO account VALUES (1, 50), (2, 50)")


def sums_are_whole(db, execution):
    return all(outcome.returned in (None, 100) for outcome in execution.outcomes)


@race.case(sessions=[("move",), ("sum",)], setup=reset_accounts, invariant=sums_are_whole)
def read_skew(what):
    """Read one account before and the other one after money was moved."""
    with transaction() as sql:
        if what == "move":
            sql("UPDATE account SET bal = bal - 10 WHERE id = 1")
            sql("UPDATE account SET bal = bal + 10 WHERE id = 2")
            return None
        return sum(sql("SELECT bal FROM account WHERE id = %s", number)[0][0] for number in (1, 2))


@race.case(sessions=[("move",), ("sum",)], setup=reset_accounts)
def read_skew_without_invariant(what):
    return read_skew(what)


BROKEN = {"postgresql": {"read committed": "violated"}}
HOLDS = {"postgresql": {"read committed": "holds"}}
EXPECTED = {
    psycopg_transaction: {"postgresql": {"read committed": "violated 40/50"}},
    psycopg_transaction_locked: HOLDS,
    nested_transactions: BROKEN,
    autocommit: {"postgresql": {"read committed": "violated", "serializable": "violated"}},
    autocommit_atomic: HOLDS,
    locked_in_autocommit: BROKEN,
    committed_between: BROKEN,
    compared_and_swapped: {
        "postgresql": {"read committed": "holds"},
        "mariadb off": {"repeatable read": "holds"},
    },
    compared_and_swapped_in_one_transaction: {
        "postgresql": {"read committed": "holds"},
        "mariadb off": {"repeatable read": "holds"},
    },
    retried_on_serialization_failure: HOLDS,
    retried_with_the_value_of_before: BROKEN,
    isolation_set_after_the_read: BROKEN,
    read_skew: {
        "postgresql": {"read committed": "violated", "repeatable read": "holds"},
        "mariadb off": {"read committed": "violated", "repeatable read": "holds"},
    },
    read_skew_without_invariant: {"postgresql": {"read committed": "violated", "repeatable read": "holds"}},
}
