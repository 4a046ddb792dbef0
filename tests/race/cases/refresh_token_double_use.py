"""django-oauth/django-oauth-toolkit#960: a refresh token is checked early and consumed late, without a lock."""

from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS refresh_token, access_token")
    db.execute("CREATE TABLE refresh_token (id integer PRIMARY KEY, revoked integer NOT NULL)")
    db.execute("CREATE TABLE access_token (id integer PRIMARY KEY, source integer NOT NULL)")
    db.execute("INSERT INTO refresh_token VALUES (1, 0)")


def reset_unique(db):
    reset(db)
    db.execute("CREATE UNIQUE INDEX one_each ON access_token (source)")


def used_once(db):
    return db.scalar("SELECT count(*) <= 1 FROM access_token WHERE source = 1")


def no_error(db, execution):
    return used_once(db) and all(outcome.ending != "constraint-violation" for outcome in execution.outcomes)


@race.case(sessions=[(1,), (2,)], setup=reset, invariant=used_once)
def refresh(new):
    with transaction() as sql:
        ((revoked,),) = sql("SELECT revoked FROM refresh_token WHERE id = 1")
        if not revoked:
            sql("INSERT INTO access_token VALUES (%s, 1)", new)
            sql("UPDATE refresh_token SET revoked = 1 WHERE id = 1")


@race.case(sessions=[(1,), (2,)], setup=reset_unique, invariant=no_error)
def refresh_unique(new):
    refresh(new)


@race.case(sessions=[(1,), (2,)], setup=reset_unique, invariant=no_error)
def refresh_locked(new):
    with transaction() as sql:
        ((revoked,),) = sql("SELECT revoked FROM refresh_token WHERE id = 1 FOR UPDATE")
        if not revoked:
            sql("INSERT INTO access_token VALUES (%s, 1)", new)
            sql("UPDATE refresh_token SET revoked = 1 WHERE id = 1")


EXPECTED = {
    refresh: {
        "postgresql": {"read committed": "violated 170/182", "repeatable read": "holds", "serializable": "holds"},
        "mariadb off": {"repeatable read": "violated 170/182"},
        "mariadb on": {"repeatable read": "holds"},
    },
    refresh_unique: {"postgresql": {"read committed": "violated"}, "mariadb off": {"repeatable read": "violated"}},
    refresh_locked: {"postgresql": {"read committed": "holds"}, "mariadb off": {"repeatable read": "holds"}},
}
