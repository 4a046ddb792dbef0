"""polarsource/polar#13685: two admins each see the other one and step down: write skew."""

from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS member")
    db.execute("CREATE TABLE member (id integer PRIMARY KEY, role varchar(10) NOT NULL)")
    db.execute("INSERT INTO member VALUES (1, 'admin'), (2, 'admin'), (3, 'member')")


def an_admin_is_left(db):
    return db.scalar("SELECT count(*) >= 1 FROM member WHERE role = 'admin'")


@race.case(sessions=[(1,), (2,)], setup=reset, invariant=an_admin_is_left)
def demote(user):
    with transaction() as sql:
        ((admins,),) = sql("SELECT count(*) FROM member WHERE role = 'admin'")
        if admins > 1:
            sql("UPDATE member SET role = 'member' WHERE id = %s", user)


@race.case(sessions=[(1,), (2,)], setup=reset, invariant=an_admin_is_left)
def demote_locked(user):
    with transaction() as sql:
        admins = sql("SELECT id FROM member WHERE role = 'admin' ORDER BY id FOR UPDATE")
        if len(admins) > 1:
            sql("UPDATE member SET role = 'member' WHERE id = %s", user)


EXPECTED = {
    demote: {
        "postgresql": {"read committed": "violated 60/70", "repeatable read": "violated 60/70", "serializable": "holds 70"},
        "mariadb off": {"repeatable read": "violated 60/70"},
        "mariadb on": {"repeatable read": "violated 60/70"},
    },
    demote_locked: {"postgresql": {"read committed": "holds"}, "mariadb off": {"repeatable read": "holds"}},
}
