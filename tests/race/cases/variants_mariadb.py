"""What only MariaDB does in its way: locks of tables, functions, counting on a duplicate key."""

from contextlib import closing

from counter import nothing_lost, reset
from plain import connect, transaction

from iobound import race

FUNCTION = """
    CREATE OR REPLACE FUNCTION bump() RETURNS integer MODIFIES SQL DATA BEGIN
        DECLARE seen integer;
        SELECT v INTO seen FROM counter WHERE id = 1;
        UPDATE counter SET v = seen + 1 WHERE id = 1;
        RETURN seen;
    END
"""


def reset_with_function(db):
    reset(db)
    db.execute(FUNCTION)


def bump(cursor):
    cursor.execute("SELECT v FROM counter WHERE id = 1")
    ((value,),) = cursor.fetchall()
    cursor.execute("UPDATE counter SET v = %s WHERE id = 1", (value + 1,))


@race.case(setup=reset, invariant=nothing_lost)
def tables_locked():
    with closing(connect()) as connection, connection.cursor() as cursor:
        connection.autocommit(True)
        cursor.execute("LOCK TABLES counter WRITE")
        bump(cursor)
        cursor.execute("UNLOCK TABLES")


@race.case(setup=reset, invariant=nothing_lost)
def tables_locked_for_reading_only():
    """Both may read; who then writes gets an error at once."""
    with closing(connect()) as connection, connection.cursor() as cursor:
        connection.autocommit(True)
        cursor.execute("LOCK TABLES counter READ")
        bump(cursor)
        cursor.execute("UNLOCK TABLES")


@race.case(setup=reset_with_function, invariant=nothing_lost)
def function_in_the_database():
    with transaction() as sql:
        sql("SELECT bump()")


@race.case(setup=reset, invariant=nothing_lost)
def upsert():
    with transaction() as sql:
        sql("INSERT INTO counter VALUES (1, 1) ON DUPLICATE KEY UPDATE v = v + 1")


@race.case(setup=reset, invariant=nothing_lost)
def locked_after_a_snapshot():
    """Read what is there now with the lock, whatever the snapshot says."""
    with transaction() as sql:
        sql("SELECT v FROM counter WHERE id = 1")
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1 FOR UPDATE")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


def on_mariadb(verdict):
    return {"mariadb off": {"repeatable read": verdict}}


EXPECTED = {
    tables_locked: on_mariadb("holds"),
    tables_locked_for_reading_only: on_mariadb("holds"),
    function_in_the_database: on_mariadb("violated"),
    upsert: on_mariadb("holds"),
    locked_after_a_snapshot: on_mariadb("holds"),
}
