"""`iobound tune`, as it is typed: what is refused, what is planned, and a short search."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from iobound import runs
from iobound.cli.tune import command
from iobound.errors import UsageError

COMMAND = [sys.executable, "-m", "iobound", "tune"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["flask/waitres"], "did you mean waitress"),
        (["flask/waitress", "--workload", "sql-list"], "doesn't serve the workload sql-list"),
        (["flask/waitress", "--workload", "plane"], "did you mean plain"),
        (["flask-as-published"], "nothing to tune"),
        (["aiohttp/aiohttp"], "nothing to tune"),
    ],
)
def test_what_is_asked_wrongly_is_told_before_anything_starts(arguments: list[str], says: str):
    with pytest.raises(UsageError, match=says):
        command.main(["--dry-run", *arguments], standalone_mode=False)


def test_a_search_is_never_measured_over_another(tmp_path: Path):
    (tmp_path / "search").mkdir()
    (tmp_path / "search" / "run.json").write_text("{}")
    with pytest.raises(UsageError, match="give another --out"):
        command.main(["flask/waitress", "--out", str(tmp_path)], standalone_mode=False)


def test_a_dry_run_shows_what_is_tried_alike(capsys: pytest.CaptureFixture[str]):
    targets = ["flask/gunicorn-gthread/psycopg", "starlette/uvicorn-uvloop/asyncpg"]
    command.main(["--workload", "sql-list", "--dry-run", *targets], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    for target in targets:
        assert f"WORKERS of {target}: 1, 2, 3" in lines
        assert f"POOL_SIZE of {target}: 10, 1, 3, 20, 50" in lines
    assert f"THREADS of {targets[0]}: 10, 2, 4, 20, 50" in lines


def test_a_pool_is_not_tuned_where_nothing_is_asked_of_it(capsys: pytest.CaptureFixture[str]):
    command.main(["--dry-run", "starlette/uvicorn-uvloop/asyncpg"], standalone_mode=False)
    assert "POOL_SIZE" not in capsys.readouterr().out


def test_default_best_and_sensitivity_are_printed(tmp_path: Path):
    asked = ["bare-asgi/uvicorn-uvloop", "--quick", "--budget", "1s", "--out", "run", "--json"]
    ended = subprocess.run([*COMMAND, *asked], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ended.returncode in {0, 4}, ended.stderr  # 4: too noisy for a verdict
    assert "Traceback" not in ended.stderr
    (target,) = json.loads(ended.stdout)["targets"]
    assert set(target["best"]) <= {"WORKERS"}
    assert [(each["setting"], each["default"], each["level"]) for each in target["sensitivity"]] == [
        ("WORKERS", 1, 2),
        ("WORKERS", 1, 3),
    ]
    assert all(each["bound_by"] for each in target["sensitivity"])
    (comparison,) = runs.read(tmp_path / "run" / "search").header.plan.comparisons
    assert comparison.control
