import time
from contextlib import ExitStack, closing

import psycopg
import pytest

from iobound.errors import LabError
from iobound.race.locks import observe
from iobound.race.locks.postgresql import Observer


@pytest.fixture
def observer(postgresql_url):
    with closing(observe(postgresql_url)) as observer:
        assert isinstance(observer, Observer)
        yield observer


@pytest.fixture
def sessions(postgresql_url):
    with ExitStack() as exits:
        made = [exits.enter_context(psycopg.connect(postgresql_url, autocommit=True)) for _ in range(3)]
        made[0].execute("DROP TABLE IF EXISTS thing")
        made[0].execute("CREATE TABLE thing (id integer PRIMARY KEY, v integer)")
        made[0].execute("INSERT INTO thing VALUES (1, 0), (2, 0)")
        yield made


def pid(session):
    return session.info.backend_pid


WAITS = {
    "row": ("UPDATE thing SET v = 1 WHERE id = 1", "UPDATE thing SET v = 2 WHERE id = 1"),
    "for update": ("SELECT * FROM thing WHERE id = 1 FOR UPDATE", "SELECT * FROM thing WHERE id = 1 FOR SHARE"),
    "unique key": ("INSERT INTO thing VALUES (9, 0)", "INSERT INTO thing VALUES (9, 0) ON CONFLICT DO NOTHING"),
    "table": ("LOCK TABLE thing IN ACCESS EXCLUSIVE MODE", "SELECT * FROM thing"),
    "definition": ("SELECT * FROM thing", "ALTER TABLE thing ADD COLUMN w integer"),
    "advisory, transaction": ("SELECT pg_advisory_xact_lock(1)", "SELECT pg_advisory_xact_lock(1)"),
    "advisory, session": ("SELECT pg_advisory_lock(7)", "SELECT pg_advisory_lock(7)"),
}


@pytest.mark.parametrize("name", WAITS)
def test_a_session_that_waits_is_seen_with_its_blocker(observer, sessions, background, seen, name):
    holder, waiter, _ = sessions
    takes, wants = WAITS[name]
    holder.execute("BEGIN")
    holder.execute(takes)
    waiter.execute("BEGIN")
    waiting = background(waiter.execute, wants)
    assert seen(observer, pid(waiter), waiting) == [pid(holder)]
    assert set(observer.blocked([pid(session) for session in sessions])) == {pid(waiter)}
    holder.execute("ROLLBACK")
    holder.execute("SELECT pg_advisory_unlock_all()")
    assert waiting.join() is None
    assert observer.blocked([pid(waiter)]) == {}


def test_only_the_sessions_asked_about_are_told(observer, sessions, background, seen):
    holder, waiter, other = sessions
    holder.execute("BEGIN")
    holder.execute(WAITS["row"][0])
    waiting = background(waiter.execute, WAITS["row"][1])
    assert seen(observer, pid(waiter), waiting)
    assert observer.blocked([pid(other)]) == {}
    assert observer.blocked([]) == {}
    holder.execute("COMMIT")


def test_a_queue_has_every_one_in_front_as_blocker(observer, sessions, background, seen):
    holder, first, second = sessions
    holder.execute("BEGIN")
    holder.execute(WAITS["table"][0])
    first.execute("BEGIN")
    waiting = background(first.execute, WAITS["table"][0])
    assert seen(observer, pid(first), waiting)
    last = background(second.execute, "SELECT * FROM thing")
    assert set(seen(observer, pid(second), last)) == {pid(holder), pid(first)}
    holder.execute("COMMIT")
    assert waiting.join() is None
    first.execute("COMMIT")


def test_what_only_takes_long_is_not_called_blocked(observer, sessions, background, seen):
    holder, sleeper, _ = sessions
    holder.execute("BEGIN")
    holder.execute(WAITS["row"][0])
    call = background(sleeper.execute, "SELECT pg_sleep(0.3), * FROM thing WHERE id = 1")
    assert seen(observer, pid(sleeper), call) is None
    holder.execute("ROLLBACK")


def test_both_of_a_deadlock_wait_until_one_is_ended(observer, sessions, background, seen):
    one, two, _ = sessions
    for session, row in ((one, 1), (two, 2)):
        session.execute("SET deadlock_timeout = '300ms'")
        session.execute("BEGIN")
        session.execute("UPDATE thing SET v = v + 1 WHERE id = %s", [row])
    first = background(one.execute, "UPDATE thing SET v = v + 1 WHERE id = 2")
    assert seen(observer, pid(one), first) == [pid(two)]
    second = background(two.execute, "UPDATE thing SET v = v + 1 WHERE id = 1")
    while first.running() and second.running() and len(found := observer.blocked([pid(one), pid(two)])) < 2:
        time.sleep(0.001)
    assert found == {pid(one): [pid(two)], pid(two): [pid(one)]}
    while first.running() and second.running():
        time.sleep(0.001)
    assert [type(call.join()) for call in (first, second)].count(psycopg.errors.DeadlockDetected) == 1
    assert observer.blocked([pid(one), pid(two)]) == {}


def test_a_lost_server_and_a_server_that_is_not_there_are_explained(postgresql_url, sessions):
    with closing(observe(postgresql_url)) as observer:
        sessions[0].execute("SELECT pg_terminate_backend(%s, 5000)", [observer._connection.info.backend_pid])
        with pytest.raises(LabError, match="doesn't show its locks"):
            observer.blocked([1])
    with pytest.raises(LabError, match="can't connect to PostgreSQL") as caught:
        observe("postgresql://me:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)
