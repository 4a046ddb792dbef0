"""freelawproject/courtlistener#2299: FOR UPDATE locks no row that isn't there, so that two transactions insert it."""

from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS docket")
    db.execute("CREATE TABLE docket (id integer PRIMARY KEY, num integer NOT NULL)")


def one_docket(db):
    return db.scalar("SELECT count(*) <= 1 FROM docket WHERE num = 99")


@race.case(sessions=[(1,), (2,)], setup=reset, invariant=one_docket)
def get_or_create(key):
    with transaction() as sql:
        if not sql("SELECT id FROM docket WHERE num = 99 FOR UPDATE"):
            sql("INSERT INTO docket VALUES (%s, 99)", key)


EXPECTED = {
    get_or_create: {
        "postgresql": {"read committed": "violated 60/70", "repeatable read": "violated 60/70", "serializable": "holds 70"},
        "mariadb off": {"repeatable read": "holds 30, 12 deadlock"},
    },
}
