"""proteanhq/protean#1087: a version is compared in Python, and the UPDATE doesn't ask for it."""

from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS thing")
    db.execute("CREATE TABLE thing (id integer PRIMARY KEY, val integer NOT NULL, ver integer NOT NULL)")
    db.execute("INSERT INTO thing VALUES (1, 0, 0)")


def nothing_lost(db, execution):
    saved = sum(outcome.returned is True for outcome in execution.outcomes)
    return db.rows("SELECT val, ver FROM thing") == [(saved, saved)]


@race.case(setup=reset, invariant=nothing_lost)
def save():
    with transaction() as sql:
        ((value, seen),) = sql("SELECT val, ver FROM thing WHERE id = 1")
        ((version,),) = sql("SELECT ver FROM thing WHERE id = 1")
        if version != seen:
            return False
        sql("UPDATE thing SET val = %s, ver = %s WHERE id = 1", value + 1, seen + 1)
    return True


@race.case(setup=reset, invariant=nothing_lost)
def save_where_version():
    with transaction() as sql:
        ((value, seen),) = sql("SELECT val, ver FROM thing WHERE id = 1")
        changed = sql("UPDATE thing SET val = %s, ver = %s WHERE id = 1 AND ver = %s", value + 1, seen + 1, seen)
    return changed == 1


EXPECTED = {
    save: {
        "postgresql": {"read committed": "violated 140/182", "repeatable read": "holds"},
        "mariadb off": {"repeatable read": "violated 170/182"},
        "mariadb on": {"repeatable read": "holds"},
    },
    save_where_version: {
        "postgresql": {"read committed": "holds 50", "repeatable read": "holds 50"},
        "mariadb off": {"repeatable read": "holds 50"},
    },
}
