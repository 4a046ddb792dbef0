"""What can't be explored, or is wrong whatever the invariant says, is said clearly."""

import os
import random
import threading

import asyncpg
import psycopg
import pytest
import race_functions as functions

from iobound import race
from iobound.errors import UsageError


def explored(function, **more):
    return race.explore(function, **{"setup": functions.ONE_COUNTER, "invariant": lambda db: True, **more})


def connected():
    return psycopg.connect(os.environ["DATABASE_URL"])


def nothing():
    pass


def wants(argument):
    pass


def raises():
    raise ValueError("no voucher today")


def ends_in_an_error():
    with connected() as connection:
        connection.execute("SELECT value FROM counter")
        raise ValueError("no voucher today")


def unpredictable():
    with connected() as connection:
        connection.execute("SELECT value FROM counter")
        connection.execute(random.choice(["SELECT value FROM counter", "SELECT id FROM counter", "SELECT 7 FROM counter"]))


def with_threads_of_its_own():
    def work():
        with pytest.raises(psycopg.OperationalError), connected() as connection:
            connection.execute("UPDATE counter SET value = value + 1")

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def never_ends():
    with connected() as connection:
        while True:
            connection.execute("SELECT value FROM counter")


KEPT = []


def leaves_a_transaction_open():
    connection = connected()
    KEPT.append(connection)
    connection.execute("UPDATE counter SET value = value + 1 WHERE id = 1")


def test_an_argument_that_is_not_given():
    with pytest.raises(UsageError, match=r"missing a required argument: 'argument'.*sessions="):
        explored(wants)


def test_one_session_is_no_race():
    with pytest.raises(UsageError, match="at least two"):
        explored(nothing, sessions=1)


def test_a_connection_elsewhere():
    with pytest.raises(UsageError, match=r"no statement of session A came by.*DATABASE_URL"):
        explored(nothing)


def test_raising_before_the_first_statement():
    with pytest.raises(UsageError, match="session A raises before its first statement: ValueError: no voucher today"):
        explored(raises)


def test_an_error_is_an_outcome():
    report = explored(ends_in_an_error)
    assert report.levels[0].outcomes == {"error": 2 * report.schedules}


def test_a_function_that_does_something_else_each_time():
    report = explored(unpredictable)
    assert report.verdict == "unsupported"
    assert "doesn't do the same under the same schedule" in report.levels[0].reason


def test_threads_of_its_own():
    report = explored(with_threads_of_its_own)
    assert report.verdict == "unsupported"
    assert "two statements at once" in report.levels[0].reason


def test_a_session_that_never_ends(monkeypatch):
    monkeypatch.setattr("iobound.race.controller.STEPS_LIMIT", 20)
    report = explored(never_ends, max_schedules=2)
    assert report.verdict == "incomplete"
    assert "never ended: more than 20 statements a session" in report.levels[0].reason


def test_a_transaction_left_open():
    report = explored(leaves_a_transaction_open)
    assert report.verdict == "violated"
    assert "session A leaves a transaction open" in report.example.reason


def test_a_connection_shared_by_threads():
    kept = {}

    def shared():
        if not kept:
            kept["one"] = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
        kept["one"].execute("UPDATE counter SET value = value + 1")

    report = explored(shared)
    assert report.verdict == "violated"
    assert "connection shared by sessions A and B" in report.example.reason
    assert report.example.reason.count("test_race_faults.py:") == 2


def test_a_connection_shared_by_tasks():
    kept = {}

    async def shared():
        if not kept:
            kept["one"] = await asyncpg.connect(os.environ["DATABASE_URL"])
        await kept["one"].execute("UPDATE counter SET value = value + 1")

    report = explored(shared, model="asyncio")
    assert report.verdict == "violated"
    assert "connection shared by sessions A and B" in report.example.reason


def test_a_connection_of_mysql_shared_by_threads():
    kept = {}

    def shared():
        if not kept:
            kept["one"] = functions.mysql()
        with kept["one"].cursor() as cursor:
            cursor.execute("UPDATE counter SET value = value + 1")

    report = explored(shared, database="mariadb")
    assert report.verdict == "violated"
    assert "connection shared by sessions A and B" in report.example.reason


def test_a_setup_that_fails():
    with pytest.raises(UsageError, match=r'the setup fails.*relation "nowhere" does not exist'):
        explored(functions.increment, setup="INSERT INTO nowhere VALUES (1)")


def test_no_setup():
    with pytest.raises(UsageError, match="setup="):
        explored(functions.increment, setup=None)


def test_a_setup_that_makes_something_else_each_time():
    def setup(db):
        db.execute(functions.ONE_COUNTER)
        db.execute(f"UPDATE counter SET value = {random.randrange(10**9)} WHERE id = 2")

    with pytest.raises(UsageError, match=r"run twice, doesn't give the same state: counter has 2 rows and then 2 rows: -\(2, "):
        explored(functions.increment, setup=setup)


def test_an_invariant_that_cannot_be_evaluated():
    with pytest.raises(UsageError, match="the invariant can't be evaluated: UndefinedColumn"):
        explored(functions.increment, invariant=lambda db: db.scalar("SELECT nothing FROM counter"))
    with pytest.raises(UsageError, match="returned None"):
        explored(functions.increment, invariant=lambda db: db.scalar("SELECT NULL"))


def test_an_assertion_says_itself_what_is_broken():
    def invariant(db):
        value = db.scalar("SELECT value FROM counter WHERE id = 1")
        assert value == 2, f"only {value} counted"

    report = explored(functions.increment, invariant=invariant)
    assert (report.violations, report.example.reason.partition("\n")[0]) == (40, "only 1 counted")


def test_an_unknown_level_and_database():
    with pytest.raises(UsageError, match="no isolation level 'snapshot'"):
        explored(functions.increment, isolation="snapshot")
    with pytest.raises(UsageError, match="unknown database 'postgres15'"):
        explored(functions.increment, database="postgres15")


def test_sqlite_in_other_processes():
    with pytest.raises(UsageError, match="threads and asyncio, not processes"):
        explored(functions.increment_sqlite, sessions=["BEGIN", "BEGIN"], database="sqlite", model="processes")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@db.example.com/shop",
        "postgresql://me:secret@localhost/shop_production",
        "mysql://me:secret@prod-1/a",
    ],
)
def test_a_database_that_looks_like_production(url):
    with pytest.raises(UsageError, match="looks like production") as refused:
        explored(functions.increment, database=url)
    assert "secret" not in str(refused.value)


def test_the_name_given_twice_must_be_the_name():
    with pytest.raises(UsageError, match="isn't the database"):
        explored(functions.increment, database="postgresql://localhost/shop", yes_database="shops")
