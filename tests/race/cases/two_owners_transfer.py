"""openreplay/openreplay#4508: ownership is given away twice, for the UPDATEs don't ask for the role that was read."""

from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS member")
    db.execute("CREATE TABLE member (id integer PRIMARY KEY, role varchar(10) NOT NULL)")
    db.execute("INSERT INTO member VALUES (1, 'owner'), (2, 'admin'), (3, 'admin')")


def one_owner(db):
    return db.scalar("SELECT count(*) FROM member WHERE role = 'owner'") == 1


@race.case(sessions=[(2,), (3,)], setup=reset, invariant=one_owner)
def transfer(target):
    with transaction() as sql:
        ((role,),) = sql("SELECT role FROM member WHERE id = 1")
        if role == "owner":
            sql("UPDATE member SET role = 'admin' WHERE id = 1")
            sql("UPDATE member SET role = 'owner' WHERE id = %s", target)


@race.case(sessions=[(2,), (3,)], setup=reset, invariant=one_owner)
def transfer_guarded(target):
    with transaction() as sql:
        if sql("UPDATE member SET role = 'admin' WHERE id = 1 AND role = 'owner'") == 1:
            sql("UPDATE member SET role = 'owner' WHERE id = %s", target)


EXPECTED = {
    transfer: {
        "postgresql": {"read committed": "violated 80/92", "repeatable read": "holds", "serializable": "holds"},
        "mariadb off": {"repeatable read": "violated 80/92"},
        "mariadb on": {"repeatable read": "holds"},
    },
    transfer_guarded: {"postgresql": {"read committed": "holds"}, "mariadb off": {"repeatable read": "holds"}},
}
