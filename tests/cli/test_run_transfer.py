"""`iobound run transfer`, as it is typed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from iobound.lab import accounts
from iobound.lab.service import ServiceOptions, find

COMMAND = [sys.executable, "-m", "iobound", "run", "transfer", "--quick"]
FEW = ["--databases", "sqlite,postgresql", "--models", "threads", "--strategies", "autocommit,atomic-update,begin-immediate"]
SESSIONS = {
    "postgresql": "SELECT datname FROM pg_stat_activity WHERE datname IS NOT NULL AND pid <> pg_backend_pid()"
    " UNION ALL SELECT datname FROM pg_database UNION ALL SELECT locktype FROM pg_locks WHERE locktype = 'advisory'",
    "mariadb": "SELECT db FROM information_schema.processlist WHERE id <> connection_id() AND user <> 'system user'"
    " UNION ALL SELECT schema_name FROM information_schema.schemata",
}


def test_every_cell_has_its_throughput_and_its_correctness(tmp_path: Path):
    ended = subprocess.run(
        [*COMMAND, *FEW, "--budget", "5s", "--json", "--out", "run"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    cells = {(cell["database"], cell["strategy"]): cell for cell in found["cells"]}
    assert {pair: cell["verdict"] for pair, cell in cells.items()} == {
        ("sqlite", "autocommit"): "wrong",
        ("sqlite", "atomic-update"): "correct",
        ("sqlite", "begin-immediate"): "correct",
        ("postgresql", "autocommit"): "wrong",
        ("postgresql", "atomic-update"): "correct",
    }
    wrong, right = cells["postgresql", "autocommit"], cells["postgresql", "atomic-update"]
    assert wrong["lost_updates"] > 0
    assert wrong["relative"] is None
    counts = ("lost_updates", "overdrafts", "money_created", "deadlocks", "serialization_failures", "retries")
    assert [right[count] for count in counts] == [0] * 6
    assert right["transactions_per_second"]["estimate"] > 0
    assert (right["isolation"], right["model"], right["processes"]) == ("read committed", "threads", 1)
    assert right["ran"]["default_transaction_isolation"] == "read committed"
    [missing] = found["not_measured"]
    assert (missing["stage"], missing["reason"]) == ("unavailable", "BEGIN IMMEDIATE is SQLite's")
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Transfers under concurrency" in page
    assert "iobound race" in page


def test_accounts_that_are_wrong_fail_a_run_only_where_they_should_be_right(tmp_path: Path):
    asked = ["--databases", "sqlite", "--models", "threads", "--strategies", "autocommit", "--budget", "1s", "--out", "run"]
    assert subprocess.run([*COMMAND, *asked], cwd=tmp_path, capture_output=True).returncode == 0
    trials = tmp_path / "run" / "trials.jsonl"
    header = tmp_path / "run" / "run.json"
    header.write_text(header.read_text().replace("autocommit", "begin-immediate"))  # as if it had come out like this
    trials.write_text(trials.read_text().replace("autocommit", "begin-immediate"))
    again = subprocess.run(
        [*COMMAND[:3], "report", "run", "--format", "terminal"], cwd=tmp_path, capture_output=True, text=True
    )
    assert again.returncode == 1, again.stderr
    assert "right by its nature came out wrong: begin-immediate" in again.stdout


@pytest.fixture(params=["postgresql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    with find(request.param).start(ServiceOptions()) as service:
        yield request.param, service.dataset(0)


def seen(database: str, url: str) -> list[str]:
    """Return the databases of a server, and what its sessions and advisory locks are in."""
    with closing(accounts.connect(url)) as connection:
        cursor: Any = connection.cursor()
        cursor.execute(SESSIONS[database])
        return sorted(str(row[0]) for row in cursor.fetchall())


def test_ctrl_c_leaves_no_database_session_or_lock(tmp_path: Path, server: tuple[str, str]):
    database, url = server
    before = seen(database, url)
    asked = ["--databases", database, "--strategies", "advisory-session,for-update-unordered", "--models", "threads,processes"]
    option = {"postgresql": "--postgres", "mariadb": "--mysql"}[database]
    with subprocess.Popen([*COMMAND, *asked, option, url], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        while len(seen(database, url)) < len(before) + 8:  # the workers are connected
            assert running.poll() is None
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert "Traceback" not in said
    deadline = time.monotonic() + 5
    while seen(database, url) != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert seen(database, url) == before


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--strategies", "locks"], "unknown strategy 'locks'"),
        (["--databases", "oracle"], "unknown database 'oracle'; known: mariadb, postgresql, sqlite"),
        (["--isolation", "read-uncommitted"], "unknown isolation level 'read uncommitted'; did you mean read committed"),
    ],
)
def test_what_is_unknown_is_refused_before_anything_starts(tmp_path: Path, asked: list[str], message: str):
    ended = subprocess.run([*COMMAND, *asked], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 2
    assert message in ended.stderr
