"""python/cpython#124510: a deferred transaction that has read can't write after another one did, whatever the timeout."""

from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS counter")
    db.execute("CREATE TABLE counter (id integer PRIMARY KEY, v integer NOT NULL)")
    db.execute("INSERT INTO counter VALUES (1, 0)")


def both_count(db, execution):
    return db.scalar("SELECT v FROM counter") == 2 and all(one.ending == "committed" for one in execution.outcomes)


def bump_in(begin):
    with transaction(begin) as sql:
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


@race.case(setup=reset, invariant=both_count)
def bump():
    bump_in("BEGIN")


@race.case(setup=reset, invariant=both_count)
def bump_immediate():
    bump_in("BEGIN IMMEDIATE")


EXPECTED = {bump: {"sqlite": {None: "violated"}}, bump_immediate: {"sqlite": {None: "holds"}}}
