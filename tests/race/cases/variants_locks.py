"""Locks that protect, and locks that only seem to."""

import os
import threading
from contextlib import closing

import psycopg
from counter import nothing_lost, reset
from plain import connect, transaction

from iobound import race

LOCK = threading.Lock()


def bump(sql):
    ((value,),) = sql("SELECT v FROM counter WHERE id = 1")
    sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


@race.case(setup=reset, invariant=nothing_lost)
def advisory_session_released_before_commit():
    with closing(psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT pg_advisory_lock(1)")
        ((value,),) = connection.execute("SELECT v FROM counter WHERE id = 1").fetchall()
        connection.execute("UPDATE counter SET v = %s WHERE id = 1", [value + 1])
        connection.execute("SELECT pg_advisory_unlock(1)")
        connection.execute("COMMIT")


@race.case(setup=reset, invariant=nothing_lost)
def advisory_session_released_after_commit():
    with closing(psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)) as connection:
        connection.execute("SELECT pg_advisory_lock(1)")
        connection.execute("BEGIN")
        ((value,),) = connection.execute("SELECT v FROM counter WHERE id = 1").fetchall()
        connection.execute("UPDATE counter SET v = %s WHERE id = 1", [value + 1])
        connection.execute("COMMIT")
        connection.execute("SELECT pg_advisory_unlock(1)")


@race.case(setup=reset, invariant=nothing_lost)
def advisory_transaction():
    with transaction() as sql:
        sql("SELECT pg_advisory_xact_lock(1)")
        bump(sql)


@race.case(sessions=[(1,), (2,)], setup=reset, invariant=nothing_lost)
def advisory_of_different_keys(key):
    with transaction() as sql:
        sql("SELECT pg_advisory_xact_lock(%s)", key)
        bump(sql)


@race.case(setup=reset, invariant=nothing_lost)
def named_lock_released_before_commit():
    with transaction() as sql:
        sql("SELECT GET_LOCK('counter', 30)")
        bump(sql)
        sql("SELECT RELEASE_LOCK('counter')")


@race.case(setup=reset, invariant=nothing_lost)
def named_lock_released_after_commit():
    with closing(connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT GET_LOCK('counter', 30)")
        connection.begin()
        cursor.execute("SELECT v FROM counter WHERE id = 1")
        ((value,),) = cursor.fetchall()
        cursor.execute("UPDATE counter SET v = %s WHERE id = 1", (value + 1,))
        connection.commit()
        cursor.execute("SELECT RELEASE_LOCK('counter')")


@race.case(setup=reset, invariant=nothing_lost)
def python_lock_released_before_commit():
    with transaction() as sql, LOCK:
        bump(sql)


@race.case(setup=reset, invariant=nothing_lost)
def for_share():
    """Both read, neither may write: a deadlock, no lost update."""
    with transaction() as sql:
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1 FOR SHARE")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


@race.case(setup=reset, invariant=nothing_lost)
def for_update_of_another_row():
    with transaction() as sql:
        sql("SELECT v FROM counter WHERE id = 2 FOR UPDATE")
        bump(sql)


@race.case(setup=reset, invariant=nothing_lost)
def for_update_nowait():
    with transaction() as sql:
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1 FOR UPDATE NOWAIT")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


@race.case(setup=reset, invariant=nothing_lost)
def table_lock():
    with transaction() as sql:
        sql("LOCK TABLE counter IN EXCLUSIVE MODE")
        bump(sql)


@race.case(setup=reset, invariant=nothing_lost)
def table_lock_that_lets_writers_in():
    with transaction() as sql:
        sql("LOCK TABLE counter IN ROW EXCLUSIVE MODE")
        bump(sql)


@race.case(setup=reset, invariant=nothing_lost)
def lock_given_back_by_savepoint():
    with transaction() as sql:
        sql("SAVEPOINT before")
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1 FOR UPDATE")
        sql("ROLLBACK TO SAVEPOINT before")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


def reset_jobs(db):
    db.execute("DROP TABLE IF EXISTS job")
    db.execute("CREATE TABLE job (id integer PRIMARY KEY, taken integer NOT NULL)")
    db.execute("INSERT INTO job VALUES (1, 0), (2, 0)")


def no_job_taken_twice(db, execution):
    taken = [outcome.returned for outcome in execution.outcomes if outcome.returned is not None]
    return len(taken) == len(set(taken)) and db.scalar("SELECT count(*) FROM job WHERE taken = 1") == len(taken)


@race.case(setup=reset_jobs, invariant=no_job_taken_twice)
def skip_locked():
    with transaction() as sql:
        for (job,) in sql("SELECT id FROM job WHERE taken = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"):
            sql("UPDATE job SET taken = 1 WHERE id = %s", job)
            return job
    return None


@race.case(setup=reset_jobs, invariant=no_job_taken_twice)
def queue_without_lock():
    with transaction() as sql:
        for (job,) in sql("SELECT id FROM job WHERE taken = 0 ORDER BY id LIMIT 1"):
            sql("UPDATE job SET taken = 1 WHERE id = %s", job)
            return job
    return None


BROKEN_ON_BOTH = {
    "postgresql": {"read committed": "violated", "repeatable read": "holds"},
    "mariadb off": {"repeatable read": "violated"},
}
EXPECTED = {
    advisory_session_released_before_commit: {"postgresql": {"read committed": "violated 72/122"}},
    advisory_session_released_after_commit: {"postgresql": {"read committed": "holds"}},
    advisory_transaction: {"postgresql": {"read committed": "holds"}},
    advisory_of_different_keys: {"postgresql": {"read committed": "violated"}},
    named_lock_released_before_commit: {"mariadb off": {"repeatable read": "violated"}},
    named_lock_released_after_commit: {"mariadb off": {"repeatable read": "holds"}},
    python_lock_released_before_commit: BROKEN_ON_BOTH,
    for_share: {"postgresql": {"read committed": "holds"}, "mariadb off": {"repeatable read": "holds"}},
    for_update_of_another_row: {"postgresql": {"read committed": "violated"}},
    for_update_nowait: {"postgresql": {"read committed": "holds"}, "mariadb off": {"repeatable read": "holds"}},
    table_lock: {"postgresql": {"read committed": "holds"}},
    table_lock_that_lets_writers_in: {"postgresql": {"read committed": "violated"}},
    lock_given_back_by_savepoint: {"postgresql": {"read committed": "violated"}},
    skip_locked: {"postgresql": {"read committed": "holds"}, "mariadb off": {"repeatable read": "holds"}},
    queue_without_lock: BROKEN_ON_BOTH,
}
