"""DjangoAdminHackers/django-linkcheck#168: a lock of one process protects nothing from another process."""

import threading

from plain import transaction

from iobound import race

LOCK = threading.Lock()


def reset(db):
    db.execute("DROP TABLE IF EXISTS counter")
    db.execute("CREATE TABLE counter (id integer PRIMARY KEY, v integer NOT NULL)")
    db.execute("INSERT INTO counter VALUES (1, 0)")


def nothing_lost(db, execution):
    return db.scalar("SELECT v FROM counter") == sum(outcome.ending == "committed" for outcome in execution.outcomes)


def bump():
    with LOCK, transaction() as sql:
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


@race.case(setup=reset, invariant=nothing_lost, model="threads")
def in_threads():
    bump()


@race.case(setup=reset, invariant=nothing_lost, model="processes")
def in_processes():
    bump()


EXPECTED = {
    in_threads: {"postgresql": {"read committed": "holds"}, "mariadb off": {"repeatable read": "holds"}},
    in_processes: {"postgresql": {"read committed": "violated 40/50"}, "mariadb off": {"repeatable read": "violated 40/50"}},
}
