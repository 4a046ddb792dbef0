"""Transfers on real databases: what is wrong by construction is caught, what is right isn't, and servers count as we do."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

import psutil
import psycopg
import pytest
from transfer_cells import cell

from iobound.errors import LabError, Unavailable
from iobound.lab import accounts, scripts, transfers
from iobound.lab.environments import environment
from iobound.lab.laboratory import Laboratory
from iobound.measure.rounds import Turn
from iobound.measure.schedules import explore
from iobound.measure.scripts.transfer import LOCK, measure
from iobound.records import TransferSample

TURN = Turn(launch=0, control=False, seed=1, quick=True)
PAUSE_MS = 20.0  # between reading and writing: two workers then read the same before either writes

WRONG = [
    *(("autocommit", database, None) for database in transfers.DRIVERS),
    ("transaction", "postgresql", None),
    ("transaction", "mariadb", None),
    ("transaction", "mariadb", "read committed"),
]
RIGHT = [
    ("in-process-lock", "postgresql", None),
    ("transaction", "sqlite", None),
    ("transaction", "postgresql", "repeatable read"),
    ("transaction", "mariadb", "snapshot isolation"),
    ("for-update-ordered", "postgresql", None),
    ("for-update-ordered", "mariadb", None),
    ("for-update-unordered", "mariadb", None),
    ("version-counter", "postgresql", None),
    ("version-counter", "mariadb", None),
    ("version-counter", "sqlite", None),
    ("atomic-update", "postgresql", None),
    ("atomic-update", "mariadb", None),
    ("atomic-update", "sqlite", None),
    ("serializable-retry", "postgresql", "serializable"),
    ("serializable-retry", "mariadb", "serializable"),
    ("advisory-xact", "postgresql", None),
    ("begin-immediate", "sqlite", None),
]


def transferred(laboratory: Laboratory, strategy: str, database: str, level: str | None = None, **other: Any) -> TransferSample:
    return measure(cell(strategy, database, isolation=level, **other), TURN, laboratory)


def adds_up(sample: TransferSample) -> bool:
    return sample.balances == sample.expected and min(sample.balances) >= 0


@pytest.mark.parametrize(("strategy", "database", "level"), WRONG)
def test_what_is_wrong_by_construction_is_caught(laboratory: Laboratory, strategy: str, database: str, level: str | None):
    sample = transferred(laboratory, strategy, database, level, pause_ms=PAUSE_MS)
    assert sample.contended
    assert not adds_up(sample)


@pytest.mark.parametrize(("strategy", "database", "level"), RIGHT)
def test_what_is_right_is_not_flagged(laboratory: Laboratory, strategy: str, database: str, level: str | None):
    sample = transferred(laboratory, strategy, database, level)
    assert sample.contended
    assert sample.acknowledged
    assert adds_up(sample)
    assert not sample.errors
    assert not sample.unfinished


@pytest.mark.parametrize(
    ("database", "model"),
    [(database, model) for database, of in transfers.DRIVERS.items() for model in of if model != "threads"],
)
def test_all_models_transfer_alike(laboratory: Laboratory, database: str, model: str):
    wrong = transferred(laboratory, "autocommit", database, model=model, pause_ms=PAUSE_MS)
    right = transferred(laboratory, "atomic-update", database, model=model)
    assert not adds_up(wrong)
    assert adds_up(right)
    assert right.contended
    assert not right.errors


@pytest.mark.parametrize("database", ["postgresql", "mariadb"])
def test_the_lock_of_a_process_does_not_reach_the_next(laboratory: Laboratory, database: str):
    sample = transferred(laboratory, "in-process-lock", database, model="processes", pause_ms=PAUSE_MS)
    assert not adds_up(sample)


@pytest.mark.parametrize("database", ["postgresql", "mariadb"])
def test_an_advisory_lock_released_before_the_commit_loses_updates(laboratory: Laboratory, database: str):
    samples = (transferred(laboratory, "advisory-session", database, workers=8, seconds=0.5) for _ in range(6))
    assert not all(map(adds_up, samples))


def test_a_retry_in_the_same_snapshot_never_sees_the_new_version(laboratory: Laboratory):
    strategy = "version-counter-same-transaction"
    old = transferred(laboratory, strategy, "mariadb", workers=4)
    assert old.given_up
    assert adds_up(old)
    assert not transferred(laboratory, strategy, "mariadb", "read committed", workers=4).given_up


def test_overdrafts_are_seen(laboratory: Laboratory):
    sample = transferred(laboratory, "autocommit", "postgresql", workers=8, pause_ms=PAUSE_MS)
    assert min(sample.balances) < 0


def test_shared_connections_fail_as_their_drivers_do(laboratory: Laboratory):
    asyncpg = transferred(laboratory, "shared-connection", "postgresql", model="asyncio")
    assert any(error.startswith("InterfaceError") for error in asyncpg.errors)
    psycopg3 = transferred(laboratory, "shared-connection", "postgresql", workers=8)
    assert not psycopg3.errors  # it lets one statement after the other, of whatever transaction


def test_one_worker_meets_nobody(laboratory: Laboratory):
    sample = transferred(laboratory, "autocommit", "postgresql", workers=1)
    assert (sample.contended, adds_up(sample)) == (0, True)


# --- every schedule -------------------------------------------------------------------------------------------------


def test_every_schedule_has_the_same_outcome_under_each_model(laboratory: Laboratory):
    tables = {
        strategy: [
            explore.__wrapped__(laboratory, "postgresql", "read committed", model, strategy) for model in transfers.MODELS
        ]
        for strategy in ("autocommit", "for-update-ordered")
    }
    for of in tables.values():
        assert of[1:] == of[:-1]
    wrong, right = tables["autocommit"][0], tables["for-update-ordered"][0]
    assert set(right.values()) == {"paid, refused: 0, 1", "refused, paid: 0, 1"}
    # All 70 orders of two times four statements, but for those in which one sees that the other has emptied the account, and
    # then ends after two: of these there are 3 a side, where 5 would have been.
    assert len(wrong) == 66
    assert wrong["ABABABAB"] == "paid, paid: -1, 1"
    assert wrong["AAAABB"] == "paid, refused: 0, 1"


def test_what_cannot_be_explored_leaves_the_rest_of_the_sample(laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch):
    def fail(*asked: object) -> None:
        raise LabError("no gevent")

    monkeypatch.setattr("iobound.measure.scripts.transfer.explore", fail)
    sample = transferred(laboratory, "for-update-ordered", "postgresql", explored=True)
    assert (sample.schedules, sample.unexplored) == (None, "no gevent")
    assert adds_up(sample)


# --- the servers' own counts ----------------------------------------------------------------------------------------


@pytest.fixture
def latest(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list whose last item is the URL of the accounts that were made last."""
    urls: list[str] = []
    make = accounts.make

    def noted(url: str, balances: list[int]) -> None:
        urls.append(url)
        make(url, balances)

    monkeypatch.setattr(accounts, "make", noted)
    return urls


def test_postgresql_counts_as_many_deadlocks_and_rollbacks(laboratory: Laboratory, latest: list[str]):
    for strategy, level in (("for-update-unordered", "read committed"), ("transaction", "repeatable read")):
        sample = transferred(laboratory, strategy, "postgresql", level, workers=8)
        deadlocks, rollbacks = postgresql_counts(latest[-1])
        assert sample.aborts.get("deadlock", 0) == deadlocks
        assert sum(sample.aborts.values()) + sample.refused == rollbacks
    assert sample.aborts["serialization-failure"]


def postgresql_counts(url: str) -> tuple[int, int]:
    """Return the deadlocks and the rollbacks that the server counted, once its sessions have handed in their counts."""
    counts = "SELECT deadlocks, xact_rollback FROM pg_stat_database WHERE datname = current_database()"
    with psycopg.connect(url, autocommit=True) as connection:
        wait_for_sessions_to_end(connection)
        deadlocks, rollbacks = connection.execute(counts).fetchone() or (-1, -1)
    return deadlocks, rollbacks


def wait_for_sessions_to_end(connection: psycopg.Connection) -> None:
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    deadline = time.monotonic() + 5
    while connection.execute(others).fetchone() != (0,):
        assert time.monotonic() < deadline, "sessions are left"
        time.sleep(0.05)


def test_mariadb_counts_as_many_deadlocks(laboratory: Laboratory):
    url = laboratory.service("mariadb").scratch("count")
    before = mariadb_deadlocks(url)
    sample = transferred(laboratory, "for-update-unordered", "mariadb", workers=8)
    assert sample.aborts["deadlock"] == mariadb_deadlocks(url) - before


def mariadb_deadlocks(url: str) -> int:
    with accounts.cursor_of(url, "count") as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'innodb_deadlocks'")
        return int(cursor.fetchone()[1])


# --- faults ---------------------------------------------------------------------------------------------------------


def test_a_killed_worker_is_told(laboratory: Laboratory):
    slow = cell("autocommit", "postgresql", model="processes", seconds=20.0)
    kill = threading.Thread(target=kill_a_worker)
    kill.start()
    with pytest.raises(LabError, match=r"worker \d ended with -9 before it told what it had transferred"):
        measure(slow, TURN, laboratory)
    kill.join()


def kill_a_worker() -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with suppress(psutil.Error):
            programs = [each for each in psutil.Process().children(recursive=True) if "program.py" in each.cmdline()]
            workers = [each for each in programs if each.parent() in programs]
            if len(workers) > 1:
                workers[0].kill()
                return
        time.sleep(0.05)


def test_what_does_not_exist_is_unavailable_with_its_reason(laboratory: Laboratory):
    with pytest.raises(Unavailable, match="BEGIN IMMEDIATE is SQLite's"):
        transferred(laboratory, "begin-immediate", "postgresql")


def test_a_database_out_of_reach_ends_the_launch(laboratory: Laboratory):
    job = {"service": "postgresql", "url": "postgresql://nobody@127.0.0.1:1/nothing", "strategy": "autocommit", "workers": 2}
    rest = {"isolation": "read committed", "accounts": 2, "seconds": 0.1, "pause_s": 0, "emptying_s": 1, "patience_s": 5}
    more = {"lock_timeout_s": 1, "deadlock_timeout_s": 0.01, "seed": "1"}
    for model in transfers.MODELS:
        files = transfers.files(model, transfers.DRIVERS["postgresql"][model])
        with (
            scripts.launch(model, files, environment(LOCK), {**job, **rest, **more}) as script,
            pytest.raises(LabError, match=r"ended with 1[\s\S]*(refused|connect)"),
        ):
            list(script.lines(20))


def test_no_session_and_no_lock_is_left(laboratory: Laboratory, latest: list[str]):
    transferred(laboratory, "advisory-session", "postgresql")
    with psycopg.connect(latest[-1], autocommit=True) as connection:
        wait_for_sessions_to_end(connection)
        assert connection.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone() == (0,)
