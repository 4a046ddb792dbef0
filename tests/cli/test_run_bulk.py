"""`iobound run bulk` as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from iobound.lab import interpreters

CENSUS = Path(__file__).parents[3] / "shared" / "data" / "census"  # the real files, which aren't part of the project
MODELS = "threads/psycopg2,gevent/psycopg2,asyncio/aiopg,asyncio/asyncpg,asyncio/psycopg"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iobound", "run", "bulk", "--json", "--out", str(folder / "run"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


def checked(ended: subprocess.CompletedProcess[str], lines: int) -> set[tuple[str, str]]:
    """Check the cells that were printed, and return which models and drivers they are of."""
    assert ended.returncode in {0, 4}, ended.stderr  # 4: too noisy for a verdict
    found = json.loads(ended.stdout)
    for cell in found["cells"]:
        assert cell["verified"]
        assert cell["rows"] == lines * {"geo": 1, "data": 222}[cell["phase"]]
        assert cell["rows_per_second"]["estimate"] > 0
        assert cell["bound_by"]
        assert cell["connections"] == 10
        assert cell["client_cpu_us_per_row"]["estimate"] > 0
        assert cell["database_cpu_us_per_row"]["estimate"] > 0
        assert cell["rows_least"] <= cell["rows_most"]
    assert found["verdict"]
    assert len(found["claims"]) == 18
    assert {cell["phase"] for cell in found["cells"]} == {"geo", "data"}
    return {(cell["model"], cell["driver"]) for cell in found["cells"]}


def pairs(models: str) -> set[tuple[str, str]]:
    return {(model, driver) for model, _, driver in (asked.partition("/") for asked in models.split(","))}


def test_the_published_models_load_made_records(tmp_path: Path):
    ended = run(tmp_path, "--quick", "--budget", "1s", "--lines", "10", "--models", MODELS)
    assert checked(ended, 10) == pairs(MODELS)
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.skipif(not CENSUS.exists(), reason="needs the census's files beside the project")
def test_the_real_census_is_loaded(tmp_path: Path):
    arguments = ["--data", str(CENSUS), "--lines", "12", "--connections", "10", "--quick", "--budget", "1s"]
    assert checked(run(tmp_path, *arguments, "--models", "threads/psycopg2"), 12) == {("threads", "psycopg2")}


@pytest.mark.skipif(bool(interpreters.missing("2.7")), reason="needs Python 2.7")
def test_python_2_loads_by_threads_and_gevent(tmp_path: Path):
    models = "threads/psycopg2,gevent/psycopg2"
    arguments = ["--quick", "--budget", "1s", "--lines", "10", "--python", "2.7", "--models", models]
    assert checked(run(tmp_path, *arguments), 10) == pairs(models)


def test_what_cannot_be_had_is_named_and_the_rest_is_measured(tmp_path: Path):
    models = "threads/psycopg2,processes/psycopg2"
    ended = run(tmp_path, "--quick", "--budget", "1s", "--lines", "5", "--python", "2.7,3.99", "--models", models)
    if interpreters.missing("2.7") is None:
        assert ended.returncode in {0, 4}, ended.stderr
    reasons = {each["cell"]: each["reason"] for each in json.loads(ended.stdout)["not_measured"]}
    lacking = "processes needs Python >=3.6, not 2.7" if interpreters.missing("2.7") is None else "isn't on this machine"
    assert lacking in reasons["bulk/processes/psycopg2/c10/python2.7"]
    assert "Python 3.99 isn't on this machine" in reasons["bulk/threads/psycopg2/c10/python3.99"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "threads"], "'threads' is no model with its driver"),
        (["--connections", "0"], "no number of connections"),
        (["--transaction", "sometimes"], "none of autocommit, line"),
        (["--statements", "copy,magic"], "none of single, executemany, pipeline, copy"),
        (["--feeder", "eager"], "none of preloaded, streaming, published"),
        (["--bad-lines", "ignore"], "refuse"),
        (["--lines", "0"], "--lines"),
    ],
)
def test_what_is_asked_wrongly_is_told_before_anything_starts(tmp_path: Path, arguments: list[str], message: str):
    ended = run(tmp_path, *arguments)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert ended.stdout == ""
