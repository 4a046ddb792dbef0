import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from urllib.parse import urlsplit

import psycopg
import pytest
from click.testing import CliRunner

from iobound import race
from iobound.cli import race_fix
from iobound.lab.service import find as service
from iobound.race import cases, fix

COUNTER = "DROP TABLE IF EXISTS counter; CREATE TABLE counter (id integer, v integer); INSERT INTO counter VALUES (1, 0)"


def nothing_lost(db, execution):
    return db.scalar("SELECT v FROM counter") == sum(one.ending == "committed" for one in execution.outcomes)


def both_count(db):
    return db.scalar("SELECT v FROM counter") == 2


@race.case(setup=COUNTER, invariant=nothing_lost)
def bump():
    with closing(psycopg.connect(os.environ["DATABASE_URL"])) as connection, connection:
        ((value,),) = connection.execute("SELECT v FROM counter -- now").fetchall()
        connection.execute("UPDATE counter SET v = %s", [value + 1])


@race.case(setup=COUNTER, invariant=nothing_lost)
def bump_in_autocommit():
    with closing(psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)) as connection:
        ((value,),) = connection.execute("SELECT v FROM counter").fetchall()
        connection.execute("UPDATE counter SET v = %s", [value + 1])


@race.case(setup=COUNTER, invariant=nothing_lost)
def bump_locked():
    with closing(psycopg.connect(os.environ["DATABASE_URL"])) as connection, connection:
        connection.execute("UPDATE counter SET v = v + 1")


def at_most_one(db):
    return db.scalar("SELECT count(*) <= 1 FROM entry")


@race.case(sessions=[(1,), (2,)], setup="DROP TABLE IF EXISTS entry; CREATE TABLE entry (id integer)", invariant=at_most_one)
def insert_where_empty(key):
    with closing(psycopg.connect(os.environ["DATABASE_URL"])) as connection, connection:
        ((count,),) = connection.execute("SELECT count(*) FROM entry").fetchall()
        if count == 0:
            connection.execute("INSERT INTO entry VALUES (%s)", [key])


@race.case(
    setup="DROP TABLE IF EXISTS counter; CREATE TABLE counter (v integer); INSERT INTO counter VALUES (0)",
    invariant=both_count,
    database="sqlite",
)
def bump_deferred():
    with closing(sqlite3.connect(urlsplit(os.environ["DATABASE_URL"]).path[1:], isolation_level=None)) as connection:
        connection.execute("BEGIN")
        ((value,),) = connection.execute("SELECT v FROM counter").fetchall()
        connection.execute("UPDATE counter SET v = ?", (value + 1,))
        connection.execute("COMMIT")


def case_of(function, **changed):
    return replace(getattr(function, cases.ATTRIBUTE), **changed)


def tried(found):
    return {each.change: each for each in found.fixes}


def test_a_lost_update_is_fixed_by_a_lock_or_a_level():
    found = fix.find(case_of(bump))
    assert (found.before.violations, found.before.schedules) == (40, 50)
    changes = tried(found)
    assert list(changes) == [
        "FOR UPDATE after SELECT v FROM counter -- now",
        "isolation level REPEATABLE READ",
        "isolation level SERIALIZABLE",
    ]
    assert {each.verdict for each in found.fixes} == {"holds"}
    lock, snapshot, _ = found.fixes
    assert lock.outcomes == {"committed": 2 * lock.schedules}
    assert snapshot.outcomes["serialization-failure"] == 40
    for each in found.fixes:
        assert each.throughput.low < each.throughput.estimate < each.throughput.high
    assert lock.retries == 0
    assert any("begin the transaction anew" in suggestion for suggestion in found.suggestions)


def test_what_locks_nothing_does_not_hold_and_is_not_timed():
    found = fix.find(case_of(bump_in_autocommit))
    assert {each.verdict for each in found.fixes} == {"violated"}
    assert {each.throughput for each in found.fixes} == {None}
    assert any("one transaction" in suggestion for suggestion in found.suggestions)


def test_a_lock_that_the_database_refuses_is_told():
    lock, snapshot, serializable = fix.find(case_of(insert_where_empty)).fixes
    assert lock.verdict is None
    assert "aggregate" in lock.refused
    assert snapshot.verdict == "violated"
    assert serializable.verdict == "holds"


def test_higher_levels_than_the_violated_one_are_tried():
    found = fix.find(case_of(insert_where_empty, isolation=["repeatable read"]))
    assert found.isolation == "repeatable read"
    assert list(tried(found))[1:] == ["isolation level SERIALIZABLE"]


def test_a_transaction_of_sqlite_is_begun_for_writing():
    (immediate,) = fix.find(case_of(bump_deferred)).fixes
    assert immediate.change == "BEGIN IMMEDIATE"
    assert immediate.verdict == "holds"
    assert immediate.retries == 0


@pytest.mark.skipif(bool(service("mariadb").unavailable()), reason="needs MariaDB")
def test_statements_are_rewritten_on_mariadb_too():
    pymysql = pytest.importorskip("pymysql")

    def bump():
        parts = urlsplit(os.environ["DATABASE_URL"])
        where = {"host": parts.hostname, "port": parts.port, "user": parts.username, "password": parts.password}
        with closing(pymysql.connect(**where, database=parts.path[1:])) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT v FROM counter")
            ((value,),) = cursor.fetchall()
            cursor.execute("UPDATE counter SET v = %s", (value + 1,))
            connection.commit()

    lock, serializable = fix.find(case_of(race.case(setup=COUNTER, invariant=nothing_lost, database="mariadb")(bump))).fixes
    assert (lock.verdict, serializable.verdict) == ("holds", "holds")
    assert "deadlock" in serializable.outcomes


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "iobound", "race", "fix", *arguments], capture_output=True, text=True, timeout=120
    )


def test_the_command_tells_whether_something_holds():
    nothing = command(f"{__file__}:bump_in_autocommit", "--json")
    assert nothing.returncode == 1, nothing.stderr
    assert {each["verdict"] for each in json.loads(nothing.stdout)["fixes"]} == {"violated"}
    fine = command(f"{__file__}:bump_locked")
    assert fine.returncode == 0
    assert "nothing to fix" in fine.stdout


def test_the_command_shows_changes_and_suggestions():
    shown = CliRunner().invoke(race_fix.command, [f"{__file__}:insert_where_empty"], standalone_mode=False)
    assert shown.return_value == 0
    text = " ".join(shown.stdout.split())
    assert "FOR UPDATE is not allowed with aggregate functions" in text
    assert "isolation level SERIALIZABLE holds since it aborts calls" in text
    assert "other code: a unique constraint" in text
