"""django-treebeard/django-treebeard#53: the next path is max(path) + 1, and nothing locks 'the next path'."""

from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS node")
    db.execute("CREATE TABLE node (id integer PRIMARY KEY, path integer NOT NULL)")


def reset_one_row(db):
    reset(db)
    db.execute("INSERT INTO node VALUES (9, 1)")


def reset_unique(db):
    reset(db)
    db.execute("CREATE UNIQUE INDEX one_each ON node (path)")


def paths_differ(db, execution):
    aborts = ("serialization-failure", "deadlock", "snapshot-conflict")
    ended = all(outcome.ending in ("committed", *aborts) for outcome in execution.outcomes)
    return ended and db.scalar("SELECT count(*) = count(DISTINCT path) FROM node")


def insert_root(key):
    with transaction() as sql:
        ((last,),) = sql("SELECT max(path) FROM node")
        sql("INSERT INTO node VALUES (%s, %s)", key, (last or 0) + 1)


@race.case(sessions=[(1,), (2,)], setup=reset, invariant=paths_differ)
def add_root(key):
    insert_root(key)


@race.case(sessions=[(1,), (2,)], setup=reset_one_row, invariant=paths_differ)
def add_second_root(key):
    insert_root(key)


@race.case(sessions=[(1,), (2,)], setup=reset_unique, invariant=paths_differ)
def add_unique_root(key):
    insert_root(key)


@race.case(sessions=[(1,), (2,)], setup=reset_one_row, invariant=paths_differ)
def add_second_root_locked(key):
    """Lock all roots first: the fix that queues all who add one."""
    with transaction() as sql:
        sql("SELECT id FROM node ORDER BY id FOR UPDATE")
        ((last,),) = sql("SELECT max(path) FROM node")
        sql("INSERT INTO node VALUES (%s, %s)", key, last + 1)


COLLIDES = {
    "postgresql": {"read committed": "violated 60/70", "repeatable read": "violated 60/70", "serializable": "holds 70"},
    "mariadb off": {"repeatable read": "violated 60/70"},
}
EXPECTED = {
    add_root: COLLIDES,
    add_second_root: COLLIDES,
    add_unique_root: {"postgresql": {"read committed": "violated"}},
    add_second_root_locked: {"postgresql": {"read committed": "holds"}},
}
