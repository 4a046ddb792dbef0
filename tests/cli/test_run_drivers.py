"""`iobound run drivers`, as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from iobound.lab import interpreters

PARTS = ("user_us", "system_us", "runqueue_us", "wait_us")


def run(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iobound", "run", "drivers", "--quick", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=200)


def test_each_phase_of_each_driver_is_split_into_parts_that_add_up(tmp_path: Path):
    drivers = ["psycopg", "sqlalchemy-core-psycopg", "sqlite3"]
    ended = run(tmp_path, "--drivers", ",".join(drivers), "--rtt", "0,2ms", "--budget", "12s", "--out", "run", "--json")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    cells = {(cell["driver"], cell["rtt_ms"], cell["phase"]): cell for cell in found["cells"]}
    assert len(cells) == 4 * 5  # SQLite has no network
    for cell in cells.values():
        wall = cell["wall_us"]["estimate"]
        assert sum(cell[part]["estimate"] for part in PARTS) == pytest.approx(wall, rel=1e-6)
        assert cell["wait_source"] == "remainder"
        assert 0 <= cell["io_bound_index"]["estimate"] <= 1
        assert cell["function_calls"] > 0
    assert cells["psycopg", 2.0, "point"]["wall_us"]["estimate"] > 2000
    assert cells["psycopg", 2.0, "point"]["round_trips"] == pytest.approx(1, abs=0.1)
    assert cells["psycopg", 0.0, "select"]["database_us"]["estimate"] > 0
    assert cells["sqlite3", 0.0, "select"]["database_us"] is None
    assert "waiting" in found["verdict"]
    compared = subprocess.run(
        [sys.executable, "-m", "iobound", "compare", "run", "run"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert compared.returncode == 2
    assert "rows of drivers within one" in compared.stderr
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Is a driver waiting or computing?" in page
    assert "psycopg, 2 ms: flame graph of a SELECT" in page


@pytest.mark.skipif("2.7" not in interpreters.common(), reason="no Python 2.7 here")
def test_what_an_interpreter_can_not_run_is_named_and_the_rest_runs(tmp_path: Path):
    ended = run(tmp_path, "--python", "2.7,3.99", "--drivers", "sqlite3,asyncpg", "--budget", "5s", "--json")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert {(cell["python"], cell["driver"]) for cell in found["cells"]} == {("2.7", "sqlite3")}
    reasons = {failure["cell"]: failure["reason"] for failure in found["not_measured"]}
    assert "asyncpg needs Python" in reasons["drivers/2.7/asyncpg"]
    assert "3.99" in reasons["drivers/3.99/sqlite3"]


def test_an_unknown_driver_names_the_nearest(tmp_path: Path):
    ended = run(tmp_path, "--drivers", "psycop2")
    assert ended.returncode == 2
    assert "psycopg2" in ended.stderr
    assert not list(tmp_path.iterdir())


def test_the_plan_is_told_without_measuring(tmp_path: Path):
    ended = run(tmp_path, "--dry-run")
    assert ended.returncode == 0
    assert "drivers: 8 cells" in ended.stdout
    assert ended.stdout.endswith("9 s at least, 25 s at most\n")
    assert "s at least: a first round is whole even beyond the budget" in run(tmp_path, "--dry-run", "--budget", "2s").stdout
