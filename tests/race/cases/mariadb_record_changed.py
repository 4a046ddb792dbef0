"""eduMFA/eduMFA#920: with snapshot isolation a write to a row changed since is refused, by an error no retry looks for."""

import pymysql
from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS counter")
    db.execute("CREATE TABLE counter (id integer PRIMARY KEY, v integer NOT NULL)")
    db.execute("INSERT INTO counter VALUES (1, 0)")


def both_count(db, execution):
    return db.scalar("SELECT v FROM counter") == 2 and all(one.ending == "committed" for one in execution.outcomes)


@race.case(setup=reset, invariant=both_count)
def bump():
    with transaction() as sql:
        ((value,),) = sql("SELECT v FROM counter WHERE id = 1")
        sql("UPDATE counter SET v = %s WHERE id = 1", value + 1)


def bump_again_after(codes):
    for _ in range(3):
        try:
            return bump()
        except pymysql.MySQLError as error:
            if error.args[0] not in codes:
                raise
    return bump()


@race.case(setup=reset, invariant=both_count)
def bump_retrying_deadlocks():
    bump_again_after({1213, 1205})


@race.case(setup=reset, invariant=both_count)
def bump_retrying():
    bump_again_after({1213, 1205, 1020})


EXPECTED = {
    bump: {"mariadb on": {"repeatable read": "violated 40/50"}, "mariadb off": {"repeatable read": "violated 40/50"}},
    bump_retrying_deadlocks: {"mariadb on": {"repeatable read": "violated 40/50"}},
    bump_retrying: {"mariadb on": {"repeatable read": "holds"}, "mariadb off": {"repeatable read": "violated 40/50"}},
}
