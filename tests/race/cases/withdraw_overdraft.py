"""ACIDRain, doi:10.1145/3035918.3064037, figure 1: the balance is checked on a stale read, and debited relatively."""

from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS account")
    db.execute("CREATE TABLE account (id integer PRIMARY KEY, bal integer NOT NULL)")
    db.execute("INSERT INTO account VALUES (1, 100)")


def all_accounted_for(db, execution):
    withdrawn = sum(100 for outcome in execution.outcomes if outcome.returned is True)
    balance = db.scalar("SELECT bal FROM account WHERE id = 1")
    return balance >= 0 and balance == 100 - withdrawn


@race.case(setup=reset, invariant=all_accounted_for)
def withdraw():
    with transaction() as sql:
        ((balance,),) = sql("SELECT bal FROM account WHERE id = 1")
        if balance < 100:
            return False
        sql("UPDATE account SET bal = bal - 100 WHERE id = 1")
    return True


@race.case(setup=reset, invariant=all_accounted_for)
def withdraw_guarded():
    with transaction() as sql:
        changed = sql("UPDATE account SET bal = bal - 100 WHERE id = 1 AND bal >= 100")
    return changed == 1


EXPECTED = {
    withdraw: {
        "postgresql": {"read committed": "violated 40/50", "repeatable read": "holds 50"},
        "mariadb off": {"repeatable read": "violated 40/50"},
        "mariadb on": {"repeatable read": "holds 50"},
        "sqlite": {None: "holds"},
    },
    withdraw_guarded: {
        "postgresql": {"read committed": "holds 14"},
        "mariadb off": {"repeatable read": "holds 14"},
        "sqlite": {None: "holds"},
    },
}
