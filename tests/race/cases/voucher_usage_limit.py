"""saleor/saleor#544: a voucher for one use is redeemed by two checkouts at once, for it is checked before it is counted."""

from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS voucher, redemption")
    db.execute("CREATE TABLE voucher (id integer PRIMARY KEY, used integer NOT NULL, max_uses integer NOT NULL)")
    db.execute("CREATE TABLE redemption (voucher integer NOT NULL)")
    db.execute("INSERT INTO voucher VALUES (1, 0, 1)")


def within_limit(db):
    return db.scalar("SELECT used <= max_uses AND (SELECT count(*) FROM redemption) <= max_uses FROM voucher")


@race.case(setup=reset, invariant=within_limit)
def redeem():
    with transaction() as sql:
        ((used, limit),) = sql("SELECT used, max_uses FROM voucher WHERE id = 1")
        if used < limit:
            sql("UPDATE voucher SET used = used + 1 WHERE id = 1")
            sql("INSERT INTO redemption VALUES (1)")


@race.case(setup=reset, invariant=within_limit)
def redeem_locked():
    with transaction() as sql:
        ((used, limit),) = sql("SELECT used, max_uses FROM voucher WHERE id = 1 FOR UPDATE")
        if used < limit:
            sql("UPDATE voucher SET used = used + 1 WHERE id = 1")
            sql("INSERT INTO redemption VALUES (1)")


@race.case(setup=reset, invariant=within_limit)
def redeem_guarded():
    with transaction() as sql:
        if sql("UPDATE voucher SET used = used + 1 WHERE id = 1 AND used < max_uses") == 1:
            sql("INSERT INTO redemption VALUES (1)")


EXPECTED = {
    redeem: {
        "postgresql": {
            "read committed": "violated 80/92",
            "repeatable read": "holds 92, 80 serialization-failure",
            "serializable": "holds",
        },
        "mariadb off": {"repeatable read": "violated 80/92"},
        "mariadb on": {"repeatable read": "holds"},
    },
    redeem_locked: {"postgresql": {"read committed": "holds"}, "mariadb off": {"repeatable read": "holds"}},
    redeem_guarded: {"postgresql": {"read committed": "holds"}, "mariadb off": {"repeatable read": "holds"}},
}
