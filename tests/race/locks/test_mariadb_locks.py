import time
from contextlib import ExitStack, closing
from urllib.parse import quote, urlsplit

import pytest

from iobound.errors import LabError, UsageError
from iobound.race import connections
from iobound.race.locks import observe
from iobound.race.locks.mariadb import Observer


@pytest.fixture
def observer(mariadb_url):
    with closing(observe(mariadb_url)) as observer:
        assert isinstance(observer, Observer)
        yield observer


def run(session, *statements):
    with session.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture
def sessions(mariadb_url):
    with ExitStack() as exits:
        made = [exits.enter_context(closing(connections.mysql(mariadb_url))) for _ in range(3)]
        run(made[0], "DROP TABLE IF EXISTS thing, plain")
        run(
            made[0], "CREATE TABLE thing (id integer PRIMARY KEY, v integer)", "INSERT INTO thing VALUES (1, 0), (2, 0), (9, 0)"
        )
        run(made[0], "CREATE TABLE plain (id integer) ENGINE = MyISAM")
        yield made


def ids(sessions):
    return [session.thread_id() for session in sessions]


ROWS = {
    "row": ("UPDATE thing SET v = 1 WHERE id = 1", "UPDATE thing SET v = 2 WHERE id = 1"),
    "for update": ("SELECT * FROM thing WHERE id = 1 FOR UPDATE", "SELECT * FROM thing WHERE id = 1 LOCK IN SHARE MODE"),
    "unique key": ("INSERT INTO thing VALUES (5, 0)", "INSERT IGNORE INTO thing VALUES (5, 0)"),
    "gap": ("SELECT * FROM thing WHERE id = 5 FOR UPDATE", "INSERT INTO thing VALUES (4, 0)"),
    "end of the table": ("SELECT * FROM thing WHERE id > 9 FOR UPDATE", "INSERT INTO thing VALUES (10, 0)"),
    "statement that looks like the monitor": (
        "UPDATE thing SET v = 1 WHERE id = 1 /*\nLOCK WAIT */",
        "UPDATE thing SET v = 2 WHERE id = 1 /*\nLOCK WAIT */",
    ),
}
OTHERS = {
    "table": ("LOCK TABLES thing WRITE", "SELECT * FROM thing", "UNLOCK TABLES"),
    "table of an engine without rows' locks": ("LOCK TABLES plain READ", "INSERT INTO plain VALUES (1)", "UNLOCK TABLES"),
    "definition": ("SELECT * FROM thing", "ALTER TABLE thing ADD COLUMN w integer", "ROLLBACK"),
    "name": ("SELECT GET_LOCK('iobound test', 0)", "SELECT GET_LOCK('iobound test', 10)", "SELECT RELEASE_ALL_LOCKS()"),
    "all tables": ("FLUSH TABLES WITH READ LOCK", "UPDATE thing SET v = 1", "UNLOCK TABLES"),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_session_that_waits_for_a_row_is_seen_with_its_blocker(observer, sessions, background, seen, name):
    holder, waiter, _ = sessions
    takes, wants = ROWS[name]
    run(holder, "BEGIN", takes)
    waiting = background(run, waiter, wants)
    assert seen(observer, waiter.thread_id(), waiting) == [holder.thread_id()]
    assert set(observer.blocked(ids(sessions))) == {waiter.thread_id()}
    run(holder, "ROLLBACK")
    assert waiting.join() is None
    assert observer.blocked(ids(sessions)) == {}


@pytest.mark.parametrize("name", OTHERS)
def test_a_session_that_waits_for_another_lock_is_seen(observer, sessions, background, seen, name):
    holder, waiter, _ = sessions
    takes, wants, releases = OTHERS[name]
    run(holder, "BEGIN", takes)
    waiting = background(run, waiter, wants)
    assert seen(observer, waiter.thread_id(), waiting) == []
    assert set(observer.blocked(ids(sessions))) == {waiter.thread_id()}
    run(holder, releases)
    assert waiting.join() is None
    assert observer.blocked(ids(sessions)) == {}


def test_who_only_holds_what_does_not_conflict_is_no_blocker(observer, sessions, background, seen):
    holder, waiter, reader = sessions
    run(reader, "BEGIN", "SELECT * FROM thing WHERE id = 5 FOR UPDATE")  # a gap, which only insertions wait for
    run(holder, "BEGIN", "SELECT * FROM thing WHERE id = 9 FOR UPDATE")
    waiting = background(run, waiter, "UPDATE thing SET v = 2 WHERE id = 9")
    assert seen(observer, waiter.thread_id(), waiting) == [holder.thread_id()]
    run(holder, "COMMIT")


def test_what_only_takes_long_is_not_called_blocked(observer, sessions, background, seen):
    holder, waiter, sleeper = sessions
    run(holder, "BEGIN", ROWS["row"][0])
    waiting = background(run, waiter, ROWS["row"][1])
    assert seen(observer, waiter.thread_id(), waiting)
    call = background(run, sleeper, "UPDATE thing SET v = SLEEP(0.4) WHERE id = 9")
    assert seen(observer, sleeper.thread_id(), call) is None
    run(holder, "ROLLBACK")


def test_a_wait_that_begins_while_it_looks_often_is_seen(observer, sessions, background, seen):
    holder, waiter, _ = sessions
    for _ in range(20):
        for _ in range(20):
            assert observer.blocked(ids(sessions)) == {}
        run(holder, "BEGIN", ROWS["row"][0])
        waiting = background(run, waiter, ROWS["row"][1])
        assert seen(observer, waiter.thread_id(), waiting) == [holder.thread_id()]
        run(holder, "COMMIT")
        waiting.join()


def test_a_deadlock_leaves_no_one_waiting(observer, sessions, background, seen):
    one, two, _ = sessions
    run(one, "BEGIN", "UPDATE thing SET v = v + 1 WHERE id = 1")
    run(two, "BEGIN", "UPDATE thing SET v = v + 1 WHERE id = 2")
    first = background(run, one, "UPDATE thing SET v = v + 1 WHERE id = 2")
    assert seen(observer, one.thread_id(), first) == [two.thread_id()]
    second = background(run, two, "UPDATE thing SET v = v + 1 WHERE id = 1")
    while first.running() and second.running():
        time.sleep(0.001)
    assert observer.blocked(ids(sessions)) == {}
    victims = [call.join() for call in (first, second) if call.join()]
    assert [error.args[0] for error in victims] == [1213]


def test_a_user_who_may_not_see_locks_is_told_what_is_missing(mariadb_url, sessions):
    run(sessions[0], "CREATE OR REPLACE USER blind@127.0.0.1 IDENTIFIED BY 's3cret/x'")
    parts = urlsplit(mariadb_url)
    netloc = f"blind:{quote('s3cret/x', safe='')}@127.0.0.1:{parts.port}"
    with pytest.raises(LabError, match=r"GRANT PROCESS ON \*\.\*"):
        observe(parts._replace(netloc=netloc, path="/").geturl())
    run(sessions[0], "DROP USER blind@127.0.0.1")


def test_a_server_that_is_not_there_and_an_unknown_kind_are_explained():
    with pytest.raises(LabError, match="can't connect to MariaDB or MySQL") as caught:
        observe("mysql://me:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)
    with pytest.raises(UsageError, match="oracle"):
        observe("oracle://127.0.0.1/x")
