"""django/django#10252: having lost the race to create a row, update_or_create() saves all its columns, read without a lock."""

from contextlib import closing

from plain import connect, transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS person")
    db.execute(
        "CREATE TABLE person (first varchar(20) PRIMARY KEY, last varchar(20) NOT NULL, born integer NOT NULL DEFAULT 0)"
    )


def every_column_as_last_written(db):
    return db.rows("SELECT last, born FROM person") == [("Lennon", 1940)]


def update_or_create(lock):
    """Set the last name in one transaction, as Django did without `lock`."""
    with transaction() as sql:
        if sql("SELECT last, born FROM person WHERE first = 'John' FOR UPDATE"):
            sql("UPDATE person SET last = 'Lennon' WHERE first = 'John'")
        elif sql("INSERT INTO person VALUES ('John', 'Lennon', 0) ON CONFLICT DO NOTHING") == 0:
            ((_, born),) = sql(f"SELECT last, born FROM person WHERE first = 'John' {lock}")
            sql("UPDATE person SET last = 'Lennon', born = %s WHERE first = 'John'", born)


def insert_then_update():
    """Insert the row where it isn't there, then set the year; each commits by itself."""
    with closing(connect()) as connection:
        connection.autocommit = True
        connection.execute("INSERT INTO person VALUES ('John', '?', 0) ON CONFLICT DO NOTHING")
        connection.execute("UPDATE person SET born = 1940 WHERE first = 'John'")


@race.case(sessions=[("update or create",), ("insert",)], setup=reset, invariant=every_column_as_last_written)
def edit(how):
    if how == "insert":
        insert_then_update()
    else:
        update_or_create(lock="")


@race.case(sessions=[("update or create",), ("insert",)], setup=reset, invariant=every_column_as_last_written)
def edit_locked(how):
    if how == "insert":
        insert_then_update()
    else:
        update_or_create(lock="FOR UPDATE")


EXPECTED = {
    edit: {"postgresql": {"read committed": "violated"}},
    edit_locked: {"postgresql": {"read committed": "holds"}},
}
