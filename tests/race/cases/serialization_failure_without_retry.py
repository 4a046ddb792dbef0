"""learningequality/morango#165: the isolation was raised, and a serialization failure reaches the user, or worse."""

import os
from contextlib import closing

import psycopg
from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS counter")
    db.execute("CREATE TABLE counter (id integer PRIMARY KEY, v integer NOT NULL)")
    db.execute("INSERT INTO counter VALUES (1, 0)")


def counted_where_successful(db, execution):
    return db.scalar("SELECT v FROM counter") == sum(outcome.returned is True for outcome in execution.outcomes)


def sync_once():
    with transaction() as sql:
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)
    return True


@race.case(setup=reset, invariant=counted_where_successful)
def sync():
    """Fail without effect: a nuisance, but nothing is lost."""
    return sync_once()


@race.case(setup=reset, invariant=counted_where_successful)
def sync_retrying_the_statement():
    """Send only the failed statement again: PostgreSQL ignores it, and answers the COMMIT with a rollback."""
    with closing(psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)) as connection:
        connection.execute("BEGIN")
        ((value,),) = connection.execute("SELECT v FROM counter WHERE id = 1").fetchall()
        for _ in range(3):
            try:
                connection.execute("UPDATE counter SET v = %s WHERE id = 1", [value + 1])
                break
            except psycopg.Error:
                continue
        connection.execute("COMMIT")
    return True


@race.case(setup=reset, invariant=counted_where_successful)
def sync_retrying():
    """Begin the transaction anew."""
    for _ in range(3):
        try:
            return sync_once()
        except psycopg.errors.SerializationFailure:
            continue
    return False


EXPECTED = {
    sync: {
        "postgresql": {
            "read committed": "violated 40/50",
            "repeatable read": "holds 50, 40 serialization-failure",
            "serializable": "holds 50, 40 serialization-failure",
        }
    },
    sync_retrying_the_statement: {"postgresql": {"repeatable read": "violated"}},
    sync_retrying: {"postgresql": {"repeatable read": "holds", "serializable": "holds"}},
}
