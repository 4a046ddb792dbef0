"""django-oscar/django-oscar#2101: two checkouts find no application of a voucher and both insert one: write skew."""

from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS application")
    db.execute("CREATE TABLE application (id integer PRIMARY KEY, voucher integer NOT NULL)")


def applied_once(db):
    return db.scalar("SELECT count(*) <= 1 FROM application WHERE voucher = 1")


@race.case(sessions=[(1,), (2,)], setup=reset, invariant=applied_once)
def apply(order):
    with transaction() as sql:
        ((applications,),) = sql("SELECT count(*) FROM application WHERE voucher = 1")
        if applications == 0:
            sql("INSERT INTO application VALUES (%s, 1)", order)


EXPECTED = {
    apply: {
        "postgresql": {"read committed": "violated 60/70", "repeatable read": "violated 60/70", "serializable": "holds 70"},
        "mariadb off": {"repeatable read": "violated 60/70"},
        "mariadb on": {"repeatable read": "violated 60/70"},
    },
}
