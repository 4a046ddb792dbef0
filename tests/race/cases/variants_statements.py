"""Statements that read and write where it can't be seen from outside, or not by `cursor.execute`."""

import os
from contextlib import closing

import psycopg
from counter import nothing_lost, reset
from plain import transaction

from iobound import race


def connected(**options):
    return closing(psycopg.connect(os.environ["DATABASE_URL"], **options))


def reset_with_function(db):
    reset(db)
    db.execute("""
        CREATE OR REPLACE FUNCTION bump() RETURNS void LANGUAGE plpgsql AS $$
        DECLARE seen integer;
        BEGIN
            SELECT v INTO seen FROM counter WHERE id = 1;
            UPDATE counter SET v = seen + 1 WHERE id = 1;
        END $$""")
    db.execute("""
        CREATE OR REPLACE FUNCTION bump_locked() RETURNS void LANGUAGE plpgsql AS $$
        DECLARE seen integer;
        BEGIN
            SELECT v INTO seen FROM counter WHERE id = 1 FOR UPDATE;
            UPDATE counter SET v = seen + 1 WHERE id = 1;
        END $$""")


@race.case(setup=reset_with_function, invariant=nothing_lost)
def function_in_the_database():
    with transaction() as sql:
        sql("SELECT bump()")


@race.case(setup=reset_with_function, invariant=nothing_lost)
def function_in_the_database_locked():
    with transaction() as sql:
        sql("SELECT bump_locked()")


@race.case(setup=reset, invariant=nothing_lost)
def subquery():
    """Wait in the UPDATE with the value that the subquery read before."""
    with transaction() as sql:
        sql("UPDATE counter SET v = (SELECT v FROM counter WHERE id = 1) + 1 WHERE id = 1")


@race.case(setup=reset, invariant=nothing_lost)
def subquery_locked():
    with transaction() as sql:
        sql("UPDATE counter SET v = (SELECT v FROM counter WHERE id = 1 FOR UPDATE) + 1 WHERE id = 1")


@race.case(setup=reset, invariant=nothing_lost)
def atomic():
    with transaction() as sql:
        sql("UPDATE counter SET v = v + 1 WHERE id = 1")


@race.case(setup=reset, invariant=nothing_lost)
def upsert():
    with transaction() as sql:
        sql("INSERT INTO counter VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET v = counter.v + 1")


@race.case(setup=reset, invariant=nothing_lost)
def prepared():
    with connected(prepare_threshold=0) as connection, connection:
        ((value,),) = connection.execute("SELECT v FROM counter WHERE id = %s", [1]).fetchall()
        connection.execute("UPDATE counter SET v = %s WHERE id = %s", [value + 1, 1])


@race.case(setup=reset, invariant=nothing_lost)
def executemany():
    with connected() as connection, connection:
        ((value,),) = connection.execute("SELECT v FROM counter WHERE id = 1").fetchall()
        connection.cursor().executemany("UPDATE counter SET v = %s WHERE id = %s", [(value + 1, 1), (0, 2)])


@race.case(setup=reset, invariant=nothing_lost)
def pipeline():
    with connected() as connection, connection:
        ((value,),) = connection.execute("SELECT v FROM counter WHERE id = 1").fetchall()
        with connection.pipeline():
            connection.execute("UPDATE counter SET v = %s WHERE id = 1", [value + 1])
            connection.execute("SELECT 1 FROM counter")


@race.case(setup=reset, invariant=nothing_lost)
def server_side_cursor():
    with connected() as connection, connection:
        with connection.cursor(name="rows") as cursor:
            cursor.execute("SELECT v FROM counter WHERE id = 1")
            ((value,),) = cursor.fetchall()
        connection.execute("UPDATE counter SET v = %s WHERE id = 1", [value + 1])


@race.case(setup=reset, invariant=nothing_lost)
def server_side_cursor_locked():
    with connected() as connection, connection:
        with connection.cursor(name="rows") as cursor:
            cursor.execute("SELECT v FROM counter WHERE id = 1 FOR UPDATE")
            ((value,),) = cursor.fetchall()
        connection.execute("UPDATE counter SET v = %s WHERE id = 1", [value + 1])


def reset_list(db):
    db.execute("DROP TABLE IF EXISTS entry")
    db.execute("CREATE TABLE entry (place integer NOT NULL)")
    db.execute("INSERT INTO entry VALUES (1)")


def places_differ(db):
    return db.scalar("SELECT count(*) = count(DISTINCT place) FROM entry")


@race.case(setup=reset_list, invariant=places_differ)
def copy():
    with connected() as connection, connection:
        ((last,),) = connection.execute("SELECT max(place) FROM entry").fetchall()
        with connection.cursor().copy("COPY entry FROM STDIN") as rows:
            rows.write_row((last + 1,))


@race.case(setup=reset_list, invariant=places_differ)
def copy_locked():
    with connected() as connection, connection:
        connection.execute("LOCK TABLE entry IN EXCLUSIVE MODE")
        ((last,),) = connection.execute("SELECT max(place) FROM entry").fetchall()
        with connection.cursor().copy("COPY entry FROM STDIN") as rows:
            rows.write_row((last + 1,))


@race.case(setup=reset_list, invariant=places_differ)
def copy_out():
    with connected() as connection, connection:
        with connection.cursor().copy("COPY (SELECT max(place) FROM entry) TO STDOUT") as rows:
            ((last,),) = rows.rows()
        connection.execute("INSERT INTO entry VALUES (%s)", [int(last) + 1])


BROKEN = {"postgresql": {"read committed": "violated"}}
BROKEN_SNAPSHOT = {"postgresql": {"read committed": "violated", "repeatable read": "violated", "serializable": "holds"}}
HOLDS = {"postgresql": {"read committed": "holds"}}
EXPECTED = {
    function_in_the_database: BROKEN,
    function_in_the_database_locked: HOLDS,
    subquery: BROKEN,
    subquery_locked: HOLDS,
    atomic: HOLDS,
    upsert: HOLDS,
    prepared: {"postgresql": {"read committed": "violated 40/50"}},
    executemany: BROKEN,
    pipeline: BROKEN,
    server_side_cursor: BROKEN,
    server_side_cursor_locked: HOLDS,
    copy: BROKEN_SNAPSHOT,
    copy_locked: HOLDS,
    copy_out: BROKEN_SNAPSHOT,
}
