"""fossasia/eventyay#1398: a limit is checked before the row is locked, and not again afterwards."""

from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS voucher")
    db.execute("CREATE TABLE voucher (id integer PRIMARY KEY, used integer NOT NULL, max_uses integer NOT NULL)")
    db.execute("INSERT INTO voucher VALUES (1, 0, 1)")


def within_limit(db):
    return db.scalar("SELECT used <= max_uses FROM voucher")


@race.case(setup=reset, invariant=within_limit)
def redeem():
    with transaction() as sql:
        ((used, limit),) = sql("SELECT used, max_uses FROM voucher WHERE id = 1")
        if used < limit:
            sql("SELECT used FROM voucher WHERE id = 1 FOR UPDATE")
            sql("UPDATE voucher SET used = used + 1 WHERE id = 1")


@race.case(setup=reset, invariant=within_limit)
def redeem_checked_again():
    with transaction() as sql:
        ((used, limit),) = sql("SELECT used, max_uses FROM voucher WHERE id = 1")
        if used < limit:
            ((used, limit),) = sql("SELECT used, max_uses FROM voucher WHERE id = 1 FOR UPDATE")
            if used < limit:
                sql("UPDATE voucher SET used = used + 1 WHERE id = 1")


EXPECTED = {
    redeem: {
        "postgresql": {"read committed": "violated 80/92", "repeatable read": "holds"},
        "mariadb off": {"repeatable read": "violated 80/92"},
        "mariadb on": {"repeatable read": "holds"},
    },
    redeem_checked_again: {"postgresql": {"read committed": "holds"}, "mariadb off": {"repeatable read": "holds"}},
}
