"""zulip/zulip#19054: two bulk updates lock the same rows in opposite orders and deadlock."""

from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS flag")
    db.execute("CREATE TABLE flag (id integer PRIMARY KEY, v integer NOT NULL)")
    db.execute("INSERT INTO flag VALUES (1, 0), (2, 0)")


def both_commit(db, execution):
    return db.scalar("SELECT sum(v) FROM flag") == 4 and all(one.ending == "committed" for one in execution.outcomes)


@race.case(sessions=[(1, 2), (2, 1)], setup=reset, invariant=both_commit)
def mark(first, second):
    with transaction() as sql:
        sql("UPDATE flag SET v = v + 1 WHERE id = %s", first)
        sql("UPDATE flag SET v = v + 1 WHERE id = %s", second)


@race.case(sessions=[(1, 2), (2, 1)], setup=reset, invariant=both_commit)
def mark_locked_in_order(first, second):
    with transaction() as sql:
        sql("SELECT id FROM flag WHERE id IN (1, 2) ORDER BY id FOR UPDATE")
        sql("UPDATE flag SET v = v + 1 WHERE id = %s", first)
        sql("UPDATE flag SET v = v + 1 WHERE id = %s", second)


EXPECTED = {
    mark: {
        "postgresql": {"read committed": "violated 12/30"},
        "mariadb off": {"repeatable read": "violated 12/30"},
    },
    mark_locked_in_order: {"postgresql": {"read committed": "holds"}, "mariadb off": {"repeatable read": "holds"}},
}
