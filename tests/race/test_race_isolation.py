import json
import signal
import subprocess
import sys
import time
from contextlib import closing

import psycopg
import pytest
from click.testing import CliRunner

from iobound.cli import race_isolation
from iobound.errors import BadAnswer, LabError
from iobound.lab.service import ServiceOptions, find
from iobound.race import isolation, scripted
from iobound.race.anomalies import ANOMALIES, History, Step
from iobound.race.locks import observe

# As issued with the request for this command: by level, the anomalies that are admitted, and those refused with an error.
ADMITTED = {
    "postgresql": {
        "read committed": "PMP PMP-write P4 G-single G-single-write G2-item G2",
        "repeatable read": "G2-item G2",
        "serializable": "",
    },
    "mariadb": {
        "read committed": "PMP PMP-write P4 G-single G-single-write G2-item G2",
        "repeatable read (innodb_snapshot_isolation=OFF)": "PMP-write P4 G-single-write G2-item G2",
        "repeatable read (innodb_snapshot_isolation=ON)": "G2-item G2",
        "serializable (innodb_snapshot_isolation=OFF)": "",
    },
    "sqlite": {"WAL, deferred BEGIN": "", "BEGIN IMMEDIATE": ""},
}
REFUSED = {
    "postgresql": {
        "read committed": {},
        "repeatable read": {"40001": "G0 OTV PMP-write P4 G-single-write"},
        "serializable": {"40001": "G0 G1c OTV PMP-write P4 G-single-write G2-item G2"},
    },
    "mariadb": {
        "read committed": {},
        "repeatable read (innodb_snapshot_isolation=OFF)": {},
        "repeatable read (innodb_snapshot_isolation=ON)": {"1020": "PMP-write P4 G-single-write"},
        "serializable (innodb_snapshot_isolation=OFF)": {"1213": "G1c P4 G-single-write G2-item G2"},
    },
    "sqlite": {"WAL, deferred BEGIN": {"517": "PMP-write P4 G-single-write G2-item G2"}, "BEGIN IMMEDIATE": {}},
}


def iobound(*arguments):
    command = [sys.executable, "-m", "iobound", "race", "isolation", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", ADMITTED)
def test_each_level_admits_what_is_known_of_it(name):
    if find(name).unavailable():
        pytest.skip(f"needs {name}")
    matrix = isolation.measure(name)
    for level, admitted in ADMITTED[name].items():
        expected = dict.fromkeys((anomaly.name for anomaly in ANOMALIES), "prevented")
        expected |= dict.fromkeys(admitted.split(), "observed")
        for code, refused in REFUSED[name][level].items():
            expected |= dict.fromkeys(refused.split(), code)
        assert matrix.levels[level] == expected, level
    if not matrix.nearest:
        assert not matrix.differences


def test_the_command_checks_and_says_what_it_compared_with():
    done = iobound("--database", "sqlite", "--check", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["differences"] == []
    assert found["compared_with"].startswith("SQLite 3.")
    assert "measuring BEGIN IMMEDIATE" in done.stderr


def test_a_difference_is_told_and_a_check_fails(monkeypatch):
    levels = {"BEGIN IMMEDIATE": dict.fromkeys((anomaly.name for anomaly in ANOMALIES), "prevented") | {"P4": "observed"}}
    matrix = isolation.compare("SQLite", "3.40.1", levels)
    assert not matrix.nearest
    assert [(one.level, one.anomaly, one.expected, one.measured) for one in matrix.differences] == [
        ("BEGIN IMMEDIATE", "P4", "prevented", "observed")
    ]
    monkeypatch.setattr(isolation, "measure", lambda database, progress: matrix)
    shown = CliRunner().invoke(race_isolation.command, ["--database", "sqlite"])
    assert shown.exit_code == 0
    assert "P4 at BEGIN IMMEDIATE is observed, not prevented" in " ".join(shown.output.split())
    checked = CliRunner().invoke(race_isolation.command, ["--database", "sqlite", "--check"])
    assert isinstance(checked.exception, BadAnswer)
    assert "P4 at BEGIN IMMEDIATE" in str(checked.exception)


@pytest.mark.parametrize(
    ("server", "version", "compared_with"),
    [
        ("PostgreSQL", "18.6", "PostgreSQL 18.6"),
        ("PostgreSQL", "19.1", "PostgreSQL 18.6"),
        ("PostgreSQL", "9.6.24", "PostgreSQL 18.6"),
        ("MariaDB", "11.8.2", "MariaDB 10.11.19"),
        ("MySQL", "8.4.1", "MariaDB 10.11.19"),
    ],
)
def test_a_version_without_data_is_compared_with_the_nearest(server, version, compared_with):
    matrix = isolation.compare(server, version, {})
    assert matrix.compared_with == compared_with
    assert matrix.nearest == (compared_with != f"{server} {version}")


def test_mysql_is_like_mariadb_without_snapshot_isolation():
    like = next(one for one in isolation.known() if one.server == "MariaDB")
    levels = {"repeatable read": like.levels["repeatable read (innodb_snapshot_isolation=OFF)"]}
    assert isolation.compare("MySQL", "8.0.40", levels).differences == []


@pytest.mark.parametrize("database", ["oracle", "sqlite:///x.db", "mssql://me:secret@127.0.0.1/x"])
def test_a_database_it_does_not_know_is_refused(database):
    done = iobound("--database", database)
    assert done.returncode == 2
    assert "secret" not in done.stderr


def test_a_server_by_url_is_left_as_it_was():
    with find("postgresql").start(ServiceOptions()) as service:
        url = service.dataset(0)

        def left():
            with psycopg.connect(url, autocommit=True) as connection:
                databases = connection.execute("SELECT datname FROM pg_database ORDER BY 1").fetchall()
                sessions = connection.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
                ).fetchall()
                return databases, sessions

        before = left()
        assert iobound("--database", url, "--check").returncode == 0
        assert left() == before
        process = subprocess.Popen(
            [sys.executable, "-m", "iobound", "race", "isolation", "--database", url],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        assert process.stderr
        process.stderr.readline()  # it measures the first level
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        deadline = time.monotonic() + 10
        while left() != before and time.monotonic() < deadline:  # the server notices a closed connection in its own time
            time.sleep(0.05)
        assert left() == before


class Recorded:
    """A session that answers as it is told: by statement, how often it waits first, and with what error it ends."""

    def __init__(self, waits=None, errors=None):
        self.sent = []
        self.waits = waits or {}
        self.errors = errors or {}

    def send(self, statement):
        self.sent.append(statement)

    def answer(self):
        statement = self.sent[-1]
        if self.waits.get(statement, 0):
            self.waits[statement] -= 1
            return None
        return [], self.errors.get(statement)

    def busy(self):
        return False

    def close(self):
        pass


def test_a_waiting_step_is_passed_over_and_those_behind_it_follow():
    sessions = {1: Recorded(), 2: Recorded(waits={"b": 4})}
    steps = [Step(1, "a"), Step(2, "b"), Step(2, "c"), Step(1, "d"), Step(1, "e")]
    events = scripted.play(steps, sessions)
    assert [(event.session, event.statement) for event in events] == [(1, "a"), (1, "d"), (2, "b"), (2, "c"), (1, "e")]
    assert sessions[2].sent == ["b", "c"]


def test_a_session_that_failed_is_rolled_back_and_takes_no_more_part():
    sessions = {1: Recorded(errors={"b": "40001"}), 2: Recorded()}
    events = scripted.play([Step(1, "a"), Step(1, "b"), Step(2, "x"), Step(1, "c")], sessions)
    assert sessions[1].sent == ["a", "b", "ROLLBACK"]
    assert History(events, {}).error() == "40001"


def test_sessions_that_wait_for_ever_are_an_error(monkeypatch):
    monkeypatch.setattr(scripted, "PATIENCE_S", 0.05)
    with pytest.raises(LabError, match="wait for each other"):
        scripted.play([Step(1, "a")], {1: Recorded(waits={"a": 10**9})})


def test_a_statement_that_only_takes_long_is_waited_for():
    with find("postgresql").start(ServiceOptions()) as service:
        url = service.dataset(0)
        with closing(observe(url)) as observer, closing(scripted.postgresql(url, observer)) as session:
            session.send("SELECT 1, 2 FROM pg_sleep(0.3)")
            assert session.answer() == ([(1, 2)], None)
