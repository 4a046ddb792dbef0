"""RoboSats/robosats#2526: a balance is read without a lock, paid out, then set to zero; only the payouts show it."""

from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS reward, payout")
    db.execute("CREATE TABLE reward (id integer PRIMARY KEY, earned integer NOT NULL)")
    db.execute("CREATE TABLE payout (id integer PRIMARY KEY, amount integer NOT NULL)")
    db.execute("INSERT INTO reward VALUES (1, 100)")


def paid_at_most_what_was_earned(db):
    return db.scalar("SELECT coalesce(sum(amount), 0) <= 100 FROM payout")


@race.case(sessions=[(1,), (2,)], setup=reset, invariant=paid_at_most_what_was_earned)
def withdraw(payout):
    with transaction() as sql:
        ((earned,),) = sql("SELECT earned FROM reward WHERE id = 1")
        if earned > 0:
            sql("INSERT INTO payout VALUES (%s, %s)", payout, earned)
            sql("UPDATE reward SET earned = 0 WHERE id = 1")


@race.case(sessions=[(1,), (2,)], setup=reset)
def withdraw_without_invariant(payout):
    withdraw(payout)


@race.case(sessions=[(1,), (2,)], setup=reset, invariant=paid_at_most_what_was_earned)
def withdraw_locked(payout):
    with transaction() as sql:
        ((earned,),) = sql("SELECT earned FROM reward WHERE id = 1 FOR UPDATE")
        if earned > 0:
            sql("INSERT INTO payout VALUES (%s, %s)", payout, earned)
            sql("UPDATE reward SET earned = 0 WHERE id = 1")


EXPECTED = {
    withdraw: {
        "postgresql": {"read committed": "violated 170/182", "repeatable read": "holds"},
        "mariadb off": {"repeatable read": "violated 170/182"},
    },
    withdraw_without_invariant: {"postgresql": {"read committed": "violated"}},
    withdraw_locked: {"postgresql": {"read committed": "holds"}, "mariadb off": {"repeatable read": "holds"}},
}
